"""Which GPUs a process sees, what its nvmlInit answers, where time begins, and who may set: what the node's and the devices' records say of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, state
from mocklib.binding import Nvml
from mocklib.image import Clock, FieldValue
from tests.contract import boards

Serve = Callable[..., Any]
COUNTED = "power.total_energy_consumption_mj"
ENERGY = "nvmlDeviceGetTotalEnergyConsumption"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "seen.state"))
    return tmp_path / "seen.state"


def again(nvml: Nvml) -> None:
    """Shut down and init, as the next process would."""
    nvml.shutdown()
    assert nvml.init() == 0


def names(nvml: Nvml) -> list[str]:
    """The UUIDs of the devices, by index."""
    return [nvml.call("nvmlDeviceGetUUID", nvml.device(index)).out["uuid"] for index in range(nvml.count())]


@pytest.mark.spec("O04")
@pytest.mark.parametrize("mark", ["removed", "draining", "excluded"])
def test_a_marked_gpu_is_hidden_from_the_next_init_and_the_others_are_numbered_anew(serve: Serve, path: Path, mark: str) -> None:
    nvml, _ = serve(boards.spec(3))
    before = names(nvml)
    state.set_marks(path, 1, [mark])
    assert names(nvml) == before, "a process that runs goes on"
    again(nvml)
    assert names(nvml) == [before[0], before[2]]
    assert [nvml.call("nvmlDeviceGetIndex", nvml.device(index)).out["index"] for index in range(2)] == [0, 1]
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": before[1]}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": "00000000:02:00.0"}).code == 6
    assert nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 2}).code == 2
    state.set_marks(path, 1, [])
    again(nvml)
    assert names(nvml) == before


def test_a_setter_of_a_gpu_behind_a_hidden_one_changes_that_gpu(serve: Serve, path: Path) -> None:
    limits = {"power.min_limit_mw": FieldValue(1), "power.max_limit_mw": FieldValue(100), "power.requested_limit_mw": FieldValue(50)}
    spec = boards.spec(3, devices=[boards.device(number) | limits for number in range(3)], marks=[frozenset({"excluded"})])
    nvml, handle = serve(spec)
    assert nvml.count() == 2
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 7}).code == 0
    assert [view.values["power.requested_limit_mw"].value for view in state.read(path).devices] == [50, 7, 50]


def test_a_node_all_of_whose_gpus_are_hidden_has_none(serve: Serve, path: Path) -> None:
    nvml, _ = serve(boards.spec(2, marks=[frozenset({"removed"})] * 2))
    assert nvml.count() == 0


@pytest.mark.spec("A16")
@pytest.mark.parametrize(("nodes", "seen"), [((), [0, 1, 2]), ((0, 1, 2), [0, 1, 2]), ((2,), [2]), ((0, 2), [0, 2])])
def test_device_nodes_say_what_a_container_sees(
    nvml: Nvml, image_path: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: tuple[int, ...], seen: list[int]
) -> None:
    folder = tmp_path / "dev"
    folder.mkdir()
    for minor in nodes:
        (folder / f"nvidia{minor}").touch()
    minors = [boards.device(number) | {"minor_number": FieldValue(number)} for number in range(3)]
    image_path(boards.spec(3, devices=minors))
    monkeypatch.setenv("MOCK_NVML_DEVICE_NODES", str(folder))
    assert nvml.init() == 0
    assert names(nvml) == [boards.UUID.format(number) for number in seen]
    hidden = [number for number in range(3) if number not in seen]
    lookups = {"HandleByUUID": ("uuid", boards.UUID.format), "HandleByPciBusId_v2": ("pciBusId", lambda number: f"0000:{number + 1:02X}:00.0")}
    for name, (argument, made) in lookups.items():
        codes = [nvml.call(f"nvmlDeviceGet{name}", None, {argument: made(number)}).code for number in range(3)]
        assert codes == [6 if number in hidden else 0 for number in range(3)], name
    assert [nvml.call("nvmlDeviceGetIndex", nvml.device(index)).out["index"] for index in range(len(seen))] == list(range(len(seen)))
    nvml.shutdown()
    monkeypatch.delenv("MOCK_NVML_DEVICE_NODES")
    assert nvml.init() == 0
    assert nvml.count() == 3, "without the variable nothing is hidden"


@pytest.mark.spec("U20")
def test_what_a_container_reads_of_the_gpu_it_sees_is_what_the_host_reads(
    nvml: Nvml, image_path: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which GPUs are seen depends on what was allocated; memory, load, power and processes are the GPU's."""
    (tmp_path / "nvidia1").touch()
    image_path(boards.spec(2, devices=[boards.device(number) | {"minor_number": FieldValue(number)} for number in range(2)]))
    calls = ("MemoryInfo", "UtilizationRates", "PowerUsage", "ComputeRunningProcesses_v3", "PciInfo_v3", "UUID")

    def read(index: int) -> dict[str, Any]:
        return {call: nvml.call(f"nvmlDeviceGet{call}", nvml.device(index)).out for call in calls}

    assert nvml.init() == 0
    host = [read(0), read(1)]
    nvml.shutdown()
    monkeypatch.setenv("MOCK_NVML_DEVICE_NODES", str(tmp_path))
    assert nvml.init() == 0
    assert (nvml.count(), read(0)) == (1, host[1])
    assert host[0] != host[1]


