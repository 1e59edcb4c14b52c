"""A `-q -x` text as a document: tree, layout and exceptions, from which the text is written again byte for byte."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field

from harness.text import lost, rawbytes, refusals, scanner, writer, xmltree
from harness.text.model import (
    BLOCK,
    CLOSED,
    EMPTY,
    FULL,
    LINE,
    MINIMAL,
    PLAIN,
    TREE,
    Layout,
    Node,
    Note,
    Verbatim,
    block,
    empty,
    leaf,
    tree,
)
from harness.words.errors import InputError

__all__ = [
    "BLOCK", "CLOSED", "EDITED", "EMPTY", "FULL", "KINDS", "LINE", "MINIMAL", "OWN", "PLAIN", "REINDENTED", "ROOT_TAG", "TREE", "TRIMMED",
    "Document", "Layout", "Node", "Note", "Verbatim", "block", "empty", "leaf", "read", "tree",
]  # fmt: skip

OWN = "own"
REINDENTED = "re-indented"
TRIMMED = "trimmed"
EDITED = "edited"
KINDS = (OWN, REINDENTED, TRIMMED, EDITED)

ROOT_TAG = scanner.ROOT_TAG
MAX_BYTES = 8 * 1024 * 1024
"""The largest text read: 72 GPUs with full clock lists are 3.3 MB."""

MAX_GPUS = 1024
"""The most GPUs of one node that are read; a rack of 72 is the largest there is."""
MAX_END = 9
"""The most line ends kept as layout at the end of a text; more are kept as empty lines."""


@dataclass(slots=True)
class Document:
    """One `-q -x` text.

    kind:      own, re-indented, trimmed (fewer ``<gpu>`` than attached_gpus) or edited (told by whoever gave the file)
    layout:    how lines are written
    doctype:   file name of the DTD (``nvsmi_device_v12.dtd``), None where the line is missing
    root:      the ``nvidia_smi_log`` element
    verbatim:  lines that layout and tree cannot express
    notes:     what a report should mention: repaired names, lines outside the root, comments
    """

    root: Node
    layout: Layout = field(default_factory=Layout)
    doctype: str | None = None
    kind: str = OWN
    verbatim: list[Verbatim] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list, compare=False)

    @property
    def gpus(self) -> list[Node]:
        """The ``<gpu>`` blocks in file order."""
        return [child for child in self.root.children if child.tag == "gpu"]

    @property
    def lost(self) -> list[lost.LostGpu]:
        """The GPUs that a line outside the root element says have no handle, in file order."""
        return [gpu for part in self.verbatim for line in part.lines if (gpu := lost.parse(line)) is not None]

    @property
    def verbatim_lines(self) -> int:
        """How many lines are kept verbatim; 0 in nvidia-smi's own layout.  Comments are not counted: they are known to be no reading."""
        return sum(max(len(part.lines), part.drop) for part in self.verbatim if not part.comment)

    def get(self, path: str) -> str | None:
        """The text of the leaf at ``path`` (``driver_version``, ``gpu[0]/uuid``), None where it is absent."""
        return self.root.get(path)

    def to_bytes(self) -> bytes:
        """The text, byte for byte the one that was read."""
        return rawbytes.encode(writer.patch(writer.write(self.root, self.layout, self.doctype), self.verbatim))


def read(data: bytes, name: str = "capture", *, edited: bool = False) -> Document:
    """The document of ``data``, the output of `nvidia-smi -q -x`; ``name`` stands for the file in messages.

    ``edited`` says that the giver changed the text by hand; bytes do not tell.  Raises InputError with one line, file and line number:
    empty, too large, not a capture (and what it is instead), cut off, not well formed, entity declarations, or scanner and XML parser
    disagree.
    """
    refusals.check_size(data, name, MAX_BYTES)
    text = rawbytes.decode(data)
    bom = text.startswith("\ufeff")
    plain = text.replace("\r\n", "\n") if "\r" in text else text
    plain = plain[1:] if bom else plain
    if f"<{ROOT_TAG}" not in plain:
        raise refusals.not_a_capture(plain, name)
    scan = scanner.scan(plain, name)
    tree = xmltree.parse(_copy(plain, scan), name, scan.span[0])
    xmltree.agree(tree, scan, name)
    if sum(child.tag == "gpu" for child in scan.root.children) > MAX_GPUS:
        raise InputError(f"{name}: more than {MAX_GPUS} <gpu> blocks; no node has so many, the file is refused")
    layout = _layout(text, plain, scan, bom=bom)
    written = writer.write(scan.root, layout, scan.doctype)
    verbatim = writer.exceptions(written, text)
    _mark_comments(verbatim, scan)
    document = Document(scan.root, layout, scan.doctype, OWN, verbatim, _notes(scan))
    document.kind = EDITED if edited else _kind(document, scan)
    return document


