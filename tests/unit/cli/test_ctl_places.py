"""Where ``nvparity ctl`` finds state, image and profile, what it says where one is gone, and how it reaches what ``nvparity run`` runs."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import state
from mocklib.structs import constants as image_constants

PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.105.08"}
device_defaults: {name: board, architecture: hopper, thermal: {temperature_gpu_c: 30}}
devices: [{index: 0}, {index: 1}]
"""
VARIABLES = ("MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A compiled profile."""
    path = tmp_path_factory.mktemp("made") / "mine.yaml"
    path.write_text(PROFILE)
    serving.write_image(path, Workspace(repository), path.with_suffix(".nvpimg"))
    return path


@pytest.fixture
def profile(tmp_path: Path, made: Path) -> Path:
    """The profile with its image, in a folder of its own."""
    for path in (made, made.with_suffix(".nvpimg")):
        shutil.copy2(path, tmp_path / path.name)
    return tmp_path / made.name


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, library_path: Path) -> Run:
    """``run("ctl", ...)`` in an environment that names nothing: exit status and both streams."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NVPARITY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))

    def call(*words: object) -> tuple[int, str, str]:
        status = guard.run([str(word) for word in words])
        said = capfd.readouterr()
        return status, said.out, said.err

    return call


def temperatures(path: Path) -> list[int]:
    return [device.values["thermal.temperature_gpu_c"].value for device in state.read(path).devices]


def test_the_state_is_the_first_of_its_places(run: Run, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_CONFIG", str(profile))
    beside = tmp_path / "mine.nvpimg.nvpstate"
    assert run("ctl", "temp", "41", "--gpu", "0")[0] == 0
    monkeypatch.setenv("MOCK_NVML_OVERRIDES", str(tmp_path / "env.yaml"))
    assert run("ctl", "temp", "42", "--gpu", "0")[0] == 0
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "named"))
    assert run("ctl", "temp", "43", "--gpu", "0")[0] == 0
    assert run("ctl", "temp", "44", "--gpu", "0", "--file", tmp_path / "doc.yaml")[0] == 0
    assert run("ctl", "temp", "45", "--gpu", "0", "--file", tmp_path / "doc.yaml", "--state", tmp_path / "given")[0] == 0
    places = (beside, tmp_path / "env.yaml.nvpstate", tmp_path / "named", tmp_path / "doc.yaml.nvpstate", tmp_path / "given")
    assert [temperatures(path)[0] for path in places] == [41, 42, 43, 44, 45]
    told = json.loads(run("ctl", "status", "--json")[1])
    assert [told[name]["by"] for name in ("state", "image", "profile", "document")] == [
        "MOCK_NVML_STATE", "beside the profile", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES",
    ]  # fmt: skip


@pytest.mark.spec("X21")
def test_states_of_one_image_are_nodes_of_their_own(run: Run, profile: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("one", "two")):
        assert run("ctl", "temp", str(50 + number), "--gpu", "all", "--config", profile, "--state", tmp_path / name)[0] == 0
    assert [temperatures(tmp_path / name) for name in ("one", "two")] == [[50, 50], [51, 51]]


@pytest.mark.spec("X01")
def test_a_profile_that_is_not_there_is_warned_of_and_the_image_says_which(run: Run, profile: Path, tmp_path: Path) -> None:
    place = tmp_path / "state"
    assert run("ctl", "temp", "41", "--gpu", "0", "--config", profile, "--state", place)[0] == 0
    (tmp_path / "mine.nvpimg").rename(tmp_path / "cache.img")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache.img").rename(tmp_path / "cache" / "0.img")
    status, out, err = run("ctl", "temp", "42", "--gpu", "1", "--config", tmp_path / "gone.yaml", "--state", place)
    assert (status, out) == (0, "ok: temp applied to GPU 1\n")
    assert err.startswith(f"nvparity: --config: {tmp_path / 'gone.yaml'}: no such profile file")


def test_what_cannot_be_read_or_written_ends_with_1_and_one_message(run: Run, profile: Path, tmp_path: Path) -> None:
    words = ("ctl", "temp", "41", "--gpu", "0", "--config", profile)
    status, out, err = run("ctl", "temp", "41", "--gpu", "0")
    assert (status, out) == (1, "")
    assert err.startswith("nvparity: no image to work on: ")
    assert run(*words, "--state", tmp_path / "no" / "folder")[::2] == (
        1, f"nvparity: {tmp_path}/no/folder: its lock cannot be opened: [Errno 2] No such file or directory: '{tmp_path}/no/folder.lock'\n",
    )  # fmt: skip
    (tmp_path / "foreign").write_text("mine\n")
    status, _, err = run(*words, "--state", tmp_path / "foreign")
    assert (status, (tmp_path / "foreign").read_text()) == (1, "mine\n")
    assert "is no state" in err
    assert run("ctl", "apply", tmp_path / "none.yaml", "--config", profile)[::2] == (
        1, f"nvparity: {tmp_path}/none.yaml: cannot be read: No such file or directory\n",
    )  # fmt: skip
    profile.write_text(PROFILE + "# later\n")
    status, _, err = run(*words)
    assert status == 1
    assert err.startswith(f"nvparity: {profile}: was changed since {tmp_path / 'mine.nvpimg'} was made from it, or that was made from another (")


def test_a_document_that_is_refused_is_told_with_its_name(run: Run, profile: Path, tmp_path: Path) -> None:
    words = ("--config", profile, "--state", tmp_path / "state")
    path = tmp_path / "doc.yaml"
    for text, said in (
        ("version: 1\nall: {fan: {cuont: 1}}\n", f"{path}: unknown key 'fan.cuont' (did you mean 'count'?)"),
        ("version: 1\ndevices: {7: {fan: {count: 1}}}\n", f"{path}: no GPU 7; {profile} has 0 to 1"),
        ("version: 1\nall: [\n", f"{path}:3: not valid YAML"),
    ):
        path.write_text(text)
        status, _, err = run("ctl", "apply", path, *words)
        assert (status, said in err) == (2, True)
    assert not (tmp_path / "state").exists()
    path.write_text("version: 1\nall: {thermal: {temperature_gpu_c: 70}}\ndevices: {1: {thermal: {temperature_gpu_c: 71}}}\n")
    assert run("ctl", "apply", *words, "--file", path, "--state", tmp_path / "state")[:2] == (0, "ok: apply applied to all GPUs\n")
    assert temperatures(tmp_path / "state") == [70, 71]


def test_apply_watch_follows_the_document_until_it_is_ended(
    run: Run, profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, place = tmp_path / "doc.yaml", tmp_path / "state"
    path.write_text("version: 1\nall: {thermal: {temperature_gpu_c: 70}}\n")
    seen: list[list[int]] = []
    steps = iter(["version: 1\nall: {thermal: {temperature_gpu_c: x}}\n", "version: 1\nall: {thermal: {temperature_gpu_c: 72}}\n"])

    def sleep(_: float) -> None:
        seen.append(temperatures(place))
        text = next(steps, None)
        if text is None:
            raise KeyboardInterrupt
        path.write_text(text)

    monkeypatch.setattr("harness.cli.ctl.setting.time.sleep", sleep)
    status, out, err = run("ctl", "apply", path, "--watch", "--config", profile, "--state", place)
    assert (status, seen) == (130, [[70, 70], [70, 70], [72, 72]])
    assert out == "ok: apply applied to all GPUs\n" * 2
    assert "thermal.temperature_gpu_c: 'x' should be a valid integer; what was in force stays" in err


def test_watch_shows_what_clients_read(run: Run, profile: Path, tmp_path: Path) -> None:
    words = ("--config", profile, "--state", tmp_path / "state")
    assert run("ctl", "temp", "88", "--gpu", "1", *words)[0] == 0
    shown = run("ctl", "watch", "--count", "1", *words)[1].splitlines()
    assert [line.split()[1:5] for line in shown] == [["name", "pstate", "temp", "power"], ["board", "P0", "30", "C"], ["board", "P0", "88", "C"]]
    told = [json.loads(line) for line in run("ctl", "watch", "--count", "2", "--interval", "0.05", "--json", *words)[1].splitlines()]
    assert [line["rows"][1][3] for line in told] == ["88 C", "88 C"]


CLIENT = """
from mocklib import binding
n = binding.open_library("libnvidia-ml.so.1"); n.init()
for i in range(n.count()):
    d = n.device(i)
    print(n.call("nvmlDeviceGetName", d, {}).out["name"], n.call("nvmlDeviceGetTemperature", d, {"sensorType": 0}).out["temp"])
