"""Formats: element text <-> raw integer or string in NVML's unit.  A closed set; rows name one of them.

How nvidia-smi rounds (bytes to MiB, mW to W, ns to us, kHz to MHz, uV to mV) was measured with the binaries of 470 and 550 by serving
values no capture can show; ``tests/unit/tables/test_rounding.py`` holds the measured pairs.
"""

from __future__ import annotations

import re
import struct
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
    parses, ``text(parse(t)) == t``.  ``read`` and ``write`` are the bare conversions behind them (ValueError).  ``kind`` is ``int`` or
    ``str``; ``few`` lists all raw values of formats with a handful of them.
    """

    name: str
    kind: str
    read: Callable[[str], Raw]
    write: Callable[[Raw], str]
    few: tuple[int, ...] = ()

    def parse(self, text: str) -> Raw:
        """The raw value of ``text``; FormatError unless ``text`` is exactly what ``text()`` prints for it."""
        try:
            raw = self.read(text)
        except ValueError as error:
            raise FormatError(f"{text!r} is not of format {self.name!r}") from error
        if self.write(raw) != text:
            raise FormatError(f"{text!r} is not of format {self.name!r}: it would be printed as {self.write(raw)!r}")
        return raw

    def text(self, raw: Raw) -> str:
        """The text nvidia-smi prints for ``raw``; FormatError for a value that has none: no word, a moment past the calendar's end."""
        try:
            return self.write(raw)
        except (ValueError, ArithmeticError) as error:
            raise FormatError(f"{raw!r} has no text in format {self.name!r}") from error


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
    """A decimal number that fits 64 bits, signed or not."""
    if not re.fullmatch(r"-?[0-9]{1,20}", text) or not -(2**63) <= int(text) < 2**64:
        raise ValueError(text)
    return int(text)


def _suffixed(name: str, suffix: str) -> Format:
    """A decimal integer followed by a unit."""

    def parse(text: str) -> int:
        if not text.endswith(suffix):
            raise ValueError(text)
        return _integer(text[: len(text) - len(suffix)])

    return Format(name, "int", parse, lambda raw: f"{int(raw)}{suffix}")


def _divided(name: str, suffix: str, divisor: int, up: bool = False) -> Format:
    """An integer printed in a larger unit, the rest cut off or (``up``) counted as a whole one, in the binaries' 64 bits without a sign."""
    extra = divisor - 1 if up else 0
    most = 2**64

    def parse(text: str) -> int:
        if not text.endswith(suffix):
            raise ValueError(text)
        value = _integer(text[: len(text) - len(suffix)]) * divisor
        if value >= 2**64:
            raise ValueError(text)
        return value

    def text(raw: Raw) -> str:
        whole = int(raw) + extra
        return f"{(whole % most if up else whole) // divisor % most}{suffix}"

    return Format(name, "int", parse, text)


