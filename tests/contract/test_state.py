"""Setters, the state file they share, and writers that die at any store."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import fields as tables
from mocklib import image, state
from mocklib.image import FieldValue
from tests.contract import boards
from tests.contract.killer import RESET

ROOT = Path(__file__).resolve().parents[2]
MIN, MAX, NOW = 100_000, 400_000, 300_000
LIMITS = {"power.min_limit_mw": FieldValue(MIN), "power.max_limit_mw": FieldValue(MAX)}
LIMITS |= {"power.requested_limit_mw": FieldValue(NOW), "power.enforced_limit_mw": FieldValue(NOW)}
Serve = Callable[..., Any]


def limited(count: int = 1, given: dict[str, FieldValue] | None = None) -> Any:
    """A node whose boards have power limits."""
    return boards.spec(count, devices=[boards.device(number) | LIMITS | (given or {}) for number in range(count)])


@pytest.fixture
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


def limits(nvml: Any, handle: int) -> tuple[int, int]:
    """(requested, enforced) power limit in mW."""
    requested = nvml.call("nvmlDeviceGetPowerManagementLimit", handle).out["limit"]
    return requested, nvml.call("nvmlDeviceGetEnforcedPowerLimit", handle).out["limit"]


def set_limit(nvml: Any, handle: int, limit: int) -> int:
    """The code of nvmlDeviceSetPowerManagementLimit."""
    return int(nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": limit}).code)


@pytest.mark.spec("Y08")
@pytest.mark.parametrize("limit", [MIN, MAX, 123_456])
def test_a_limit_within_the_constraints_is_set_for_both_readings(serve: Serve, state_path: Path, limit: int) -> None:
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, limit) == 0
    assert limits(nvml, handle) == (limit, limit)


@pytest.mark.hostile
@pytest.mark.spec("Y04")
def test_a_setter_waits_for_the_lock_that_another_writer_holds_and_writes_nothing_without_it(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(limited())
    with Path(f"{state_path}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert (set_limit(nvml, handle, MIN), limits(nvml, handle)) == (10, (NOW, NOW))
    assert (set_limit(nvml, handle, MIN), limits(nvml, handle)) == (0, (MIN, MIN))


@pytest.mark.parametrize("limit", [0, MIN - 1, MAX + 1, 0xFFFFFFFF])
def test_a_limit_outside_the_constraints_is_invalid_and_changes_nothing(serve: Serve, state_path: Path, limit: int) -> None:
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, limit) == 2
    assert limits(nvml, handle) == (NOW, NOW)
    assert state.read(state_path).generations == (0, 0)


def test_an_unknown_constraint_is_open(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(limited(given={"power.max_limit_mw": FieldValue(status=3)}))
    assert [set_limit(nvml, handle, 1_000_000), set_limit(nvml, handle, MIN - 1)] == [0, 2]


def test_no_limit_at_all_is_no_limit_even_where_the_constraints_are_open(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(limited(given={"power.min_limit_mw": FieldValue(status=3), "power.max_limit_mw": FieldValue(status=3)}))
    assert [set_limit(nvml, handle, 0), set_limit(nvml, handle, 1)] == [2, 0]


def test_a_board_without_a_limit_says_so(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(limited(given={"power.requested_limit_mw": FieldValue(status=3)}))
    assert set_limit(nvml, handle, NOW) == 3


def test_scopes_other_than_the_gpu_are_not_supported(serve: Serve, state_path: Path) -> None:
    nvml, handle = serve(limited())
    asked = [{"powerValue.powerScope": scope, "powerValue.powerValueMw": MIN} for scope in range(6)]
    assert [nvml.call("nvmlDeviceSetPowerManagementLimit_v2", handle, arguments).code for arguments in asked] == [0, 3, 3, 3, 2, 2]
    assert limits(nvml, handle) == (MIN, MIN)


def test_another_device_keeps_its_limit(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(limited(3))
    assert set_limit(nvml, nvml.device(1), MIN) == 0
    assert [limits(nvml, nvml.device(index))[1] for index in range(3)] == [NOW, MIN, NOW]
    assert [set(changed) for changed in state.overrides(state_path)] == [set(), {"power.requested_limit_mw", "power.enforced_limit_mw"}, set()]


def test_without_a_writable_state_setters_have_no_permission(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "no folder" / "state"))
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, MIN) == 4
    assert set_limit(nvml, handle, MIN - 1) == 2
    assert limits(nvml, handle) == (NOW, NOW)


def test_the_state_lies_beside_the_image_where_nothing_is_named(serve: Serve, tmp_path: Path) -> None:
    nvml, handle = serve(limited())
    assert not list(tmp_path.glob("*.nvpstate*"))
    assert set_limit(nvml, handle, MIN) == 0
    assert (tmp_path / "served.nvpimg.nvpstate").is_file()
    assert limits(nvml, handle) == (MIN, MIN)


@pytest.mark.spec("A07")
def test_the_state_lies_beside_the_override_document(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_OVERRIDES", str(tmp_path / "overrides.yaml"))
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, MIN) == 0
    assert (tmp_path / "overrides.yaml.nvpstate").is_file()


def test_a_state_of_another_image_is_not_used(serve: Serve, state_path: Path) -> None:
    state.create(state_path, image.pack(limited(2)))
    nvml, handle = serve(limited())
    assert limits(nvml, handle) == (NOW, NOW)
    assert set_limit(nvml, handle, MIN) == 0
    assert len(state.read(state_path).devices) == 1


def test_an_empty_file_becomes_the_state(serve: Serve, state_path: Path) -> None:
    state_path.touch()
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, MIN) == 0
    assert limits(nvml, handle) == (MIN, MIN)


def test_a_state_cut_short_is_replaced(serve: Serve, state_path: Path) -> None:
    state.create(state_path, image.pack(limited()))
    os.truncate(state_path, 5000)
    nvml, handle = serve(limited())
    assert set_limit(nvml, handle, MIN) == 0
    assert limits(nvml, handle) == (MIN, MIN)


@pytest.mark.parametrize("data", [b"x" * 500, b"\0" * 100_000, b"a: 1\n"], ids=["text", "zeros", "short"])
def test_somebodys_file_under_the_states_name_is_left_as_it_is(
    serve: Serve, state_path: Path, data: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    state_path.write_bytes(data)
    nvml, handle = serve(limited())
    said = capfd.readouterr().err
    assert (said.count("\n"), str(state_path) in said, "is left as it is" in said) == (1, True, True)
    assert set_limit(nvml, handle, MIN) == 4
    assert limits(nvml, handle) == (NOW, NOW)
    assert state_path.read_bytes() == data


def test_overrides_reach_a_running_reader_and_reset_takes_them_back(serve: Serve, state_path: Path) -> None:
    spec = limited(2)
    state.create(state_path, image.pack(spec))
    nvml, handle = serve(spec)
    state.override(state_path, 0, {"name": FieldValue("a name longer than any before"), "uuid": FieldValue(status=15)})
    assert nvml.call("nvmlDeviceGetName", handle).out["name"] == "a name longer than any before"
    assert nvml.call("nvmlDeviceGetUUID", handle).code == 15
    assert set_limit(nvml, handle, MIN) == 0
    assert set(state.overrides(state_path)[0]) == {"name", "uuid", "power.requested_limit_mw", "power.enforced_limit_mw"}
    state.reset(state_path, image.pack(spec), 0)
    assert nvml.call("nvmlDeviceGetName", handle).out["name"] == spec.devices[0]["name"].value
    assert limits(nvml, handle) == (NOW, NOW)
    assert state.overrides(state_path) == [{}, {}]


def test_another_process_sees_what_is_set_and_keeps_answering(
    serve: Serve, state_path: Path, tmp_path: Path, library_path: Path, clean_environment: dict[str, str]
) -> None:
    nvml, handle = serve(limited())
    end = tmp_path / "end"
    variables = clean_environment | {name: os.environ[name] for name in ("NVPARITY_IMAGE", "MOCK_NVML_STATE")} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.contract.reader", str(library_path), str(end)]
    with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for limit in range(MIN, MIN + 300):
            assert set_limit(nvml, handle, limit) == 0
        end.touch()
        *seen, slowest = reader.stdout.read().splitlines()
    values = [tuple(map(int, line.split())) for line in seen]
    assert {code for code, _ in values} == {0}
    assert {value for _, value in values} <= {NOW, *range(MIN, MIN + 300)}
    assert values[-1][1] == NOW or (0, MIN + 299) in values
    assert int(slowest.split()[1]) < 5000


def test_a_second_process_starts_from_what_the_first_set(
    serve: Serve, state_path: Path, library_path: Path, clean_environment: dict[str, str]
) -> None:
    nvml, handle = serve(limited())
    variables = clean_environment | {name: os.environ[name] for name in ("NVPARITY_IMAGE", "MOCK_NVML_STATE")} | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-m", "tests.contract.setter", str(library_path), str(MIN)], cwd=ROOT, env=variables, check=False)
    assert done.returncode == 0
    assert limits(nvml, handle) == (MIN, MIN)


@pytest.fixture(scope="module")
def killed_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled reader whose writer is killed."""
    from mocklib import build

    program = tmp_path_factory.mktemp("killed") / "killed"
    source = Path(__file__).parent / "killed.c"
    build.find_compiler().run("-std=c11", "-D_GNU_SOURCE", "-O1", "-w", str(source), "-o", str(program), "-ldl")
    return program


