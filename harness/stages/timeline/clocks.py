"""The clock that a mock is played by: ``--clock frozen|real|play|scaled:X|at:INSTANT``."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal

from harness.words.errors import InputError, UsageError, did_you_mean
from mocklib.spec import Clock

SECOND = 1_000_000_000
FASTEST = 1_000_000
END_NS = 1 << 64
"""Where a clock of 64 bits ends: in 2554."""
FORMS = ("frozen", "real", "play", "scaled:X", "at:INSTANT")
_NUMBER = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,9})?")
_DURATION = re.compile(rf"({_NUMBER.pattern})(ns|us|ms|s|m|h|d)")
_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": SECOND, "m": 60 * SECOND, "h": 3600 * SECOND, "d": 86_400 * SECOND}
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z", re.ASCII)


@dataclass(frozen=True)
class Wanted:
    """``--clock`` as given, and the instant at which the command started (nanoseconds since 1970)."""

    text: str
    real_ns: int

    def clock(self, own: Clock, profile: str) -> Clock:
        """The clock asked for; errors as of ``choose``."""
        return choose(self.text, own, self.real_ns, profile)


def choose(wanted: str, own: Clock, real_ns: int, profile: str) -> Clock:
    """The clock that ``wanted`` asks for.

    ``own`` is that of the profile's image, whose ``at_ns`` is the recording's instant; ``real_ns`` is now, nanoseconds since 1970: the instant that
    ``play`` and ``scaled`` count from, the same in every process that reads the state it is put into.  Raises UsageError for what is no clock,
    InputError where ``profile`` names no instant to start from.
    """
    kind, colon, rest = wanted.partition(":")
    if wanted == "real":
        return Clock("real")
    if kind == "at" and colon and not rest.startswith("+"):
        said = "an instant is written at:2026-08-21T08:54:01Z, or at:+90s for one after the recording's"
        return Clock("frozen", instant_ns(rest, f"--clock at:{rest}", said))
    start = _checked(wanted, kind, rest)
    if own.mode == "real":
        raise InputError(f"{profile}: names no instant (clock.at, or a time line) to start --clock {wanted} from; name one: --clock at:INSTANT")
    if kind == "scaled" or wanted == "play":
        return Clock("scaled", own.at_ns, float(start), real_ns)
    at = own.at_ns + int(start)
    if at >= END_NS:
        raise UsageError(f"--clock {wanted}: is after 2554, where a clock of 64 bits ends")
    return Clock("frozen", at)


def _checked(wanted: str, kind: str, rest: str) -> Decimal:
    """The speed of a clock that runs, the nanoseconds after the recording's instant of one that stands."""
    if wanted == "frozen":
        return Decimal(0)
    if wanted == "play":
        return Decimal(1)
    if kind == "scaled":
        return speed(rest, f"--clock {wanted}", "as in scaled:10 or scaled:0.5")
    if kind == "at":
        return Decimal(_duration(rest.removeprefix("+"), f"--clock {wanted}", "after + stand a number and its unit ({}), as in at:+90s"))
    raise UsageError(f"--clock: no clock {wanted!r}{did_you_mean(kind, [form.partition(':')[0] for form in FORMS])}; known: {', '.join(FORMS)}")


def speed(text: str, where: str, example: str) -> Decimal:
    """How many times as fast as the real one a clock runs; UsageError, which names ``where`` it was given, for what is no speed."""
    found = Decimal(text) if _NUMBER.fullmatch(text) else Decimal(0)
    if not Decimal(1) / FASTEST <= found <= FASTEST:
        raise UsageError(f"{where}: a speed is a number from 0.000001 to {FASTEST}, {example}")
    return found


def duration_ns(text: str, where: str) -> int:
    """The nanoseconds of ``90s``, ``1.5h`` and their like; UsageError, which names ``where`` it was given, for what is no duration."""
    return int(_duration(text, where, "a duration is a number and its unit ({}), as in 90s"))


def _duration(text: str, where: str, said: str) -> Decimal:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise UsageError(f"{where}: {said.format(', '.join(_UNITS))}")
    return Decimal(match[1]) * _UNITS[match[2]]


def instant_ns(text: str, where: str, said: str) -> int:
    """Nanoseconds since 1970 of ``2026-08-21T08:54:01Z``.

    UsageError for what is none, which names ``where`` it was given and ``said``, and for one that no clock reaches.
    """
    match = _INSTANT.fullmatch(text)
    try:
        moment = datetime.datetime.strptime(match[1] if match else "", "%Y-%m-%dT%H:%M:%S").replace(tzinfo=datetime.UTC)
    except ValueError:
        raise UsageError(f"{where}: {said}") from None
    instant = int(moment.timestamp()) * SECOND + int(((match[2] if match else None) or "").ljust(9, "0"))
    if not 0 <= instant < END_NS:
        raise UsageError(f"{where}: is not between 1970 and 2554")
    return instant


def now_ns(clock: Clock, real_ns: int) -> int:
    """What ``clock`` says at the real instant ``real_ns``, as the library counts."""
    if clock.mode == "frozen":
        return clock.at_ns
    if clock.mode == "real":
        return real_ns
    return clock.at_ns + max(real_ns - clock.start_ns, 0) * round(clock.scale * 1_000_000) // 1_000_000