def tree_of(data: bytes, name: str = "capture", *, strict: bool = False) -> xmltree.Element:
    """The root element of ``data`` as the XML parser alone reads it, for whoever asks for a few readings and keeps no layout.

    There is no second reader and nothing is written again.  Text around the root element is dropped.  What is no XML as it stands (a product
    name's bare ``&``) is repaired as ``read`` does, with ``strict`` it is refused.  Raises InputError as ``read``.
    """
    refusals.check_size(data, name, MAX_BYTES)
    text = rawbytes.decode(data).replace("\r\n", "\n").removeprefix("\ufeff")
    start, end = text.find(f"<{ROOT_TAG}"), text.rfind(f"</{ROOT_TAG}>")
    if start < 0:
        raise refusals.not_a_capture(text, name)
    if strict and rawbytes.has_odd_bytes(text):
        raise InputError(f"{name}: not well-formed XML: it holds bytes that are no text; capture again")
    if end > start and (strict or "<!ENTITY" not in text):
        try:
            return xmltree.parse(text[start : end + len(ROOT_TAG) + 3].encode(), name)
        except InputError:
            if strict:
                raise
            # else the scanner says what is wrong, or repairs it
    scan = scanner.scan(text, name)
    return xmltree.parse(_copy(text, scan), name, scan.span[0])


def _copy(plain: str, scan: scanner.Scan) -> bytes:
    """The root element alone, its names escaped, for the XML parser."""
    first, last = scan.span
    lines = plain.split("\n")[first - 1 : last]
    for number, line in scan.repairs.items():
        lines[number - first] = line
    start = lines[0].index(f"<{ROOT_TAG}")
    close = f"</{ROOT_TAG}"
    lines[0] = lines[0][start:]
    at = lines[-1].rindex(close)
    lines[-1] = lines[-1][: lines[-1].index(">", at) + 1]
    return "\n".join(lines).encode()


def _mark_comments(verbatim: list[Verbatim], scan: scanner.Scan) -> None:
    """Tells the parts that are comments and empty lines from those that are unknown lines."""
    shift = 0
    for part in verbatim:
        first = part.at + shift + 1
        part.comment = not part.drop and all(not line.strip() or first + offset in scan.comments for offset, line in enumerate(part.lines))
        shift += len(part.lines) - part.drop


def _layout(text: str, plain: str, scan: scanner.Scan, *, bom: bool) -> Layout:
    """The layout in which most lines of ``text`` are written."""
    indents = list(scan.indents)
    if scan.odd:
        indents = _settle(scan.root, indents)
    steps = (later[len(earlier) :] for earlier, later in itertools.pairwise(indents) if later != earlier and later.startswith(earlier))
    unit = next(steps, "\t")
    regular = all(indent == unit * depth for depth, indent in enumerate(indents))
    crlf = text.count("\r\n")
    return Layout(
        unit=unit,
        indents=() if regular else tuple(indents),
        eol="\r\n" if crlf * 2 > text.count("\n") else "\n",
        declaration=scan.declaration,
        gap=_has_gap(plain),
        end=min(len(plain) - len(plain.rstrip("\n")), MAX_END),
        bom=bom,
        closing=scan.closing,
    )


def _has_gap(plain: str) -> bool:
    """Is an empty line after most ``</gpu>``?  Where there is no GPU block, nvidia-smi's own way is taken."""
    closes = plain.count("</gpu>\n")
    return plain.count("</gpu>\n\n") * 2 >= closes


def _settle(root: Node, indents: list[str]) -> list[str]:
    """The most frequent white space at each depth in place of the first seen; ``indent`` of the nodes follows."""
    counts: list[dict[str, int]] = [{} for _ in indents]
    nodes: list[tuple[int, Node, str]] = []
    stack = [(0, root)]
    while stack:
        depth, node = stack.pop()
        indent = indents[depth] if node.indent is None else node.indent
        if depth < len(counts):
            counts[depth][indent] = counts[depth].get(indent, 0) + 1
        nodes.append((depth, node, indent))
        stack.extend((depth + 1, child) for child in node.children)
    common = [max(seen, key=lambda indent: seen[indent]) if seen else indents[depth] for depth, seen in enumerate(counts)]
    for depth, node, indent in nodes:
        node.indent = None if indent == common[depth] else indent
    return common


def _kind(document: Document, scan: scanner.Scan) -> str:
    """What the bytes say about the kind: trimmed, own or re-indented."""
    attached = document.get("attached_gpus")
    if attached is not None and attached.isascii() and attached.isdigit() and len(document.gpus) + len(document.lost) < int(attached[:9]):
        return TRIMMED
    own = document.layout.own and document.doctype is not None and not document.verbatim and not scan.odd and not scan.foreign
    return OWN if own else REINDENTED


def _notes(scan: scanner.Scan) -> list[Note]:
    outside = [Note(line, f"outside the root element: {text[:120]!r}") for line, text in scan.outside]
    return sorted(scan.notes + outside, key=lambda note: note.line)
