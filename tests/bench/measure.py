"""One run of the bench: image and state made from a profile, every case timed and counted, starts timed, ratios that miss tried again."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import binding, build
from mocklib import state as states
from mocklib.gen import handlers
from tests.bench import cases as table
from tests.bench import machine, program, startup
from tests.bench.cases import Case
from tests.bench.limits import Limits
from tests.bench.program import Loop, Times
from tests.bench.result import Init, Measured, Measurement
from tests.bench.startup import Startup

ROOT = Path(__file__).resolve().parents[2]
PROFILE = "h100-sxm5-x8_580.105.08"
TRIES = 5
STARTS = 25
BATCHES = 8
COMMAND_STARTS = 10


@dataclass(frozen=True)
class Served:
    """What is measured: the loop program on a library, the profile's image and a state; beside it the profile alone, its image beside it."""

    loop: Loop
    image: Path
    state: Path
    profile: Path


def serve(profile: str, library: Path, folder: Path) -> Served:
    """Image, state and a copy of the profile with its image beside it, in ``folder``; the loop program in build/bench."""
    space = Workspace.nearby(str(ROOT))
    source = space.locate_profile(profile)
    copied = folder / source.name
    shutil.copyfile(source, copied)
    serving.write_image(copied, space, serving.beside(copied))
    image, state = folder / "image", folder / "state"
    shutil.copyfile(serving.beside(copied), image)
    states.create(state, image.read_bytes())
    loop, empty = program.built(ROOT / "build" / "bench")
    variables = {"NVPARITY_IMAGE": str(image), "MOCK_NVML_STATE": str(state), "MOCK_NVML_CONFIG": str(copied)}
    return Served(Loop(loop, empty, library, variables), image, state, copied)


def _measured(cases: Sequence[Case], times: Mapping[str, Times], counts: Mapping[str, float]) -> list[Measured]:
    return [
        Measured(
            case.name, case.function, case.kind, times[case.name].code, times[case.name].ns, times[case.name].empty_ns, counts.get(case.name)
        )
        for case in cases
    ]


def timed(loop: Loop, cases: Sequence[Case], counts: Mapping[str, float], limits: Limits) -> tuple[list[Measured], list[tuple[str, str]]]:
    """All cases timed; those whose ratio is above its limit again, up to TRIES times: the least time of all tries stands."""
    times, mappings = loop.times(cases)
    for _ in range(TRIES - 1):
        slow = {case.name for case in _measured(cases, times, {}) if case.misses(limits)}
        if not slow:
            break
        again, _ = loop.times([case for case in cases if case.name in slow])
        times |= {name: times[name].least(more) for name, more in again.items()}
    return _measured(cases, times, counts), mappings


def started(loop: Loop, name: str, without: Sequence[str], limits: Limits) -> Init:
    """The library started in batches of STARTS processes, an empty one beside it: at least BATCHES of them, more while none keeps the limit."""
    batches: list[tuple[float, float]] = []
    empty: list[float] = []
    while True:
        batches.append(loop.starts(STARTS, without))
        empty.append(loop.starts(STARTS, without, empty=True)[0])
        found = Init(name, STARTS * len(batches), min(median for median, _ in batches), min(least for _, least in batches), min(empty))
        if len(batches) >= BATCHES and (len(batches) >= BATCHES * TRIES or found.median_ms <= found.limit_ms(limits)):
            return found


def commanded(limits: Limits) -> Startup:
    """The command's start beside the interpreter's, up to TRIES times while the ratio is above its limit; the run with the least ratio."""
    best = startup.measure(COMMAND_STARTS)
    for _ in range(TRIES - 1):
        if best.ratio <= limits.startup_ratio:
            break
        best = min(best, startup.measure(COMMAND_STARTS), key=lambda found: found.ratio)
    return best


def cases() -> list[Case]:
    """Every case, in the order of the tables."""
    header = build.read_header(build.find_compiler(), build.nvml_header())
    return table.all_cases(header, handlers.load(header), binding.struct_size)


def measure(served: Served, profile: str, limits: Limits, cases: Sequence[Case]) -> Measurement:
    """Everything, once."""
    valgrind = machine.valgrind()
    missing = {} if valgrind else {"instructions": f"valgrind is not installed; no instructions of {len(cases)} cases were counted"}
    counts = served.loop.instructions(cases, valgrind) if valgrind else {}
    measured, mappings = timed(served.loop, cases, counts, limits)
    mapped = {file: permissions for permissions, file in mappings}
    return Measurement(
        machine=machine.identity(build.find_compiler().command),
        library={"sha256": machine.sha256(served.loop.library), "bytes": served.loop.library.stat().st_size},
        image={"profile": profile, "sha256": machine.sha256(served.image), "bytes": served.image.stat().st_size},
        cases=measured,
        inits=(
            started(served.loop, "dlopen + nvmlInit, image named", ("MOCK_NVML_CONFIG",), limits),
            started(served.loop, "dlopen + nvmlInit, profile named", ("NVPARITY_IMAGE", "MOCK_NVML_STATE"), limits),
        ),
        startup=commanded(limits),
        mappings=[(mapped.get(str(file), "none"), name) for name, file in (("image", served.image), ("state", served.state))],
        not_measured=missing,
    )
