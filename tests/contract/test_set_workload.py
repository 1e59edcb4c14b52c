"""Workload power profiles: what a board offers, what was asked for, and what is left after arbitration."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mocklib.binding import Nvml
from tests.contract import tuned
from tests.contract.tuned import FUNCTION_NOT_FOUND, INVALID, NOT_SUPPORTED, SUCCESS

Serve = Callable[..., tuple[Nvml, int]]
OFFERED: list[dict[str, Any]] = [
    {"id": 0, "priority": 10, "conflicts": [1, 5]}, {"id": 1, "priority": 20}, {"id": 2, "priority": 30}, {"id": 5, "priority": 5},
    {"id": 200, "priority": 40, "conflicts": [2, 254]}, {"id": 254, "priority": 1},
]  # fmt: skip
SET, CLEAR = "nvmlDeviceWorkloadPowerProfileSetRequestedProfiles", "nvmlDeviceWorkloadPowerProfileClearRequestedProfiles"
UPDATE, CURRENT = "nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1", "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles"
THREE = "590.48.01"
"""A driver that has all three setters."""
INFOS = "nvmlDeviceWorkloadPowerProfileGetProfilesInfo"


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_STATE", str(tmp_path / "run.state"))


def board(**given: Any) -> dict[str, Any]:
    """A GPU that offers them."""
    return {"architecture": "blackwell", "power": {"workload_power_profiles": {"supported": OFFERED, **given}}}


def words(*ids: int) -> list[int]:
    """A mask of 255 bits in 8 words."""
    return [sum(1 << number % 32 for number in ids if number // 32 == word) for word in range(8)]


def bits(mask: list[int]) -> list[int]:
    return [number for number in range(256) if mask[number // 32] >> number % 32 & 1]


def change(nvml: Nvml, handle: int, function: str, *ids: int) -> int:
    return nvml.call(function, handle, {"requestedProfiles.requestedProfilesMask.mask": words(*ids)}).code


def update(nvml: Nvml, handle: int, operation: int, *ids: int) -> int:
    return nvml.call(UPDATE, handle, {"updateProfiles.operation": operation, "updateProfiles.updateProfilesMask.mask": words(*ids)}).code


def now(nvml: Nvml, handle: int) -> tuple[list[int], list[int]]:
    """(requested, enforced)."""
    out = nvml.call(CURRENT, handle).out
    return bits(out["currentProfiles.requestedProfilesMask.mask"]), bits(out["currentProfiles.enforcedProfilesMask.mask"])


@pytest.mark.spec("F12", "F13", "F14", "F15", "Z13")
def test_each_profile_offered_stands_at_its_bit_with_its_priority_and_conflicts(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board()))
    out = nvml.call(INFOS, handle).out
    ids = [entry["id"] for entry in OFFERED]
    assert bits(out["profilesInfo.perfProfilesMask.mask"]) == ids
    listed = out["profilesInfo.perfProfile"]
    for entry in OFFERED:
        info = listed[entry["id"]]
        assert (info["profileId"], info["priority"]) == (entry["id"], entry["priority"])
        assert bits(info["conflictingMask.mask"]) == entry.get("conflicts", [])
    assert listed[3]["priority"] == 0
    assert bits(nvml.call(CURRENT, handle).out["currentProfiles.perfProfilesMask.mask"]) == ids


@pytest.mark.spec("F16", "F17")
@pytest.mark.parametrize(
    ("requested", "asked", "enforced"),
    [
        ([], [], []),
        ([0, 2, 99], [0, 2], [0, 2]),
        ([0, 1], [0, 1], [0]),
        ([0, 5, 2], [0, 2, 5], [2, 5]),
        ([2, 200, 254], [2, 200, 254], [2, 254]),
        ([0, 1, 5], [0, 1, 5], [5]),
    ],
)
def test_a_profile_is_enforced_unless_one_of_better_priority_conflicts(
    serve: Serve, requested: list[int], asked: list[int], enforced: list[int]
) -> None:
    """What a profile asks for, and the same asked for by a setter."""
    nvml, handle = serve(tuned.spec(board(requested=requested), board()))
    assert now(nvml, handle) == (asked, enforced)
    assert change(nvml, nvml.device(1), SET, *asked) == SUCCESS
    assert now(nvml, nvml.device(1)) == (asked, enforced)


@pytest.mark.spec("F16", "F18", "Z13")
def test_three_setters_add_take_away_and_replace(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(requested=[5]), driver=THREE))
    assert (change(nvml, handle, SET, 2), now(nvml, handle)[0]) == (SUCCESS, [2, 5])
    assert (change(nvml, handle, CLEAR, 5), now(nvml, handle)[0]) == (SUCCESS, [2])
    assert (update(nvml, handle, 1, 1, 254), now(nvml, handle)[0]) == (SUCCESS, [1, 2, 254])
    assert (update(nvml, handle, 0, 1), now(nvml, handle)[0]) == (SUCCESS, [2, 254])
    assert (update(nvml, handle, 2, 0, 1), now(nvml, handle)) == (SUCCESS, ([0, 1], [0]))
    assert (update(nvml, handle, 2), now(nvml, handle)) == (SUCCESS, ([], []))


@pytest.mark.spec("F18")
def test_a_profile_that_is_not_offered_is_invalid_and_nothing_is_applied(serve: Serve) -> None:
    nvml, handle = serve(tuned.spec(board(requested=[5]), driver=THREE))
    codes = [change(nvml, handle, SET, 2, 3), change(nvml, handle, CLEAR, 5, 3), update(nvml, handle, 2, 253), update(nvml, handle, 3, 2)]
    assert codes == [INVALID] * 4
    assert now(nvml, handle) == ([5], [5])


@pytest.mark.spec("F18", "F19", "Z13")
def test_what_was_asked_for_before_a_write_is_read_before_it_and_each_gpu_has_its_own(serve: Serve, library_path: Path) -> None:
    """The calls of one run of nvidia-smi in its order: -gr, then -sr and -cr, then -ge; of a list only the first reaches the second GPU."""
    nvml, handle = serve(tuned.spec(board(), board()))
    assert now(nvml, handle)[0] == []
    assert [change(nvml, handle, SET, 0, 2), change(nvml, handle, CLEAR, 0), change(nvml, nvml.device(1), SET, 0)] == [SUCCESS] * 3
    assert [now(nvml, nvml.device(index))[1] for index in (0, 1)] == [[2], [0]]
    code, out = tuned.elsewhere(library_path, CURRENT)
    assert (code, bits(out["currentProfiles.requestedProfilesMask.mask"])) == (0, [2])


@pytest.mark.spec("F12")
@pytest.mark.parametrize(
    ("device", "driver", "code"),
    [
        ({"architecture": "blackwell"}, "580.105.08", NOT_SUPPORTED),
        (board(), "565.57.01", FUNCTION_NOT_FOUND),
        ({"power": {"workload_power_profiles": {"supported": []}}}, "570.148.08", SUCCESS),
    ],
)
def test_a_board_without_the_block_and_a_driver_without_the_functions_fail_apart(
    serve: Serve, device: dict[str, Any], driver: str, code: int
) -> None:
    nvml, handle = serve(tuned.spec(device, driver=driver))
    assert [nvml.call(function, handle).code for function in (INFOS, CURRENT)] == [code] * 2
    assert [change(nvml, handle, function) for function in (SET, CLEAR)] == [code] * 2
