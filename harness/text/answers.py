"""The text of a recording, one answer a line after the line ``format: 1``.

A line is ``gpu0 nvmlDeviceGetClockInfo {"type":0} = SUCCESS {"clock":345}``: the subject (``node`` or ``gpuN``), the function, its arguments, the
name of the code (its number where nvml.h has no name for it) and what was written; empty braces are left out, and ``missing`` stands in place of
the code where the library has no such symbol.  Values are JSON without spaces, bytes are ``{"hex":"00ff"}``, the handle of a GPU is ``{"gpu":1}``,
bytes of a text that are not UTF-8 are the surrogates of Python's surrogateescape.  There is one spelling of an answer; ``load`` refuses any other.
"""

from __future__ import annotations

import json
import re
from typing import Any

from harness.text import answer_values
from harness.words import fileformat
from harness.words.errors import InputError, did_you_mean
from mocklib import fields
from mocklib.answers import RETURN_CODES, Asked, Recording
from mocklib.asking import is_of_gpu
from mocklib.binding import FUNCTION_NOT_FOUND, Answer

SIZE_LIMIT = 64 << 20
"""Characters of a file: 64 GPUs of 5,000 answers of 200 characters."""
LINE_LIMIT = 1 << 20
"""Characters of a line: the longest list the binding takes is far below."""
GPU_LIMIT = 4000
"""Devices of an image (nvp_image.h, NVP_MAX_DEVICES)."""
CODE_LIMIT = 1 << 32
MISSING = "missing"
CODES = {name: code for code, name in RETURN_CODES.items()}
_SUBJECT = re.compile(r"node|gpu(0|[1-9][0-9]{0,3})")
_WORD = re.compile(r"[^ ]+")


def dump(recording: Recording) -> str:
    """The text of a recording, in its order; ValueError where a value is none that an answer can have."""
    return "".join([f"format: {fileformat.FORMAT}\n", *(f"{_subject(asked)} {line(asked, answer)}\n" for asked, answer in recording.items())])


def load(text: str, name: str) -> Recording:
    """The recording in ``text``, the content of the file ``name``; InputError with file and line where it is not as ``dump`` writes it."""
    if len(text) > SIZE_LIMIT:
        raise InputError(f"{name}: {len(text)} characters, an answers file has at most {SIZE_LIMIT}; is it one of nvparity?")
    fileformat.check_format(fileformat.number_of(text), name)
    lines = fileformat.upgraded("answers", text).split("\n")
    if lines[0] != f"format: {fileformat.FORMAT}":
        raise InputError(f"{name}:1: the first line is `format: {fileformat.FORMAT}` and nothing else")
    if lines[-1]:
        raise InputError(f"{name}:{len(lines)}: the last line has no line end: the file is cut short; record again or take the whole file")
    found: Recording = {}
    places: dict[Asked, int] = {}
    for number, content in enumerate(lines[1:-1], 2):
        asked, answer = _with_subject(content, f"{name}:{number}")
        if asked in places:
            raise InputError(f"{name}:{number}: {_subject(asked)} {call(asked)} is answered already in line {places[asked]}; keep one of the two")
        places[asked] = number
        found[asked] = answer
    return found


def one(text: str, where: str = "answer") -> tuple[Asked, Answer]:
    """The call (without a GPU) and the answer in ``text``, a line without its subject; InputError, which says ``where``, for damage as in load."""
    if len(text) > LINE_LIMIT:
        raise InputError(f"{where}: a line of {len(text)} characters; an answer has at most {LINE_LIMIT}")
    asked, place = _call(text, where)
    if text[place : place + 3] != " = ":
        raise InputError(f"{where}: after the call stands ` = ` and the answer, not {_shown(text[place:])}")
    return asked, answer_of(text[place + 3 :], where)


def call_of(text: str, where: str) -> Asked:
    """The call in ``text`` (the key of an answer in a profile), without a GPU; InputError as of ``one``."""
    asked, place = _call(text, where)
    if place != len(text):
        raise InputError(f"{where}: after the call stands nothing, not {_shown(text[place:])}")
    return asked


