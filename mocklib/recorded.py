"""Recorded answers of an image as bytes: the tables of ``include/nvp_image.h`` that the library looks a call up in, from ``ImageSpec.answers``.

What a call was asked is a form (which parts of its arguments tell its answers apart) and a key (what they hold); what it answered is writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from mocklib import fields as tables
from mocklib import questions, writes
from mocklib.questions import Form, Question
from mocklib.spec import ImageError, ImageSpec, Recorded
from mocklib.structs import as_bytes, constants, structs
from mocklib.writes import Written

FUNCTION_NOT_FOUND = 13
LATEST_NS = 0xFFFFFFFFFFFFFFFF
"""What 64 bits hold: the year 2554."""


@dataclass
class Tables:
    """The tables, row by row in the order of the C structs' members, and the data."""

    forms: list[tuple[int, ...]] = field(default_factory=list)
    parts: list[tuple[int, ...]] = field(default_factory=list)
    recorded: list[tuple[int, ...]] = field(default_factory=list)
    answers: list[tuple[int, ...]] = field(default_factory=list)
    writes: list[tuple[int, ...]] = field(default_factory=list)
    answer_data: bytearray = field(default_factory=bytearray)
    places: dict[bytes, int] = field(default_factory=dict)

    def data(self, part: bytes) -> int:
        """The offset of ``part`` in the data; the same bytes stand there once."""
        if part not in self.places:
            self.places[part] = len(self.answer_data)
            self.answer_data += part
        return self.places[part]

    def packed(self) -> dict[str, tuple[bytes, int]]:
        """Name of the table in the image's head -> its bytes and count."""
        kinds = {"forms": "form", "parts": "part", "recorded": "recorded", "answers": "answer", "writes": "write"}
        found = {name: (as_bytes(structs().new(f"struct nvp_{kind}[]", rows := getattr(self, name))), len(rows)) for name, kind in kinds.items()}
        return found | {"answer_data": (bytes(self.answer_data), len(self.answer_data))}


def missing(answers: tuple[Recorded, ...]) -> dict[str, int]:
    """The gates of functions that the recorded library lacks; ImageError for one that it lacks and has."""
    lacked = {item.asked.function for item in answers if item.answer.missing}
    for item in answers:
        if item.asked.function in lacked and not item.answer.missing:
            raise ImageError(f"{item.asked.function}: recorded as missing and as answering {item.answer.code}")
        if item.asked.function in lacked and item.asked.function not in tables.function_index():
            raise ImageError(f"{item.asked.function}: no such function")
    return dict.fromkeys(lacked, FUNCTION_NOT_FOUND)


def pack(spec: ImageSpec) -> dict[str, tuple[bytes, int]]:
    """Every table of recorded answers; ImageError names function, arguments and member of what cannot be packed."""
    found: dict[Form, dict[tuple[int, bytes], tuple[Recorded, list[Written]]]] = {}
    given = [item for item in spec.answers if not item.answer.missing]
    asked = [(item, questions.question(item.asked, len(spec.devices), spec.entries.get(item.asked.function))) for item in given]
    widths = questions.text_widths([question for _, question in asked])
    for item, question in asked:
        form, key = questions.keyed(question, widths)
        _add(found.setdefault(form, {}), (question.device, key), item, question)
    made = Tables()
    for form in sorted(found, key=lambda form: tables.function_index()[form.function]):
        _put_form(made, form, found[form])
    return made.packed()


def _add(rows: dict[tuple[int, bytes], tuple[Recorded, list[Written]]], key: tuple[int, bytes], item: Recorded, question: Question) -> None:
    """One recorded call.  How long a list is says nothing that the list itself does not; any other call stands once."""
    answers = item.steps or (item.answer,)
    if len(answers) > 1 and item.period_ns <= 0:
        raise ImageError(f"{question.where}: {len(answers)} steps with a period of {item.period_ns} ns")
    if not (0 <= item.period_ns <= LATEST_NS and 0 <= item.start_ns <= LATEST_NS):
        raise ImageError(f"{question.where}: steps of {item.period_ns} ns from {item.start_ns} ns on; both are 0 to {LATEST_NS}")
    if any(answer.missing for answer in answers):
        raise ImageError(f"{question.where}: a step is a missing symbol")
    given = [writes.of(question, answer) for answer in answers]
    if key not in rows or all(one.length_alone for one in rows[key][1]):
        rows[key] = (item, given)
    elif not all(one.length_alone for one in given):
        raise ImageError(f"{question.where}: recorded twice")


def _put_form(made: Tables, form: Form, rows: dict[tuple[int, bytes], tuple[Recorded, list[Written]]]) -> None:
    """A form, its parts, and its recorded calls in the order that they are searched in."""
    ordered = sorted(rows)
    size = sum(part.width for part in form.parts)
    if size > constants()["NVP_KEY_SIZE"] or len(form.parts) > constants()["NVP_PART_LIMIT"]:
        raise ImageError(f"{form.function}: its arguments make a key of {size} bytes in {len(form.parts)} parts, more than an image holds")
    keys = made.data(b"".join(key for _, key in ordered))
    number = tables.function_index()[form.function]
    made.forms.append((number, len(made.parts), len(form.parts), size, len(made.recorded), len(ordered), keys, 0))
    made.parts += [(part.position, part.kind, 0, part.offset, part.width, part.word) for part in form.parts]
    for key in ordered:
        item, answers = rows[key]
        made.recorded.append((key[0], len(made.answers), len(answers), int(item.loop), item.period_ns, item.start_ns))
        for answer in answers:
            flags = answer.counted * constants()["NVP_ANSWER_COUNTED"] | answer.length_alone * constants()["NVP_ANSWER_LENGTH_ALONE"]
            made.answers.append((answer.code, answer.count, len(made.writes), len(answer.writes), flags, 0))
            for write in answer.writes:
                data = write.data if isinstance(write.data, int) else made.data(write.data)
                size_of = 0 if isinstance(write.data, int) else len(write.data)
                made.writes.append((write.position, write.kind, 0, write.offset, size_of, data))
