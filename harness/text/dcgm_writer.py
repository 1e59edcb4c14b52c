"""A recording -> DCGM's answers document, with the calls that the format can say; the same recording gives the same bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from harness.text import dcgm_answers, dcgm_keys, dcgm_values
from harness.text.dcgm import DEVICE_ORDER, FUNCTION_RETURN, MISSING, RETURN_VALUE, Left, Written
from harness.text.dcgm_keys import DEVICE, FIELD_VALUES, FIELD_VALUES_KEY, GLOBAL, Key
from harness.words.errors import InputError
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_WORDS = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def write(recording: Recording) -> Written:
    """The document of a recording.

    Raises InputError where a GPU has no UUID of its own, by which the format names it.
    """
    return _Writer(recording).whole()


class _Writer:
    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.uuids = _uuids(recording)
        self.gpus = {uuid: index for index, uuid in enumerate(self.uuids)}
        self.left: list[Left] = []
        self.kept = 0

    def whole(self) -> Written:
        """The text."""
        by_gpu: dict[int | None, dict[str, list[tuple[Asked, Answer]]]] = {gpu: {} for gpu in (None, *range(len(self.uuids)))}
        for asked, answer in self.recording.items():
            by_gpu[asked.gpu].setdefault(asked.function, []).append((asked, answer))
        node = {DEVICE_ORDER: list(self.uuids), **self.section(GLOBAL, by_gpu[None])}
        devices = {uuid: self.section(DEVICE, by_gpu[index]) for index, uuid in enumerate(self.uuids)}
        return Written("".join(_lines({GLOBAL: node, DEVICE: devices}, "")), self.kept, tuple(self.left))

    def section(self, section: str, asked: dict[str, list[tuple[Asked, Answer]]]) -> dict[str, Any]:
        """The keys of the node or of one device, sorted."""
        made: dict[str, Any] = {}
        tried: set[str] = set()
        for name, key in dcgm_keys.keys(section).items():
            function = self.chosen(key, asked)
            if function is None or dcgm_keys.dropped(function):
                continue
            tried.add(function)
            nested: dict[Any, Any] = {}
            for call, answer in sorted(asked[function], key=lambda one: -(dcgm_keys.version_of(one[0]) or 0)):
                self.put(key, call, answer, nested)
            if nested:
                made[name] = self.ordered(nested, len(dcgm_answers.inputs(function)))
        if FIELD_VALUES in asked:
            tried.add(FIELD_VALUES)
            if fields := self.fields(asked[FIELD_VALUES]):
                made[FIELD_VALUES_KEY] = {FUNCTION_RETURN: 0, RETURN_VALUE: fields}
        for function, calls in asked.items():
            if function not in tried:
                self.left += [Left(function, MISSING if answer.missing else dcgm_keys.why_not(function)) for _, answer in calls]
        return dict(sorted(made.items()))

    def chosen(self, key: Key, asked: dict[str, list[tuple[Asked, Answer]]]) -> str | None:
        """Which of a key's functions the document says: the first that gave a value, else the one whose failing return is read back."""
        for function in key.functions:
            if any(answer.code == 0 for _, answer in asked.get(function, ())):
                return function
        return key.failed if key.failed in asked else None

    def put(self, key: Key, asked: Asked, answer: Answer, nested: dict[Any, Any]) -> None:
        """One answer under its arguments, where reading it gives the same call and answer back."""
        try:
            arguments, made = dcgm_answers.written(asked, answer, self.uuids)
        except dcgm_values.Unfit as error:
            self.left.append(Left(asked.function, str(error)))
            return
        why = self.not_read_back(key, asked, answer, arguments, made)
        if why:
            self.left.append(Left(asked.function, why))
            return
        for argument in arguments:
            nested = nested.setdefault(argument, {})
        if nested:
            self.left.append(Left(asked.function, "its key holds the answer with a newer version of the struct"))
            return
        nested.update(made)
        self.kept += 1

    def ordered(self, nested: dict[Any, Any], depth: int) -> dict[Any, Any]:
        """Answers under ``depth`` arguments: numbers as they count, devices by their index."""
        if not depth:
            return nested
        keys = sorted(nested, key=lambda argument: (isinstance(argument, str), self.gpus.get(argument, argument)))
        return {argument: self.ordered(nested[argument], depth - 1) for argument in keys}

    def not_read_back(self, key: Key, asked: Asked, answer: Answer, arguments: Sequence[int | str], made: dict[str, Any]) -> str:
        """Why the reader would not make the same call and answer of an entry; empty where it does."""
        try:
            back, given = dcgm_answers.read(key, tuple(map(str, arguments)), answer.code, _as_read(made), self.gpus, asked.gpu)
        except dcgm_values.Unfit as error:
            return str(error)
        if back != asked:
            return "its key is read as another function's"
        return "" if given == answer else "the document has no place for what was written beside a failing return"

    def fields(self, calls: list[tuple[Asked, Answer]]) -> dict[int, Any]:
        """The answers of field ids, of scope 0 alone."""
        made: dict[int, Any] = {}
        names = {part: dcgm_keys.field_name(part) for part in ("code", "type", "value")}
        for asked, answer in calls:
            given: dict[str, Any] = dict(asked.arguments)
            why = self.unsaid_field(given, answer)
            if why:
                self.left.append(Left(FIELD_VALUES, why))
                continue
            entry: dict[str, Any] = {names["code"]: answer.code}
            if answer.code == 0:
                entry |= {names["type"]: answer.out["valueType"], names["value"]: answer.out["value"]}
            made[given["fieldId"]] = entry
            self.kept += 1
        return dict(sorted(made.items()))

    def unsaid_field(self, given: dict[str, Any], answer: Answer) -> str:
        """Why the answer of a field id cannot be said; empty where it can."""
        if answer.missing:  # told once of the function, without a field
            return MISSING
        if given["scopeId"]:
            return "the document names a field by its id alone, without a scope"
        if answer.code == 0 and (dcgm_keys.value_shape(answer.out["valueType"]) is None or isinstance(answer.out["value"], bytes)):
            return "a value that is no number"
        return ""


