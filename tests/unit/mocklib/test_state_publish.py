"""Records made anew: what moves goes on, what a reset goes back to stands behind them, and a state that is too small is made again larger."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mocklib import fields as tables
from mocklib import image, records, state, statefile
from mocklib.image import Clock, FieldValue, ImageSpec, Track

S = 10**9
EPOCH = 1_700_000_000 * S
RAMP, TRACK, PLAIN = "power.total_energy_consumption_mj", "utilization.gpu", "power.requested_limit_mw"
TRACKS = (Track((1, 2, 3), S, EPOCH), Track((9, 8), S, EPOCH))


def spec(fields: dict[str, FieldValue] | None = None, *, rate: int = 7, base: int = 100, track: int = 0) -> ImageSpec:
    """A node of two boards that count and go through samples."""
    moving = {RAMP: FieldValue(base, kind=1, rate=rate), TRACK: FieldValue(0, kind=2, rate=track)}
    device = moving | {PLAIN: FieldValue(50), "name": FieldValue("board")} | (fields or {})
    return ImageSpec(devices=[device, device], modes=[frozenset({"present"})] * 2, clock=Clock("frozen", EPOCH), tracks=TRACKS)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A state of that node, ten seconds after its epoch."""
    made = tmp_path / "node.state"
    state.create(made, image.pack(spec()))
    state.set_clock(made, Clock("frozen", EPOCH + 10 * S))
    return made


def field(path: Path, name: str, device: int = 0) -> FieldValue:
    """A field in force."""
    return state.read(path).devices[device].values[name]


@pytest.mark.spec("Y09")
def test_an_unrelated_change_keeps_base_and_start_of_what_moves(path: Path) -> None:
    state.override(path, 0, {RAMP: FieldValue(0, kind=1, rate=7, start_ns=EPOCH + 4 * S)})  # as a clear leaves it
    state.publish(path, 0, spec({PLAIN: FieldValue(60)}))
    assert field(path, RAMP) == FieldValue(0, kind=1, rate=7, start_ns=EPOCH + 4 * S)
    assert field(path, PLAIN) == FieldValue(60)
    assert field(path, RAMP, 1) == FieldValue(100, kind=1, rate=7)


def test_a_ramp_of_another_rate_rises_from_where_it_is(path: Path) -> None:
    state.publish(path, 0, spec(rate=1000))
    assert field(path, RAMP) == FieldValue(170, kind=1, rate=1000, start_ns=EPOCH + 10 * S)


def test_a_ramp_that_is_given_afresh_begins_as_it_says(path: Path) -> None:
    state.publish(path, 0, spec(base=5), fresh=[RAMP])
    assert field(path, RAMP) == FieldValue(5, kind=1, rate=7)


def test_a_field_that_begins_to_move_where_the_spec_says_it_begins_is_what_the_spec_says(path: Path) -> None:
    begun = FieldValue(5, kind=1, rate=1, start_ns=EPOCH + S)
    state.publish(path, 0, spec({PLAIN: begun}))
    assert field(path, PLAIN) == begun


def test_the_same_track_keeps_its_start_and_another_begins_its_own(path: Path) -> None:
    later = replace(spec(), tracks=(replace(TRACKS[0], start_ns=EPOCH + 5 * S), TRACKS[1]))
    state.publish(path, 0, later)
    view = state.read(path).devices[0]
    assert view.tracks[view.values[TRACK].rate] == TRACKS[0]
    state.publish(path, 0, spec(track=1))
    view = state.read(path).devices[0]
    assert view.tracks[view.values[TRACK].rate] == TRACKS[1]


def test_texts_and_reset_record_are_one_change_with_the_record(path: Path) -> None:
    before = state.read(path).generations
    state.publish(path, 1, spec({PLAIN: FieldValue(70)}), spec({PLAIN: FieldValue(65)}), text=b'{"a": 1}', all_text=b'{"b": 2}')
    view = state.read(path)
    assert view.generations == (before[0], before[1], before[2] + 1)
    assert (view.devices[1].head.text, view.devices[1].head.all_text) == (b'{"a": 1}', b'{"b": 2}')
    assert view.devices[1].reset is not None
    back = records.read_record(view.devices[1].reset, tables.device_fields())
    assert (back.values[PLAIN], back.head.text, back.head.all_text) == (FieldValue(65), b"", b'{"b": 2}')
    state.override(path, 1, {PLAIN: FieldValue(71)})
    after = state.read(path).devices[1]
    assert (after.reset, after.head.text, after.overridden) == (view.devices[1].reset, b'{"a": 1}', frozenset({PLAIN}))
    state.publish(path, 1, spec())
    assert state.read(path).devices[1].reset is None


