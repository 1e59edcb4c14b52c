"""A `-q` text as an outline: labels by depth, the texts behind them, and the layout, from which the text is written again byte for byte.

    GPU 00000000:01:00.0
        Clocks
            SM                                : 210 MHz

The tree is that of `model.Node`: the label is the tag, blanks at its end included (``GPU Memory Power Readings ``), a GPU is ``gpu`` with its
address as ``@GPU``, so that a reading's path is ``gpu[0]/Clocks/SM``.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from harness.text import lost, outline_writer, rawbytes, refusals, writer
from harness.text.document import EDITED, MAX_GPUS, OWN, REINDENTED, TRIMMED, Document
from harness.text.model import EMPTY, LINE, TREE, Node, Note, Verbatim
from harness.text.outline_writer import ATTACHED, GPU, HEADING, OutlineLayout
from harness.words.errors import InputError

__all__ = ["ATTACHED", "GPU", "HEADER", "HEADING", "VIEW", "Outline", "OutlineLayout", "Queried", "is_one", "is_view", "read"]

VIEW = "q"
MAX_BYTES = 8 * 1024 * 1024
"""The largest text read; that of eight GPUs is under 80 kB."""
MAX_DEPTH = 16
"""The deepest label read; nvidia-smi's go down five levels."""
HEADER = re.compile(r"([ \t#]*)=+NVSMI LOG=+[ \t]*")
_VIEW = re.compile(rf"{VIEW}(?::[A-Z][A-Z_]{{0,39}}(?:,[A-Z][A-Z_]{{0,39}}){{0,40}})?")
_LABEL = r"[A-Za-z][A-Za-z0-9 ./()_+&'\[\]-]*"
_HEAD = re.compile(rf"([ \t]*)({_LABEL})")
_GPU = re.compile(r"GPU ([0-9A-Fa-fXx]{4,8}:[0-9A-Fa-fXx]{2}:[0-9A-Fa-fXx]{2}\.[0-9A-Fa-fXx])")
_CUT = re.compile(r"[ \t#]*(?:\.{3,}|…|\[\.{3}\]|<?-* ?(?:snip|truncated|cut|omitted)\b.*)", re.IGNORECASE)


@dataclass(slots=True)
class Outline:
    """One `-q` text.

    kind:      own, re-indented, trimmed (fewer GPUs than attached, or a line that says that something was cut out) or edited (told by the giver)
    layout:    how lines are written
    root:      its children are the lines above the GPUs, by label, and a ``gpu`` each
    verbatim:  lines that layout and tree cannot express
    sections:  what `-d` named, where the text is of those alone; which they are is for whoever knows the driver's sections to say
    notes:     what a report should mention
    """

    root: Node
    layout: OutlineLayout = field(default_factory=OutlineLayout)
    kind: str = OWN
    verbatim: list[Verbatim] = field(default_factory=list)
    sections: tuple[str, ...] = ()
    notes: list[Note] = field(default_factory=list, compare=False)

    @property
    def gpus(self) -> list[Node]:
        """The GPU blocks in file order."""
        return [child for child in self.root.children if child.tag == GPU]

    @property
    def lost(self) -> list[lost.LostGpu]:
        """The GPUs that a line of its own says have no handle, in file order."""
        return [gpu for part in self.verbatim for line in part.lines if (gpu := lost.parse(line)) is not None]

    @property
    def cut(self) -> bool:
        """Does a line say that something was left out behind it (``...``)?"""
        return any(_CUT.fullmatch(line) for part in self.verbatim for line in part.lines)

    @property
    def view(self) -> str:
        """``q``, or ``q:MEMORY,ECC`` for the sections MEMORY and ECC alone."""
        return f"{VIEW}:{','.join(self.sections)}" if self.sections else VIEW

    @property
    def verbatim_lines(self) -> int:
        """How many lines are kept verbatim; 0 in nvidia-smi's own layout.  Empty ones are not counted: they are known to be no reading."""
        return sum(max(len(part.lines), part.drop) for part in self.verbatim if not part.comment)

    def get(self, path: str) -> str | None:
        """The text of the leaf at ``path`` (``Driver Version``, ``gpu[0]/GPU UUID``), None where it is absent."""
        return self.root.get(path)

    def delivered(self, data: bytes) -> bytes:
        """``data``, a whole text, as it would have come here on the way of this one: with as many empty lines at its ends, without the blanks that an
        editor took off, and cut where this one is cut, if nothing stands behind that.
        """
        came = outline_writer.delivered(data, self.layout)
        lines = [(part.at, line) for part in self.verbatim for line in part.lines]
        cuts = [at for at, line in lines if _CUT.fullmatch(line)]
        if not cuts or cuts[0] < self._lines:
            return came
        return b"\n".join(came.split(b"\n")[: cuts[0]]) + b"\n"

    @property
    def _lines(self) -> int:
        """How many lines readings and layout make, the empty ones at the end left out."""
        return len(outline_writer.write(self.root, self.layout).rstrip("\r\n").split("\n"))

    def to_bytes(self) -> bytes:
        """The text, byte for byte the one that was read."""
        return rawbytes.encode(writer.patch(outline_writer.write(self.root, self.layout), self.verbatim))


