"""An outline's tree written as `nvidia-smi -q` writes it: four blanks a level, the colons of one block below each other.

The column of the colons is data of the driver (36 in 384, 42 from 470 to 580, 55 from 590 on, where the processes kept 42: from captures).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.text.model import BARE, SENTENCE, Node

GPU = "gpu"
HEADING = "GPU"
"""The word that stands before a GPU's address."""
ATTACHED = "Attached GPUs"
TITLE = "==============NVSMI LOG=============="
COLUMN = 42
MOST_COLUMN = 999
"""The widest column taken for one of the layout: each line that is written reaches to it."""
UNIT = "    "
MOST_BEFORE = 9
MOST_END = 9


@dataclass(slots=True)
class OutlineLayout:
    r"""How the lines of a `-q` text are written; the defaults are nvidia-smi's own way in drivers 470 to 580.

    column:    where the colons stand, counted from 0; a label that reaches there is followed by its colon
    inner:     (label below a GPU, column) of sections inside which the colons stand elsewhere
    prefix:    what stands before each line that is not empty (a slice of a document: blanks, ``# ``)
    unit:      white space of one level
    before:    empty lines before the first one
    eol, end:  line end, ``\n`` or ``\r\n``, and how many of them end the text
    bom:       a UTF-8 byte order mark stands first
    stripped:  an editor took the blanks at the ends of lines off, which nvidia-smi puts there (``GPU Memory Power Readings ``)
    """

    column: int = COLUMN
    inner: tuple[tuple[str, int], ...] = ()
    prefix: str = ""
    unit: str = UNIT
    before: int = 1
    eol: str = "\n"
    end: int = 2
    bom: bool = False
    stripped: bool = False

    @property
    def own(self) -> bool:
        """Is it nvidia-smi's own layout?  CR LF, and empty lines at either end that a shell or a document cut off, leave it so."""
        plain = (self.prefix, self.unit, self.bom, self.stripped) == ("", UNIT, False, False)
        return plain and self.before <= 1 and self.end <= 2


def write(root: Node, layout: OutlineLayout) -> str:
    """The text of ``root`` in ``layout``, before any verbatim line is put in; of a tree that was built, `space` says where empty lines stand."""
    out = [*[""] * layout.before, layout.prefix + TITLE, ""]
    inner = dict(layout.inner)
    for child in root.children:
        _write(child, 0, layout, inner, layout.column, out)
    while not out[-1]:
        out.pop()
    if layout.stripped:
        out = [line.rstrip(" ") for line in out]
    text = "\n".join(out) + "\n" * layout.end
    text = text.replace("\n", layout.eol) if layout.eol != "\n" else text
    return "\ufeff" + text if layout.bom else text


def delivered(data: bytes, layout: OutlineLayout) -> bytes:
    """``data``, a whole text, with as many empty lines at its ends as ``layout`` says: what stood around it on its way here took them off."""
    body = data.strip(b"\n")
    if layout.stripped:
        body = b"\n".join(line.rstrip(b" ") for line in body.split(b"\n"))
    return b"\n" * layout.before + body + b"\n" * layout.end


_BLANKS = {"GPU Memory Power Readings": 1, "Single Bit": 12, "Double Bit": 12}
"""Blanks at the end of a heading, as every capture and binary has them that prints it."""
_CAPS = re.compile(r"Atomic Caps (?:In|Out)bound")
_NAMED = re.compile(r"[A-Z]+_[0-9]+(?: [A-Z]+_[0-9]+)*")


def restore(root: Node) -> bool:
    """Puts the blanks at the ends of lines back that an editor took off; whether there was one to put back."""
    found = False
    for _, node in list(root.walk()):
        blanks = _BLANKS.get(node.tag, 0) if node.text is None else 0
        if blanks:
            node.tag += " " * blanks
        elif node.text and _CAPS.fullmatch(node.tag) and _NAMED.fullmatch(node.text):
            node.text += " "
        else:
            continue
        found = True
    return found


def space(root: Node) -> None:
    """Marks where nvidia-smi puts an empty line: behind each GPU, and before the number of GPUs."""
    for number, child in enumerate(root.children):
        follower = root.children[number + 1] if number + 1 < len(root.children) else None
        child.blank = child.tag == GPU or (follower is not None and follower.tag in (ATTACHED, GPU) and child.tag != ATTACHED)


def _write(node: Node, depth: int, layout: OutlineLayout, inner: dict[str, int], column: int, out: list[str]) -> None:
    """The lines of ``node``, its colon in ``column``; ``inner``: where those of what is in it stand, by its label."""
    indent = layout.prefix + layout.unit * depth
    below = depth + 1
    if node.form == SENTENCE:
        out.append(f"{indent}{node.text}")
    elif node.attributes:
        out.append(indent + " ".join(f"{word} {value}" for word, value in node.attributes.items()))
    elif node.form == BARE:
        below = depth
    elif node.text is None:
        out.append(indent + node.tag)
    else:
        out.append(f"{indent + node.tag:<{column + len(layout.prefix)}}: {node.text}")
    for child in node.children:
        _write(child, below, layout, inner if depth == 0 else {}, inner.get(node.tag, column) if depth == 1 else column, out)
    if node.blank:
        out.append("")
