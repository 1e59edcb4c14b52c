"""Every setter program and the reset, killed before each of its stores: ``python -m tests.contract.killer LIBRARY FOLDER``, flavour killpoints.

A program's steps are run under the name of a setter that takes what they need, with arguments that its checks take.  What is copied before the first
step is the same for all, and is killed at a few places only.  Prints one line a program: its name, how many stores were tried, and what was wrong
(nothing, where all is well).
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mocklib import binding, image, state
from mocklib import fields as tables
from mocklib.image import FieldValue, ImageSpec, Slot
from mocklib.statefile import StateFile
from tests.contract import boards

Steps = list[dict[str, Any]]
MOST = 2000
"""More stores than the steps of any program make."""
RESET, RESET_SLOT = "a reset of the GPU", 20
MASKED = {"mask_or", "mask_clear", "mask_set"}
MASK = {"updateProfiles.updateProfilesMask.mask": [1 << number for number in range(8)]}


@dataclass(frozen=True)
class Host:
    """The setter that runs a program's steps: under which program's name, which arguments are numbers, and the others."""

    program: str
    function: str
    numbers: tuple[str, ...]
    given: dict[str, Any]
    of_node: bool = False


TWO = Host("application_clocks", "nvmlDeviceSetApplicationsClocks", ("memClockMHz", "graphicsClockMHz"), {})
MASKS = Host("workload_update", "nvmlDeviceWorkloadPowerProfileUpdateProfiles_v1", ("updateProfiles.operation",), MASK)


def host(name: str, steps: Steps) -> Host:
    """A setter of two numbers, or of a mask and one; a text and the node have their own."""
    if name in tables.node_programs() or any("set_text" in step for step in steps):
        function, paths = own(name)
        texts = dict.fromkeys(paths, "renamed") if any("set_text" in step for step in steps) else {}
        return Host(name, function, () if texts else paths, texts, name in tables.node_programs())
    return MASKS if any(MASKED & step.keys() or step.get("check") == "mask_within" for step in steps) else TWO


def own(name: str) -> tuple[str, tuple[str, ...]]:
    """The function whose entry names the program, and its arguments."""
    for path in sorted((tables.TABLES / "functions").glob("*.yaml")):
        for function, entry in tables.load_yaml(path).items():
            if isinstance(entry, dict) and entry.get("program") == name:
                return function, tuple(entry.get("arguments", ()))
    raise LookupError(f"no function runs the program {name}")


def values(steps: Steps, device: dict[str, FieldValue]) -> list[int]:
    """Numbers that checks of these steps may take."""
    found = [0, 1, 2, 3]
    for step in steps:
        given = [device.get(str(step.get(name)), FieldValue()).value for name in ("low", "high", "field")]
        found += [item for item in given if isinstance(item, int)]
        for item in given:
            if isinstance(item, tuple) and item:
                found += [item[0][0], *item[0][1]] if isinstance(item[0], tuple) else [item[0]] if isinstance(item[0], int) else []
    return [value for value in dict.fromkeys(found) if 0 <= value < 1 << 32]


def child(nvml: binding.Nvml, handle: int | None, function: str, arguments: dict[str, Any], kill_at: int) -> int | None:
    """The code of one call in a child that is killed before its store ``kill_at`` (0: not at all); None where it was killed."""
    pid = os.fork()
    if pid == 0:
        os.environ["NVPARITY_KILL_AT"] = str(kill_at)
        code = 0xFF
        try:
            answer = nvml.slot(handle, RESET_SLOT, "reset") if function == RESET else nvml.call(function, handle, arguments)
            code = answer.code & 0xFF
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return None if os.WTERMSIG(status) == signal.SIGKILL else -os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def record(path: Path, number: int) -> tuple[int, bytes]:
    """Generation and bytes of a record."""
    opened = StateFile(path, write=False)
    try:
        return opened.current(number)
    finally:
        opened.close()


def tried(path: Path, nvml: binding.Nvml, handle: int | None, function: str, arguments: dict[str, Any]) -> tuple[int, str]:
    """How many stores one call was killed at, and the first thing that was wrong."""
    place = 0 if handle is None else 1
    before = record(path, place)
    copied = -(-len(before[1]) // 8)
    for number, kill_at in enumerate(itertools.chain((1, 2, copied // 2), range(copied - 1, copied + MOST)), 1):
        code = child(nvml, handle, function, arguments, kill_at)
        if code is None and record(path, place) != before:
            return number, f"killed at store {kill_at}: the record in force is another"
        if code is not None:
            break
    after = record(path, place)
    view = state.read(path)  # sound
    if code != 0 or after[0] != before[0] + 1:
        return number, f"code {code}, generation {before[0]} to {after[0]}"
    lost = handle is not None and "present" not in view.devices[0].modes
    if not lost and child(nvml, handle, function, arguments, 0) != 0:
        return number, "the next write is refused"
    return number, ""


def calls(library: str, folder: Path, name: str, steps: Steps, spec: ImageSpec) -> Iterator[tuple[int, str]]:
    """Kill the program with the first and the last arguments that its checks take."""
    runner = host(name, steps)
    path, kept = folder / f"{name}.nvpimg", folder / f"{name}.state"
    packed = image.pack(replace(spec, programs={runner.program: steps}))
    image.write(path, packed)
    state.create(kept, packed)
    os.environ["NVPARITY_IMAGE"], os.environ["MOCK_NVML_STATE"] = str(path), str(kept)
    nvml = binding.open_library(library)
    if nvml.init():
        yield 0, "nvmlInit fails"
        return
    handle = None if runner.of_node else nvml.device(0)
    pairs = itertools.product(values(steps, spec.system if runner.of_node else spec.devices[0]), repeat=len(runner.numbers))
    asked = ({**runner.given, **dict(zip(runner.numbers, pair, strict=True))} for pair in pairs)
    taken = [one for one in asked if child(nvml, handle, runner.function, one, 0) == 0]
    for one in taken[:1] + taken[-1:] if len(taken) > 1 else taken:
        nvml.shutdown()
        state.create(kept, packed)  # some lose the GPU
        nvml.init()
        yield tried(kept, nvml, None if runner.of_node else nvml.device(0), runner.function, one)
    nvml.shutdown()
    if not taken:
        yield 0, "its checks take no arguments that were tried"


def reset(library: str, folder: Path, spec: ImageSpec) -> tuple[int, str]:
    """Kill the reset of a GPU that has a record of its own to go back to: at each of its first and last stores and at some in between."""
    path, kept = folder / "resetting.nvpimg", folder / "resetting.state"
    packed = image.pack(replace(spec, slots=[Slot(RESET_SLOT, "reset")]))
    image.write(path, packed)
    state.create(kept, packed)
    state.publish(kept, 0, spec, spec, text=b"{}", all_text=b"{}")
    os.environ["NVPARITY_IMAGE"], os.environ["MOCK_NVML_STATE"] = str(path), str(kept)
    nvml = binding.open_library(library)
    assert nvml.init() == 0
    handle, before = nvml.device(0), record(kept, 1)
    words = -(-len(before[1]) // 8)
    number, code = 0, None
    for kill_at in itertools.chain(range(1, 9), range(9, words - 40, 53), range(words - 40, words + MOST)):
        code = child(nvml, handle, RESET, {}, kill_at)
        number += 1
        if code is not None:
            break
        if record(kept, 1) != before:
            return number, f"killed at store {kill_at}: the record in force is another"
    view = state.read(kept).devices[0]
    whole = code == 0 and view.reset is not None and (view.head.text, view.head.all_text) == (b"", b"{}")
    nvml.shutdown()
    return number, "" if whole else f"code {code}: the record after it is another than the one to go back to"


def main(arguments: list[str]) -> int:
    """Try every program."""
    numbers = {name: FieldValue(0) for name, definition in tables.system_fields().items() if definition.type in tables.NUMBERS}
    spec = boards.spec(devices=[ranged(boards.device())])
    lists = {name: FieldValue((1, 2)) for name, definition in tables.system_fields().items() if definition.type == "u32list"}
    spec = replace(spec, system=numbers | lists | spec.system)
    stores, said = reset(arguments[0], Path(arguments[1]), spec)
    sys.stdout.write(json.dumps([RESET, stores, [said] if said else []]) + "\n")
    for name, steps in tables.program_steps().items():
        found = list(calls(arguments[0], Path(arguments[1]), name, steps, spec))
        wrong = [said for _, said in found if said]
        sys.stdout.write(json.dumps([name, sum(number for number, _ in found), wrong]) + "\n")
        sys.stdout.flush()
    return 0


def ranged(device: dict[str, FieldValue]) -> dict[str, FieldValue]:
    """A device on which the checks of every program can hold: masks are full, enumerations begin at their first word."""
    full = {name: FieldValue(b"\xff" * 32) for name in device if name.startswith("power.workload_profiles.")}
    ends = {name: FieldValue(-5 if name.endswith(".min_mhz") else 5) for name in device if name.startswith("clocks.offsets.")}
    free = {"persistence_mode": FieldValue(0), **{f"processes.{kind}": FieldValue(()) for kind in ("compute", "graphics", "mps")}}
    return device | full | ends | free


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
