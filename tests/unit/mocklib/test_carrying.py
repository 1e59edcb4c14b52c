"""What moves goes on when a record is made anew: no counter goes back, whatever becomes of its rate, and two clocks agree on where it began."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import carrying, image, state
from mocklib.spec import Clock, FieldValue, ImageSpec, Track

SECOND = 1_000_000_000
EPOCH = 1_700_000_000 * SECOND
COUNTER, ENERGY, LOAD = "clocks_throttle_reasons.counters.sync_boost_us", "power.total_energy_consumption_mj", "utilization.gpu"
Node = Callable[..., "Held"]


class Held:
    """A state whose clock a test steps."""

    def __init__(self, path: Path, first: ImageSpec) -> None:
        self.path = path
        state.create(path, image.pack(first))

    def step(self, seconds: int) -> None:
        state.change_clock(self.path, lambda clock: Clock("frozen", clock.at_ns + seconds * SECOND))

    def publish(self, spec: ImageSpec, **given: object) -> None:
        state.publish(self.path, 0, spec, **given)  # type: ignore[arg-type]

    def value(self, name: str) -> int:
        """Where a field stands now."""
        view = state.read(self.path)
        field = view.devices[0].values[name]
        return carrying.value_at(field, carrying.now_ns(view.node.clock), carrying.epoch_ns(view.node.head.epoch_ns))


def spec(tracks: tuple[Track, ...] = (), **fields: FieldValue) -> ImageSpec:
    names = {"counter": COUNTER, "energy": ENERGY, "load": LOAD, "temperature": "thermal.temperature_gpu_c"}
    return ImageSpec(devices=[{names[name]: value for name, value in fields.items()}], clock=Clock("frozen", EPOCH), tracks=tracks)


def ramp(base: int, rate: int, start_ns: int | None = None) -> FieldValue:
    return FieldValue(base, kind=1, rate=rate, start_ns=start_ns)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return lambda first: Held(tmp_path / "state", first)


@pytest.mark.spec("Y09")
def test_a_counter_goes_on_over_changes_that_are_not_its_own(node: Node) -> None:
    held = node(spec(counter=ramp(5, 1000), temperature=FieldValue(40)))
    held.step(3)
    held.publish(spec(counter=ramp(5, 1000), temperature=FieldValue(50)))
    assert held.value(COUNTER) == 3005
    held.step(2)
    assert held.value(COUNTER) == 5005
    assert held.value("thermal.temperature_gpu_c") == 50


def test_a_counter_that_begins_does_so_now_and_not_at_the_epoch(node: Node) -> None:
    held = node(spec(counter=FieldValue(7)))
    held.step(100)
    held.publish(spec(counter=ramp(7, 1000)))
    assert held.value(COUNTER) == 7
    held.step(2)
    assert held.value(COUNTER) == 2007


def test_a_counter_of_a_board_that_had_none_begins_now(node: Node) -> None:
    held = node(spec(counter=FieldValue(status=3)))
    held.step(100)
    held.publish(spec(counter=ramp(7, 1000)))
    assert held.value(COUNTER) == 7


def test_a_counter_that_ends_stays_where_it_is_over_any_later_change_and_goes_on_from_there(node: Node) -> None:
    held = node(spec(counter=ramp(5, 1000)))
    held.step(3)
    held.publish(spec(counter=FieldValue(5)))
    held.step(10)
    held.publish(spec(counter=FieldValue(5), temperature=FieldValue(60)))
    held.step(10)
    assert held.value(COUNTER) == 3005
    held.publish(spec(counter=ramp(5, 1000)))
    held.step(1)
    assert held.value(COUNTER) == 4005


def test_the_energy_rises_from_where_it_is_when_the_draw_changes(node: Node) -> None:
    held = node(spec(energy=ramp(100, 50_000)))
    held.step(2)
    held.publish(spec(energy=ramp(100, 300_000)))
    assert held.value(ENERGY) == 100_100
    held.step(1)
    held.publish(spec(energy=ramp(100, 10_000)))
    held.step(3)
    assert held.value(ENERGY) == 100_100 + 300_000 + 30_000


def test_a_field_named_fresh_begins_as_it_is_given(node: Node) -> None:
    held = node(spec(counter=ramp(5, 1000)))
    held.step(3)
    held.publish(spec(counter=ramp(77, 1000, EPOCH + 3 * SECOND)), fresh=[COUNTER])
    assert held.value(COUNTER) == 77
    held.publish(spec(counter=FieldValue(9)), fresh=[COUNTER])
    assert held.value(COUNTER) == 9


def test_what_comes_back_from_a_loss_stands_as_if_it_had_not_been_lost(node: Node) -> None:
    held = node(spec(energy=FieldValue(status=15)))
    held.step(4)
    held.publish(spec(energy=ramp(100, 1000)))
    assert held.value(ENERGY) == 4100


def test_a_track_that_is_the_same_keeps_its_start_and_another_begins_as_it_is_given(node: Node) -> None:
    old, same, other = Track((1, 2), SECOND, 0, True), Track((1, 2), SECOND, EPOCH, True), Track((3, 4), SECOND, EPOCH, True)
    held = node(spec((old,), load=FieldValue(1, kind=2, rate=0)))
    held.publish(spec((same,), load=FieldValue(1, kind=2, rate=0)))
    assert state.read(held.path).devices[0].tracks == (old,)
    held.publish(spec((other,), load=FieldValue(3, kind=2, rate=0)))
    assert state.read(held.path).devices[0].tracks == (other,)
    held.publish(spec(load=FieldValue(9)))
    assert state.read(held.path).devices[0].values[LOAD] == FieldValue(9)
    held.publish(spec((same,), load=FieldValue(1, kind=2, rate=0)))
    assert state.read(held.path).devices[0].tracks == (same,)


@pytest.mark.spec("A09")
def test_where_the_node_names_no_epoch_it_is_the_variables_else_the_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_NVML_EPOCH", "1234567")
    assert carrying.epoch_ns(0) == 1_234_567 * SECOND
    assert carrying.epoch_ns(EPOCH) == EPOCH
    for none in ("", "12x", "-1", "12345678901", "0", "12\n"):
        monkeypatch.setenv("MOCK_NVML_EPOCH", none)
        assert f"btime {carrying.epoch_ns(0) // SECOND}\n" in Path("/proc/stat").read_text("ascii")


def test_changes_of_the_clock_each_start_from_the_one_before(tmp_path: Path) -> None:
    held = Held(tmp_path / "state", spec())
    assert state.change_clock(held.path, lambda clock: Clock("frozen", clock.at_ns + 5)).at_ns == EPOCH + 5
    assert state.change_clock(held.path, lambda clock: Clock("scaled", clock.at_ns, 2.0, 9)) == Clock("scaled", EPOCH + 5, 2.0, 9)
    view = state.read(held.path).node
    assert (view.clock, view.head.epoch_ns) == (Clock("scaled", EPOCH + 5, 2.0, 9), EPOCH), "what adds up began where it did"
