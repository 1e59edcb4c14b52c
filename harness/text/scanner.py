"""The line scanner: lines of a `-q -x` text to a tree, with the layout facts that a parser throws away.

It is one of two readers of the same text; `document.read` refuses a file on which it and the XML parser disagree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.text import lines as forms
from harness.text import tokens
from harness.text.escapes import escape
from harness.text.model import BLOCK, CLOSED, EMPTY, LINE, PLAIN, TREE, Node, Note
from harness.words.errors import InputError

_NAME = re.compile(rf"(?=.{{1,100}}$){forms.NAME}")
ROOT_TAG = "nvidia_smi_log"
OWN_BLOCKS = frozenset({"mig_devices"})
"""Elements that nvidia-smi writes with their text on a line of its own; the text of every other stands beside its tags (captures)."""
OWN_LISTS = ("processes", "compute_processes", "accounted_processes", "retired_pagelist", "retired_page_addresses")
"""Lists that nvidia-smi writes on two lines when they are empty."""
MAX_DEPTH = 64
MAX_ATTRIBUTES = 64
MAX_TAGS = 1_000_000
"""The most tags in one text; 72 GPUs with full clock lists have under 300 000."""


@dataclass(slots=True)
class Scan:
    """What the scanner found.

    root:         the tree
    indents:      white space before an element, by depth, as first seen
    odd:          elements whose ``indent`` differs from that
    foreign:      elements in a form that nvidia-smi does not write
    declaration, doctype: the XML declaration line, the DTD's file name
    closing:      how the first CLOSED element ends
    repairs:      line number (1-based) -> the line with its text escaped, for the XML parser's copy
    strays:       id of a node with children -> text that stands between them
    outside:      (line, text) of text before or after the root
    comments:     lines (1-based) that hold nothing but comments
    span:         first and last line of the root element (1-based)
    """

    root: Node
    indents: list[str]
    odd: int
    foreign: int
    declaration: str | None
    doctype: str | None
    closing: str
    repairs: dict[int, str]
    strays: dict[int, str]
    outside: list[tuple[int, str]]
    comments: set[int]
    span: tuple[int, int]
    notes: list[Note]


def scan(text: str, name: str = "capture") -> Scan:
    r"""The tree and layout facts of ``text`` (line ends as ``\n``, no byte order mark, odd bytes as `rawbytes` spells them).

    ``name`` stands for the file in messages.  Raises InputError, with the line, for text that is no tree: cut off, badly nested, a
    second root, another root, entity declarations, more than MAX_DEPTH levels.
    """
    return _Scanner(text, name).run()


def tidy(text: str) -> str:
    """Text on lines of its own: each line without white space around it, empty lines left out."""
    return "\n".join(stripped for line in text.split("\n") if (stripped := line.strip(" \t\r")))


@dataclass(slots=True)
class _Scanner:
    text: str
    name: str
    stack: list[Node] = field(default_factory=list)
    chunks: list[list[str]] = field(default_factory=list)
    inline: list[bool] = field(default_factory=list)
    root: Node | None = None
    end: int = 0
    indents: dict[int, str] = field(default_factory=dict)
    odd: int = 0
    foreign: int = 0
    declaration: str | None = None
    doctype: str | None = None
    closing: str = ""
    repairs: dict[int, str] = field(default_factory=dict)
    strays: dict[int, str] = field(default_factory=dict)
    outside: list[tuple[int, str]] = field(default_factory=list)
    comments: set[int] = field(default_factory=set)
    notes: list[Note] = field(default_factory=list)
    place: tuple[int, int] = (0, 0)
    """A line that was complex and its offset, to count on from."""

    def run(self) -> Scan:
        if self.text.count("<") > MAX_TAGS:
            raise InputError(f"{self.name}: more than {MAX_TAGS} tags; a capture of 72 GPUs has under 300 000, the file is refused")
        lines = self.text.split("\n")
        memo: dict[str, forms.Line] = {}
        number, count = 0, len(lines)
        stack, indents, leaf = self.stack, self.indents, forms.LEAF
        while number < count:
            source = lines[number]
            line = memo.get(source)
            if line is None:
                line = memo[source] = forms.classify(source)
            kind, indent, tag, text, style, _, loose = line
            if kind == leaf and stack and not loose:
                number += 1
                node = Node(tag, text, [], {}, LINE, style, None, number)
                stack[-1].children.append(node)
                if indents.get(len(stack)) != indent:
                    self._indent(node, indent)
            elif kind == forms.COMPLEX:
                number = self._complex(lines, number)
            else:
                number += 1
                self._simple(line, source, number)
        return self._finish(count)

    def _simple(self, line: forms.Line, source: str, number: int) -> None:
        """One line in a form of nvidia-smi's, other than a leaf without surprises."""
        kind = line.kind
        if kind == forms.OPEN:
            self._indent(self._open(line.tag, line.attributes, number, inline=False), line.indent)
        elif kind == forms.CLOSE:
            if self.inline and self.inline[-1]:
                self.chunks[-1].append(line.indent)
            self._close(line.tag, number)
        elif kind == forms.LEAF:
            self._loose(line.indent, line.tag, line.text, number)
        elif kind == forms.CLOSED:
            self._indent(self._closed(line.tag, line.text, (), number), line.indent)
        elif self.stack:
            self.chunks[-1].append(source + "\n")
        elif kind == forms.TEXT:
            self.outside.append((number, line.text))

    def _indent(self, node: Node, indent: str) -> None:
        """Holds the white space before ``node`` against the layout's: the first seen at its depth."""
        depth = len(self.stack) - (node.form == TREE)
        if self.indents.setdefault(depth, indent) != indent:
            node.indent = indent
            self.odd += 1

    def _loose(self, indent: str, tag: str, text: str, number: int) -> None:
        """A leaf whose text should have been escaped: kept as it is, escaped on the XML parser's copy."""
        if not self.stack:
            raise self._other_root(tag, number)
        node = Node(tag, text, escape=PLAIN, line=number)
        self.stack[-1].children.append(node)
        self._indent(node, indent)
        self.repairs[number] = f"{indent}<{tag}>{escape(text, 'full')}</{tag}>"
        self.notes.append(Note(number, f"<{tag}> is not escaped: read as {text!r}"))

    def _complex(self, lines: list[str], number: int) -> int:
        """Reads from 0-based line ``number`` to the end of its region; gives the next line's number."""
        loose = tokens.whole_leaf(lines[number]) if self.stack else None
        if loose is not None:
            self._loose(*loose, number + 1)
            return number + 1
        before, offset = self.place
        offset += sum(len(line) + 1 for line in lines[before:number])
        self.place = (number, offset)
        spanned, only_comments = 0, True
        try:
            for token in tokens.region(self.text, offset, self.name, number + 1):
                self._token(token, number + spanned + 1)
                spanned += token.newlines
                only_comments &= token.kind == tokens.COMMENT or (token.kind == tokens.TEXT and not token.text.strip())
        except tokens.CutError as cut:
            raise self._truncated(len(lines), str(cut).partition(": ")[2]) from None
        if only_comments:
            self.comments.update(range(number + 1, number + max(spanned, 1) + 1))
        return number + max(spanned, 1)

    def _token(self, token: tokens.Token, number: int) -> None:
        kind = token.kind
        if kind == tokens.OPEN:
            self._open(token.tag, token.attributes, number, inline=True)
        elif kind == tokens.CLOSE:
            self._close(token.tag, number)
        elif kind == tokens.CLOSED:
            self._closed(token.tag, token.text, token.attributes, number)
        elif kind == tokens.TEXT:
            if self.stack:
                self.chunks[-1].append(token.text)
            elif token.text.strip():
                self.outside.append((number, token.text.strip()))
        elif kind == tokens.DOCTYPE:
            self._prolog(number, "DOCTYPE")
            self.doctype = token.tag or None
        elif kind == tokens.INSTRUCTION and token.text.startswith("<?xml "):
            self._prolog(number, "XML declaration")
            self.declaration = token.text
        else:
            self.notes.append(Note(number, f"{kind} kept as it stands"))

    def _prolog(self, number: int, what: str) -> None:
        if self.root is not None:
            raise InputError(f"{self.name}:{number}: {what} after the root element: two files in one; split it there")

    def _open(self, tag: str, attributes: tuple[tuple[str, str], ...], number: int, *, inline: bool) -> Node:
        node = Node(tag, attributes=dict(attributes), form=TREE, line=number)
        self._check_names(node, len(attributes))
        if self.stack:
            self.stack[-1].children.append(node)
        elif self.root is None and tag == ROOT_TAG:
            self.root = node
        else:
            raise self._other_root(tag, number)
        if len(self.stack) >= MAX_DEPTH:
            raise InputError(f"{self.name}:{number}: <{tag}> is nested more than {MAX_DEPTH} levels deep; nvidia-smi needs fewer than 10")
        self.stack.append(node)
        self.chunks.append([])
        self.inline.append(inline)
        return node

    def _closed(self, tag: str, spelling: str, attributes: tuple[tuple[str, str], ...], number: int) -> Node:
        if not self.stack:
            raise self._other_root(tag, number)
        node = Node(tag, attributes=dict(attributes), form=CLOSED, line=number)
        self._check_names(node, len(attributes))
        self.stack[-1].children.append(node)
        self.foreign += 1
        self.closing = self.closing or spelling
        return node

    def _check_names(self, node: Node, attributes: int) -> None:
        if attributes > MAX_ATTRIBUTES:
            raise InputError(f"{self.name}:{node.line}: <{node.tag}> has {attributes} attributes; nvidia-smi writes one, the file is refused")
        if len(node.attributes) < attributes:
            raise InputError(f"{self.name}:{node.line}: <{node.tag}> has an attribute twice")
        for name in (node.tag, *node.attributes):
            if not _NAME.fullmatch(name):
                raise InputError(
                    f"{self.name}:{node.line}: {name[:60]!r} is no name of nvidia-smi's: ASCII letters, digits, '_', '.', '-', at most 100"
                )

    def _close(self, tag: str, number: int) -> None:
        if not self.stack:
            raise InputError(f"{self.name}:{number}: </{tag}> closes nothing")
        node = self.stack.pop()
        if node.tag != tag:
            raise InputError(f"{self.name}:{number}: </{tag}> where </{node.tag}> of line {node.line} is due; repair the line or capture again")
        text = "".join(self.chunks.pop())
        inline = self.inline.pop()
        if node.children:
            stray = tidy(text)
            if stray:
                self.strays[id(node)] = stray
                self.notes.append(Note(node.line, f"text between the elements of <{tag}>: {stray[:80]!r}"))
        elif inline:
            node.text, node.form = tidy(text) if "\n" in text else text, LINE
        else:
            node.text = tidy(text) or None
            node.form = BLOCK if node.text else EMPTY
            self.foreign += node.form == BLOCK and tag not in OWN_BLOCKS
        if not self.stack:
            self.end = number

    def _other_root(self, tag: str, number: int) -> InputError:
        if self.root is None:
            return InputError(f"{self.name}:{number}: the root element is <{tag}>, not <{ROOT_TAG}>: not an nvidia-smi -q -x capture")
        what = f"a second <{ROOT_TAG}> starts" if tag == ROOT_TAG else f"<{tag}> stands"
        return InputError(f"{self.name}:{number}: {what} after the root element; give one capture a file")

    def _truncated(self, count: int, how: str = "") -> InputError:
        last = count - 1 if self.text.endswith("\n") and count > 1 else count
        if not self.stack:
            if self.root is not None:
                return InputError(f"{self.name}:{last}: {how}")
            return InputError(f"{self.name}:{last}: truncated: ends before <{ROOT_TAG}>, line {last}; the file was cut off, capture again")
        block = next((node for node in reversed(self.stack) if node.attributes), self.stack[0])
        inner = f" (in <{self.stack[-1].tag}>)" if self.stack[-1] is not block else ""
        opened = f"<{block.tag}{forms.attributes_text(block.attributes)}>"
        return InputError(f"{self.name}:{last}: truncated: ends inside {opened}{inner}, line {last}; the file was cut off, capture again")

    def _indents(self) -> list[str]:
        """White space by depth; a depth that no line showed (all its elements stand inside other lines) has that of the one above."""
        found: list[str] = []
        for depth in range(max(self.indents, default=0) + 1):
            found.append(self.indents.get(depth, found[-1] if found else ""))
        return found

    def _finish(self, count: int) -> Scan:
        if self.stack or self.root is None:
            raise self._truncated(count)
        return Scan(
            root=self.root,
            indents=self._indents(),
            odd=self.odd,
            foreign=self.foreign + sum(self.text.count(f"<{tag}></{tag}>") for tag in OWN_LISTS),
            declaration=self.declaration,
            doctype=self.doctype,
            closing=self.closing or " />",
            repairs=self.repairs,
            strays=self.strays,
            outside=self.outside,
            comments=self.comments,
            span=(self.root.line, self.end),
            notes=self.notes,
        )
