"""Moments as nvidia-smi prints them: the log's timestamp (C locale, ctime order) and the InfoROM's black box flush.

Both are taken as UTC: a replay is frozen at the capture's own timestamp, so the zone of the node never enters.
"""

from __future__ import annotations

import re

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_CTIME = re.compile(r"(\w{3}) (\w{3}) ([ 0-9][0-9]) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})")
_BBX = re.compile(r"([0-9]{4})/([0-9]{2})/([0-9]{2}) ([0-9]{2}):([0-9]{2}):([0-9]{2})\.([0-9]{3})")
_BBX_UNIT = 1_000_000
_PERIOD_YEARS, _PERIOD_DAYS = 400, 146_097
"""After so many years the calendar is the same again, its weekdays too."""


def _days(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 to a date of the Gregorian calendar; ValueError for a date that does not exist."""
    import datetime

    return (datetime.date(year, month, day) - datetime.date(1970, 1, 1)).days


def _seconds(year: int, month: int, day: int, clock: tuple[int, int, int]) -> int:
    hour, minute, second = clock
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError(clock)
    return _days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second


def _split(seconds: int) -> tuple[int, int, int, int, int, int]:
    """Date and time of a moment; the calendar goes on past the year 9999, as that of the binaries does."""
    import datetime

    days, rest = divmod(seconds, 86400)
    periods, days = divmod(days, _PERIOD_DAYS)
    date = datetime.date(1970, 1, 1) + datetime.timedelta(days=days)
    return date.year + periods * _PERIOD_YEARS, date.month, date.day, rest // 3600, rest % 3600 // 60, rest % 60


def parse_ctime(text: str) -> int:
    """``Fri Aug 21 08:54:01 2026`` as seconds since 1970, read as UTC."""
    match = _CTIME.fullmatch(text)
    if match is None or match[2] not in _MONTHS:
        raise ValueError(text)
    clock = int(match[4]), int(match[5]), int(match[6])
    return _seconds(int(match[7]), _MONTHS.index(match[2]) + 1, int(match[3]), clock)


def ctime(seconds: int) -> str:
    """Seconds since 1970 in ctime order, as UTC."""
    year, month, day, hour, minute, second = _split(seconds)
    weekday = _DAYS[(seconds // 86400 + 3) % 7]
    return f"{weekday} {_MONTHS[month - 1]} {day:2d} {hour:02d}:{minute:02d}:{second:02d} {year}"


def parse_bbx(text: str) -> int:
    """``2026/08/20 14:59:03.740`` in the unit of nvmlDeviceGetLastBBXFlushTime's timestamp (microseconds since 1970)."""
    match = _BBX.fullmatch(text)
    if match is None:
        raise ValueError(text)
    clock = int(match[4]), int(match[5]), int(match[6])
    return _seconds(int(match[1]), int(match[2]), int(match[3]), clock) * _BBX_UNIT + int(match[7]) * (_BBX_UNIT // 1000)


def bbx(raw: int) -> str:
    """The flush time's text."""
    seconds, rest = divmod(raw, _BBX_UNIT)
    year, month, day, hour, minute, second = _split(seconds)
    return f"{year}/{month:02d}/{day:02d} {hour:02d}:{minute:02d}:{second:02d}.{rest * 1000 // _BBX_UNIT:03d}"


def parse_uuid_bytes(text: str) -> str:
    """A dashed UUID as 32 lower-case hexadecimal digits, the sixteen bytes in order."""
    if not re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", text):
        raise ValueError(text)
    return text.replace("-", "")


def uuid_text(digits: str) -> str:
    """The dashed text of 32 hexadecimal digits."""
    return "-".join((digits[0:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