"""


def test_run_keeps_a_state_that_ctl_reaches_and_starts_with_overrides(
    run: Run, profile: Path, tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(repository))
    place, document = tmp_path / "kept", tmp_path / "start.yaml"
    client = ("--", sys.executable, "-c", CLIENT)
    document.write_text("version: 1\nall: {name: other}\ndevices: {1: {thermal: {temperature_gpu_c: 55}}}\n")
    status, out, err = run("run", profile, "--state", place, "--overrides", document, *client)
    assert (status, out.splitlines()) == (0, ["other 30", "other 55"])
    assert f"state: {place}; nvparity ctl --state {place} changes what COMMAND sees" in err
    assert run("ctl", "--state", place, "temp", "66", "--gpu", "0")[0] == run("ctl", "--state", place, "set", "name=third", "--gpu", "0")[0] == 0
    assert run("run", profile, "--state", place, *client)[1].splitlines() == ["other 66", "other 55"], "a state that is there goes on"
    assert run("ctl", "--state", place, "reset")[0] == 0
    assert run("run", profile, "--state", place, *client)[1].splitlines() == ["other 30", "other 30"], "what it was made with stays its start"
    document.write_text("version: 1\nall: {nam: other}\n")
    status, _, err = run("run", profile, "--state", tmp_path / "new", "--overrides", document, *client)
    assert (status, "--overrides: unknown key 'nam' (did you mean 'name'?)" in err) == (3, True)
    status, _, err = run("run", profile, "--state", document, *client)
    assert (status, "is there and is no state" in err) == (3, True)


def test_a_state_of_a_profile_served_as_another_driver_says_its_profile(run: Run, profile: Path, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    assert run("run", profile, "--driver", "550", "--state", place, "--", "true")[0] == 0
    assert run("ctl", "--state", place, "temp", "66", "--gpu", "0")[:2] == (0, "ok: temp applied to GPU 0\n")
    assert state.read(place).node.values["system.driver_version"].value == "550.163.01"
    assert temperatures(place) == [66, 30]


def test_a_profile_that_is_gone_is_one_message(run: Run, profile: Path, tmp_path: Path) -> None:
    place = tmp_path / "kept"
    assert run("run", profile, "--state", place, "--", "true")[0] == 0
    profile.unlink()
    status, out, err = run("ctl", "--state", place, "temp", "66", "--gpu", "0")
    assert (status, out, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"nvparity: {profile}: the profile that {tmp_path / 'cache'}/")
    assert run("ctl", "--state", place, "status")[1].splitlines()[-1] == "no active overrides"


def test_a_call_that_is_answered_as_recorded_is_told(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "recorded.yaml"
    path.write_text(PROFILE.replace("devices: [{index: 0}, {index: 1}]", """devices:
