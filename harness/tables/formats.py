"""Formats: element text <-> raw integer or string in NVML's unit.  A closed set; rows name one of them.

How nvidia-smi rounds (bytes to MiB, mW to W, ns to us, kHz to MHz, uV to mV) was measured with the binaries of 470 and 550 by serving
values no capture can show; ``tests/unit/tables/test_rounding.py`` holds the measured pairs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.tables import moments, strictyaml
from harness.words.errors import InputError

Raw = int | str

MIB = 1 << 20


class FormatError(InputError):
    """A text that the format cannot read."""


@dataclass(frozen=True)
class Format:
    """One format.

    ``parse`` gives the raw value of a text and raises FormatError otherwise; ``text`` gives the text of a raw value.  For every text that
    parses, ``text(parse(t)) == t``.  ``kind`` is ``int`` or ``str``; ``few`` lists all raw values of formats with a handful of them.
    """

    name: str
    kind: str
    _parse: Callable[[str], Raw]
    _text: Callable[[Raw], str]
    few: tuple[int, ...] = ()

    def parse(self, text: str) -> Raw:
        """The raw value of ``text``; FormatError unless ``text`` is exactly what ``text()`` prints for it."""
        try:
            raw = self._parse(text)
        except ValueError as error:
            raise FormatError(f"{text!r} is not of format {self.name!r}") from error
        if self._text(raw) != text:
            raise FormatError(f"{text!r} is not of format {self.name!r}: it would be printed as {self._text(raw)!r}")
        return raw

    def text(self, raw: Raw) -> str:
        """The text nvidia-smi prints for ``raw``."""
        return self._text(raw)


def get(name: str) -> Format:
    """The format called ``name``; InputError for an unknown one."""
    table = _table()
    if name not in table:
        raise InputError(f"no format {name!r}; the formats are {', '.join(sorted(table))}")
    return table[name]


def names() -> frozenset[str]:
    """The names of all formats."""
    return frozenset(_table())


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,20}", text):
        raise ValueError(text)
    return int(text)


def _suffixed(name: str, suffix: str) -> Format:
    """A decimal integer followed by a unit."""

    def parse(text: str) -> int:
        if not text.endswith(suffix):
            raise ValueError(text)
        return _integer(text[: len(text) - len(suffix)])

    return Format(name, "int", parse, lambda raw: f"{int(raw)}{suffix}")


def _divided(name: str, suffix: str, divisor: int) -> Format:
    """An integer printed in a larger unit, the rest cut off."""

    def parse(text: str) -> int:
        if not text.endswith(suffix):
            raise ValueError(text)
        return _integer(text[: len(text) - len(suffix)]) * divisor

    return Format(name, "int", parse, lambda raw: f"{int(raw) // divisor}{suffix}")


def _decimal(name: str, suffix: str, digits: int, divisor: int) -> Format:
    """An integer printed as a decimal fraction of a larger unit with ``digits`` places, as printf rounds the double."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,12})\.([0-9]{%d})" % digits, text[: len(text) - len(suffix)])
        if match is None or not text.endswith(suffix):
            raise ValueError(text)
        whole, fraction = match.groups()
        return int(whole) * divisor + int(fraction) * (divisor // 10**digits)

    return Format(name, "int", parse, lambda raw: f"{int(raw) / divisor:.{digits}f}{suffix}")


def _hexadecimal(name: str, prefix: str, digits: int, upper: bool) -> Format:
    """A hexadecimal integer with a prefix, padded to ``digits``."""
    spec = f"0{digits}{'X' if upper else 'x'}" if digits else ("X" if upper else "x")

    def parse(text: str) -> int:
        body = text[len(prefix) :]
        if not text.startswith(prefix) or not re.fullmatch(r"[0-9A-Fa-f]{1,16}", body):
            raise ValueError(text)
        return int(body, 16)

    return Format(name, "int", parse, lambda raw: f"{prefix}{int(raw):{spec}}")


def _string(name: str, pattern: str) -> Format:
    """Text as it stands, of one shape."""
    shape = re.compile(pattern, re.DOTALL)

    def parse(text: str) -> str:
        if not shape.fullmatch(text):
            raise ValueError(text)
        return text

    return Format(name, "str", parse, str)


def _words(name: str, words: Mapping[int, str], other: str | None) -> Format:
    """One word a value; ``other`` is printed for a value without a word and is never read."""
    values: dict[str, int] = {}
    for value, word in words.items():
        values.setdefault(word, value)

    def parse(text: str) -> int:
        if text not in values:
            raise ValueError(text)
        return values[text]

    def text(raw: Raw) -> str:
        if raw in words:
            return words[int(raw)]
        if other is None:
            raise FormatError(f"{raw} has no word in format {name!r}")
        return other

    return Format(name, "int", parse, text, tuple(words))


def _mask(name: str, bits: Mapping[int, str], separator: str, tail: str) -> Format:
    """The words of the bits set in a mask, in the order listed."""

    def text(raw: Raw) -> str:
        found = [word for bit, word in bits.items() if int(raw) & bit]
        return separator.join(found) + (tail if found else "")

    def parse(text_: str) -> int:
        raw = 0
        left = text_.removesuffix(tail) if tail else text_
        for word in left.split(separator) if left else []:
            matches = [bit for bit, known in bits.items() if known == word]
            if not matches:
                raise ValueError(text_)
            raw |= matches[0]
        return raw

    return Format(name, "int", parse, text, tuple(bits))


def _cuda_version() -> Format:
    """12080 <-> 12.8: NVML counts 1000 for a major and 10 for a minor version."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,4})\.([0-9]{1,2})", text)
        if match is None:
            raise ValueError(text)
        return int(match[1]) * 1000 + int(match[2]) * 10

    return Format("cuda_version", "int", parse, lambda raw: f"{int(raw) // 1000}.{int(raw) % 1000 // 10}")


_cache: dict[str, Format] = {}


def _table() -> dict[str, Format]:
    if not _cache:
        _cache.update({made.name: made for made in _build()})
    return _cache


def _build() -> list[Format]:
    made = [
        _suffixed("count", ""), _suffixed("percent", " %"), _suffixed("celsius", " C"), _suffixed("mhz", " MHz"), _suffixed("kbps", " KB/s"),
        _suffixed("banks", " bank(s)"), _suffixed("microseconds", " us"), _suffixed("milliseconds", " ms"), _suffixed("width", "x"),
        _divided("mib", " MiB", MIB), _divided("ns_us", " us", 1000), _divided("khz_mhz", " MHz", 1000),
        _decimal("watts", " W", 2, 1000), _decimal("millivolts", " mV", 3, 1000),
        _hexadecimal("hex", "0x", 0, False), _hexadecimal("hex64", "0x", 16, False), _hexadecimal("hex8", "", 2, True),
        _hexadecimal("hex16", "", 4, True), _hexadecimal("hex32", "", 8, True), _hexadecimal("hex_upper", "", 0, True),
        _string("string", r"[^\x00]*"), _string("version", r"[0-9A-Za-z._ -]+"), _string("bus_id", r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]"),
        _cuda_version(),
        Format("timestamp", "int", moments.parse_ctime, lambda raw: moments.ctime(int(raw))),
        Format("bbx_time", "int", moments.parse_bbx, lambda raw: moments.bbx(int(raw))),
        Format("uuid_bytes", "str", moments.parse_uuid_bytes, lambda raw: moments.uuid_text(str(raw))),
    ]  # fmt: skip
    return made + _from_words()


def _from_words() -> list[Format]:
    """The formats of ``words.yaml``: words and masks."""
    document = strictyaml.load_file(Path(__file__).with_name("words.yaml"), "harness/tables/words.yaml")
    made = [_words(name, spec["words"], spec.get("other")) for name, spec in document.value["words"].items()]
    for name, spec in document.value["masks"].items():
        made.append(_mask(name, spec["bits"], spec["separator"], spec.get("tail", "")))
    return made
