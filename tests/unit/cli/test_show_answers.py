"""Residual answers in ``nvparity show`` and ``nvparity diff``: told as answers, by call, and before the key that does not explain them."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.cli import guard

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[3]
ANSWERS = """  answers:
    nvmlDeviceGetMigMode: UNKNOWN
    'nvmlDeviceGetNvLinkState {"link":0}': 'SUCCESS {"isActive":1}'
    'nvmlDeviceGetTemperature {"sensorType":0}': 'SUCCESS {"temp":33}'
"""


def profile(path: Path, answers: str) -> Path:
    """The T4's profile with ``answers`` in its one device and one answer of the node."""
    text = (ROOT / "profiles" / "t4-x1_595.91.07.yaml").read_text("utf-8")
    assert text.count("\norigin:\n") == 1
    path.write_text(text.replace("\norigin:\n", f"\n{answers}answers: {{nvmlSystemGetHicVersion: missing}}\norigin:\n"), "utf-8")
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: str, status: int = 0) -> list[str]:
    assert guard.run([*arguments, "--root", str(ROOT)]) == status
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("nvmlDeviceGetMigMode", ["gpu[0]/nvmlDeviceGetMigMode: UNKNOWN (recorded)"]),
        ('nvmlDeviceGetNvLinkState {"link":0}', ['gpu[0]/nvmlDeviceGetNvLinkState {"link":0}: SUCCESS {"isActive":1} (recorded)']),
        ("gpu[0]/nvmlDeviceGetNvLink*", ['gpu[0]/nvmlDeviceGetNvLinkState {"link":0}: SUCCESS {"isActive":1} (recorded)']),
        ("nvmlSystem*", ["nvmlSystemGetHicVersion: missing (recorded)"]),
    ],
)
def test_an_answer_is_found_by_its_function_or_its_call(path: str, lines: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = profile(tmp_path / "mine.yaml", ANSWERS)
    assert told(capsys, "show", f"{mine}:{path}") == lines


def test_a_function_without_an_answer_is_no_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = profile(tmp_path / "mine.yaml", ANSWERS)
    assert guard.run(["show", f"{mine}:nvmlDeviceGetSerial", "--root", str(ROOT)]) == 3
    assert "no element, key or row 'nvmlDeviceGetSerial'" in capsys.readouterr().err


def test_origin_says_that_the_answer_stands_before_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = profile(tmp_path / "mine.yaml", ANSWERS)
    lines = told(capsys, "show", f"{mine}:gpu_temp", "--origin")
    call = 'nvmlDeviceGetTemperature {"sensorType":0} = SUCCESS {"temp":33}'
    place = lines.index(f"    answer   {call}, kept by the profile as it was recorded: it stands before the key")
    assert lines[place + 1].startswith("    key      thermal.temperature_gpu_c = 33 C")
    assert not [line for line in told(capsys, "show", "t4:gpu_temp", "--origin") if "answer" in line]


def test_the_whole_of_a_profile_counts_its_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "  answered as recorded, no key explains them: 4 calls" in told(capsys, "show", str(profile(tmp_path / "mine.yaml", ANSWERS)))


def test_a_diff_of_profiles_tells_answers_by_call(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = profile(tmp_path / "one.yaml", ANSWERS)
    changed = ANSWERS.replace('{"temp":33}', '{"temp":34}').replace("MigMode: UNKNOWN", "MigMode: NOT_SUPPORTED").replace('{"link":0}', '{"link":1}')
    other = profile(tmp_path / "other.yaml", changed)
    found = [line.strip() for line in told(capsys, "diff", str(one), str(other), status=1)]
    changes = [line for line in found if line.startswith(("changed", "state", "missing", "invented"))]
    assert changes == [
        "state    gpu[0]/answers.nvmlDeviceGetMigMode: UNKNOWN -> NOT_SUPPORTED",
        'missing  gpu[0]/answers.nvmlDeviceGetNvLinkState {"link":0}: SUCCESS {"isActive":1} -> nothing',
        'changed  gpu[0]/answers.nvmlDeviceGetTemperature {"sensorType":0}: SUCCESS {"temp":33} -> SUCCESS {"temp":34}',
        'invented gpu[0]/answers.nvmlDeviceGetNvLinkState {"link":1}: nothing -> SUCCESS {"isActive":1}',
    ]
