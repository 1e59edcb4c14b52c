"""YAML as this project accepts it: mappings, lists and plain scalars, with the line of every key kept for messages.

Refused, each with file and line: duplicate keys, anchors and aliases, tags, merge keys, keys that are neither text nor
whole numbers, documents over the size or depth cap.  Booleans are ``true`` and ``false`` only; dates stay text.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.words import fileformat
from harness.words.errors import InputError

MAX_BYTES = 16 * 1024 * 1024
MAX_DEPTH = 64
MAX_DIGITS = 1000
"""Digits of a number; Python refuses to read very long ones, and 2^64 has 20."""

Path_ = tuple["str | int", ...]


@dataclass
class Document:
    """A parsed document: ``value`` is plain dicts, lists and scalars; ``lines`` maps key paths to 1-based lines; ``source`` names the file."""

    value: Any
    source: str
    lines: dict[Path_, int] = field(default_factory=dict)

    def where(self, path: Path_) -> str:
        """``file:line`` of a key path, falling back to the nearest enclosing key that has a line."""
        return f"{self.source}:{self.line(path)}"

    def line(self, path: Path_) -> int:
        """The line of a key path, or of the nearest enclosing key that has one; 1 without."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def load_file(path: Path, name: str | None = None, kind: str | None = None) -> Document:
    """The document in a file; ``name`` is shown in messages instead of the path.

    ``kind``: what file of nvparity it is (``fileformat.KINDS``); one of the format before is read as the current one has it.
    """
    return load(read_file(path, name), name or str(path), kind)


def read_file(path: Path, name: str | None = None) -> bytes:
    """The bytes of a file; InputError when it cannot be read, is no regular file (a pipe may never end) or is over the size cap."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
            raise InputError(f"{name or path}: is no regular file")
        if status.st_size > MAX_BYTES:
            raise InputError(f"{name or path}: {status.st_size} bytes, more than the {MAX_BYTES} a document may have")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{name or path}: cannot be read: {error.strerror}") from error


def load(data: bytes | str, source: str, kind: str | None = None, *, texts: bool = False) -> Document:
    """The document in ``data``; InputError with file and line for anything refused.  ``kind`` as in `load_file`.

    ``texts``: scalars stay the texts they are written as, keys too, and only a plain null is None: for a format whose reader knows by the place
    what a scalar is (570.10 is a version there and 0123 a serial number).
    """
    if len(data) > MAX_BYTES:
        raise InputError(f"{source}: {len(data)} bytes, more than the {MAX_BYTES} a document may have")
    try:
        text = (data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass")).decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError(f"{source}:{line}: byte {error.start} is not UTF-8") from error
    if kind is not None:
        text = fileformat.upgraded(kind, text)
    document = Document(None, source)
    try:
        _refuse_anchors(text, source)
        node = yaml.compose(text, Loader=_LOADER)
        document.value = None if node is None else _Constructor(document, _text if texts else _scalar).value(node, ())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark is not None else 1
        problem = getattr(error, "problem", None) or str(error).split("\n")[0]
        raise InputError(f"{source}:{line}: not valid YAML: {problem}") from error
    return document


_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _refuse_anchors(text: str, source: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark is not None else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise InputError(f"{source}:{line}: anchors and aliases are not accepted; write the value out")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                raise InputError(f"{source}:{line}: nested deeper than {MAX_DEPTH} levels")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, (yaml.ScalarEvent, yaml.CollectionStartEvent)) and event.tag is not None:
            raise InputError(f"{source}:{line}: tags such as {event.tag!r} are not accepted")


class _Constructor:
    """Makes plain values of nodes and keeps their lines; ``scalar`` says what a scalar is."""

    def __init__(self, document: Document, scalar: Callable[[yaml.Node], Any]) -> None:
        self.document = document
        self.scalar = scalar

    def value(self, node: yaml.Node, path: Path_) -> Any:
        """The value of one node."""
        self.document.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, yaml.MappingNode):
            return self.mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        return self.scalar(node)

    def mapping(self, node: yaml.MappingNode, path: Path_) -> dict[str | int, Any]:
        """The value of a mapping; InputError for a key that is none or is there already."""
        result: dict[str | int, Any] = {}
        source, lines = self.document.source, self.document.lines
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self.scalar(key_node) if isinstance(key_node, yaml.ScalarNode) else None
            if key_node.tag.endswith(":merge") or isinstance(key, bool) or not isinstance(key, (str, int)):
                raise InputError(f"{source}:{line}: a key must be plain text or a whole number")
            if key in result:
                raise InputError(f"{source}:{line}: key {key!r} is given twice (first on line {lines[(*path, key)]})")
            lines[(*path, key)] = line
            result[key] = self.value(value_node, (*path, key))
        return result


def _text(node: yaml.Node) -> str | None:
    quoted = getattr(node, "style", None) in ("'", '"', "|", ">")
    return None if node.tag.endswith(":null") and not quoted else str(node.value)


def _scalar(node: yaml.Node) -> Any:
    text = str(node.value)
    kind = node.tag.rsplit(":", 1)[-1]
    if getattr(node, "style", None) in ("'", '"', "|", ">"):
        return text
    if kind == "null":
        return None
    if kind == "bool":
        return {"true": True, "false": False}.get(text, text)
    if kind == "int":
        return _integer(text)
    if kind == "float":
        return _float(text)
    return text


def _integer(text: str) -> int | str:
    """A decimal or 0x integer; YAML 1.1's octal, binary, sexagesimal and underscore spellings stay text, and numbers too long for any key."""
    if len(text) > MAX_DIGITS:
        return text
    digits = text.lstrip("+-")
    if digits.startswith("0x"):
        return int(text, 16)
    if digits.isdigit() and (digits == "0" or not digits.startswith("0")):
        return int(text)
    return text


def _float(text: str) -> float | str:
    """A fraction; YAML 1.1's sexagesimal and underscore spellings, infinities and what is no number stay text."""
    if ":" in text or "_" in text or text.lstrip("+-").lower() in (".inf", ".nan"):
        return text
    number = float(text)
    return number if math.isfinite(number) else text