- {index: 0}
- index: 1
  answers: {'nvmlDeviceGetTemperature {"sensorType":0}': 'SUCCESS {"temp":99}'}
"""))
    assert run("compile", path)[0] == 0
    said = "nvparity: nvmlDeviceGetTemperature answers as it was recorded, and does not follow thermal.temperature_gpu_c"
    assert run("ctl", "temp", "66", "--gpu", "0", "--config", path) == (0, "ok: temp applied to GPU 0\n", "")
    status, out, err = run("ctl", "temp", "66", "--gpu", "all", "--config", path)
    assert (status, out, err.startswith(said), err.count("\n")) == (0, "ok: temp applied to all GPUs\n", True, 1)
    assert run("ctl", "set", "fan.count=1", "--gpu", "1", "--config", path)[2] == ""


@pytest.mark.parametrize(("words", "code"), [((), 0), (("--as-user",), 1)])
def test_run_as_user_takes_roots_rights(run: Run, profile: Path, tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    place = tmp_path / "kept"
    assert run("run", profile, "--state", place, *words, "--", "true")[0] == 0
    assert state.read(place).node.head.privilege == code
    assert run("ctl", "--state", place, "privilege", "root")[0] == 0
    assert state.read(place).node.head.privilege == 0


@pytest.mark.parametrize("words", [["--file"], ["--state"]])
def test_a_pipe_where_an_image_may_be_is_none_and_no_wait(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    monkeypatch.setenv("NVPARITY_IMAGE", str(pipe))
    named = pipe if words == ["--file"] else tmp_path / "pipe.nvpstate"  # beside each of them an image is looked for under the pipe's name
    status, out, err = run("ctl", *words, named, "temp", "41", "--gpu", "0")
    assert (status, out) == (1, "")
    assert "no image to work on" in err
    assert list(tmp_path.iterdir()) == [pipe]


HALF = image_constants()["NVP_STATE_MAGIC"].to_bytes(8, sys.byteorder) + b"\1" * 100


@pytest.mark.parametrize("left", [b"", HALF[:8], HALF], ids=["empty", "begun", "half-made"])
def test_run_and_ctl_alike_make_a_state_of_a_file_that_is_none_yet(run: Run, profile: Path, tmp_path: Path, left: bytes) -> None:
    for number, words in enumerate((["ctl", "--config", profile, "--state", "{}", "temp", "41", "--gpu", "0"],
                                    ["ctl", "--config", profile, "--state", "{}", "apply", "doc"],
                                    ["run", "--state", "{}", profile, "--", "true"])):  # fmt: skip
        path = tmp_path / f"state{number}"
        path.write_bytes(left)
        (tmp_path / "doc").write_text("version: 1\nall: {thermal: {temperature_gpu_c: 42}}\n")
        status, _, err = run(*(str(word).replace("{}", str(path)).replace("doc", str(tmp_path / "doc")) for word in words))
        assert (status, "state" in err.replace(f"state: {path}; nvparity ctl --state {path} changes what COMMAND sees", "")) == (0, False), err
        assert temperatures(path) == [[41, 30], [42, 42], [30, 30]][number]


def test_run_and_ctl_alike_leave_a_file_that_is_no_state(run: Run, profile: Path, tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("somebody's")
    told = [run("ctl", "--config", profile, "--state", path, "temp", "41", "--gpu", "0"), run("ctl", "--config", profile, "--state", path, "status"),
            run("run", "--state", path, profile, "--", "true")]  # fmt: skip
    assert [(status, out) for status, out, _ in told] == [(1, ""), (1, ""), (3, "")]
    assert [err for _, _, err in told] == [f"nvparity: {path}: is there and is no state; name another file\n"] * 3
    assert path.read_text() == "somebody's"