def test_the_node_keeps_clock_privilege_epoch_and_seed(path: Path) -> None:
    state.set_privilege(path, user=True)
    state.set_seed(path, 99)
    state.publish(path, None, replace(spec(), system={"system.init_status": FieldValue(18)}), text=b"{}")
    node = state.read(path).node
    assert (node.clock, node.head.privilege, node.head.epoch_ns, node.head.seed) == (Clock("frozen", EPOCH + 10 * S), 1, EPOCH, 99)
    assert (node.values["system.init_status"].value, node.head.text) == (18, b"{}")
    state.reset(path, image.pack(spec()))
    node = state.read(path).node
    assert (node.clock.at_ns, node.head.seed, node.values["system.init_status"].status) == (EPOCH + 10 * S, 99, 3)


@pytest.fixture
def small(path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same state with room for little more than its records."""
    made = path.with_name("small.state")
    packed = image.pack(spec())
    largest = max(size for _, size in image.read(packed).records)
    monkeypatch.setattr(statefile, "capacity_for", lambda _largest, _records: statefile.rounded(largest, 4096))
    state.create(made, packed)
    return made


def test_a_state_that_is_too_small_is_made_again_larger_with_everything_in_it(small: Path) -> None:
    state.override(small, 1, {PLAIN: FieldValue(71)})
    state.add_event(small, state.Event(0, 5, 1, 8, 79))
    inode, before = small.stat().st_ino, state.read(small)
    text = b'{"x": "' + b"y" * 100_000 + b'"}'
    state.publish(small, 0, spec(), spec(), text=text)
    after = state.read(small)
    assert small.stat().st_ino != inode
    assert after.devices[0].head.text == text
    assert (after.node, after.devices[1]) == (before.node, before.devices[1])
    assert after.generations == (before.generations[0], before.generations[1] + 1, before.generations[2])
    assert [event.data for event in state.events(small)] == [79]
    assert not list(small.parent.glob("*.new.*"))


def test_events_are_numbered_and_the_newest_are_kept(path: Path) -> None:
    for number in range(300):
        assert state.add_event(path, state.Event(0, 0, number % 2, 8, number)) == number + 1
    kept = state.events(path)
    assert [event.sequence for event in kept] == list(range(45, 301))
    assert {(event.time_ns, event.data - event.sequence, event.gpu_instance) for event in kept} == {(EPOCH + 10 * S, -1, 0xFFFFFFFF)}
    assert state.add_event(path, state.Event(0, 7, None, 8, 1)) == 301
    assert (state.events(path)[-1].device, state.events(path)[-1].time_ns) == (None, 7)


def test_several_changes_are_made_under_one_lock(path: Path) -> None:
    with state.writing(path) as held:
        for device in range(2):
            state.publish(held, device, spec({PLAIN: FieldValue(90 + device)}))
        assert held.record(1).values[PLAIN] == FieldValue(91)
    assert [field(path, PLAIN, device).value for device in range(2)] == [90, 91]


@pytest.mark.parametrize(("device", "said"), [(2, "no device 2"), (-1, "no device -1")])
def test_a_device_that_is_none_is_named(path: Path, device: int, said: str) -> None:
    with pytest.raises(state.StateError, match=said):
        state.publish(path, device, spec())


def test_marks_are_all_that_is_named(path: Path) -> None:
    state.set_marks(path, 0, ["removed", "draining"])
    assert state.read(path).devices[0].head.marks == {"removed", "draining"}
    state.set_marks(path, 0, ["excluded"])
    assert state.read(path).devices[0].head.marks == {"excluded"}
    with pytest.raises(state.StateError, match="no mark gone; marks are removed, draining, excluded"):
        state.set_marks(path, 0, ["gone"])


@pytest.mark.parametrize("word", ["reset", "text", "text_size", "all_text", "size", "motions", "motion_count", "overridden"])
def test_a_word_of_a_record_that_points_out_of_it_is_refused(path: Path, word: str) -> None:
    state.publish(path, 0, spec(), spec(), text=b"{}")
    with state.writing(path) as held:
        held.opened.publish(1, state._edited(held.bytes_of(0), **{word: 0xFFFFFF00, **({"total": 0xFFFFFFFF} if word == "reset" else {})}))
    with pytest.raises(state.StateError, match="made again from the image"):
        state.read(path)
