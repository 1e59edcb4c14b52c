"""System events: a lost GPU is unbound, a recovered one is bound again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib import state
from tests.contract.test_failing import LOST, failing, node, temperature

Serve = Callable[..., Any]
TIMEOUT, INVALID, MISMATCH = 10, 2, 25
UNBIND, BIND = 1, 2


@pytest.fixture
def state_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "run.state"
    monkeypatch.setenv("MOCK_NVML_STATE", str(path))
    return path


class System:
    """The calls of system event sets, their structs with the version that nvml.h says."""

    def __init__(self, nvml: Any) -> None:
        self.nvml, self.ffi = nvml, nvml.ffi

    def struct(self, name: str, **members: Any) -> Any:
        made = self.ffi.new(f"nvmlSystem{name}_v1_t *")
        made.version = self.ffi.sizeof(made[0]) | 1 << 24
        for member, value in members.items():
            setattr(made, member, value)
        return made

    def create(self) -> Any:
        request = self.struct("EventSetCreateRequest")
        assert self.nvml.library.nvmlSystemEventSetCreate(request) == 0
        return request.set

    def register(self, events: Any, types: int) -> int:
        return int(self.nvml.library.nvmlSystemRegisterEvents(self.struct("RegisterEventRequest", eventTypes=types, set=events)))

    def free(self, events: Any) -> int:
        return int(self.nvml.library.nvmlSystemEventSetFree(self.struct("EventSetFreeRequest", set=events)))

    def wait(self, events: Any, room: int = 8) -> Any:
        """[(type, GPU)] of what came, else the code."""
        data = self.ffi.new("nvmlSystemEventData_v1_t[]", room) if room else self.ffi.NULL
        request = self.struct("EventSetWaitRequest", set=events, data=data, dataSize=room)
        code = self.nvml.library.nvmlSystemEventSetWait(request)
        return code or [(data[number].eventType, data[number].gpuId) for number in range(request.numEvent)]


def gpu_id(nvml: Any, index: int) -> int:
    return int(nvml.call("nvmlDeviceGetBoardId", nvml.device(index)).out["boardId"])


@pytest.mark.spec("V19")
def test_a_loss_is_an_unbind_and_a_recovery_a_bind(serve: Serve, state_path: Path, tmp_path: Path) -> None:
    nvml, handle = serve(node(failing(LOST, after=2), failing(0)))
    system, gpu = System(nvml), gpu_id(nvml, 0)
    events, unbound = system.create(), system.create()
    assert [system.register(events, UNBIND), system.register(events, BIND), system.register(unbound, UNBIND)] == [0, 0, 0]
    assert system.wait(events) == TIMEOUT  # the first sample tells nothing
    assert [temperature(nvml, handle) for _ in range(2)] == [0, 15]
    assert [system.wait(events), system.wait(events)] == [[(UNBIND, gpu)], TIMEOUT]
    assert system.wait(unbound) == [(UNBIND, gpu)]
    state.reset(state_path, (tmp_path / "served.nvpimg").read_bytes(), 0)
    assert [system.wait(events), system.wait(unbound)] == [[(BIND, gpu)], TIMEOUT]


@pytest.mark.spec("V19")
def test_masks_are_of_the_two_bits_and_add_up(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(0)))
    system = System(nvml)
    events = system.create()
    assert [system.register(events, types) for types in (0, 4, 5, UNBIND | BIND)] == [INVALID, INVALID, INVALID, 0]
    assert system.register(nvml.ffi.NULL, UNBIND) == INVALID


@pytest.mark.spec("V19")
def test_the_64_newest_are_kept_and_given_in_order(serve: Serve, state_path: Path, tmp_path: Path) -> None:
    nvml, _ = serve(node(*[failing(LOST, after=1) for _ in range(70)]))
    image = (tmp_path / "served.nvpimg").read_bytes()
    system, gpus, handles = System(nvml), [gpu_id(nvml, index) for index in range(70)], [nvml.device(index) for index in range(70)]
    events = system.create()
    assert system.register(events, UNBIND | BIND) == 0
    assert {temperature(nvml, handle) for handle in handles} == {15}
    assert system.wait(events, room=3) == [(UNBIND, gpu) for gpu in gpus[6:9]]
    assert system.wait(events, room=100) == [(UNBIND, gpu) for gpu in gpus[9:]]
    state.reset(state_path, image)
    assert system.wait(events, room=100) == [(BIND, gpu) for gpu in gpus[6:]]
    assert system.wait(events) == TIMEOUT


@pytest.mark.spec("V23")
def test_a_gpu_declared_lost_is_unbound_before_any_call(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(0), failing(0)))
    system, gpu = System(nvml), gpu_id(nvml, 1)
    events = system.create()
    assert system.register(events, UNBIND | BIND) == 0
    state.override(state_path, 1, failing(LOST))
    assert system.wait(events) == [(UNBIND, gpu)]
    state.override(state_path, 1, failing(LOST, after=9))
    assert system.wait(events) == [(BIND, gpu)]


def test_sets_end_once_and_their_requests_are_checked(serve: Serve, state_path: Path) -> None:
    nvml, _ = serve(node(failing(0)))
    system = System(nvml)
    events = system.create()
    assert system.wait(events, room=0) == INVALID
    request = system.struct("EventSetWaitRequest", set=events, dataSize=1, data=nvml.ffi.NULL)
    assert nvml.library.nvmlSystemEventSetWait(request) == INVALID
    request.version = 3
    assert nvml.library.nvmlSystemEventSetWait(request) == MISMATCH
    assert [system.free(events), system.free(events), system.wait(events)] == [0, INVALID, INVALID]
    assert [nvml.library.nvmlSystemEventSetCreate(system.struct("EventSetCreateRequest")) for _ in range(65)] == [0] * 64 + [23]
