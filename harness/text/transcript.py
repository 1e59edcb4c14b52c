"""Transcripts: a document or listing as facts, one reading a line, from which its text is written again byte for byte.

    format: 1
    view: q-x
    kind: own
    layout: own
    doctype: nvsmi_device_v13.dtd

    driver_version: 580.105.08
    gpu 0-1
      @id: 00000000:8F:00.0 | 00000000:90:00.0
      product_name: NVIDIA B200
      mig_devices: [None]
      processes: []
      supported_clocks
        supported_mem_clock: {3996 MHz: 1965..120/-8-7}

A line is ``tag: value`` or, for an element with children, ``tag``; two blanks a level.  One value stands for all GPUs of the ``gpu`` line
above; where they differ there is one for each, between bars, ``~`` where the element is absent.  ``[text]`` stands on a line of its own in
the capture, ``[]`` is an open and a close line, ``</>`` a closed tag.
"""

from __future__ import annotations

import re

from harness.text import document, listing, listing_transcript, outline, outline_transcript, quoting, transcribing
from harness.text.headers import layout_line, parse_layout
from harness.text.model import Verbatim
from harness.text.rebuilding import Rebuilder
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT, check_format, number_of, upgraded

VIEW_QUERY = "q-x"
VIEW_LIST = "L"
VIEW_TEXT = outline.VIEW
TIMESTAMP = "timestamp"
MAX_CHARS = 64 * 1024 * 1024
"""The longest transcript read; an eight-GPU node's has some 10 000 characters."""

_RECORDED = "recorded "
_KEYS = ("format", "view", "kind", "layout", "doctype")
_INDENT = re.compile(r'indent ([^" ]+): (".*")')
_VERBATIM = re.compile(r"(verbatim|comment) ([0-9]{1,9})\+([0-9]{1,9}):")
_DTD = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def dump(source: document.Document | listing.Listing | outline.Outline, *, recorded: bool = False) -> str:
    """The transcript of ``source``; the same for equal sources.

    ``recorded``: it is of a recording, in which what moves from one to the next stands on a line that starts so.
    """
    if isinstance(source, listing.Listing):
        return listing_transcript.dump(source)
    if isinstance(source, outline.Outline):
        return outline_transcript.dump(source)
    out = [f"format: {FORMAT}", f"view: {VIEW_QUERY}", f"kind: {source.kind}", f"layout: {layout_line(source.layout)}"]
    out.append(f"doctype: {source.doctype or '-'}")
    for path, node in [("/", source.root), *source.root.walk()]:
        if node.indent is not None:
            out.append(f"indent {path}: {quoting.quote(node.indent)}")
    out.extend(verbatim_lines(source.verbatim))
    out.append("")
    moving = f"{_RECORDED}{TIMESTAMP}: " if recorded else f"{TIMESTAMP}: "
    out.extend(re.sub(f"^{TIMESTAMP}: ", lambda _: moving, line) for line in transcribing.body(source.root))
    return "\n".join(out) + "\n"


def verbatim_lines(parts: list[Verbatim]) -> list[str]:
    """``verbatim AT+DROP:`` and the lines that stand there, each in quotes."""
    out: list[str] = []
    for part in parts:
        out.append(f"{'comment' if part.comment else 'verbatim'} {part.at}+{part.drop}:")
        out.extend(f"  {quoting.quote(line)}" for line in part.lines)
    return out


def load(text: str, name: str = "transcript") -> document.Document | listing.Listing | outline.Outline:
    """The document, listing or outline that ``text`` is the transcript of; ``name`` stands for the file in messages.

    Raises InputError with file, line and what to do: a format this nvparity does not read, unknown keys or words, values for the wrong
    number of GPUs, a verbatim line that says another reading than its line, and text that unfolds beyond all sense.
    """
    if len(text) > MAX_CHARS:
        raise InputError(f"{name}: too large for a transcript: {len(text)} characters, the limit is {MAX_CHARS}")
    lines = upgraded("transcript", text).split("\n")
    check_format(number_of(lines[0]), f"{name}:1")
    head = Header(lines, name)
    if head.values["view"] == VIEW_LIST:
        return listing_transcript.load(head, name)
    if outline.is_view(head.values["view"]):
        return outline_transcript.load(head, name)
    if head.values["view"] != VIEW_QUERY:
        raise head.error("view", f"{head.values['view']!r} is no view ({VIEW_QUERY}, {VIEW_TEXT}, {VIEW_TEXT}:SECTION,... or {VIEW_LIST})")
    return _document(head, name)