def _uuids(recording: Recording) -> tuple[str, ...]:
    """The UUID of each GPU by index; InputError where one has none, or two have the same."""
    count = max((asked.gpu + 1 for asked in recording if asked.gpu is not None), default=0)
    found: list[str] = []
    for index in range(count):
        answer = recording.get(Asked("nvmlDeviceGetUUID", index))
        if answer is None or answer.code or not answer.out["uuid"]:
            raise InputError(f"GPU {index} has no UUID, by which the document of DCGM's NVML injection names a device: it cannot be exported")
        if answer.out["uuid"] in found:
            raise InputError(f"GPU {index} has the UUID of GPU {found.index(answer.out['uuid'])}: the document cannot tell the two apart")
        found.append(answer.out["uuid"])
    return tuple(found)


def _as_read(value: Any) -> Any:
    """A value as the strict reader gives it: scalars as texts."""
    if isinstance(value, dict):
        return {key: _as_read(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_as_read(inner) for inner in value]
    return value if isinstance(value, str) else repr(value)


def _lines(held: dict[Any, Any], indent: str) -> Iterator[str]:
    """A mapping in block style; lists of scalars on one line."""
    for key, value in held.items():
        name = _scalar(key, key=True)
        if isinstance(value, dict) and value:
            yield f"{indent}{name}:\n"
            yield from _lines(value, f"{indent}  ")
        elif isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
            yield f"{indent}{name}:\n"
            for entry in value:
                yield from _entry(entry, f"{indent}  ")
        else:
            yield f"{indent}{name}: {_scalar(value)}\n"


def _entry(entry: Any, indent: str) -> Iterator[str]:
    """One entry of a list of mappings: its first line starts with the dash."""
    lines = list(_lines(entry, f"{indent}  "))
    yield f"{indent}- {lines[0].lstrip()}"
    yield from lines[1:]


def _scalar(value: Any, *, key: bool = False) -> str:
    """One scalar; a text in quotes, but a key that is a plain word."""
    if isinstance(value, list | dict):
        return f"[{', '.join(map(_scalar, value))}]" if isinstance(value, list) else "{}"
    if not isinstance(value, str):
        return repr(value)
    if key and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(value, ensure_ascii=False))