Queried = Document | Outline
"""A text whose readings make a profile."""


def is_view(name: str) -> bool:
    """Is ``name`` the view ``q``, or one of its sections (``q:MEMORY``)?"""
    return _VIEW.fullmatch(name) is not None


def is_one(data: bytes) -> bool:
    """Does ``data`` hold the first line of a `-q` text?"""
    return b"=NVSMI LOG=" in data


def read(data: bytes, name: str = "outline", *, edited: bool = False) -> Outline:
    """The outline of ``data``, the output of `nvidia-smi -q`; ``name`` stands for the file in messages.

    ``edited`` says that the giver changed the text by hand.  A line that is no label, or stands deeper than any place for it, is kept verbatim and
    noted.  Raises InputError with one line, file and line number: empty, too large, not a capture, more than one output, no reading in it, too
    many GPUs or too deep.
    """
    refusals.check_size(data, name, MAX_BYTES)
    text = rawbytes.decode(data)
    bom = text.startswith("\ufeff")
    plain = (text[1:] if bom else text).replace("\r\n", "\n")
    lines = plain.split("\n")
    heads = [number for number, line in enumerate(lines) if HEADER.fullmatch(line)]
    if not heads:
        raise refusals.not_a_capture(plain, name, view="-q")
    if len(heads) > 1:
        more = f"the first at line {heads[0] + 1}, {len(heads)} in all"
        raise InputError(f"{name}:{heads[1] + 1}: another output of `nvidia-smi -q` begins ({more}); give each in a file of its own")
    reader = _Reader(lines, heads[0], name)
    reader.run()
    outline_writer.space(reader.root)
    if not reader.root.children:
        raise InputError(f"{name}:{heads[0] + 1}: no reading stands below the first line of `nvidia-smi -q`; the file was cut off, capture again")
    layout = reader.layout(text, bom=bom)
    layout.stripped = not any(line.endswith(" ") for line in lines) and outline_writer.restore(reader.root)
    verbatim = writer.exceptions(outline_writer.write(reader.root, layout), text)
    for part in verbatim:
        part.comment = not part.drop and not any(line.strip(" \t\r#") for line in part.lines)
    found = Outline(reader.root, layout, OWN, verbatim, (), reader.notes)
    found.kind = EDITED if edited else _kind(found)
    return found


def _kind(found: Outline) -> str:
    """What the bytes say about the kind."""
    attached = found.get(ATTACHED)
    if attached is not None and attached.isascii() and attached.isdigit() and len(found.gpus) + len(found.lost) < int(attached[:9]):
        return TRIMMED
    if found.cut:
        return TRIMMED
    return OWN if found.layout.own and not found.verbatim else REINDENTED