def _still(line: str) -> str:
    """``line`` without the word that tells what moves."""
    return line.removeprefix(_RECORDED) if line.startswith(f"{_RECORDED}{TIMESTAMP}: ") else line


class Header:
    """The lines above the first empty one: ``values`` by key, ``indents`` by path, ``verbatim`` parts; ``body`` is what follows."""

    def __init__(self, lines: list[str], name: str) -> None:
        self.name = name
        self.values: dict[str, str] = {}
        self.numbers: dict[str, int] = {}
        self.indents: list[tuple[int, str, str]] = []
        self.verbatim: list[Verbatim] = []
        end = lines.index("") if "" in lines else len(lines)
        for number, line in enumerate(lines[:end], 1):
            self._line(line, number)
        for key in ("view", "kind", "layout"):
            if key not in self.values:
                raise InputError(f"{name}:1: no `{key}:` above the first empty line")
        self.body = [(number, _still(line)) for number, line in enumerate(lines[end:], end + 1) if line]

    def _line(self, line: str, number: int) -> None:
        where = f"{self.name}:{number}"
        if line.startswith("  "):
            if not self.verbatim:
                raise InputError(f"{where}: a quoted line without `verbatim AT+DROP:` above it")
            self.verbatim[-1].lines.append(self._unquote(line[2:], where))
            return
        verbatim = _VERBATIM.fullmatch(line)
        indent = _INDENT.fullmatch(line)
        if verbatim:
            part = Verbatim(int(verbatim[2]), int(verbatim[3]), [], comment=verbatim[1] == "comment")
            if self.verbatim and part.at < self.verbatim[-1].at + self.verbatim[-1].drop:
                raise InputError(f"{where}: it overlaps the part above it; parts stand in the order of the text")
            self.verbatim.append(part)
        elif indent:
            self.indents.append((number, indent[1], self._unquote(indent[2], where)))
        else:
            key, colon, value = line.partition(": ")
            if not colon or key not in _KEYS:
                raise InputError(f"{where}: {key[:40]!r} is no key of a transcript's header{did_you_mean(key, _KEYS)}; known: {', '.join(_KEYS)}")
            if key in self.values:
                raise InputError(f"{where}: {key!r} stands twice")
            self.values[key], self.numbers[key] = value, number

    def _unquote(self, word: str, where: str) -> str:
        try:
            return quoting.unquote(word)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from None

    def kind(self) -> str:
        """The kind, one of `document.KINDS`."""
        kind = self.values["kind"]
        if kind not in document.KINDS:
            raise self.error("kind", f"{kind!r} is no kind{did_you_mean(kind, document.KINDS)}; known: {', '.join(document.KINDS)}")
        return kind

    def error(self, key: str, what: str) -> InputError:
        """An error in the line of ``key``."""
        return InputError(f"{self.name}:{self.numbers.get(key, 1)}: {what}")


def _document(head: Header, name: str) -> document.Document:
    doctype: str | None = head.values.get("doctype", "-")
    if doctype == "-":
        doctype = None
    elif doctype is not None and not _DTD.fullmatch(doctype):
        raise head.error("doctype", f"{doctype[:60]!r} is no file name of a DTD")
    try:
        layout = parse_layout(head.values["layout"])
    except ValueError as error:
        raise head.error("layout", str(error)) from None
    root = Rebuilder(head.body, name).root(document.ROOT_TAG)
    nodes = {"/": root, **dict(root.walk())} if head.indents else {}
    for number, path, indent in head.indents:
        node = nodes.get(path)
        if node is None:
            raise InputError(f"{name}:{number}: no element {path}")
        node.indent = indent
    found = document.Document(root, layout, doctype, head.kind(), head.verbatim)
    if found.verbatim_lines:
        _check_verbatim(found, name)
    return found


def _check_verbatim(found: document.Document, name: str) -> None:
    """Holds the readings of the written text against those of the transcript: a verbatim line must not say another one."""
    written = document.read(found.to_bytes(), f"{name} (as written)")
    ours, theirs = list(found.root.leaves()), list(written.root.leaves())
    for (path, text), (other_path, other) in zip(ours, theirs, strict=False):
        if (path, text) != (other_path, other):
            raise InputError(f"{name}: {path} is {text!r}, but a verbatim line says {other_path} {other!r}; change both")
    if len(ours) != len(theirs):
        raise InputError(f"{name}: {len(ours)} readings, but the text with its verbatim lines has {len(theirs)}; change both")
