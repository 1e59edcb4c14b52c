"""The clock of a state, changed while programs use it: ``freeze [AT]``, ``scale X``, ``step DURATION``, ``real``.

Time goes on from where it is: a clock that is frozen or scaled starts from what it says now, so that nothing that counts jumps.  One that goes back
to real time jumps to it, and so does one that is frozen at a named instant.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.stages.timeline import clocks
from harness.words.errors import InputError, UsageError, did_you_mean
from mocklib import state
from mocklib.spec import Clock

FORMS = ("freeze [AT]", "scale X", "step DURATION", "real")
"""What may be asked of a clock."""
_AT = "an instant is written 2026-08-21T08:54:01Z"


def turn(path: Path, wanted: Sequence[str], real_ns: int) -> Clock:
    """Make of the clock of the state at ``path`` what ``wanted`` asks for, as one change; the clock there is then.

    ``real_ns`` is the real instant, nanoseconds since 1970.  Raises what ``change`` does, InputError where the clock would pass its end, StateError
    of mocklib where the state cannot be written.
    """
    asked = change(wanted)
    return state.change_clock(path, lambda clock: asked(clock, real_ns))


Change = Callable[[Clock, int], Clock]
"""A clock and the real instant -> the clock that is asked for."""


def change(wanted: Sequence[str]) -> Change:
    """What ``wanted``, a form of FORMS in words, makes of a clock; UsageError for what is no form."""
    verb, given = (wanted[0], wanted[1:]) if wanted else ("", [])
    verbs = [form.split()[0] for form in FORMS]
    if verb not in verbs:
        raise UsageError(f"clock: no {verb!r}{did_you_mean(verb, verbs)}; known: {', '.join(FORMS)}")
    least, most = _ARGUMENTS[verb]
    if not least <= len(given) <= most:
        form = next(form for form in FORMS if form.startswith(verb))
        raise UsageError(f"clock {verb}: {len(given)} arguments are given; it is written: clock {form}")
    return _VERBS[verb](given)


def said(clock: Clock, real_ns: int) -> str:
    """A clock in words: how it goes, and what it says at the real instant ``real_ns``."""
    now = clocks.now_ns(clock, real_ns)
    instant = datetime.datetime.fromtimestamp(now // clocks.SECOND, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")
    part = f"{now % clocks.SECOND:09d}".rstrip("0")
    how = f"scaled, {clock.scale:g} times as fast as the real one" if clock.mode == "scaled" else clock.mode
    return f"{how}: {instant}{'.' if part else ''}{part}Z"


def _freeze(given: Sequence[str]) -> Change:
    at = clocks.instant_ns(given[0], f"clock freeze {given[0]}", _AT) if given else None
    return lambda clock, real_ns: Clock("frozen", clocks.now_ns(clock, real_ns) if at is None else at)


def _scale(given: Sequence[str]) -> Change:
    speed = clocks.speed(given[0], f"clock scale {given[0]}", "as in scale 10 or scale 0.5")
    return lambda clock, real_ns: Clock("scaled", clocks.now_ns(clock, real_ns), float(speed), real_ns)


def _step(given: Sequence[str]) -> Change:
    """The clock stands the duration after what it says; it never goes back, so that no counter does."""
    duration = clocks.duration_ns(given[0], f"clock step {given[0]}")

    def change(clock: Clock, real_ns: int) -> Clock:
        at = clocks.now_ns(clock, real_ns) + duration
        if at >= clocks.END_NS:
            raise InputError(f"clock step {given[0]}: is after 2554, where a clock of 64 bits ends")
        return Clock("frozen", at)

    return change


def _real(_: Sequence[str]) -> Change:
    return lambda _clock, _real_ns: Clock("real")


_ARGUMENTS: Mapping[str, tuple[int, int]] = {"freeze": (0, 1), "scale": (1, 1), "step": (1, 1), "real": (0, 0)}
_VERBS: Mapping[str, Callable[[Sequence[str]], Change]] = {"freeze": _freeze, "scale": _scale, "step": _step, "real": _real}