def answer_of(text: str, where: str) -> Answer:
    """The answer in ``text`` (the value of an answer in a profile); InputError as of ``one``."""
    if text == MISSING:
        return Answer(FUNCTION_NOT_FOUND, missing=True)
    word = _word(text, 0)
    code = _code(word, where)
    place = len(word)
    out: dict[str, Any] = {}
    if place < len(text):
        out, place = answer_values.read(text, _space(text, place, where), where, floats=True)
    if place != len(text):
        raise InputError(f"{where}: after the answer stands nothing, not {_shown(text[place:])}")
    answer = Answer(code, out)
    _as_written(text, answer_text(answer), where)
    return answer


def line(asked: Asked, answer: Answer) -> str:
    """A line without its subject."""
    return f"{call(asked)} = {answer_text(answer)}"


def call(asked: Asked) -> str:
    """A call without its subject: the function and its arguments."""
    return f"{asked.function} {answer_values.text(dict(asked.arguments))}" if asked.arguments else asked.function


def answer_text(answer: Answer) -> str:
    """An answer: its code and what was written."""
    if answer.missing:
        return MISSING
    code = RETURN_CODES.get(answer.code, str(answer.code))
    return f"{code} {answer_values.text(answer.out)}" if answer.out else code


def _subject(asked: Asked) -> str:
    return "node" if asked.gpu is None else f"gpu{asked.gpu}"


def _with_subject(content: str, where: str) -> tuple[Asked, Answer]:
    """A whole line."""
    word = _word(content, 0)
    match = _SUBJECT.fullmatch(word)
    if match is None:
        raise InputError(f"{where}: a line starts with `node` or `gpuN`, not {_shown(word or content)}")
    gpu = None if match[1] is None else int(match[1])
    if gpu is not None and gpu >= GPU_LIMIT:
        raise InputError(f"{where}: {word}: a node has at most {GPU_LIMIT} GPUs")
    asked, answer = one(content[_space(content, len(word), where) :], where)
    if gpu is not None and not is_of_gpu(asked.function):
        raise InputError(f"{where}: {asked.function} is a call of the node, not of {word}")
    if gpu is None and not answer.missing and is_of_gpu(asked.function):
        raise InputError(f"{where}: {asked.function} is asked of a GPU, not of the node")
    return Asked(asked.function, gpu, asked.arguments), answer


def _call(text: str, where: str) -> tuple[Asked, int]:
    """The call at the start of ``text`` and where it ends."""
    function = _word(text, 0)
    if function not in fields.function_index():
        raise InputError(f"{where}: {_shown(function or text)} is no function of NVML{did_you_mean(function[:80], fields.function_index())}")
    place = len(function)
    arguments: dict[str, Any] = {}
    if text[place : place + 2] == " {":
        arguments, place = answer_values.read(text, place + 1, where, floats=False)
    asked = Asked(function, None, tuple(arguments.items()))
    _as_written(text[:place], call(asked), where)
    return asked, place


def _as_written(text: str, right: str, where: str) -> None:
    """Refuse a second spelling of what ``right`` says."""
    if text != right:
        raise InputError(f"{where}: {_shown(text)} is not as nvparity writes it; write: {right[:200]}")


def _code(word: str, where: str) -> int:
    """The number of a code's name, or the number that has no name."""
    if word in CODES:
        return CODES[word]
    if word.isascii() and word.isdigit() and len(word) < 12 and int(word) < CODE_LIMIT:
        return int(word)
    raise InputError(f"{where}: {_shown(word)} is no return code of NVML and no number{did_you_mean(word[:80], [*CODES, MISSING])}")


def _word(text: str, place: int) -> str:
    """The characters from ``place`` to the next space; the empty text where a space stands there."""
    match = _WORD.match(text, place)
    return match.group() if match else ""


def _space(text: str, place: int, where: str) -> int:
    """The place after the one space at ``place``."""
    if text[place : place + 1] != " " or place + 1 >= len(text) or text[place + 1] == " ":
        raise InputError(f"{where}: the line ends too early or has two spaces: after {_shown(text[:place])} stands one space and what belongs to it")
    return place + 1


def _shown(text: str) -> str:
    """What a message quotes, cut at 120 characters."""
    return json.dumps(text if len(text) <= 120 else f"{text[:120]}...")