@pytest.mark.hostile
def test_a_writer_killed_before_any_of_its_stores_leaves_the_old_or_the_new_record(
    flavour_path: Callable[[str], Path], killed_program: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    library, path = flavour_path("killpoints"), tmp_path / "killed.nvpimg"
    image.write(path, image.pack(limited()))
    stores = stores_of_a_write(library, killed_program, tmp_path, clean_environment)
    assert stores > 300
    lines = killed(library, killed_program, tmp_path / "killed.state", path, clean_environment, (1, stores + 1, 1))
    assert [line[4] for line in lines] == ["killed"] * stores + ["done"]
    assert {(line[1], line[2]) for line in lines[:-1]} == {("0", str(NOW))}
    assert (lines[-1][1], lines[-1][2]) == ("0", str(MIN))
    assert max(int(line[3]) for line in lines) < 1000


def killed(
    library: Path, program: Path, state_file: Path, image_file: Path, environment: dict[str, str], stores: tuple[int, int, int]
) -> list[list[str]]:
    """The lines of the killed writer program."""
    variables = environment | {"NVPARITY_IMAGE": str(image_file), "MOCK_NVML_STATE": str(state_file)}
    command = [str(program), str(library), str(MIN), *map(str, stores)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=120)
    return [line.split() for line in done.stdout.splitlines()]


def stores_of_a_write(library: Path, program: Path, folder: Path, environment: dict[str, str]) -> int:
    """How many stores one write of the setter has: the first number at which it is not killed, less one."""
    low, high = 1, 4096
    path = folder / "counted.nvpimg"
    image.write(path, image.pack(limited()))
    while low < high:
        middle = (low + high) // 2
        (line,) = killed(library, program, folder / f"counted.{middle}", path, environment, (middle, middle, 1))
        if line[4] == "killed":
            low = middle + 1
        else:
            high = middle
    return low - 1


@pytest.mark.unsanitized("1,597 processes of one thread each, killed: too many for its time there, and nothing that threads order", "threads")
@pytest.mark.hostile
def test_every_setter_killed_before_any_of_its_stores_leaves_the_old_record_or_the_new(
    flavour_path: Callable[[str], Path], tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-m", "tests.contract.killer", str(flavour_path("killpoints")), str(tmp_path)]
    variables = clean_environment | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    found = {name: (stores, wrong) for name, stores, wrong in map(json.loads, done.stdout.splitlines())}
    assert set(found) == {RESET, *tables.program_steps()}
    assert {name: wrong for name, (_, wrong) in found.items() if wrong} == {}
    assert min(stores for stores, _ in found.values()) >= 8
