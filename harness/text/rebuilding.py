"""The lines of a transcript as elements again; the inverse of `transcribing`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from harness.text import clocklists, quoting
from harness.text.lines import NAME
from harness.text.model import BLOCK, CLOSED, EMPTY, LINE, MINIMAL, PLAIN, TREE, Node
from harness.text.scanner import MAX_DEPTH, MAX_TAGS
from harness.text.transcribing import ABSENT, CLOSED_WORD, EMPTY_WORD, LABEL, STEP
from harness.words.errors import InputError

MAX_GPUS = 1024
MAX_NODES = MAX_TAGS
"""The most elements a transcript may unfold to: as many as a text may have."""

_START = rf"((?:{STEP})*)(?:gpu ([0-9,-]{{1,8000}})|(@?)"
_LINE = re.compile(rf"{_START}({NAME})(?:: (.+))?)")
_LABELLED = re.compile(rf'{_START}({LABEL}|"(?:[^"\\]|\\.)*")(?:: (.+))?)')


@dataclass(slots=True)
class _Line:
    """A line of the body: its ``number`` in the file, ``depth``, GPU ``places`` of a ``gpu`` line, else ``attribute``?, ``tag``, ``words``
    (None: a tree).
    """

    number: int
    depth: int
    places: str | None
    attribute: bool
    tag: str
    words: list[str] | None


class Rebuilder:
    """Rebuilds the children of a root element from ``lines`` (number in the file, text); ``name`` stands for the file in messages.

    ``labelled``: of `-q` text, whose tags are labels and whose lines with a text may have others below them.
    """

    def __init__(self, lines: list[tuple[int, str]], name: str, *, labelled: bool = False) -> None:
        self.name = name
        self.labelled = labelled
        self.lines = [self._parse(number, line) for number, line in lines]
        self.position = 0
        self.nodes = 0

    def root(self, tag: str) -> Node:
        """The root element.  Raises InputError with file and line for a line that says nothing, or says it in the wrong place."""
        root = Node(tag, form=TREE)
        self._attributes([root], 0)
        gpus = 0
        while self.position < len(self.lines):
            line = self.lines[self.position]
            if line.places is not None and line.depth == 0:
                blocks = self._blocks()
                first = min(blocks)
                if first != gpus or max(blocks) != gpus + len(blocks) - 1:
                    raise self._error(
                        line, f"GPUs {sorted(blocks)[:8]} where GPU {gpus} is due next; each GPU stands in one gpu line, none is left out"
                    )
                root.children.extend(blocks[place] for place in sorted(blocks))
                gpus += len(blocks)
            else:
                root.children.extend(node for node in self._element(0, 1) if node is not None)
        if not root.children:
            root.form = EMPTY
        return root

    def _blocks(self) -> dict[int, Node]:
        """The GPU blocks of all ``gpu`` lines that follow one another."""
        blocks: dict[int, Node] = {}
        while self.position < len(self.lines) and self.lines[self.position].places is not None:
            line = self.lines[self.position]
            if line.depth:
                raise self._error(line, "a gpu line stands at the left margin")
            places = self._places(line)
            self.position += 1
            self._foresee(len(places), line)
            nodes = [Node("gpu", form=TREE) for _ in places]
            self._count(len(nodes), line)
            self._attributes(list(nodes), 1)
            self._children(list(nodes), 1, line)
            for place, node in zip(places, nodes, strict=True):
                if place in blocks:
                    raise self._error(line, f"GPU {place} stands in two gpu lines")
                if not node.children:
                    raise self._error(line, f"GPU {place} has no reading")
                blocks[place] = node
        return blocks

    def _foresee(self, gpus: int, line: _Line) -> None:
        """Refuses a block whose lines, once for each of ``gpus``, are too many, before any is unfolded."""
        end = next((at for at in range(self.position, len(self.lines)) if not self.lines[at].depth), len(self.lines))
        if self.nodes + (end - self.position) * gpus > MAX_NODES * 2:
            raise self._too_many(line)

    def _places(self, line: _Line) -> list[int]:
        places: list[int] = []
        for part in (line.places or "").split(","):
            first, dash, last = part.partition("-")
            if not first.isdigit() or (dash and not last.isdigit()) or int(last or first) < int(first) or int(last or first) >= MAX_GPUS:
                raise self._error(line, f"{part!r} is no range of GPUs such as 0-7 (at most {MAX_GPUS})")
            places.extend(range(int(first), int(last or first) + 1))
        if len(places) > MAX_GPUS:
            raise self._error(line, f"more than {MAX_GPUS} GPUs")
        return places

    def _children(self, parents: list[Node | None], depth: int, opener: _Line) -> None:
        """Reads the elements at ``depth`` into ``parents``, one parent a GPU."""
        if depth > MAX_DEPTH:
            raise self._error(opener, f"nested more than {MAX_DEPTH} levels deep")
        while self.position < len(self.lines) and self.lines[self.position].depth == depth:
            for parent, node in zip(parents, self._element(depth, len(parents)), strict=True):
                if parent is not None and node is not None:
                    parent.children.append(node)
        if self.position < len(self.lines) and self.lines[self.position].depth > depth:
            raise self._error(self.lines[self.position], f"indented deeper than its place ({len(STEP)} blanks a level)")

    def _element(self, depth: int, count: int) -> list[Node | None]:
        """One element on ``count`` GPUs: None where it is absent."""
        line = self.lines[self.position]
        if line.attribute or line.places is not None or line.depth != depth:
            raise self._error(line, "an element is due here")
        self.position += 1
        self._count(count, line)
        if line.words is None:
            nodes: list[Node | None] = [Node(line.tag, form=TREE) for _ in range(count)]
            self._attributes(nodes, depth + 1)
            self._children(nodes, depth + 1, line)
            return [node if node is not None and node.children else None for node in nodes]
        if len(line.words) == 1 and line.words[0].startswith("{"):
            nodes = self._lists(line, line.words, count)
        else:
            nodes = [self._leaf(line, word) for word in self._spread(line, count)]
        self._attributes(nodes, depth + 1)
        if self.labelled and self._depth() > depth:
            self._children(nodes, depth + 1, line)
        return nodes

    def _depth(self) -> int:
        """How deep the next line stands; 0 behind the last one."""
        return self.lines[self.position].depth if self.position < len(self.lines) else 0

    def _attributes(self, nodes: list[Node | None], depth: int) -> None:
        while self.position < len(self.lines) and self.lines[self.position].attribute and self.lines[self.position].depth == depth:
            line = self.lines[self.position]
            self.position += 1
            for node, word in zip(nodes, self._spread(line, len(nodes)), strict=True):
                if node is None or word == ABSENT:
                    continue
                if line.tag in node.attributes:
                    raise self._error(line, f"@{line.tag} stands twice")
                node.attributes[line.tag] = self._value(line, word)

    def _spread(self, line: _Line, count: int) -> list[str]:
        """The words of ``line``, one for each of ``count`` GPUs."""
        words = line.words
        if words is None:
            raise self._error(line, f"@{line.tag} has no value")
        if len(words) == 1:
            return words * count
        if len(words) != count:
            raise self._error(line, f"{len(words)} values for {count} GPU{'s' * (count > 1)}; give one for all, or one for each between bars")
        return words

    def _leaf(self, line: _Line, word: str) -> Node | None:
        if word == ABSENT:
            return None
        if word == EMPTY_WORD:
            return Node(line.tag, form=EMPTY)
        if word == CLOSED_WORD:
            return Node(line.tag, form=CLOSED)
        if word.startswith("{"):
            return self._list(line, word)
        if word.startswith("[") and word.endswith("]"):
            return Node(line.tag, self._value(line, word[1:-1]), form=BLOCK)
        style = quoting.STYLED.match(word)
        if style:
            return Node(line.tag, self._value(line, word[style.end() - 1 :]), form=LINE, escape=MINIMAL if style[1] == MINIMAL else PLAIN)
        return Node(line.tag, self._value(line, word), form=LINE)

    def _lists(self, line: _Line, words: list[str], count: int) -> list[Node | None]:
        """A clock list that stands for all GPUs, counted before it is unfolded for each."""
        first = self._list(line, words[0])
        self._count(len(first.children) * (count - 1), line)
        return [first, *(self._list(line, words[0], counted=True) for _ in range(count - 1))]

    def _list(self, line: _Line, word: str, *, counted: bool = False) -> Node:
        try:
            node = clocklists.decode(word)
        except ValueError as error:
            raise self._error(line, str(error)) from None
        if line.tag != clocklists.TAG:
            raise self._error(line, f"a clock list stands in <{clocklists.TAG}> only")
        if not counted:
            self._count(len(node.children), line)
        return node

    def _value(self, line: _Line, word: str) -> str:
        try:
            return quoting.value(word)
        except ValueError as error:
            raise self._error(line, str(error)) from None

    def _count(self, more: int, line: _Line) -> None:
        self.nodes += more
        if self.nodes > MAX_NODES:
            raise self._too_many(line)

    def _too_many(self, line: _Line) -> InputError:
        return self._error(line, f"the transcript unfolds to more than {MAX_NODES} elements and is refused")

    def _parse(self, number: int, text: str) -> _Line:
        match = (_LABELLED if self.labelled else _LINE).fullmatch(text)
        if match is None:
            raise InputError(
                f"{self.name}:{number}: {text.strip()[:60]!r} is no line of a transcript; write `tag: value`, `tag`, `@name: value` or `gpu 0-7`"
            )
        indent, places, mark, tag, value = match.groups()
        if tag is not None and tag.startswith('"'):
            try:
                tag = quoting.unquote(tag)
            except ValueError as error:
                raise InputError(f"{self.name}:{number}: {error}") from None
        return _Line(number, len(indent) // len(STEP), places, bool(mark), tag or "gpu", None if value is None else quoting.split(value))

    def _error(self, line: _Line, what: str) -> InputError:
        return InputError(f"{self.name}:{line.number}: {line.tag}: {what}")