def _watts(name: str, least: float) -> Format:
    """Milliwatts as watts with two places, in single precision as the binaries compute them; never less than ``least``."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,9})\.([0-9]{2}) W", text)
        if match is None:
            raise ValueError(text)
        return int(match[1]) * 1000 + int(match[2]) * 10

    def text(raw: Raw) -> str:
        watts = _single(_single(float(int(raw))) / 1000.0)
        return f"{max(watts, least):.2f} W"

    return Format(name, "int", parse, text)


def _single(value: float) -> float:
    """``value`` rounded to single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _exactly(name: str, unit: str, divisor: int) -> Format:
    """A number in a larger unit with two places, in double precision: of a half, what the double nearest to it says."""

    def parse(text: str) -> int:
        match = re.fullmatch(r"([0-9]{1,14})\.([0-9]{2})" + re.escape(unit), text)
        if match is None:
            raise ValueError(text)
        return (int(match[1]) * 100 + int(match[2])) * (divisor // 100)

    return Format(name, "int", parse, lambda raw: f"{int(raw) / divisor:.2f}{unit}")


def _decimal(name: str, suffix: str, digits: int, divisor: int) -> Format:
    """An integer printed as a decimal fraction of a larger unit with ``digits`` places, as printf rounds the double."""

    def parse(text: str) -> int:
        whole, _, fraction = text.removesuffix(suffix).partition(".")
        if not text.endswith(suffix) or not (whole + fraction).isdigit() or len(fraction) != digits or len(whole) > 12:
            raise ValueError(text)
        return int(whole) * divisor + int(fraction) * (divisor // int(f"1{'0' * digits}"))

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


def _signed32(name: str, suffix: str) -> Format:
    """An unsigned 32-bit counter printed with %d: 4294967295 stands as -1."""

    def parse(text: str) -> int:
        if not text.endswith(suffix):
            raise ValueError(text)
        return _integer(text[: len(text) - len(suffix)]) & 0xFFFFFFFF

    return Format(name, "int", parse, lambda raw: f"{((int(raw) & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000}{suffix}")


def _nonzero(form: Format) -> Format:
    """``form`` with N/A printed for zero."""
    return Format(form.name, form.kind, form.read, lambda raw: form.write(raw) if raw else "N/A")


def _unless(form: Format, name: str, absent: int, word: str = "N/A") -> Format:
    """``form`` with ``word`` for the value ``absent``, NVML's mark of a value it does not have."""

    def parse(text: str) -> Raw:
        return absent if text == word else form.read(text)

    return Format(name, form.kind, parse, lambda raw: word if raw == absent else form.write(raw))


def _guid() -> Format:
    """A 64-bit GUID in the first eight of sixteen bytes, held as 32 hexadecimal digits (nvml.h, nvmlPlatformInfo_v2_t: the rest is zero)."""

    def parse(text: str) -> str:
        if not re.fullmatch(r"0x[0-9a-f]{16}", text):
            raise ValueError(text)
        return text[2:] + "0" * 16

    return Format("guid", "str", parse, lambda raw: "0x" + str(raw)[:16])


def _string(name: str, pattern: str) -> Format:
    """Text as it stands, of one shape."""
    shape = re.compile(pattern, re.DOTALL)

    def parse(text: str) -> str:
        if not shape.fullmatch(text):
            raise ValueError(text)
        return text

    return Format(name, "str", parse, str)


def _empty(name: str, word: str) -> Format:
    """Text as it stands; ``word`` is printed for the empty text."""

    def parse(text: str) -> str:
        return "" if text == word else text

    return Format(name, "str", parse, lambda raw: str(raw) or word)


def _profile_mask() -> Format:
    """A mask of workload power profiles as hexadecimal digits: N/A when empty.  No capture and no binary at hand shows another."""

    def parse(text: str) -> str:
        raise ValueError(text)

    def text(raw: Raw) -> str:
        if str(raw).strip("0"):
            raise FormatError("how nvidia-smi prints workload power profiles that are set is not known; only an empty list can be rendered")
        return "N/A"

    return Format("profile_mask", "str", parse, text)


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
    """The words of the bits set in a mask, in the order listed; N/A for a mask of zero."""

    def text(raw: Raw) -> str:
        if raw == 0:
            return "N/A"
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


def _noticed(form: Format, name: str, instead: str) -> Format:
    """``form`` with the sentence behind it by which driver 610 tells that the reading has another name now (captures of 610.57.04)."""
    notice = f" [Deprecated; will be removed in CUDA 14.0. Use {instead} instead]"

    def parse(text: str) -> Raw:
        if not text.endswith(notice):
            raise ValueError(text)
        return form.parse(text.removesuffix(notice))

    return Format(name, form.kind, parse, lambda raw: form.text(raw) + notice)


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
        _suffixed("count", ""), _suffixed("percent", " %"), _suffixed("celsius", " C"), _suffixed("mhz", " MHz"),
        _suffixed("banks", " bank(s)"), _suffixed("microseconds", " us"), _suffixed("milliseconds", " ms"), _signed32("width", "x"),
        _divided("mib", " MiB", MIB), _divided("mib_up", " MiB", MIB, up=True), _divided("ns_us", " us", 1000),
        _nonzero(_divided("khz_mhz", " MHz", 1000)),
        _watts("watts", 0.0), _watts("draw_watts", 1.0), _exactly("sample_watts", " W", 1000), _exactly("sample_seconds", " sec", 1_000_000),
        _decimal("millivolts", " mV", 3, 1000), _signed32("int32", ""), _signed32("kbps", " KB/s"),
        _hexadecimal("hex", "0x", 0, False), _hexadecimal("hex64", "0x", 16, False), _hexadecimal("hex8", "", 2, True),
        _hexadecimal("hex16", "", 4, True), _hexadecimal("hex32", "", 8, True), _hexadecimal("hex_upper", "", 0, True),
        _hexadecimal("hex8_0x", "0x", 2, True), _hexadecimal("hex16_0x", "0x", 4, True), _hexadecimal("hex32_0x", "0x", 8, True),
        _hexadecimal("hex_upper_0x", "0x", 0, True),
        _nonzero(_hexadecimal("bridge_firmware", "", 8, True)), _nonzero(_hexadecimal("bridge_firmware_0x", "0x", 8, True)), _guid(),
        _unless(_suffixed("count", ""), "instance_id", 0xFFFFFFFF), _unless(_suffixed("count", ""), "byte", 0xFF),
        _unless(_divided("mib", " MiB", MIB), "process_mib", 0xFFFFFFFFFFFFFFFF),
        _unless(_divided("mib", " MiB", MIB), "process_mib_wddm", 0xFFFFFFFFFFFFFFFF, "Not available in WDDM driver model"),
        _string("string", r"[^\x00]*"), _string("bus_id", r"[0-9A-F]{8}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]"),
        _string("bus_id_legacy", r"[0-9A-F]{4}:[0-9A-F]{2}:[0-9A-F]{2}\.[0-9A-F]"),
        _cuda_version(), _noticed(_cuda_version(), "cuda_version_umd", "CUDA UMD Version"),
        _noticed(_string("string", r"[^\x00]*"), "driver_version_kmd", "KMD Version"), _suffixed("percent_hundredths", ".00%"),
        _empty("serial", "Not Set"), _empty("part_number", "N/A"), _profile_mask(),
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
