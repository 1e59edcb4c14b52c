"""The time line, end to end: a library that moves is sampled, and the mock of what was taken gives every sample at its instant, code and value.

The library that moves is the mock of a shipped profile, whose state the test changes between two samples: clock, fields, codes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.stages.recording import sampling
from harness.stages.recording.sampling import Plan, Sampled
from harness.stages.render import serving
from harness.stages.timeline.routes import Routes
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import answers as answers_text
from harness.text import timeline
from harness.text.timeline_model import TimeLine, same
from mocklib import binding, image, state
from mocklib.answers import Asked, Recording
from mocklib.asking import Asker
from mocklib.spec import Clock, FieldValue, Process

SECOND = 1_000_000_000
NAME = "l4-x2_555.42.06"
COUNT = 8
PLAN = Plan(SECOND * 3 // 2, COUNT)
BUSY = (Process(4711, 3 << 30, name="/opt/a b/train"), Process(4712, 1 << 63, 1, 2, 3, name="x"))
LOST, NOT_SUPPORTED = FieldValue(status=15), FieldValue(status=3)
MOVES: dict[int, dict[int, dict[str, Any]]] = {
    1: {0: {"power.current_draw_mw": 31_007, "thermal.temperature_gpu_c": 49}, 1: {"utilization.gpu": 3, "serial": "1320000000000"}},
    2: {0: {"power.current_draw_mw": 71_990, "fan.speed_percent": 0}, 1: {"utilization.gpu": 100, "processes.compute": BUSY}},
    3: {0: {"power.current_draw_mw": LOST, "clocks.graphics_current": 2_040}, 1: {"memory.used_bytes": 5}},
    4: {0: {"power.current_draw_mw": LOST, "performance_state": NOT_SUPPORTED}},
    5: {0: {"power.current_draw_mw": 16_000, "performance_state": 0}, 1: {"serial": FieldValue(status=4), "processes.compute": ()}},
    7: {0: {"power.total_energy_consumption_mj": (1 << 64) - 1}, 1: {"utilization.gpu": 0}},
}
"""What changes before each sample: GPU -> field -> what it answers from then on."""


@dataclass
class Stepped:
    """A library whose clock the test steps: sample k is asked while it stands at ``start_ns + k x interval``.

    ``held``: a function whose answers stay, although fields that they are made from move: a real library reads no fields.
    """

    folder: Path
    image: Path
    moves: dict[int, dict[int, dict[str, Any]]] = field(default_factory=dict)
    held: str = ""
    number: int = 0
    kept: Recording = field(default_factory=dict)
    asker: Asker = field(init=False)

    def __post_init__(self) -> None:
        self.start_ns = image.read(self.image.read_bytes()).clock.at_ns
        self.state = self.folder / "state"
        serving.make_state(self.image, self.state)

    def open(self, library: Path) -> Asker:
        """A copy of the library of its own, initialised."""
        self.folder.mkdir(exist_ok=True)
        nvml = binding.open_library(shutil.copy(library, self.folder / "libnvidia-ml.so.1"))
        assert nvml.init() == 0
        self.asker = Asker(nvml)
        return self.asker

    def __call__(self, calls: Sequence[Asked] | None) -> Recording:
        """The answers, as a recorder asks for them."""
        found = self.asker.recording() if calls is None else {asked: self.asker.answer(asked) for asked in calls}
        return {asked: self.kept.setdefault(asked, answer) if asked.function == self.held else answer for asked, answer in found.items()}

    def monotonic_ns(self) -> int:
        """The library's own time."""
        return state.read(self.state).node.clock.at_ns

    wall_ns = monotonic_ns

    def wait_until(self, instant_ns: int) -> None:
        """Step to the next instant, and let its changes come into force."""
        self.number += 1
        state.set_clock(self.state, Clock("frozen", instant_ns))
        for gpu, values in self.moves.get(self.number, {}).items():
            state.override(self.state, gpu, {name: value if isinstance(value, FieldValue) else FieldValue(value) for name, value in values.items()})


@pytest.fixture
def opened(tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Stepped]]:
    """``opened(image, moves)``: a library stepped by the test."""
    found: list[Stepped] = []

    def start(path: Path, moves: dict[int, dict[int, dict[str, Any]]] | None = None) -> Stepped:
        folder = tmp_path / f"library-{len(found)}"
        folder.mkdir()
        made = Stepped(folder, path, moves or {})
        monkeypatch.setenv("NVPARITY_IMAGE", str(path))
        monkeypatch.setenv("MOCK_NVML_STATE", str(made.state))
        made.open(library_path)
        found.append(made)
        return made

    yield start
    for made in found:
        made.asker.nvml.shutdown()


