"""Power limits and clocks written by the real nvidia-smi: what it says, its exit status, and what a second process reads at once.

The texts are those that each binary prints; which call each makes is in docs/private-table.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from harness.stages import binaries, smi
from mocklib import image
from tests.contract import tuned

BRANCHES = (340, 390, 418, 450, 460, 470, 525, 535, 550, 555)
SINCE = {"-lgc": 418, "-rgc": 418, "-lmc": 470, "-rmc": 470}
"""The first of these branches that has a command; the others have it from 340 on."""
UNKNOWN = (2, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.")
SEEN = ("power.limit", "enforced.power.limit", "clocks.applications.graphics", "clocks.applications.memory", "clocks.gr", "clocks.sm", "clocks.mem")
AT_FIRST = ["250.00 W", "250.00 W", "1410 MHz", "1215 MHz", "1000 MHz", "900 MHz", "1215 MHz"]
MOVED = "Treating as warning and moving on.\nAll done."
ENDED = "Terminating early due to previous errors."
LISTED = "is not supported for GPU {gpu}. Run 'nvidia-smi -q -d SUPPORTED_CLOCKS' to see list of supported clock combinations"
LOCKED = '{gpu_word} clocks set to "(RANGE)" for GPU {gpu}\nAll done.'
BETWEEN = "is not a valid power limit which should be between 100.00 W and 300.00 W"
POWER = {"management_mode": "enabled", "current_draw_mw": 60_000, "enforced_limit_mw": 250_000, "default_limit_mw": 250_000}
CLOCKS = {"graphics_current": 1000, "sm_current": 900, "memory_current": 1215, "graphics_max": 1410, "sm_max": 1410, "memory_max": 1215,
          "graphics_app": 1410, "graphics_app_default": 1410, "memory_app": 1215, "memory_app_default": 1215}  # fmt: skip
BOARD: Mapping[str, Any] = {
    "name": "Board", "brand": "tesla", "uuid": "GPU-11111111-2222-3333-4444-555555555500", "architecture": "ampere", "persistence_mode": "enabled",
    "pci": {"bus_id": "0000:0A:00.0", "device_id": 0x20B010DE, "subsystem_id": 0x134F10DE},
    "power": {**POWER, "min_limit_mw": 100_000, "max_limit_mw": 300_000}, "clocks": CLOCKS,
    "supported_clocks": {"memory_clocks": [{"freq_mhz": 1215, "graphics_clocks": [1410, 1395, 210]}]},
}  # fmt: skip
OLD: Mapping[str, Any] = {
    **BOARD, "architecture": "kepler", "supported_clocks": None, "power": {"management_mode": "disabled"},
    "clocks": {name: CLOCKS[name] for name in ("graphics_current", "sm_current", "memory_current")},
}  # fmt: skip
"""A board that has none of it."""


@dataclass(frozen=True)
class Step:
    """A command, what it says, its exit status, and which readings are others afterwards than before it (by their place in SEEN)."""

    command: str
    said: str
    status: int = 0
    moves: tuple[tuple[int, str], ...] = ()


STEPS = (
    Step("-pl 200", "Power limit for GPU {gpu} was set to 200.00 W from 250.00 W.\nAll done.", 0, ((0, "200.00 W"), (1, "200.00 W"))),
    Step("-pl 99", f"Provided power limit 99.00 W {BETWEEN} for GPU {{gpu}}\n{ENDED}", 2),
    Step("-pl 300", "Power limit for GPU {gpu} was set to 300.00 W from 200.00 W.\nAll done.", 0, ((0, "300.00 W"), (1, "300.00 W"))),
    Step("-ac 1215,1395", 'Applications clocks set to "(MEM 1215, SM 1395)" for GPU {gpu}\nAll done.', 0, ((2, "1395 MHz"),)),
    Step("-ac 1215,1396", f'Specified clock combination "(MEM 1215, SM 1396)" {LISTED}\n{MOVED}'),
    Step("-rac", "All done.", 0, ((2, "1410 MHz"),)),
    Step("-lgc 300,600", LOCKED.replace("RANGE", "gpuClkMin 300, gpuClkMax 600"), 0, ((4, "600 MHz"), (5, "600 MHz"))),
    Step("-lgc 950,1400", LOCKED.replace("RANGE", "gpuClkMin 950, gpuClkMax 1400"), 0, ((4, "1000 MHz"), (5, "950 MHz"))),
    Step("-lgc 600,300", f'Specified clock combination "(gpuClkMin 600, gpuClkMax 300)" {LISTED}\n{MOVED}'),
    Step("-rgc", "All done.", 0, ((4, "1000 MHz"), (5, "900 MHz"))),
    Step("-lmc 405,810", 'Memory clocks set to "(memClkMin 405, memClkMax 810)" for GPU {gpu}\nAll done.', 0, ((6, "810 MHz"),)),
    Step("-rmc", "All done.", 0, ((6, "1215 MHz"),)),
)
"""In this order; the second clock limit of 950 lies between the two current clocks."""
OF_SCOPE = "Changing power management limit is not supported in current scope for GPU: {gpu}.\nAll done."
REFUSED = (
    Step("-pl 200", f"Changing power management limit is not supported for GPU: {{gpu}}.\n{MOVED}"),
    Step("-ac 1215,1395", f"Setting applications clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
    Step("-rac", f"Setting applications clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
    Step("-lgc 300,600", f"Setting locked {{gpu_word}} clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
    Step("-rgc", f"Setting locked gpu clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
    Step("-lmc 405,810", f"Setting locked Memory clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
    Step("-rmc", f"Setting locked Memory clocks is not supported for GPU {{gpu}}.\n{MOVED}"),
)
UNPRIVILEGED = (
    Step("-pl 200", f"Failed to set power management limit for GPU {{gpu}}: Insufficient Permissions\n{ENDED}", 4),
    Step("-lgc 300,600", f"The current user does not have permission to change clocks for GPU {{gpu}}.\n{ENDED}", 4),
    Step("-lmc 405,810", f"The current user does not have permission to change clocks for GPU {{gpu}}.\n{ENDED}", 4),
)


@dataclass(frozen=True)
class Node:
    """One binary on one image with a state of its own."""

    binary: Path
    branch: int
    library: Path
    variables: Mapping[str, str]

    def run(self, command: str, **more: str) -> tuple[int, str, str]:
        """Exit status and both streams."""
        ran = smi.run_smi(self.binary, command.split(), library=self.library, variables={**self.variables, **more})
        return ran.status, ran.stdout.decode().strip(), ran.stderr.decode()

    def read(self) -> list[str]:
        """What a process of its own reads."""
        status, said, _ = self.run(f"--query-gpu={','.join(SEEN)} --format=csv,noheader")
        assert status == 0, said
        return said.split(", ")

    def expected(self, step: Step) -> tuple[int, str]:
        """What the command says here: a branch that does not have it, how it spells the GPU and its clocks."""
        if self.branch < SINCE.get(step.command.split()[0], 0):
            return UNKNOWN
        said = OF_SCOPE if step in REFUSED[:1] and self.branch >= 535 else step.said
        gpu = "0000:0A:00.0" if self.branch == 340 else "00000000:0A:00.0"
        return step.status, said.format(gpu=gpu, gpu_word="Gpu" if self.branch == 418 else "GPU")


@pytest.fixture
def node(smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path) -> Callable[..., Node]:
    """``node(branch, board)``."""

    def make(branch: int, board: Mapping[str, Any] = BOARD) -> Node:
        binary = smi_binary(branch)
        path = tmp_path / "served.nvpimg"
        image.write(path, image.pack(tuned.spec(board, driver=binaries.version_of(binary, library_path))))
        return Node(binary, branch, library_path, {"NVPARITY_IMAGE": str(path), "MOCK_NVML_STATE": str(tmp_path / "state")})

    return make


@pytest.mark.spec("F04", "I12", "I13", "I14", "I15", "I26", "Z12", "Z22")
@pytest.mark.parametrize("branch", BRANCHES)
def test_a_write_says_what_the_binary_says_and_a_second_process_reads_it(node: Callable[..., Node], branch: int) -> None:
    on = node(branch)
    now = list(AT_FIRST)
    assert on.read() == now
    for step in STEPS:
        status, said, _ = on.run(step.command)
        assert (status, said) == on.expected(step), step.command
        for place, value in step.moves if status == 0 and (status, said) != UNKNOWN else ():
            now[place] = value
        assert on.read() == now, step.command


@pytest.mark.parametrize("branch", BRANCHES)
def test_a_board_without_the_switch_is_told_so(node: Callable[..., Node], branch: int) -> None:
    on = node(branch, OLD)
    for step in REFUSED:
        assert on.run(step.command)[:2] == on.expected(step), step.command


@pytest.mark.parametrize("branch", BRANCHES)
def test_who_is_not_root_is_refused_and_nothing_changes(node: Callable[..., Node], branch: int) -> None:
    on = node(branch)
    for step in UNPRIVILEGED:
        assert on.run(step.command, MOCK_NVML_PRIVILEGE="user")[:2] == on.expected(step), step.command
    assert on.read() == AT_FIRST


@pytest.mark.spec("Z21")
@pytest.mark.parametrize("branch", [390, 470, 555])
def test_a_reset_drops_the_limit_and_the_clocks_that_were_written(node: Callable[..., Node], branch: int) -> None:
    on = node(branch)
    for step in (STEPS[0], STEPS[3], STEPS[7], STEPS[10]):
        assert on.run(step.command)[:2] == on.expected(step), step.command
    assert on.read()[:3] == ["200.00 W", "200.00 W", "1395 MHz"]
    status, said, _ = on.run("-r -i 0")
    assert (status, "was successfully reset" in said) == (0, True)
    assert on.read() == AT_FIRST


@pytest.mark.parametrize("verb", ["power-profiles -l", "power-smoothing -s 1"])
def test_the_newest_binary_has_no_verb_for_power_profiles_and_smoothing(node: Callable[..., Node], verb: str) -> None:
    """What the ledger's rows of these verbs rest on: their NVML calls alone.  A binary that has them makes this red: then they are to be run."""
    status, said, _ = node(BRANCHES[-1]).run(verb)
    assert (status, said) == (255, f"ERROR: Option {verb.split(maxsplit=1)[0]} is not recognized. Please run 'nvidia-smi -h'.")


