"""Identifiers out of a recording: its texts and answers together, so that one value has one placeholder in all of them.

An answer's values are laid out as elements of a text of their own, are scrubbed there with the texts of the views, and go back where they were.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from harness.text import answers as answers_text
from harness.text import scrub, timeline
from harness.text.scrub import Residue
from harness.text.timeline_model import Code, Reading
from harness.words.errors import InputError
from mocklib import getters

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from harness.text.timeline_model import TimeLine
    from mocklib.answers import Asked, Recording
    from mocklib.binding import Answer

    Change = Callable[[str, str], str]
    """Element and text -> text."""

_TAGS = {
    "serial": "serial", "chassis_serial": "serial", "uuid": "uuid", "cluster_uuid": "uuid", "pdi": "pdi", "guid": "guid", "hostname": "hostname",
    "process_name": "process_name",
}  # fmt: skip
"""Kind of identifier (`getters.IDENTIFIERS`) -> the element by whose name scrub knows such a value."""
_VALUES = "values of answers"
_OUT = str.maketrans({"<": "\x01", "\n": "\x02", "&": "\x03", ">": "\x04", **{char: f"\x05{char}" for char in "\x01\x02\x03\x04\x05"}})
_BACK = dict(zip("\x01\x02\x03\x04", "<\n&>", strict=True))
_QUOTED = re.compile("\x05([\x01-\x05])|([\x01-\x04])")
_NUMBER, _RAW = "a number", "bytes"
"""What stands in place of an element where nothing says what a value is: an identifier that another answer has is one here, too."""
_DIGITS = {10: re.compile(r"[0-9]{10,20}"), 16: re.compile(r"[0-9a-f]{16}")}
_HEX = re.compile(r"[0-9a-f]{32}")
_LEAST = 16
"""Hexadecimal digits of the shortest bytes that are looked for in others."""
_WIDE = 1 << 32
"""Numbers from here on are looked at: a PDI, a GUID and a serial are wider."""
_ANSWERS = re.compile(rb"\Aformat: [0-9]+\n(?:node|gpu[0-9]+) nvml")
"""How the text of a recording's answers starts."""
_TIME_LINE = re.compile(rb"\Aformat: [0-9]+\nrecorded: [^\n]*\ninterval_ns: ")
"""How a time line starts."""
_GUID_BYTES = 8
"""Of the sixteen bytes of a fabric GUID, those that count (nvml.h, nvmlPlatformInfo_v2_t)."""


@dataclass(frozen=True)
class Cleaned:
    """A node's ``files`` by name, its ``answers`` and how they moved, scrubbed; ``report``: distinct values replaced, by family of identifiers."""

    files: dict[str, bytes]
    answers: Recording
    report: dict[str, int]
    timeline: TimeLine | None = None


@dataclass
class _Values:
    """The texts of answers to be scrubbed, each once; then what became of them."""

    listed: dict[tuple[str, str], None] = field(default_factory=dict)
    cleaned: dict[tuple[str, str], str] = field(default_factory=dict)

    numbers: dict[str, str] = field(default_factory=dict)
    raw: dict[str, str] = field(default_factory=dict)

    def note(self, tag: str, text: str) -> str:
        if tag not in (_NUMBER, _RAW):
            self.listed.setdefault((tag, text))
        return text

    def look_up(self, tag: str, text: str) -> str:
        if tag == _NUMBER:
            return self.numbers.get(text, text)
        if tag == _RAW:
            for known, made in self.raw.items():
                text = text.replace(known, made)
            return text
        return self.cleaned[tag, text]

    def text(self) -> bytes:
        lines = (f"<{tag}>{text.translate(_OUT)}</{tag}>\n" for tag, text in self.listed)
        return "".join(lines).encode("utf-8", "surrogateescape")

    def take(self, data: bytes) -> None:
        lines = data.decode("utf-8", "surrogateescape").split("\n")[:-1]
        for (tag, text), line in zip(self.listed, lines, strict=True):
            quoted = line.removeprefix(f"<{tag}>").removesuffix(f"</{tag}>")
            made = self.cleaned[tag, text] = _QUOTED.sub(lambda match: match[1] or _BACK[match[2]], quoted)
            if made != text and tag in _TAGS.values():
                self._learn(text, made)

    def _learn(self, text: str, made: str) -> None:
        """Know an identifier and its placeholder as a number and as bytes."""
        spelt = text.removeprefix("0x"), made.removeprefix("0x")
        base = 16 if text.startswith("0x") else 10
        if all(_DIGITS[base].fullmatch(one) for one in spelt) and int(spelt[0], base) >= _WIDE:
            self.numbers[str(int(spelt[0], base))] = str(int(spelt[1], base))
        as_bytes = [one.encode("utf-8", "surrogateescape").hex() for one in (text, made)]
        for known, placeholder in (as_bytes, spelt) if base == 16 or _HEX.fullmatch(text) else (as_bytes,):
            if len(known) == len(placeholder) >= _LEAST:
                self.raw[known] = placeholder


def clean(files: Mapping[str, bytes], answers: Recording, line: TimeLine | None = None) -> Cleaned:
    """``files`` (texts by name, ``q-x`` first), ``answers`` and the time ``line`` of one node without identifiers; what is a placeholder stays.

    Texts of answers are looked at whatever they are of; the list of getters says which other values are identifiers: numbers, bytes, texts of no
    shape that tells.
    """
    values = _Values()
    _mapped(answers, values.note)
    _moved(line, values.note)
    first, rest = dict(list(files.items())[:2]), dict(list(files.items())[2:])
    found = scrub.scrub({**first, _VALUES: values.text(), **rest})
    cleaned = dict(found.files)
    values.take(cleaned.pop(_VALUES))
    return Cleaned(cleaned, _mapped(answers, values.look_up), found.report, _moved(line, values.look_up))