def sampled(library: Stepped, routes: Routes) -> tuple[Recording, Sampled]:
    first = library(None)
    return first, sampling.sample(library, first, PLAN, library, routes)


def replayed(tmp_path: Path, repository: Path, first: Recording, line: TimeLine, keys: str = "{loop: false}") -> Path:
    """The image of the profile with this time line, as a bundle has them."""
    root = tmp_path / "space"
    (root / "captures" / NAME).mkdir(parents=True, exist_ok=True)
    (root / "profiles").mkdir(exist_ok=True)
    (root / "captures" / NAME / "timeline.txt").write_text(timeline.dump(line), encoding="ascii")
    (root / "captures" / NAME / "answers.txt").write_text(answers_text.dump(first), encoding="ascii")
    profile = root / "profiles" / f"{NAME}.yaml"
    profile.write_text((repository / "profiles" / f"{NAME}.yaml").read_text() + f"timeline: {keys}\n", encoding="utf-8")
    target = tmp_path / f"replay{len(keys)}.nvpimg"
    serving.write_image(profile, Workspace.nearby(str(root)), target)
    return target


@pytest.fixture
def source(opened: Callable[..., Stepped], repository: Path, tmp_path: Path) -> Stepped:
    """The library that moves: the mock of a shipped profile, with a counter that runs."""
    spec = serving.image_bytes(repository / "profiles" / f"{NAME}.yaml", Workspace.nearby(str(repository)))
    path = tmp_path / "source.nvpimg"
    image.write(path, spec)
    library = opened(path, MOVES)
    library.held = "nvmlDeviceGetThermalSettings"
    return library


@pytest.fixture
def routes(repository: Path) -> Routes:
    from harness.stages import compile as compiling

    version = profiles.load(repository / "profiles" / f"{NAME}.yaml").driver_version
    return Routes(compiling.field_ids(drivers.load(repository).resolve(version)))


def at(library: Stepped, instant_ns: int, calls: Iterable[Asked]) -> Recording:
    """What the library answers at an instant."""
    state.set_clock(library.state, Clock("frozen", instant_ns))
    return library(list(calls))


def test_every_sample_of_every_reading_is_given_at_its_instant(
    source: Stepped, routes: Routes, opened: Callable[..., Stepped], tmp_path: Path, repository: Path
) -> None:
    first, taken = sampled(source, routes)
    line = sampling.line(taken)
    assert line is not None
    assert len(taken.moved()) > 10
    assert {answer.code for given in taken.answers.values() for answer in given} > {0, 15}
    replay = opened(replayed(tmp_path, repository, first, line))
    wrong = []
    for number in range(COUNT):
        answers = at(replay, replay.start_ns + number * PLAN.interval_ns, first)
        given = {**first, **{asked: samples[number] for asked, samples in taken.answers.items()}}
        wrong += [(number, asked, answer, answers[asked]) for asked, answer in given.items() if not same(answer, answers[asked])]
    assert wrong == []


def test_the_last_sample_is_held_or_the_samples_start_over(
    source: Stepped, routes: Routes, opened: Callable[..., Stepped], tmp_path: Path, repository: Path
) -> None:
    first, taken = sampled(source, routes)
    line = sampling.line(taken)
    assert line is not None
    held, looped = opened(replayed(tmp_path, repository, first, line)), opened(replayed(tmp_path, repository, first, line, "{loop: true}"))
    for library, number in ((held, COUNT - 1), (looped, 2)):
        answers = at(library, library.start_ns + (3 * COUNT + 2) * PLAN.interval_ns + PLAN.interval_ns - 1, first)
        assert not [asked for asked, samples in taken.answers.items() if not same(samples[number], answers[asked])]


def test_a_recording_of_the_replay_over_the_same_instants_is_the_first_one(
    source: Stepped, routes: Routes, opened: Callable[..., Stepped], tmp_path: Path, repository: Path
) -> None:
    first, taken = sampled(source, routes)
    line = sampling.line(taken)
    assert line is not None
    again, second = sampled(opened(replayed(tmp_path, repository, first, line)), routes)
    assert list(again.items()) == list(first.items())
    made = sampling.line(second)
    assert made is not None
    assert timeline.dump(made) == timeline.dump(line)
    assert second.answers.keys() == taken.answers.keys()
