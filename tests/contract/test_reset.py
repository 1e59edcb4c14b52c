"""The reset of one GPU, as `nvidia-smi -r` asks for it: what it goes back to, what it takes over, what it leaves alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, state
from mocklib.image import FieldValue, ImageSpec, Slot
from tests.contract import boards

Serve = Callable[..., Any]
LIMIT, NAME = "power.requested_limit_mw", "name"
PENDING, CURRENT = "ecc.mode_pending", "ecc.mode_current"
GIVEN = {LIMIT: FieldValue(50), "power.min_limit_mw": FieldValue(1), "power.max_limit_mw": FieldValue(100), NAME: FieldValue("board")}
GIVEN |= {PENDING: FieldValue(1), CURRENT: FieldValue(1)}
GIVEN |= {f"ecc.dram_encryption.mode_{which}": FieldValue(0) for which in ("current", "pending")}
ECC = {"errorType": 0, "counterType": 0, "locationType": 2}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """MOCK_NVML_STATE, naming a file that is not there yet."""
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "reset.state"))
    return tmp_path / "reset.state"


def node(**given: FieldValue) -> ImageSpec:
    """Two boards whose reset is slot 20; ``given`` changes both."""
    devices = [boards.device(number) | GIVEN | {name.replace("__", "."): value for name, value in given.items()} for number in range(2)]
    return boards.spec(2, devices=devices, slots=[Slot(20, "reset"), Slot(81, "handle")])


def reset(nvml: Any, handle: int) -> int:
    return int(nvml.slot(handle, 20, "reset").code)


def limit(nvml: Any, handle: int) -> int:
    return int(nvml.call("nvmlDeviceGetPowerManagementLimit", handle).out["limit"])


def put(nvml: Any, handle: int, value: int) -> None:
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": value}).code == 0


@pytest.mark.spec("Y12")
def test_a_reset_takes_back_what_was_set_on_that_gpu_alone(serve: Serve, path: Path) -> None:
    nvml, handle = serve(node())
    other = nvml.device(1)
    put(nvml, handle, 70)
    put(nvml, other, 80)
    assert reset(nvml, handle) == 0
    assert (limit(nvml, handle), limit(nvml, other)) == (50, 80)
    assert (state.overrides(path)[0], LIMIT in state.overrides(path)[1]) == ({}, True)


@pytest.mark.spec("Y12", "Y13")
def test_the_overrides_of_all_gpus_outlive_the_reset_of_one_and_its_own_do_not(serve: Serve, path: Path) -> None:
    spec = node()
    state.create(path, image.pack(spec))
    common, own = node(name=FieldValue("common")), node(name=FieldValue("own"))
    state.publish(path, 0, own, common, text=b'{"name": "own"}', all_text=b'{"name": "common"}')
    nvml, handle = serve(spec)
    for _ in range(2):  # the second finds the record behind the first's again
        put(nvml, handle, 70)
        assert reset(nvml, handle) == 0
        assert (nvml.call("nvmlDeviceGetName", handle).out["name"], limit(nvml, handle)) == ("common", 50)
        view = state.read(path).devices[0]
        assert (view.head.text, view.head.all_text, view.overridden) == (b"", b'{"name": "common"}', frozenset())
        assert view.reset is not None


def test_a_reset_clears_the_marks_of_the_gpu(serve: Serve, path: Path) -> None:
    nvml, handle = serve(node())
    state.set_marks(path, 0, ["draining"])
    assert reset(nvml, handle) == 0
    assert state.read(path).devices[0].head.marks == frozenset()


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_reset_takes_over_the_ecc_mode_that_was_pending(serve: Serve, path: Path, wanted: int) -> None:
    spec = node(**{PENDING.replace(".", "__"): FieldValue(1 - wanted), CURRENT.replace(".", "__"): FieldValue(1 - wanted)})
    nvml, handle = serve(replace(spec, modes=[frozenset({"present"} | ({"ecc"} if not wanted else set()))] * 2))
    assert nvml.call("nvmlDeviceSetEccMode", handle, {"ecc": wanted}).code == 0
    assert nvml.call("nvmlDeviceGetEccMode", handle).out == {"current": 1 - wanted, "pending": wanted}
    assert reset(nvml, handle) == 0
    assert nvml.call("nvmlDeviceGetEccMode", handle).out == {"current": wanted, "pending": wanted}
    assert nvml.call("nvmlDeviceGetMemoryErrorCounter", handle, ECC).code == (0 if wanted else 3)


def test_a_gpu_that_is_lost_comes_back_by_a_reset(serve: Serve, path: Path) -> None:
    spec = node()
    state.create(path, image.pack(spec))
    gone = replace(spec, modes=[frozenset(), frozenset({"present"})])
    nvml, handle = serve(spec)
    state.publish(path, 0, gone)
    assert nvml.call("nvmlDeviceGetName", handle).code == 15
    assert reset(nvml, handle) == 0
    assert nvml.call("nvmlDeviceGetName", handle).out["name"] == "board"


def test_without_a_writable_state_a_reset_has_no_permission(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "none" / "state"))
    nvml, handle = serve(node())
    assert reset(nvml, handle) == 4