def residue(data: bytes) -> list[Residue]:
    """What in ``data``, a text that a capture keeps, still looks like a real identifier.

    In the answers of a recording, and in its time line, the call says what a value is (nanoseconds have as many digits as a serial): there it is what
    `clean` would replace, with the call in place of the value.  Any other text is looked at by `scrub.residue`.
    """
    try:
        if _TIME_LINE.match(data):
            return _moved_residue(timeline.load(data.decode(), "time line"), data.decode().splitlines().index("") + 2)
        if not _ANSWERS.match(data):
            return scrub.residue(data)
        answers = answers_text.load(data.decode(), "answers")
    except (InputError, UnicodeDecodeError):
        return scrub.residue(data)
    cleaned = clean({}, answers).answers
    changed = [(number, asked) for number, asked in enumerate(answers, 2) if cleaned[asked] != answers[asked]]
    return [Residue(number, _family(answers, asked), answers_text.call(asked)) for number, asked in changed]


def _moved_residue(line: TimeLine, first: int) -> list[Residue]:
    """As `residue`, of a time line whose readings begin in line ``first`` of its text."""
    cleaned = clean({}, {}, line).timeline
    pairs = enumerate(zip(line.readings, () if cleaned is None else cleaned.readings, strict=True), first)
    changed = [(number, reading) for number, (reading, made) in pairs if made != reading]
    reports = [clean({}, {}, replace(line, readings=(reading,))).report for _, reading in changed]
    families = [next((family for family, count in report.items() if count), "identifier") for report in reports]
    return [Residue(number, family, answers_text.call(one.asked)) for (number, one), family in zip(changed, families, strict=True)]


def _family(answers: Recording, asked: Asked) -> str:
    """The family of the identifier that the answer of ``asked`` holds."""
    report = clean({}, {asked: answers[asked]}).report
    return next((family for family, count in report.items() if count), "identifier")


def _mapped(answers: Recording, change: Change) -> Recording:
    """``answers`` with ``change`` in place of every text, and of every number and bytes that the list marks."""
    return {asked: _answer(asked.function, answer, change) for asked, answer in answers.items()}


def _moved(line: TimeLine | None, change: Change) -> TimeLine | None:
    """``line`` with ``change`` in every sample."""
    return None if line is None else replace(line, readings=tuple(_reading(reading, change) for reading in line.readings))


def _reading(reading: Reading, change: Change) -> Reading:
    function, member = reading.asked.function, reading.member
    if member is None:
        return replace(reading, samples=tuple(_answer(function, answer, change) for answer in reading.samples))
    kinds = _kinds(function)
    if member not in kinds and all(isinstance(sample, int | Code) for sample in reading.samples):
        return reading
    return replace(reading, samples=tuple(one if isinstance(one, Code) else _value(kinds, member, one, change) for one in reading.samples))


def _kinds(function: str) -> Mapping[str, str]:
    """Name in the answer -> kind of identifier."""
    known = getters.getters().get(function)
    return {} if known is None else known.identifier


def _answer(function: str, answer: Answer, change: Change) -> Answer:
    if not answer.out:
        return answer
    kinds = _kinds(function)
    return replace(answer, out={name: _value(kinds, name, value, change) for name, value in answer.out.items()})


def _value(kinds: Mapping[str, str], name: str, value: Any, change: Change) -> Any:
    """A value of an answer: ``name`` is that of its parameter or member; members of lists are named ``list.member``."""
    if isinstance(value, dict):
        return {key: _value(kinds, f"{name}.{key}", part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_value(kinds, name, part, change) for part in value]
    kind = kinds.get(name)
    if isinstance(value, str):
        cleaned = change(_TAGS[kind] if kind else name.rpartition(".")[2].partition("[")[0], value)
        return _fitted(cleaned, value) if "." in name else cleaned
    if kind is None:
        return _unmarked(value, change)
    if isinstance(value, int):
        return int(change(_TAGS[kind], f"0x{value:016x}"), 16)
    return _bytes(kind, value, change) if isinstance(value, bytes) else value


def _unmarked(value: Any, change: Change) -> Any:
    """A number or bytes of which nothing says that they identify: where they are another answer's identifier, they do."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= _WIDE:
        return int(change(_NUMBER, str(value)))
    return bytes.fromhex(change(_RAW, value.hex())) if isinstance(value, bytes) else value


def _fitted(text: str, before: str) -> str:
    """``text`` in as many bytes as ``before``, which an array of a struct held: the placeholder of a name of one letter is longer."""
    size = len(before.encode("utf-8", "surrogateescape"))
    return text.encode("utf-8", "surrogateescape")[:size].decode("utf-8", "surrogateescape")


def _bytes(kind: str, value: bytes, change: Change) -> bytes:
    """Bytes as what they say: text with zeros behind it, or a number in hexadecimal digits, of a GUID in as many as nvidia-smi prints."""
    if kind in ("chassis_serial", "serial"):
        plain, end, rest = value.partition(b"\0")
        text = change(_TAGS[kind], plain.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        return (text + end + rest)[: len(value)]
    size = _GUID_BYTES if kind == "guid" and not any(value[_GUID_BYTES:]) else len(value)
    text_of = change(_TAGS[kind], ("0x" if size == _GUID_BYTES else "") + value[:size].hex())
    return bytes.fromhex(text_of.removeprefix("0x")).ljust(len(value), b"\0")
