"""DCGM's answers document -> a recording of exactly the calls it holds; what it cannot say stays unknown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.tables import strictyaml
from harness.text import dcgm_answers, dcgm_keys, dcgm_values
from harness.text.dcgm import DEVICE_ORDER, FUNCTION_RETURN, RETURN_VALUE, Left, Read
from harness.text.dcgm_keys import DEVICE, FIELD_VALUES, FIELD_VALUES_KEY, GLOBAL, Key
from harness.words.errors import InputError, did_you_mean
from mocklib import shapes
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer

CODE_LIMIT = 1 << 31
HINTS = 50
"""Unknown names that the nearest known one is looked up for."""
DEPTH_LIMIT = 6
"""Arguments inside each other; the longest list of NVML is three."""
GPU_LIMIT = 4000
"""Devices of an image."""
Path = tuple["str | int", ...]
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")


def read(data: bytes, name: str) -> Read:
    """What the document in ``data``, the content of the file ``name``, says.

    Raises InputError, with file and line, for YAML that the strict reader refuses and for a document that is not built as DCGM's are.
    """
    return _Reader(strictyaml.load(data, name, texts=True)).whole()


@dataclass
class _Reader:
    document: strictyaml.Document
    gpus: dict[str, int] = field(default_factory=dict)
    recording: Recording = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    strange: dict[str, str] = field(default_factory=dict)

    def whole(self) -> Read:
        """Every section."""
        root = self.mapping((), self.document.value)
        known = [GLOBAL, DEVICE, *dcgm_keys.table()["sections"]]
        for section in (GLOBAL, DEVICE):
            if section not in root:
                near = next((key for key in root if did_you_mean(str(key), [section])), None)
                hint = f"; {near!r} is in line {self.document.line((near,))}" if near is not None else ""
                raise InputError(f"{self.document.source}: no section {section!r}: not a whole answers document of DCGM's NVML injection{hint}")
        nodes = self.mapping((GLOBAL,), root[GLOBAL])
        devices = self.mapping((DEVICE,), root[DEVICE])
        self.order(nodes, devices)
        self.section(GLOBAL, (GLOBAL,), nodes, None)
        for uuid, index in self.gpus.items():
            self.device((DEVICE, uuid), self.mapping((DEVICE, uuid), devices.get(uuid, {})), uuid, index)
        for section in root:
            if section not in (GLOBAL, DEVICE):
                self.other(str(section), root[section], known)
        return Read(self.recording, tuple(self.gpus), tuple(self.notes), tuple(self.left))

    def order(self, nodes: dict[Any, Any], devices: dict[Any, Any]) -> None:
        """Which index each UUID has."""
        listed = nodes.get(DEVICE_ORDER)
        if listed is None:
            order = self.by_index(devices)
        else:
            path: Path = (GLOBAL, DEVICE_ORDER)
            if not isinstance(listed, list) or not all(isinstance(uuid, str) for uuid in listed):
                raise self.error(path, "is no list of UUIDs")
            order = listed
            for place, uuid in enumerate(listed):
                if uuid in listed[:place]:
                    raise self.error((*path, place), "names a device twice")
            if lost := next((uuid for uuid in devices if uuid not in listed), None):
                raise self.error((DEVICE, lost), f"is not in {DEVICE_ORDER}, so its index is not known")
            if bare := sum(uuid not in devices for uuid in listed):
                self.notes.append(f"{bare} devices of {DEVICE_ORDER} have no answers but their UUID")
        if len(order) > GPU_LIMIT:
            raise self.error((DEVICE,), f"holds {len(order)} devices; a node has at most {GPU_LIMIT}")
        self.gpus.update({uuid: index for index, uuid in enumerate(order)})

    def by_index(self, devices: dict[Any, Any]) -> list[str]:
        """The UUIDs in the order of what nvmlDeviceGetIndex answered on each, or, where that is not whole, of the document."""
        told = {}
        for uuid, answers in devices.items():
            answer = answers.get("Index") if isinstance(answers, dict) else None
            if isinstance(answer, dict) and dcgm_values.integer(answer.get(FUNCTION_RETURN)) == 0:
                told[dcgm_values.integer(answer.get(RETURN_VALUE))] = str(uuid)
        if set(told) == set(range(len(devices))):
            self.notes.append(f"no {DEVICE_ORDER}: the devices are in the order of their answers to Index")
            return [told[index] for index in range(len(devices))]
        self.notes.append(f"no {DEVICE_ORDER}: the devices are taken in the order in which they stand")
        return [str(uuid) for uuid in devices]

    def device(self, path: Path, answers: dict[Any, Any], uuid: str, index: int) -> None:
        """One device; its key is what nvmlDeviceGetUUID gave where the recorder ran."""
        asked = Asked("nvmlDeviceGetUUID", index)
        self.recording[asked] = Answer(0, {"uuid": uuid})
        self.section(DEVICE, path, answers, index)
        said = self.recording[asked]
        if said.code or said.out["uuid"] != uuid:
            raise self.error((*path, "UUID"), "is another than the key that the device stands under")

    def section(self, section: str, path: Path, answers: dict[Any, Any], gpu: int | None) -> None:
        """Every key of the node or of one device."""
        for name, node in answers.items():
            here = (*path, name)
            if section == GLOBAL and name == DEVICE_ORDER:
                continue
            key = dcgm_keys.keys(section).get(name)
            if section == DEVICE and name == FIELD_VALUES_KEY:
                self.fields(here, node, gpu)
            elif key is None:
                self.leave(here, self.unknown(section, str(name)))
            else:
                self.key(key, here, node, gpu)

    def unknown(self, section: str, name: str) -> str:
        """Why a key that is none of ours is not kept."""
        if name not in self.strange:
            near = did_you_mean(name, dcgm_keys.keys(section)) if len(self.strange) < HINTS else ""
            self.strange[name] = dcgm_keys.unsayable(section, name) or f"no getter of the list has this key{near}"
        return self.strange[name]

    def key(self, key: Key, path: Path, node: Any, gpu: int | None) -> None:
        """The answers of one key, each under its arguments."""
        for arguments, here, answer in self.answers(path, node, ()):
            try:
                code = self.code((*here, FUNCTION_RETURN), answer[FUNCTION_RETURN])
                asked, given = dcgm_answers.read(key, arguments, code, answer, self.gpus, gpu)
            except dcgm_values.Unfit as error:
                self.leave(here, str(error))
                continue
            if asked in self.recording and asked.function != "nvmlDeviceGetUUID":
                raise self.error(here, "gives arguments a second time")
            self.recording[asked] = given

    def answers(self, path: Path, node: Any, arguments: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Path, dict[Any, Any]]]:
        """Arguments, place and mapping of every answer at or below ``node``."""
        held = self.mapping(path, node)
        if FUNCTION_RETURN in held:
            if strange := [key for key in held if key not in (FUNCTION_RETURN, RETURN_VALUE)]:
                raise self.error((*path, strange[0]), f"stands in an answer, which has {FUNCTION_RETURN} and {RETURN_VALUE} alone",
                                 strange[0], (FUNCTION_RETURN, RETURN_VALUE))  # fmt: skip
            yield arguments, path, held
            return
        if len(arguments) >= DEPTH_LIMIT:
            raise self.error(path, f"is nested under {len(arguments)} arguments")
        for argument, inner in held.items():
            if dcgm_values.integer(argument) is None and argument not in self.gpus:
                raise self.error((*path, argument), f"is neither {FUNCTION_RETURN}, nor the number of an argument, nor a UUID of the devices",
                                 argument, (FUNCTION_RETURN, RETURN_VALUE))  # fmt: skip
            yield from self.answers((*path, argument), inner, (*arguments, argument))

    def code(self, path: Path, node: Any) -> int:
        """An nvmlReturn_t."""
        code = dcgm_values.integer(node)
        if code is None or not 0 <= code < CODE_LIMIT:
            raise self.error(path, "is no return code of NVML, a whole number from 0 up")
        return code

    def fields(self, path: Path, node: Any, gpu: int | None) -> None:
        """nvmlDeviceGetFieldValues: one return for the call, and an answer of its own for each field id; the recorder gives no scope, which is 0."""
        held = self.mapping(path, node)
        if FUNCTION_RETURN not in held:
            raise self.error(path, f"has no {FUNCTION_RETURN}", next(map(str, held), ""), (FUNCTION_RETURN, RETURN_VALUE))
        if self.code((*path, FUNCTION_RETURN), held[FUNCTION_RETURN]):
            self.leave(path, "the whole call failed: of which field ids is not said")
            return
        inside = (*path, RETURN_VALUE)
        for number, entry in self.mapping(inside, held.get(RETURN_VALUE)).items():
            here = (*inside, number)
            field_id = dcgm_values.integer(number)
            if field_id is None or not 0 <= field_id < 1 << 32:
                raise self.error(here, "is no field id, a whole number from 0 up")
            asked = Asked(FIELD_VALUES, gpu, (("fieldId", field_id), ("scopeId", 0)))
            if asked in self.recording:
                raise self.error(here, "gives a field id a second time")
            try:
                self.recording[asked] = self.field_value(here, self.mapping(here, entry))
            except dcgm_values.Unfit as error:
                self.leave(here, str(error))

    def field_value(self, path: Path, entry: dict[Any, Any]) -> Answer:
        """The answer of one field id."""
        names = dcgm_keys.field_names()
        if strange := [key for key in entry if key not in names]:
            raise self.error((*path, strange[0]), f"is no part of a field's answer: {', '.join(names)}", str(strange[0]), names)
        part = {names[key]: (value, (*path, key)) for key, value in entry.items()}
        if "code" not in part:
            raise self.error(path, f"has no {dcgm_keys.field_name('code')}")
        code = self.code(part["code"][1], part["code"][0])
        if code:
            return Answer(code)
        if "type" not in part or "value" not in part:
            raise dcgm_values.Unfit("SUCCESS without type and value")
        kind = dcgm_values.read(shapes.Number(0, (1 << 32) - 1), part["type"][0], {}, "type")
        shape = dcgm_keys.value_shape(kind)
        if shape is None:
            raise dcgm_values.Unfit(f"value type {kind} is none of nvml.h's")
        return Answer(0, {"valueType": kind, "value": dcgm_values.read(shape, part["value"][0], {}, "value")})

    def other(self, section: str, node: Any, known: list[str]) -> None:
        """A section whose keys no call of the list answers from."""
        why = dcgm_keys.table()["sections"].get(section) or self.unknown_section(section, known)
        before = len(self.left)
        for name, held in node.items() if isinstance(node, dict) else ():
            for key in held if isinstance(held, dict) else ():
                self.left.append(Left(f"{_name(section)}.{_name(key)}", why, self.document.line((section, name, key))))
        if len(self.left) == before:
            self.left.append(Left(_name(section), why, self.document.line((section,))))

    def unknown_section(self, section: str, known: list[str]) -> str:
        """Why a section of that name is not kept, with the nearest that is known for the first few."""
        self.strange.setdefault(section, "")
        near = did_you_mean(section, known) if len(self.strange) < HINTS else ""
        return f"no section of the document that is known here{near}"

    def mapping(self, path: Path, node: Any) -> dict[Any, Any]:
        """``node``, which must be a mapping."""
        if not isinstance(node, dict):
            raise self.error(path, "is no mapping")
        return node

    def leave(self, path: Path, why: str) -> None:
        """Count what is not kept; a device is named by its index, never by its UUID."""
        self.left.append(Left(self.named(path[:3] if path[0] == DEVICE else path[:2]), why, self.document.line(path)))

    def named(self, path: Path) -> str:
        """A path for messages that go to reports: keys alone, the device left out."""
        return ".".join(_name(part) for number, part in enumerate(path) if not (path[0] == DEVICE and number == 1))

    def error(self, path: Path, what: str, key: str = "", valid: Any = ()) -> InputError:
        """A refusal at a place of the document."""
        shown = self.shown(path)[:200] or "the document"
        return InputError(f"{self.document.where(path)}: {shown} {what}{did_you_mean(key, valid) if key else ''}")

    def shown(self, path: Path) -> str:
        """A path for messages: devices by their index, never by their UUID."""
        parts = [f"GPU {self.gpus[part]}" if part in self.gpus else str(part) for part in path]
        if path[:1] == (DEVICE,) and len(path) > 1:
            parts[:2] = [f"{DEVICE}[{self.gpus.get(str(path[1]), '?')}]"]
        return ".".join(parts)


def _name(key: object) -> str:
    """A key for reports; one that is no name may be an identifier that stands in the wrong place, and is not told."""
    return str(key) if _NAME.fullmatch(str(key)) else "a key that is no name"
