"""``answers`` of a profile: calls answered as they were recorded, each a line ``function {arguments}: code {values}`` in the block of its GPU."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.tables.strictyaml import Document
from harness.text import answers
from harness.words.errors import InputError
from mocklib.answers import Asked
from mocklib.binding import Answer

KEY = "answers"
Path_ = tuple["str | int", ...]
Call = tuple[str, frozenset[tuple[str, Any]]]
"""What makes two calls one: the function and its arguments in whatever order."""


@dataclass(frozen=True)
class Residual:
    """One answer that a profile keeps as it was recorded.

    ``asked`` leaves the GPU to the block that it stands in (``gpu`` is None); ``where`` is that place, for messages: file:line and the key's path.
    """

    asked: Asked
    answer: Answer
    where: str


def errors(document: Document) -> Iterator[tuple[int, str]]:
    """(line, message) of every answer that cannot be read; what is of the wrong type is left to the schema."""
    for block in _blocks(document):
        seen: dict[Call, str] = {}
        for path, key, value in _entries(document, block):
            name = ".".join(map(str, path))
            try:
                asked, _ = _read(key, value, name)
            except InputError as error:
                yield document.line(path), str(error)
                continue
            if seen.setdefault(_call(asked), name) != name:
                yield document.line(path), f"{name}: is the call of {seen[_call(asked)]} too"


def of_block(document: Document, block: Path_) -> dict[Call, Residual | None]:
    """The answers of the block at ``block`` of a document that was checked; None for a call that its keys answer, whatever the defaults say."""
    found: dict[Call, Residual | None] = {}
    for path, key, value in _entries(document, block):
        where = f"{document.where(path)}: {'.'.join(map(str, path))}"
        asked, answer = _read(key, value, where)
        found[_call(asked)] = None if answer is None else Residual(asked, answer, where)
    return found


def merged(defaults: Mapping[Call, Residual | None], own: Mapping[Call, Residual | None]) -> tuple[Residual, ...]:
    """A GPU's answers: call by call its own, else those of the defaults."""
    return tuple(answer for answer in {**defaults, **own}.values() if answer is not None)


def lines(held: Mapping[str, str | None], indent: str) -> str:
    """The YAML of a block's answers behind ``indent``, each on one line whatever its length; nothing for none."""
    listed = "".join(_line(key, value, f"{indent}  ") for key, value in held.items())
    return f"{indent}{KEY}:\n{listed}" if listed else ""


def _line(key: str, value: str | None, indent: str) -> str:
    written = "null" if value is None else _scalar(value)
    name = _scalar(key)
    return f"{indent}{name}: {written}\n" if len(name) < _LONGEST_KEY else f"{indent}? {name}\n{indent}: {written}\n"


_LONGEST_KEY = 1000
"""Characters of a key that YAML reads without a question mark before it: 1024."""
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def _scalar(text: str) -> str:
    """A text of an answer as YAML: plain where it is one word, else quoted.  It is ASCII; of DEL alone JSON makes no escape and YAML wants one."""
    if _WORD.fullmatch(text):
        return text
    return json.dumps(text).replace("\x7f", "\\x7f") if "\x7f" in text else "'" + text.replace("'", "''") + "'"


def _read(key: str, value: str | None, where: str) -> tuple[Asked, Answer | None]:
    """One answer; InputError, which says ``where``."""
    try:
        return _known(key, value)
    except InputError:
        answers.call_of(key, where)
        answers.answer_of(str(value), where)
        raise


@functools.lru_cache(maxsize=1 << 16)
def _known(key: str, value: str | None) -> tuple[Asked, Answer | None]:
    """One answer, read once though the check and the profile both ask for it."""
    return answers.call_of(key, ""), None if value is None else answers.answer_of(value, "")


def _call(asked: Asked) -> Call:
    return asked.function, frozenset(asked.arguments)


def _blocks(document: Document) -> Iterator[Path_]:
    yield ()
    yield ("device_defaults",)
    devices = document.value.get("devices")
    yield from (("devices", place) for place in range(len(devices) if isinstance(devices, list) else 0))


def _entries(document: Document, block: Path_) -> Iterator[tuple[Path_, str, str | None]]:
    """Path, key and value of each answer in one block; None where null stands for the answer."""
    held = document.value
    for step in block:
        held = held.get(step) if isinstance(held, dict) else held[step]
    listed = held.get(KEY) if isinstance(held, dict) else None
    for key, value in listed.items() if isinstance(listed, dict) else ():
        if isinstance(key, str) and isinstance(value, str | None):
            yield (*block, KEY, key), key, value