CALLS = {"-pl": "nvmlDeviceSetPowerManagementLimit", "-ac": "nvmlDeviceSetApplicationsClocks", "-rac": "nvmlDeviceResetApplicationsClocks",
         "-lgc": "nvmlDeviceSetGpuLockedClocks", "-rgc": "nvmlDeviceResetGpuLockedClocks", "-lmc": "nvmlDeviceSetMemoryLockedClocks",
         "-rmc": "nvmlDeviceResetMemoryLockedClocks"}  # fmt: skip


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_write_is_the_call_that_the_page_names(node: Callable[..., Node], branch: int) -> None:
    on = node(branch)
    for step in STEPS:
        option = step.command.split()[0]
        traced = on.run(step.command, MOCK_NVML_DEBUG="1")[2]
        wanted = CALLS[option] + ("_v2" if option == "-pl" and branch >= 535 else "")
        called = re.findall(r"\b(nvmlDevice(?:Set|Reset)\w+) ->", traced)
        assert called in ([wanted], []), step.command
        assert bool(called) == (branch >= SINCE.get(option, 0) and step.command != "-pl 99"), step.command


@pytest.mark.spec("H13")
@pytest.mark.parametrize("branch", BRANCHES)
def test_the_speed_of_the_first_fan_is_all_that_is_asked_of_fans(node: Callable[..., Node], branch: int) -> None:
    """A fan that is held shows in it."""
    on = node(branch, {**BOARD, "fan": {"count": 2, "speed_percent": "40", "controls": [{"fan": 0, "policy": "manual", "speed_percent": 55}]}})
    status, said, traced = on.run("-q", MOCK_NVML_DEBUG="1")
    assert status == 0
    assert re.search(r"Fan Speed +: 55 %", said)
    assert set(re.findall(r"\bnvml\w*Fan\w*", traced)) == {"nvmlDeviceGetFanSpeed"}
