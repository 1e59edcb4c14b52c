"""The environment is hostile input: each value that cannot be used is one line, once in a process, and what holds instead is what the page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mocklib import image
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import json, os, sys, tempfile
from mocklib import binding
nvml = binding.open_library(sys.argv[1])

def look():
    told = {"code": nvml.init()}
    if told["code"] == 0:
        nvml.shutdown()
        nvml.init()
        told["count"] = nvml.count()
        told["driver"] = nvml.call("nvmlSystemGetDriverVersion").out["version"]
        told["sets"] = [nvml.call("nvmlDeviceSetPersistenceMode", nvml.device(0), {"mode": 1}).code for _ in "ab"]
        nvml.shutdown()
    return told

found = []
for variables in json.load(sys.stdin):
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        os.environ.update(variables)
        told = look()
        os.dup2(kept, 2)
        file.seek(0)
        found.append([told, file.read().decode().splitlines()])
    for name in variables:
        del os.environ[name]
print(json.dumps(found))
"""
Told = tuple[dict[str, Any], list[str]]
"""What a process is answered that calls nvmlInit twice and sets something twice, and its lines on stderr."""


def ask(library: Path, environment: dict[str, str], cases: list[dict[str, str]], first: str = "") -> list[Told]:
    """What each of ``cases`` (variables) gives, one after the other in one process, which runs ``first`` before."""
    command = [sys.executable, "-c", f"{first}\n{PROGRAM}", str(library)]
    done = subprocess.run(command, env=environment | {"PYTHONPATH": str(ROOT)}, input=json.dumps(cases), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [(told, lines) for told, lines in json.loads(done.stdout)]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An image of two GPUs, with a state's file named."""
    folder = tmp_path_factory.mktemp("served")
    image.write(folder / "served.nvpimg", image.pack(boards.spec(devices=[boards.device(), boards.device()])))
    return {"NVPARITY_IMAGE": str(folder / "served.nvpimg"), "MOCK_NVML_STATE": str(folder / "state")}


REFUSED = [
    ({"MOCK_NVML_PRIVILEGE": "foo"}, "MOCK_NVML_PRIVILEGE=foo: is neither user nor root; callers are what the state says, root where it says noth"),
    ({"MOCK_NVML_PRIVILEGE": "usr"}, "MOCK_NVML_PRIVILEGE=usr: is neither user nor root (did you mean user?); callers"),
    ({"MOCK_NVML_EPOCH": "yesterday"}, "MOCK_NVML_EPOCH=yesterday: is no number of whole seconds since 1970, 1 to 9999999999; what adds up began"),
    ({"MOCK_NVML_EPOCH": "0"}, "MOCK_NVML_EPOCH=0: is no number"),
    ({"MOCK_NVML_EPOCH": "-5"}, "MOCK_NVML_EPOCH=-5: is no number"),
    ({"MOCK_NVML_EPOCH": "12\n34"}, "MOCK_NVML_EPOCH=12?34: is no number"),
    ({"MOCK_NVML_EPOCH": "9" * 500}, f"MOCK_NVML_EPOCH={'9' * 64}...: is no number"),
    ({"MOCK_NVML_DEVICE_NODES": "/no/such"}, "MOCK_NVML_DEVICE_NODES=/no/such: is no folder, as /dev is; every GPU is seen"),
    ({"MOCK_NVML_PRIVLEGE": "user"}, "MOCK_NVML_PRIVLEGE: is no variable of this library, and has no effect (did you mean MOCK_NVML_PRIVILEGE?)"),
    ({"MOCK_NVML_\x1b[31m": "user"}, "MOCK_NVML_?[31m: is no variable of this library, and has no effect"),
    ({"MOCK_NVML_" + "X" * 5000: "1"}, "MOCK_NVML_" + "X" * 54 + "...: is no variable of this library, and has no effect"),
    ({"MOCK_NVML_OVERRIDES_TTL": "5s"}, "MOCK_NVML_OVERRIDES_TTL: has no effect here: a change is seen at once"),
]  # fmt: skip


FINE = [{"MOCK_NVML_PRIVILEGE": "root"}, {"MOCK_NVML_EPOCH": "9999999999"}, {"MOCK_NVML_PRIVILEGE": ""}, {"MOCK_NVML_UNKNOWN": ""},
        {"MOCK_NVML_NUM_DEVICES": "x", "MOCK_NVML_DRIVER_VERSION": "x"}, {"MOCK_SOMETHING": "1"}]  # fmt: skip
OF_THE_DEFAULT = [
    ({"MOCK_NVML_NUM_DEVICES": "4x"}, 8, "MOCK_NVML_NUM_DEVICES=4x: is no number of GPUs, 0 to 4000; the default has 8"),
    ({"MOCK_NVML_NUM_DEVICES": "-1"}, 8, "MOCK_NVML_NUM_DEVICES=-1: is no number of GPUs, 0 to 4000; the default has 8"),
    ({"MOCK_NVML_NUM_DEVICES": "9" * 30}, 4000, f"MOCK_NVML_NUM_DEVICES={'9' * 30}: is no number of GPUs, 0 to 4000; the default has 4000"),
    ({"MOCK_NVML_DRIVER_VERSION": "latest"}, 8, "MOCK_NVML_DRIVER_VERSION=latest: is no driver version: digits and dots, as 5"),
]  # fmt: skip
NOWHERE = "settings answer NO_PERMISSION"


@pytest.fixture(scope="module")
def refused(library_path: Path, clean_environment: dict[str, str], served: dict[str, str]) -> list[Told]:
    """Every case of REFUSED, then of FINE."""
    return ask(library_path, clean_environment, [served | variables for variables in (*(case for case, _ in REFUSED), *FINE)])


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_a_value_that_cannot_be_used_is_told_once_and_the_library_goes_on(refused: list[Told], number: int) -> None:
    told, lines = refused[number]
    assert (told["code"], told["count"], told["sets"]) == (0, 2, [0, 0])
    assert [said.startswith(f"nvparity: {REFUSED[number][1]}") for said in lines] == [True], lines


@pytest.mark.parametrize("number", range(len(FINE)))
def test_what_can_be_used_or_is_not_looked_at_is_not_told_of(refused: list[Told], number: int) -> None:
    driver = boards.spec().system["system.driver_version"].value
    assert refused[len(REFUSED) + number] == ({"code": 0, "count": 2, "driver": driver, "sets": [0, 0]}, [])


@pytest.mark.spec("A04", "A05")
def test_the_default_says_what_it_could_not_be_asked_for(library_path: Path, clean_environment: dict[str, str]) -> None:
    found = ask(library_path, clean_environment, [case for case, _, _ in OF_THE_DEFAULT])
    for (told, lines), (_, count, line) in zip(found, OF_THE_DEFAULT, strict=True):
        assert (told["code"], told["count"], told["driver"]) == (0, count, "550.163.01")
        assert sum(said.startswith(f"nvparity: {line}") for said in lines) == 1, lines


@pytest.mark.spec("Y17")
def test_a_state_that_cannot_be_written_is_told_once_with_the_reason(library_path: Path, clean_environment: dict[str, str], served: dict[str, str],
                                                                     tmp_path: Path) -> None:  # fmt: skip
    (tmp_path / "file").write_text("somebody's")
    alone = {"NVPARITY_IMAGE": served["NVPARITY_IMAGE"]}
    path, unusable = str(tmp_path), "cannot be used as state"
    cases = [
        (alone | {"MOCK_NVML_STATE": f"{path}/file/state"}, f"{path}/file/state: {unusable}: Not a directory; {NOWHERE}"),
        (alone | {"MOCK_NVML_STATE": f"{path}/no/state"}, f"{path}/no/state: {unusable}: No such file or directory; {NOWHERE}"),
        (alone | {"MOCK_NVML_OVERRIDES": f"{path}/no/x.yaml"}, f"{path}/no/x.yaml.nvpstate: {unusable}: No such file or directory; {NOWHERE}"),
        (alone | {"MOCK_NVML_STATE": f"{path}/file"}, f"{path}/file: {unusable}: what lies there is no state, and is left as it is; {NOWHERE}"),
        ({}, f"the built-in default lies in no folder, so it has no state; {NOWHERE}; name a file for one in MOCK_NVML_STATE"),
    ]
    for (told, lines), (_, line) in zip(ask(library_path, clean_environment, [case for case, _ in cases]), cases, strict=True):
        assert (told["code"], told["sets"], lines) == (0, [4, 4], [f"nvparity: {line}"])
    assert (tmp_path / "file").read_text() == "somebody's"


@pytest.mark.spec("Y17")
def test_a_folder_of_the_image_that_cannot_be_written_is_told_at_the_first_setter(library_path: Path, clean_environment: dict[str, str],
                                                                                  served: dict[str, str]) -> None:  # fmt: skip
    with tempfile.TemporaryDirectory() as name:  # one that another user may look into
        folder = Path(name)
        (folder / "served.nvpimg").write_bytes(Path(served["NVPARITY_IMAGE"]).read_bytes())
        folder.chmod(0o555)
        nobody = "import json, os, sys, tempfile\nfrom mocklib import binding\nopened = binding.open_library(sys.argv[1])\nos.setresuid(*[65534] * 3)"
        ((told, lines),) = ask(library_path, clean_environment, [{"NVPARITY_IMAGE": f"{folder}/served.nvpimg"}], nobody if os.geteuid() == 0 else "")
    assert (told["code"], told["sets"]) == (0, [4, 4])
    assert lines == [
        f"nvparity: {folder}: Permission denied, so there is no state beside the image; {NOWHERE}; name a file for one in MOCK_NVML_STATE"
    ]