@pytest.mark.parametrize("status", [9, 18, 999])
def test_init_answers_what_the_node_says_and_nothing_after_it_is_initialised(nvml: Nvml, image_path: Callable[..., Path], status: int) -> None:
    spec = boards.spec()
    image_path(boards.spec(system=spec.system | {"system.init_status": FieldValue(status)}))
    assert [nvml.init(), nvml.call("nvmlInitWithFlags", None, {"flags": 0}).code] == [status, status]
    assert [nvml.call("nvmlDeviceGetCount_v2").code, nvml.shutdown()] == [1, 1]
    assert nvml.call("nvmlSystemGetDriverVersion").out["version"] == "570.148.08"


@pytest.mark.spec("A18")
def test_what_was_set_outlives_the_last_shutdown_and_only_handles_end(serve: Serve, path: Path) -> None:
    given = {"power.min_limit_mw": FieldValue(1), "power.max_limit_mw": FieldValue(100)}
    nvml, handle = serve(boards.spec(devices=[boards.device() | given]))
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 7}).code == 0
    again(nvml)
    assert nvml.call("nvmlDeviceGetPowerManagementLimit", handle).code == 2
    assert nvml.call("nvmlDeviceGetPowerManagementLimit", nvml.device(0)).out["limit"] == 7


def counting(**given: Any) -> Any:
    """A node whose board draws 7 mJ a second from the epoch on."""
    return boards.spec(devices=[boards.device() | {COUNTED: FieldValue(100, kind=1, rate=7)}], **given)


def test_a_clock_that_names_an_instant_begins_there_whatever_the_environment_says(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    now = Clock("scaled", boards.AT_NS, 0.0, 0)
    spec = counting(clock=now)
    monkeypatch.setenv("MOCK_NVML_EPOCH", str(boards.AT_NS // 10**9 - 30))
    nvml, handle = serve(spec)
    assert nvml.call(ENERGY, handle).out["energy"] == 100


@pytest.mark.spec("A09")
def test_two_processes_agree_on_what_has_added_up(
    path: Path, tmp_path: Path, library_path: Path, clean_environment: dict[str, str]
) -> None:
    image.write(tmp_path / "made.nvpimg", image.pack(counting(clock=Clock())))
    state.create(path, (tmp_path / "made.nvpimg").read_bytes())
    state.set_clock(path, Clock("frozen", boards.AT_NS), epoch_ns=0)
    program = (
        "import sys; from mocklib import binding; nvml = binding.open_library(sys.argv[1]); nvml.init();"
        f"print(nvml.call({ENERGY!r}, nvml.device(0)).out['energy'])"
    )
    variables = clean_environment | {"NVPARITY_IMAGE": str(tmp_path / "made.nvpimg"), "MOCK_NVML_STATE": str(path)}
    variables |= {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}

    def asked(**more: str) -> int:
        done = subprocess.run([sys.executable, "-c", program, str(library_path)], env=variables | more, capture_output=True, text=True, check=True)
        return int(done.stdout)

    booted = next(int(line.split()[1]) for line in Path("/proc/stat").read_text("ascii").splitlines() if line.startswith("btime "))
    elapsed = max(0, boards.AT_NS // 10**9 - booted)
    assert asked() == asked() == 100 + 7 * elapsed
    assert asked(MOCK_NVML_EPOCH=str(boards.AT_NS // 10**9 - 30)) == 310
    assert asked(MOCK_NVML_EPOCH="yesterday") == 100 + 7 * elapsed
    state.set_clock(path, Clock("frozen", boards.AT_NS), epoch_ns=boards.AT_NS - 10 * 10**9)
    assert asked(MOCK_NVML_EPOCH=str(boards.AT_NS // 10**9 - 30)) == 170


@pytest.mark.spec("Y17")
def test_where_nothing_can_be_recorded_a_setter_has_no_permission_and_nothing_changes(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "none" / "state"))
    given = {"power.min_limit_mw": FieldValue(1), "power.max_limit_mw": FieldValue(100), "power.requested_limit_mw": FieldValue(50)}
    nvml, handle = serve(boards.spec(devices=[boards.device() | given]))
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 7}).code == 4
    assert nvml.call("nvmlDeviceGetPowerManagementLimit", handle).out["limit"] == 50
    assert not os.path.lexists(tmp_path / "none")
