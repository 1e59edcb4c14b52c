"""The tree a `-q -x` or `-q` text holds and the layout it was written in.

Owns `Node`, `Layout`, `Verbatim` and `Note`; reading and writing are in `document` and `writer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

LINE = "line"
"""`<tag>text</tag>` on one line; the text may be empty."""
BLOCK = "block"
"""The text on lines of its own between an open and a close line (`<mig_devices>` / `None` / `</mig_devices>`)."""
EMPTY = "empty"
"""An open and a close line with nothing between (`<processes>` / `</processes>`)."""
TREE = "tree"
"""An open line, the children, a close line."""
CLOSED = "closed"
"""`<tag />` or `<tag/>`; nvidia-smi never writes it, tools do."""

BARE = "bare"
"""In an outline: no line of its own, its children stand where it would."""
SENTENCE = "sentence"
"""In an outline: the text alone, without the label."""

FULL = "full"
"""`& < > " '` written as entities, as nvidia-smi does for process names."""
MINIMAL = "minimal"
"""`& < >` written as entities, as XML tools do."""
PLAIN = "plain"
"""Nothing written as an entity, as nvidia-smi does for product names."""

REPEATED = frozenset((
    "gpu", "mig_device", "process_info", "accounted_process_info", "supported_mem_clock", "supported_graphics_clock", "retired_page",
    "retired_page_address", "vgpu",
    "MIG Device", "GPU instance ID", "Compute instance ID", "Process ID",
))  # fmt: skip
"""Tags that always carry an index in a path, also when they stand alone, so that a second one renames nothing."""


@dataclass(slots=True)
class Node:
    """One element.

    ``text`` is the unescaped content of a leaf, None where there are children; bytes that are not UTF-8 stand in it as private-use
    characters (`rawbytes`).  ``form`` is one of LINE, BLOCK, EMPTY, TREE, CLOSED, ``escape`` one of FULL, MINIMAL, PLAIN (they differ
    only where the text holds one of ``& < > " '``).  ``indent`` is the white space before the element where it is not the layout's.
    ``line`` is the 1-based line it was read from, 0 for one that was built.  A built tree needs tag, text or children, and form only
    where it is BLOCK or EMPTY: `leaf`, `block`, `empty` and `tree` make them.

    In an outline (`outline_writer`) the tag is the label, a node that has a text may have children, too, an attribute is a heading (``GPU`` with the
    address behind it), the forms BARE and SENTENCE are there, and ``blank`` says that an empty line follows; elsewhere it is False.
    """

    tag: str
    text: str | None = None
    children: list[Node] = field(default_factory=list)
    attributes: dict[str, str] = field(default_factory=dict)
    form: str = LINE
    escape: str = FULL
    indent: str | None = None
    line: int = field(default=0, compare=False)
    blank: bool = field(default=False, compare=False)

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, str]]:
        """Path and text of every leaf below this node, in file order.

        A path leaves out the node itself: ``driver_version``, ``gpu[0]/pci/pci_bus``, ``gpu[1]/processes/process_info[0]/pid``.
        A tag that repeats among its siblings, and every tag of REPEATED, carries its index.  An EMPTY or CLOSED element is a leaf
        with the empty text.
        """
        for path, node in self.walk(prefix):
            if node.is_leaf:
                yield path, node.text or ""

    @property
    def is_leaf(self) -> bool:
        """Has it a text, be it the empty one?"""
        return self.text is not None or not self.children

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Node]]:
        """Path and node of every element below this one, parents before children, in file order."""
        for step, child in self.steps():
            path = prefix + step
            yield path, child
            if child.children:
                yield from child.walk(path + "/")

    def steps(self) -> Iterator[tuple[str, Node]]:
        """The children, each with its step of a path (tag, or tag and index); what is in a BARE one stands in its place."""
        children = list(self.printed())
        counts: dict[str, int] = {}
        for child in children:
            counts[child.tag] = counts.get(child.tag, 0) + 1
        seen: dict[str, int] = {}
        for child in children:
            tag = child.tag
            if counts[tag] == 1 and tag not in REPEATED:
                yield tag, child
                continue
            index = seen.get(tag, 0)
            seen[tag] = index + 1
            yield f"{tag}[{index}]", child

    def printed(self) -> Iterator[Node]:
        """The children that have a line of their own, those of BARE ones in their place."""
        for child in self.children:
            if child.form == BARE:
                yield from child.printed()
            else:
                yield child

    def find(self, path: str) -> Node | None:
        """The node at ``path`` as `walk` spells it, or None; the index of a first or only element may be left out."""
        node = self
        for step in path.split("/"):
            tag, _, rest = step.partition("[")
            index = int(rest[:-1]) if rest else 0
            same = [child for child in node.printed() if child.tag == tag]
            if index >= len(same):
                return None
            node = same[index]
        return node

    def get(self, path: str) -> str | None:
        """The text of the leaf at ``path``; None where there is no such element or it has no text but children."""
        node = self.find(path)
        if node is None or not node.is_leaf:
            return None
        return node.text or ""


def leaf(tag: str, text: str, escape: str = FULL) -> Node:
    """An element on one line."""
    return Node(tag, text, escape=escape)


def block(tag: str, text: str) -> Node:
    """An element whose text stands on a line of its own."""
    return Node(tag, text, form=BLOCK)


def empty(tag: str) -> Node:
    """An open and a close line with nothing between."""
    return Node(tag, form=EMPTY)


def tree(tag: str, children: list[Node], attributes: dict[str, str] | None = None) -> Node:
    """An element with children; without any it is written as `empty` writes it."""
    return Node(tag, children=children, attributes=attributes or {}, form=TREE if children else EMPTY)


OWN_DECLARATION = '<?xml version="1.0" ?>'


@dataclass(slots=True)
class Layout:
    r"""How the lines of a text are written; the defaults are nvidia-smi's own way.

    indents:      white space before an element, by depth (0 = the root); deeper than listed: one more ``unit`` a level
    unit:         white space of one level
    eol:          line end, ``\n`` or ``\r\n``
    declaration:  the first line, None where there is none
    gap:          an empty line after each ``</gpu>``
    end:          line ends after the last line (0: the file ends in the middle of a line)
    bom:          a UTF-8 byte order mark stands first
    closing:      what ends a CLOSED element (`` />`` or ``/>``)
    """

    unit: str = "\t"
    indents: tuple[str, ...] = ()
    eol: str = "\n"
    declaration: str | None = OWN_DECLARATION
    gap: bool = True
    end: int = 1
    bom: bool = False
    closing: str = " />"

    def indent(self, depth: int) -> str:
        """White space before an element at ``depth``."""
        known = len(self.indents)
        if depth < known:
            return self.indents[depth]
        return (self.indents[-1] + self.unit * (depth - known + 1)) if known else self.unit * depth

    @property
    def own(self) -> bool:
        """Is it nvidia-smi's own layout?  CR LF (Windows) and a last line end cut off by a shell are still its own."""
        return self == Layout(eol=self.eol, end=self.end) and self.end <= 1


@dataclass(slots=True)
class Verbatim:
    """Lines kept as they stood because layout and tree cannot express them.

    ``at`` is the 0-based line of the written text before which ``lines`` stand; ``drop`` written lines are left out there.  Lines are
    what lies between line feeds, so one that ends in CR LF keeps its carriage return.  ``comment`` says that they are XML comments and
    empty lines only: no reading is in them, and they are not counted as verbatim.
    """

    at: int
    drop: int
    lines: list[str]
    comment: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know that is no error: ``line`` is 1-based, ``what`` one sentence."""

    line: int
    what: str
