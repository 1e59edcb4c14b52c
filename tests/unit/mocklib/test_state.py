"""State files from Python: what is refused, and what one change leaves alone."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from mocklib import image, state, statefile
from mocklib.image import Clock, FieldValue, ImageSpec, Process, Track

SPEC = ImageSpec(
    devices=[
        {
            "name": FieldValue("board"),
            "brand": FieldValue(2),
            "processes.compute": FieldValue((Process(7, 1, name="a"),)),
            "clocks.supported": FieldValue(((5001, (1, 2)),)),
            "pcie.replay_counter": FieldValue(4, kind=1, rate=3),
            "utilization.gpu": FieldValue(0, kind=2, rate=0),
        },
        {"name": FieldValue("other")},
    ],
    modes=[frozenset({"present", "ecc"}), frozenset({"present"})],
    clock=Clock("frozen", 1000),
    tracks=(Track((1, 2, 3), 10, 5, loop=True),),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A fresh state of SPEC."""
    made = tmp_path / "node.state"
    state.create(made, image.pack(SPEC))
    return made


def test_a_fresh_state_is_the_image(path: Path) -> None:
    view = state.read(path)
    assert [device.values for device in view.devices] == image.read(image.pack(SPEC)).devices
    assert view.generations == (0, 0, 0)
    assert view.devices[0].modes == frozenset({"present", "ecc"})
    assert state.overrides(path) == [{}, {}]


def test_an_override_changes_its_fields_and_keeps_every_other(path: Path) -> None:
    before = state.read(path).devices
    state.override(path, 0, {"name": FieldValue("renamed"), "brand": FieldValue(status=3)})
    after = state.read(path).devices
    assert after[0].values == before[0].values | {"name": FieldValue("renamed"), "brand": FieldValue(status=3)}
    assert (after[0].modes, after[0].clock, after[0].tracks) == (before[0].modes, before[0].clock, before[0].tracks)
    assert after[1] == before[1]
    assert state.overrides(path) == [{"brand": FieldValue(status=3), "name": FieldValue("renamed")}, {}]


def test_overrides_add_up_until_a_reset(path: Path) -> None:
    state.override(path, 1, {"name": FieldValue("a")})
    state.override(path, 1, {"brand": FieldValue(5)})
    assert set(state.overrides(path)[1]) == {"name", "brand"}
    state.reset(path, image.pack(SPEC))
    assert state.overrides(path) == [{}, {}]
    assert state.read(path).devices[1].values["name"] == FieldValue("other")


def test_each_change_moves_one_generation(path: Path) -> None:
    state.override(path, 0, {"brand": FieldValue(5)})
    state.override(path, 0, {"brand": FieldValue(6)})
    assert state.read(path).generations == (0, 2, 0)
    state.reset(path, image.pack(SPEC), 1)
    assert state.read(path).generations == (0, 2, 1)


def test_the_clock_is_set_as_one_change_and_goes_on_after_a_reset(path: Path) -> None:
    state.override(path, 0, {"brand": FieldValue(5)})
    for clock in (Clock("scaled", 5, 0.25, 7), Clock("real"), Clock("frozen", 1 << 63)):
        state.set_clock(path, clock)
        assert state.read(path).node.clock == clock
    state.reset(path, image.pack(SPEC))
    assert state.read(path).node.clock == Clock("frozen", 1 << 63)
    assert state.overrides(path) == [{}, {}]
    assert state.read(path).generations == (4, 2, 1)


def test_a_wrong_change_is_named_and_changes_nothing(path: Path) -> None:
    before = path.read_bytes()
    for device, values, said in (
        (0, {"nam": FieldValue("x")}, "no field nam"),
        (2, {"name": FieldValue("x")}, "no device 2; it has 2"),
        (-1, {"name": FieldValue("x")}, "no device -1"),
        (0, {"brand": FieldValue("tesla")}, "brand"),
    ):
        with pytest.raises(state.StateError, match=said):
            state.override(path, device, values)
    assert path.read_bytes() == before


def test_a_state_of_another_image_cannot_be_reset(path: Path) -> None:
    with pytest.raises(state.StateError, match="another image"):
        state.reset(path, image.pack(ImageSpec(devices=[{}, {}])))


@pytest.mark.parametrize("data", [b"x" * 300, b"\0" * 5000])
def test_a_file_that_is_no_state_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad"
    path.write_bytes(data)
    with pytest.raises(state.StateError, match="is no state"):
        state.read(path)


def test_a_missing_or_empty_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    for name in ("none", "empty"):
        with pytest.raises(state.StateError, match="cannot be opened"):
            state.read(tmp_path / name)


@pytest.mark.spec("Y04")
def test_a_writer_gives_up_where_another_holds_the_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statefile, "LOCK_WAIT_S", 0.01)
    with Path(f"{path}.lock").open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(state.StateError, match="holds its lock"):
            state.override(path, 0, {"brand": FieldValue(5)})
    state.override(path, 0, {"brand": FieldValue(5)})


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(state.StateError, match="no regular file"):
        state.read(tmp_path / "pipe")


def test_the_lock_is_let_go_although_a_child_holds_a_copy_of_it(tmp_path: Path) -> None:
    path = tmp_path / "state"
    state.create(path, image.pack(SPEC))
    copies: list[int] = []
    real = fcntl.flock

    def copying(lock: int, how: int) -> None:
        copies.append(os.dup(lock))
        real(lock, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fcntl, "flock", copying)
        state.override(path, 0, {"name": FieldValue("first")})
    state.override(path, 0, {"name": FieldValue("second")})
    assert state.read(path).devices[0].values["name"] == FieldValue("second")
    for copy in copies:
        os.close(copy)
