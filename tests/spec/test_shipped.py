"""Ledger B to K on the boards of this repository: what their compiled profiles answer is what stands in the files, what is set is read back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from harness.cli import guard
from harness.stages import compile as compiling
from harness.stages.render import serving as writing
from harness.stores import profiles
from harness.stores.workspace import Workspace
from mocklib.binding import Nvml
from mocklib.spec import ImageSpec, Slot
from tests.spec import serving, shipped
from tests.spec.serving import Node

BOARDS = (
    "a100-sxm4-40gb-x1_570.148.08", "b200-x8_580.105.08", "gb300-x4_580.173.02", "geforce-gt-1030-x1_470.74", "geforce-rtx-2080-super-x1_595.71.05",
    "geforce-rtx-2080-x2_590.44.01", "geforce-rtx-4090-x8_550.127.05", "gh200-480gb-x1_550.127.05", "h100-sxm5-x1_590.48.01",
    "h100-sxm5-x8_580.105.08", "l4-x2_555.42.06", "p100-pcie-12gb-x2_375.66", "t4-x1_595.91.07", "v100s-pcie-32gb-x8_460.73.01", "a10-x2_nodrv",
)  # fmt: skip
"""Of each architecture and each driver branch one."""
LATER = {185: 530, 186: 530, 187: 530, 188: 530, 189: 530, 190: 530, 192: 530, 193: 530, 194: 530, 196: 530}
"""Field id -> the driver major that brought it."""
FIELDS_BY_ID = 390
"""The driver major from which on a field is asked for by its id."""
Found = Mapping[str, list[tuple[str, Any, Any]]]


def image_of(path: Path) -> ImageSpec:
    profile = profiles.load(path)
    return compiling.compile_profile(profile, serving.driver_of(profile.driver_version))


def asked(nvml: Nvml, handle: int, reading: shipped.Reading) -> Any:
    """The answer of one GPU: the member, else its code as a text."""
    function, *words = reading.asked.split()
    if function == "field":
        (entry,) = nvml.field_values(handle, [(int(words[0]), int(words[1]) if len(words) > 1 else 0)])
        return f"code {entry.code}" if entry.code else entry.value
    found = nvml.call(function, handle, {name: int(number) for name, _, number in (word.partition("=") for word in words)})
    return found.out.get(reading.member) if found.code == 0 else f"code {found.code}"


def missing(nvml: Nvml, reading: shipped.Reading, major: int) -> bool:
    """Whether the driver has neither the function nor the field id (ledger B24)."""
    function, *words = reading.asked.split()
    if function == "field":
        return major < LATER.get(int(words[0]), FIELDS_BY_ID)
    return nvml.call(function, 5, {}).code == 13


@pytest.fixture(scope="module")
def found(node: Node, repository: Path) -> Found:
    """Row -> (board and call, answer, what it must be), of the first and the last GPU of each board."""
    rows: dict[str, list[tuple[str, Any, Any]]] = defaultdict(list)
    for name in BOARDS:
        path = repository / "profiles" / f"{name}.yaml"
        boards = shipped.boards(path)
        with node.serve(image_of(path)) as nvml:
            major = int(nvml.call("nvmlSystemGetDriverVersion").out["version"].split(".")[0])
            there = [reading for reading in shipped.READINGS if not missing(nvml, reading, major)]
            for index in sorted({0, len(boards) - 1}):
                handle = nvml.device(index)
                for reading in there:
                    rows[reading.row].append((f"{name}[{index}] {reading.asked}", asked(nvml, handle, reading), reading.want(boards[index])))
    return rows


@pytest.mark.parametrize("row", [pytest.param(row, marks=pytest.mark.spec(row)) for row in sorted({reading.row for reading in shipped.READINGS})])
def test_the_boards_that_are_shipped_answer_what_their_profiles_say(found: Found, row: str):
    assert [(where, got, want) for where, got, want in found[row] if got != want] == []
    values = [want for _, _, want in found[row] if not str(want).startswith("code")]
    assert values, "no board that is shipped has a value"


RESET = 13
"""The slot of the reset of one GPU; from 418 on drivers take a list of GPUs at another, for the same reset (tests/smi)."""


class Write(NamedTuple):
    """A call that is taken, those that are refused with INVALID_ARGUMENT, and what is read after it: call and member -> value."""

    taken: str
    refused: tuple[str, ...]
    reads: Mapping[tuple[str, str], Any]


D = "nvmlDevice"
LIMIT, APPLICATIONS = f"{D}SetPowerManagementLimit limit=", f"{D}SetApplicationsClocks memClockMHz="
LOCK, MEMORY_LOCK = f"{D}SetGpuLockedClocks minGpuClockMHz=", f"{D}SetMemoryLockedClocks minMemClockMHz="
MIZER, NAME = f"{D}SetPowerMizerMode_v1 powerMizerMode.mode=", f"{D}SetHostname_v1 hostname.value="


def power(board: shipped.Board) -> Write:
    least, most = (int(board["power"][f"{end}_limit_mw"]) for end in ("min", "max"))
    read = {(f"{D}{function}", "limit"): least for function in ("GetPowerManagementLimit", "GetEnforcedPowerLimit")}
    return Write(f"{LIMIT}{least}", (f"{LIMIT}{least - 1}", f"{LIMIT}{most + 1}", f"{LIMIT}0"), read)


def applications(board: shipped.Board) -> Write:
    entry = board["supported_clocks"]["memory_clocks"][-1]
    memory, graphics = entry["freq_mhz"], entry["graphics_clocks"][-1]
    read = {(f"{D}GetApplicationsClock clockType={kind}", "clockMHz"): value for kind, value in ((0, graphics), (2, memory))}
    return Write(f"{APPLICATIONS}{memory} graphicsClockMHz={graphics}", (f"{APPLICATIONS}{memory} graphicsClockMHz=1",), read)


def lock(board: shipped.Board) -> Write:
    read = {(f"{D}GetClockInfo type={kind}", "clock"): 90 for kind in (0, 1)}
    return Write(f"{LOCK}80 maxGpuClockMHz=90", (f"{LOCK}91 maxGpuClockMHz=90", f"{LOCK}0xffffff02 maxGpuClockMHz=90"), read)


def memory_lock(board: shipped.Board) -> Write:
    return Write(f"{MEMORY_LOCK}30 maxMemClockMHz=40", (f"{MEMORY_LOCK}41 maxMemClockMHz=40",), {(f"{D}GetClockInfo type=2", "clock"): 40})


def mizer(board: shipped.Board) -> Write:
    return Write(f"{MIZER}1", (f"{MIZER}4",), {(f"{D}GetPowerMizerMode_v1", "powerMizerMode.currentMode"): 1})


def name(board: shipped.Board) -> Write:
    return Write(f"{NAME}rack-7.gpu3", (f"{NAME}-a",), {(f"{D}GetHostname_v1", "hostname.value"): "rack-7.gpu3"})


A100, B200, H100, RTX4090 = BOARDS[0], BOARDS[1], BOARDS[9], BOARDS[6]
WRITES: list[tuple[tuple[str, ...], Callable[[shipped.Board], Write], tuple[str, ...]]] = [
    (("F04", "F05"), power, (A100, B200, H100, RTX4090, "v100s-pcie-32gb-x8_460.73.01")), (("I07", "I12"), applications, (A100, B200, H100)),
    (("I14",), lock, (A100, B200, H100, RTX4090)), (("I15",), memory_lock, (A100, B200, H100, RTX4090)), (("F29",), mizer, (B200, H100)),
    (("B14",), name, (B200, "gb300-x4_580.173.02")),
]  # fmt: skip


@pytest.mark.parametrize(
    ("made", "boards"), [pytest.param(made, boards, id=made.__name__, marks=pytest.mark.spec(*rows)) for rows, made, boards in WRITES]
)
def test_what_is_set_of_a_board_that_is_shipped_is_read_back_on_it_alone_until_its_reset(
    node: Node, repository: Path, made: Callable[[shipped.Board], Write], boards: tuple[str, ...]
):
    for board in boards:
        path = repository / "profiles" / f"{board}.yaml"
        spec, write = replace(image_of(path), slots=[Slot(RESET, "reset")]), made(shipped.boards(path)[-1])
        with node.serve(spec) as nvml:
            last = nvml.count() - 1

            def read(index: int, nvml: Nvml = nvml, write: Write = write) -> list[Any]:
                return [serving.answer(nvml, asked, {member: 0}, index)[member] for asked, member in write.reads]

            before, others = read(last), read(0) if last else None
            assert before != list(write.reads.values()), board
            assert serving.answer(nvml, write.taken, 0, last) == 0, board
            assert [serving.answer(nvml, refused, 0, last) for refused in write.refused] == [2] * len(write.refused), board
            assert read(last) == list(write.reads.values()), board
            assert others is None or read(0) == others, board
            assert nvml.slot(nvml.device(last), RESET, "reset").code == 0
            assert read(last) == before, board


SMOOTHING, FAN = f"{D}PowerSmoothingSetState state.state=", f"{D}SetFanSpeed_v2 fan=1 speed="
OVERRIDES: list[tuple[tuple[str, ...], str, str, tuple[tuple[str, Any], ...]]] = [
    (("H01", "H02", "H04", "H05", "H08", "H09", "H11"), H100, "fan={count: 2, speed_percent: '40', max_speed_rpm: 5000, min_speed_percent: 30}", (
        (f"{D}GetNumFans", {"numFans": 2}), (f"{D}GetFanSpeed_v2 fan=1", {"speed": 40}), (f"{FAN}29", 2), (f"{FAN}70", 0),
        (f"{D}GetFanSpeed_v2 fan=1", {"speed": 70}), (f"{D}GetFanSpeedRPM fanSpeed.fan=1", {"fanSpeed.speed": 3500}),
        (f"{D}GetFanControlPolicy_v2 fan=1", {"policy": 1}), (f"{D}GetFanSpeed", {"speed": 40}), (f"{D}SetDefaultFanSpeed_v2 fan=1", 0),
        (f"{D}GetFanSpeed_v2 fan=1", {"speed": 40}))),
    (("F12", "F16", "F17"), H100,
     "power.workload_power_profiles={supported: [{id: 0, priority: 1, conflicts: [1]}, {id: 1, priority: 2}], requested: [0, 1, 9]}", (
        (f"{D}WorkloadPowerProfileGetCurrentProfiles", {"currentProfiles.requestedProfilesMask.mask": [3, *[0] * 7],
                                                        "currentProfiles.enforcedProfilesMask.mask": [1, *[0] * 7]}),)),
    # the capture of this board says Insufficient Permissions of the whole block
    (("F20", "F21", "F22", "F23", "F26", "F27"), B200,
     "power.smoothing={state: enabled, active_profile: 1, profiles: {1: {percent_tmp_floor: 50}}}", (
        ("field 251", 1), ("field 264", 1), ("field 260 1", 50.0), ("field 254", 1000.0), ("field 255", 500.0), (f"{SMOOTHING}0", 0),
        ("field 255", 0.0), (f"{D}PowerSmoothingActivatePresetProfile profile.profileId=5", 2), (f"{SMOOTHING}1", 0), ("field 255", 500.0))),
    (("I17",), H100, "clocks.offsets.graphics={min_mhz: -10, max_mhz: 10}", (
        (f"{D}SetGpcClkVfOffset offset=5", 0), (f"{D}GetGpcClkVfOffset", {"offset": 5}), (f"{D}SetGpcClkVfOffset offset=11", 2))),
]  # fmt: skip


@pytest.mark.parametrize(
    ("board", "key", "steps"),
    [pytest.param(board, key, steps, id=key.split("=")[0], marks=pytest.mark.spec(*rows)) for rows, board, key, steps in OVERRIDES],
)
def test_what_no_capture_shows_is_there_on_a_board_that_is_shipped_once_it_is_given(
    node: Node, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, board: str, key: str, steps: tuple[tuple[str, Any], ...]
):
    """`nvparity ctl set` on GPU 1, and on it alone until the reset."""
    path, held, nvml = tmp_path / "node.yaml", tmp_path / "state", node.served.nvml
    path.write_bytes((repository / "profiles" / f"{board}.yaml").read_bytes())
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "node.nvpimg"))
    monkeypatch.setenv("MOCK_NVML_STATE", str(held))
    writing.write_image(path, Workspace(repository), tmp_path / "node.nvpimg")
    ctl = ["ctl", "--config", str(path), "--state", str(held)]
    assert guard.run([*ctl, "set", key, "--gpu", "1"]) == 0
    assert nvml.init() == 0
    try:
        asked, wanted = steps[0]
        untouched = serving.answer(nvml, asked, wanted)
        for asked, wanted in steps:
            assert serving.answer(nvml, asked, wanted, 1) == wanted, asked
        asked, wanted = steps[0]
        assert serving.answer(nvml, asked, wanted) == untouched != wanted
        assert guard.run([*ctl, "reset"]) == 0
        assert serving.answer(nvml, asked, wanted, 1) == untouched
    finally:
        nvml.shutdown()
