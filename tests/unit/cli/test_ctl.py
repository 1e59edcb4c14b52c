"""``nvparity ctl``: what it says, what it refuses and with which exit status, where it looks for state, image and profile."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import guard
from harness.cli.ctl import TABLE
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import state

T4 = "t4-x1_595.91.07"
PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.105.08"}
device_defaults: {name: board, architecture: hopper, fan: {count: 0}, thermal: {temperature_gpu_c: 30}, power: {current_draw_mw: 50000}}
devices:
- {index: 0, uuid: GPU-00000000-0000-0000-0000-00000000000a, fan: {count: 2}}
- {index: 1}
- {index: 4, uuid: GPU-00000000-0000-0000-0000-00000000000b, minor_number: 2}
"""
Ctl = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> bytes:
    """PROFILE compiled."""
    path = tmp_path_factory.mktemp("made") / "mine.yaml"
    path.write_text(PROFILE)
    return serving.image_bytes(path, Workspace(repository))


@pytest.fixture
def profile(tmp_path: Path, image: bytes) -> Path:
    """A compiled profile of GPUs 0, 1 and 4."""
    path = tmp_path / "mine.yaml"
    path.write_text(PROFILE)
    path.with_suffix(".nvpimg").write_bytes(image)
    return path


@pytest.fixture
def ctl(profile: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ctl:
    """``ctl("temp", "85", "--gpu", "0")``: exit status and both streams."""
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOCK_NVML_CONFIG", str(profile))

    def run(*words: str) -> tuple[int, str, str]:
        status = guard.run(["ctl", *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def temperature(profile: Path, place: int) -> int:
    value: int = state.read(profile.with_suffix(".nvpimg.nvpstate")).devices[place].values["thermal.temperature_gpu_c"].value
    return value


@pytest.mark.spec("X01")
def test_options_stand_before_or_after_the_command_and_between_its_words(ctl: Ctl, profile: Path) -> None:
    for number, words in enumerate((["--gpu", "1", "temp", "60"], ["temp", "--gpu", "1", "61"], ["temp", "62", "--gpu=1"])):
        assert ctl(*words) == (0, "ok: temp applied to GPU 1\n", "")
        assert [temperature(profile, place) for place in (0, 1, 2)] == [30, 60 + number, 30]
    assert ctl("--gpu", "0", "temperature", "70", "--gpu", "1")[:2] == (0, "ok: temperature applied to GPU 1\n")
    assert temperature(profile, 0) == 30


@pytest.mark.spec("X02", "Y03")
def test_a_gpu_is_named_by_its_index_its_uuid_or_all(ctl: Ctl, profile: Path) -> None:
    assert ctl("temp", "61", "--gpu", "4")[0] == 0
    assert ctl("temp", "62", "--gpu", "GPU-00000000-0000-0000-0000-00000000000a")[1] == "ok: temp applied to GPU 0\n"
    assert [temperature(profile, place) for place in (0, 1, 2)] == [62, 30, 61]
    assert ctl("temp", "63", "--gpu", "all")[1] == "ok: temp applied to all GPUs\n"
    assert [temperature(profile, place) for place in (0, 1, 2)] == [62, 63, 61], "a GPU's own stands over that of all"


@pytest.mark.parametrize("gpu", ["2", "5", "-1", "x", "GPU-00000000-0000-0000-0000-000000000001", "", "99999999999",
                                 "GPU-4d4f434b-0000-0000-0000-000000000001"])  # fmt: skip # the last is GPU 1's, which its profile does not give
@pytest.mark.spec("X02")
def test_a_gpu_that_is_not_there_is_refused(ctl: Ctl, profile: Path, gpu: str) -> None:
    status, out, err = ctl("temp", "61", f"--gpu={gpu}")
    assert (status, out) == (2, "")
    assert "--gpu" in err
    assert not profile.with_suffix(".nvpimg.nvpstate").exists()


REFUSED = [
    (["temp", "201", "--gpu", "0"], "temp: 201 is outside 0 to 200", ("X04",)),
    (["temp", "-5", "--gpu", "0"], "temp: -5 is outside 0 to 200", ("X04",)),
    (["temp", "--gpu", "0"], "Missing argument 'CELSIUS'", ("X04",)),
    (["temp", "1", "2", "--gpu", "0"], "unexpected extra argument", ("X04",)),
    (["temp", "50"], "temp: --gpu is missing: an index, a UUID or all", ("X02",)),
    (["power", "nan", "--gpu", "0"], "power: 'nan' is no finite number", ("X05",)),
    (["fan", "101", "--gpu", "0"], "fan: 101 is outside", ("X06",)),
    (["util", "x", "--gpu", "0"], "util: 'x' is no whole number", ("X07",)),
    (["clocks", "-1", "--gpu", "0"], "clocks: -1 is outside", ("X08",)),
    (["throttle", "none", "idle", "--gpu", "0"], "none stands alone", ("X09",)),
    (["throttle", "--gpu", "0"], "throttle: takes none", ("X09",)),
    (["pstate", "16", "--gpu", "0"], "pstate: 16 is outside", ("X10",)),
    (["nvlink-error", "1", "--links=-1", "--gpu", "0"], "--links: -1 is outside", ("X11",)),
    (["sram-ecc", "1", "--type", "correctable", "--source", "l2", "--gpu", "0"], "--source names", ("X12",)),
    (["fabric-health", "healthy", "bandwidth", "--gpu", "0"], "healthy stands alone", ("X13",)),
    (["fail", "--gpu", "0"], "Missing option '--mode'", ("X03",)),
    (["fail", "--mode", "lots", "--gpu", "0"], "--mode 'lots' is not one of", ("X03",)),
    (["set", "--gpu", "0"], "set: takes KEY=VALUE", ("X14",)),
    (["set", "thermal", "--gpu", "0"], "'thermal' is no KEY=VALUE", ("X14",)),
    (["set", "a..b=1", "--gpu", "0"], "is no KEY=VALUE", ("X14",)),
    (["set", "thermal.temperature_gpu_c=", "--gpu", "0"], "has no value", ("X14",)),
    (["set", "thermal.temprature_gpu_c=5", "--gpu", "0"], "unknown key 'thermal.temprature_gpu_c' (did you mean 'temperature_gpu_c'?)", ("X14",)),
    (["set", "thermal.temperature_gpu_c=warm", "--gpu", "0"], "thermal.temperature_gpu_c: 'warm' should be a valid integer", ("X14", "X20")),
    (["set", "fan.speed_percent=40", "fan.min_speed_percent=200", "--gpu", "0"], "fan.min_speed_percent", ("X14", "X20")),
    (["set", "fan.min_speed_percent=9", "fan.max_speed_percent=8", "--gpu", "0"], "9 is above the 8", ("X20",)),
    (["set", "processes=[{pid: x}]", "--gpu", "0"], "processes.0.pid: 'x' should be", ("X14", "X24")),
    (["set", "a={", "--gpu", "0"], "not valid YAML", ("X14",)),
    (["set", "index=5", "--gpu", "0"], "index", ("X14",)),
    (["set", "states.name=lost", "--gpu", "0"], "'lost' is no state", ("X14",)),
    (["status", "--gpu", "x"], "status: --gpu 'x' is no index", ("X15",)),
    (["mig", "--gpu", "0"], "no command 'mig'", ("X01", "X19")),
    (["temps", "50", "--gpu", "0"], "no command 'temps' (did you mean 'temp'?)", ("X01",)),
    (["status", "--frobnicate"], "No such option", ("X01",)),
    (["recipe", "no-such", "--gpu", "0"], "no recipe 'no-such'", ()),
    (["recipe", "zero-gpus", "--gpu", "0"], "recipe zero-gpus: is of every GPU: --gpu all", ()),
    (["recipe", "fabric-stuck", "--gpu", "0"], "has none of the readings that it moves", ()),
    (["recipe", "lost"], "recipe: --gpu is missing", ()),
    (["clock", "stop"], "clock: no 'stop'", ()),
    (["clock", "freeze", "--gpu", "0"], "clock: is of the node", ()),
    (["privilege", "king"], "is not one of", ()),
    (["temp", "9" * 5000, "--gpu", "0"], "is outside 0 to 200", ("X04",)),
    (["pstate", "9" * 30, "--gpu", "0"], "is outside 0 to 15", ("X10",)),
    (["set", "states.3=gpu_lost", "--gpu", "0"], "states.3: a key is text", ("X14",)),
    (["set", "states={3: gpu_lost}", "--gpu", "0"], "states.3: a key is text", ("X14",)),
    (["set", "states=gpu_lost", "--gpu", "0"], "states is a mapping of key to state", ("X14",)),
    (["set", "states=[1]", "--gpu", "all"], "states is a mapping of key to state", ("X14",)),
    (["set", "states.name=[1]", "--gpu", "0"], "states.name", ("X14",)),
    (["set", ".".join("a" * 1000) + "=1", "--gpu", "0"], "nested deeper than 64 levels", ("X14",)),
    (["set", "serial=\udcff", "--gpu", "0"], "set: serial:1: byte 0 is not UTF-8", ("X14",)),
    (["set", "serial=\ud800", "--gpu", "0"], "set: serial:1: byte 0 is not UTF-8", ("X14",)),
    (["apply", "x", "--gpu", "0"], "apply: is of the node, it takes no --gpu", ()),
    (["export", "--gpu", "all"], "export: is of the node, it takes no --gpu", ()),
    (["watch", "--count", "1", "--gpu", "9"], "watch: is of the node, it takes no --gpu", ()),
    (["apply", ""], "an empty name", ()),
    (["export", ""], "an empty name", ()),
    (["apply", "--watch", "--interval", "nan", "x"], "nan is no number of seconds", ()),
    (["watch", "--interval", "nan"], "nan is no number of seconds", ()),
]


@pytest.mark.parametrize(
    ("words", "said"), [pytest.param(words, said, marks=pytest.mark.spec(*rows) if rows else ()) for words, said, rows in REFUSED]
)
def test_what_is_refused_ends_with_2_one_message_and_nothing_written(ctl: Ctl, profile: Path, words: list[str], said: str) -> None:
    status, out, err = ctl(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert not profile.with_suffix(".nvpimg.nvpstate").exists()


@pytest.mark.spec("X20")
def test_the_whole_result_is_checked_and_a_refusal_leaves_what_was_there(ctl: Ctl, profile: Path) -> None:
    assert ctl("set", "fan.min_speed_percent=30", "--gpu", "0")[0] == 0
    place = profile.with_suffix(".nvpimg.nvpstate")
    before = place.read_bytes()
    assert "30 is above the 20 of max_speed_percent" in ctl("set", "fan.max_speed_percent=20", "thermal.temperature_gpu_c=9", "--gpu", "0")[2]
    assert place.read_bytes() == before


@pytest.mark.spec("X14", "X24")
def test_set_takes_lists_mappings_and_null(ctl: Ctl, profile: Path) -> None:
    pairs = ["processes=[{pid: 7, used_memory_mib: 5}]", "clocks.locked_graphics={min_mhz: 1, max_mhz: 2}", "power=null"]
    assert ctl("set", *pairs, "--gpu", "0")[0] == 0
    found = state.read(profile.with_suffix(".nvpimg.nvpstate")).devices[0].values
    assert [process.pid for process in found["processes.compute"].value] == [7]
    assert found["power.current_draw_mw"].status == 3
    assert ctl("set", "states.name=gpu_lost", "--gpu", "0")[0] == 0
    assert state.read(profile.with_suffix(".nvpimg.nvpstate")).devices[0].values["name"].status == 0, "what a GPU is known by stays (ledger X23)"


@pytest.mark.spec("X06", "H12")
def test_a_fan_is_added_only_where_there_is_none(ctl: Ctl, profile: Path) -> None:
    assert ctl("fan", "40", "--gpu", "all")[0] == 0
    counts = [device.values["fan.count"].value for device in state.read(profile.with_suffix(".nvpimg.nvpstate")).devices]
    assert counts == [2, 1, 1]


@pytest.mark.spec("X15")
def test_status_is_where_everything_is_and_the_document(ctl: Ctl, profile: Path) -> None:
    status, out, err = ctl("status")
    place = profile.with_suffix(".nvpimg.nvpstate")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        f"# state: {place} (beside the image)", f"# image: {profile.with_suffix('.nvpimg')} (beside the profile)",
        f"# profile: {profile} (MOCK_NVML_CONFIG)", "# document: none (--file and MOCK_NVML_OVERRIDES are not given)", "no active overrides",
    ]  # fmt: skip
    assert ctl("temp", "61", "--gpu", "1")[0] == ctl("pstate", "8", "--gpu", "all")[0] == ctl("pstate", "2", "--gpu", "4")[0] == 0
    told = json.loads(ctl("status", "--json")[1])
    assert told["overrides"]["all"] == {"performance_state": "P8"}
    assert set(told["overrides"]["devices"]) == {"1", "4"}
    assert told["state"] == {"path": str(place), "by": "beside the image"}
    assert told["seed"] == 1
    assert json.loads(ctl("status", "--json", "--gpu", "4")[1])["overrides"] == {
        "version": 1, "all": {"performance_state": "P8"}, "devices": {"4": {"performance_state": "P2"}},
    }  # fmt: skip


@pytest.mark.spec("X16", "Y13")
def test_reset_drops_one_bucket_or_everything(ctl: Ctl, profile: Path) -> None:
    for words in (["temp", "61", "--gpu", "1"], ["temp", "64", "--gpu", "4"], ["temp", "50", "--gpu", "all"]):
        assert ctl(*words)[0] == 0
    assert ctl("reset", "--gpu", "1") == (0, "ok: reset applied to GPU 1\n", "")
    assert [temperature(profile, place) for place in (0, 1, 2)] == [50, 50, 64], "that of all GPUs stays when one is reset"
    assert ctl("reset", "--gpu", "all")[1] == "ok: reset applied to all GPUs\n"
    assert [temperature(profile, place) for place in (0, 1, 2)] == [30, 30, 64]
    assert ctl("reset")[1] == "ok: reset applied to the node\n"
    assert [temperature(profile, place) for place in (0, 1, 2)] == [30, 30, 30]
    assert ctl("status")[1].splitlines()[-1] == "no active overrides"


@pytest.mark.spec("X18")
def test_help_is_usage_on_stdout_and_no_command_is_usage_on_stderr(ctl: Ctl) -> None:
    status, out, err = ctl("help")
    assert (status, err) == (0, "")
    assert all(f"  {name} " in out for name in TABLE)
    assert ctl("help", "sram-ecc")[1].startswith("Usage: ")
    assert ctl("help", "sramecc")[0] == 2
    status, out, err = ctl()
    assert (status, out) == (2, "")
    assert "Usage: " in err


def test_every_command_has_a_help_of_its_own(ctl: Ctl) -> None:
    for name in TABLE:
        status, out, _ = ctl(name, "--help")
        assert (status, out.startswith("Usage: ")) == (0, True)


def test_a_dry_run_says_what_would_be_put_and_writes_nothing(ctl: Ctl, profile: Path) -> None:
    assert ctl("temp", "61", "--gpu", "1", "--dry-run")[:2] == (0, (
        "dry run: temp would be applied to GPU 1\nversion: 1\ndevices:\n  '1':\n    thermal:\n      temperature_gpu_c: 61\n    dynamic_metrics:\n"
        "      temperature:\n        base_c: 61\n        variance_c: 0\n        ramp_c: 0\n"))  # fmt: skip
    assert ctl("--dry-run", "set", "fan.cuont=1", "--gpu", "0")[0] == 2
    for words in (["reset"], ["reset", "--gpu", "0"], ["recipe", "lost", "--gpu", "0"], ["privilege", "user"], ["clock", "freeze"]):
        assert ctl(*words, "--dry-run")[0] == 0
    assert not profile.with_suffix(".nvpimg.nvpstate").exists()


def test_a_recipe_is_put_on_a_gpu_and_taken_away_by_a_reset(ctl: Ctl, profile: Path) -> None:
    listed = ctl("recipe")[1].splitlines()
    assert {"driver-mismatch", "lost", "zero-gpus"} <= {line.partition(":")[0] for line in listed}
    assert ctl("recipe", "lost", "--gpu", "4")[:2] == (0, "ok: recipe applied to GPU 4\n")
    assert ctl("recipe", "driver-mismatch")[:2] == (0, "ok: recipe applied to the node\n")
    told = json.loads(ctl("status", "--json")[1])["overrides"]
    assert told == {"version": 1, "devices": {"4": {"failure": {"mode": "lost"}}}, "node": {"system": {"init_status": 18}}}
    assert state.read(profile.with_suffix(".nvpimg.nvpstate")).node.values["system.init_status"].value == 18
    assert ctl("reset")[0] == 0
    view = state.read(profile.with_suffix(".nvpimg.nvpstate"))
    assert view.node.values["system.init_status"].value in (0, None)
    assert ctl("status")[1].splitlines()[-1] == "no active overrides"


def test_a_writer_that_dies_between_two_gpus_is_made_good_by_the_next(ctl: Ctl, profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish, calls = state.publish, itertools.count()

    def dying(*arguments: Any, **named: Any) -> None:
        if next(calls) == 1:
            raise state.StateError("killed")
        publish(*arguments, **named)

    monkeypatch.setattr(state, "publish", dying)
    assert ctl("temp", "50", "--gpu", "all") == (1, "", "nvparity: killed\n")
    assert [temperature(profile, place) for place in (0, 1, 2)] == [50, 30, 30]
    assert ctl("pstate", "3", "--gpu", "1")[0] == 0
    assert [temperature(profile, place) for place in (0, 1, 2)] == [50, 50, 50]
    told = json.loads(ctl("status", "--json")[1])["overrides"]
    assert (told["all"]["thermal"], told["devices"]) == ({"temperature_gpu_c": 50}, {"1": {"performance_state": "P3"}})


def test_json_is_one_object(ctl: Ctl) -> None:
    told = json.loads(ctl("pstate", "3", "--gpu", "0", "--json")[1])
    assert told == {"version": 1, "command": "pstate", "target": "GPU 0", "dry_run": False,
                    "changes": {"version": 1, "devices": {"0": {"performance_state": "P3"}}}}  # fmt: skip


@pytest.mark.parametrize(("words", "status"), [
    (["temp", "201", "--gpu", "0"], 2), (["temp", "--gpu", "0"], 2), (["temps"], 2), (["set", "a={", "--gpu", "0"], 2), (["status", "--frob"], 2),
    (["apply", "no-such.yaml"], 1), (["clock", "freeze", "\x1b[31m"], 2), (["--state", "/dev/null", "temp", "5", "--gpu", "0"], 1),
])  # fmt: skip
def test_a_refusal_is_json_too_where_json_was_asked_for(ctl: Ctl, words: list[str], status: int) -> None:
    plain = ctl(*words)
    assert plain[:2] == (status, "")
    for given in (["--json", *words], [*words, "--json"]):
        code, out, err = ctl(*given)
        told = json.loads(out)
        assert (code, told["exit_status"], told["version"]) == (status, status, 1)
        assert told["error"].splitlines()[0].split(" (see")[0].replace("\x1b", "?") in err
        assert "\x1b" not in err


@pytest.mark.parametrize("words", [["recipe"], ["clock"], ["export"], ["export", "x", "--dry-run"], ["status"], ["reset"], ["privilege", "root"]])
def test_what_is_done_or_said_is_json_where_json_was_asked_for(ctl: Ctl, words: list[str]) -> None:
    status, out, _ = ctl(*words, "--json")
    assert (status, json.loads(out)["version"]) == (0, 1)