class _Reader:
    """Reads the ``lines`` below the first one of the output, which is number ``head`` of them."""

    def __init__(self, lines: list[str], head: int, name: str) -> None:
        self.lines = lines
        self.head = head
        self.name = name
        self.prefix = match[1] if (match := HEADER.fullmatch(lines[head])) else ""
        self.root = Node("", form=TREE)
        self.stack: list[Node] = [self.root]
        self.columns: Counter[tuple[str, int]] = Counter()
        self.units: Counter[str] = Counter()
        self.gpus = 0
        self.notes: list[Note] = []

    def run(self) -> None:
        """Fills the tree."""
        for number, line in enumerate(self.lines, 1):
            if number == self.head + 1 or not line.strip(" \t#"):
                continue
            rest = line.removeprefix(self.prefix)
            inside = number > self.head + 1 and line.startswith(self.prefix)
            if not inside or not (self._gpu(rest, number) or self._label(rest, number)):
                self.notes.append(Note(number, f"no line of `nvidia-smi -q`: {line.strip()[:80]!r}"))

    def _gpu(self, line: str, number: int) -> bool:
        match = _GPU.fullmatch(line)
        if match is None:
            return False
        self.gpus += 1
        if self.gpus > MAX_GPUS:
            raise InputError(f"{self.name}:{number}: more than {MAX_GPUS} GPUs; no node has so many, the file is refused")
        node = Node(GPU, attributes={HEADING: match[1]}, form=EMPTY, line=number)
        self.root.children.append(node)
        self.stack = [self.root, node]
        return True

    def _label(self, line: str, number: int) -> bool:
        """Puts a row or a heading into the tree; False for one that has no place there."""
        before, colon, value = line.partition(":")  # no pattern over the whole row: one that may end a label at each blank takes minutes
        label = before.rstrip(" ") if colon else before
        match = _HEAD.fullmatch(label)
        depth = None if match is None else self._depth(match[1])
        if match is None or depth is None or depth > len(self.stack) - 1 or (depth == 0 and (not colon or self.gpus)):
            return False
        if depth > MAX_DEPTH:
            raise InputError(f"{self.name}:{number}: labels nested more than {MAX_DEPTH} levels deep; no output of nvidia-smi is so deep")
        del self.stack[depth + 1 :]
        node = Node(match[2], value.removeprefix(" "), form=LINE, line=number) if colon else Node(match[2], form=EMPTY, line=number)
        parent = self.stack[-1]
        parent.children.append(node)
        if parent.text is None:
            parent.form = TREE
        self.stack.append(node)
        if label != before and len(before) <= outline_writer.MOST_COLUMN:
            self.columns[self._section(), len(before)] += 1
        if depth == 1:
            self.units[match[1]] += 1
        return True

    def _depth(self, indent: str) -> int | None:
        """How deep a line with ``indent`` stands; None for one between two levels."""
        unit = self.units.most_common(1)[0][0] if self.units else outline_writer.UNIT if indent.startswith(" ") else indent
        if not indent:
            return 0
        if not self.units and len(self.stack) > 1:
            return 1
        depth, rest = divmod(len(indent), len(unit))
        return depth if not rest and indent == unit * depth else None

    def _section(self) -> str:
        """The label below the GPU that the line just read stands under; empty for one that stands under none."""
        return self.stack[2].tag if len(self.stack) > 3 and self.stack[1].tag == GPU else ""

    def layout(self, text: str, *, bom: bool) -> OutlineLayout:
        """The layout in which most lines are written."""
        columns: Counter[int] = Counter()
        sections: dict[str, Counter[int]] = {}
        for (section, column), count in self.columns.items():
            columns[column] += count
            sections.setdefault(section, Counter())[column] += count
        column = columns.most_common(1)[0][0] if columns else outline_writer.COLUMN
        own = {section: found.most_common(1)[0][0] for section, found in sections.items() if section}
        body = "\n".join(self.lines)
        return OutlineLayout(
            column=column,
            inner=tuple(sorted((section, at) for section, at in own.items() if at != column)),
            prefix=self.prefix,
            unit=self.units.most_common(1)[0][0] if self.units else outline_writer.UNIT,
            before=min(len(body) - len(body.lstrip("\n")), outline_writer.MOST_BEFORE),
            eol="\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n",
            end=min(len(body) - len(body.rstrip("\n")), outline_writer.MOST_END),
            bom=bom,
        )
