"""Walk a driver's layout and put each row's reading where it stands: the tree of a `-q -x` text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from harness.stages.render.reading import Place, Reading, Traced
from harness.tables.drivers import Driver
from harness.tables.formats import FormatError
from harness.tables.layout import Element, Predicate
from harness.text.model import BARE, BLOCK, FULL, LINE, PLAIN, SENTENCE, Node, tree

NOT_SUPPORTED = 3
_FORMS = {"line": LINE, "block": BLOCK}


class Source(Protocol):
    """Where readings come from: ``source.NvmlSource`` asks a library."""

    def read(self, row: str, place: Place) -> Reading:
        """The answer for ``row`` at ``place``."""

    def entries(self, repeat: str, place: Place) -> list[Place]:
        """One place for each entry of the list ``repeat`` at ``place``; empty when the list answers a state."""

    def left_out(self, repeat: str, place: Place) -> bool:
        """Whether the list ``repeat`` has entries and ``entries`` gives none of them."""

    def asked(self, row: str) -> str:
        """The route of ``row`` as text, for the trace."""


class Walker:
    """Builds the tree of one render.

    ``verbatim``: path -> text and form of elements that the layout places but no row explains; they come from the capture, not from the library.
    ``lenient``: a value that has no text is printed as itself, which no nvidia-smi does, instead of ending the render.
    """

    def __init__(
        self, driver: Driver, source: Source, verbatim: Mapping[str, tuple[str, str]] | None = None, *, lenient: bool = False
    ) -> None:
        self._lenient = lenient
        self._driver = driver
        self._source = source
        self._verbatim = verbatim or {}
        self._within = {path[:end] for path in self._verbatim for end in _steps(path)}
        self._made: dict[int, list[tuple[str, str, Reading]]] = {}
        self._kept: list[Node] = []

    def root(self) -> Node:
        """The root element, with everything below it."""
        (root,) = self._element(self._driver.layout, Place(), "")
        return root

    def trace(self, root: Node) -> list[Traced]:
        """Which call answered which element of ``root``, in file order."""
        traced = []
        for path, node in root.walk():
            for suffix, row, reading in self._made.get(id(node), ()):
                basis = self._driver.routes[row].basis
                traced.append(Traced(path + suffix, row, self._source.asked(row), reading.code, basis, reading.raw))
        return traced

    def _element(self, element: Element, place: Place, prefix: str) -> Iterator[Node]:
        start = f"{prefix}{element.name}"
        if element.repeat is None and f"{start}[0]" in self._within:
            yield from self._kept_entries(element, place, start)
            return
        places = [place] if element.repeat is None else self._source.entries(element.repeat, place)
        if not places and f"{start}[0]" in self._within:
            yield from self._kept_entries(element, place, start)
            return
        for number, here in enumerate(places):
            path = start if element.repeat is None else f"{start}[{number}]"
            if element.when is None or self._holds(element.when, here):
                yield from self._one(element, here, path)

    def _kept_entries(self, element: Element, place: Place, start: str) -> Iterator[Node]:
        """The entries of a list no row explains, as many as are kept."""
        number = 0
        while f"{start}[{number}]" in self._within:
            yield from self._one(element, place, f"{start}[{number}]")
            number += 1

    def _one(self, element: Element, place: Place, path: str) -> Iterator[Node]:
        if path in self._verbatim:
            text, form = self._verbatim[path]
            yield Node(element.name, text, form=form)
        elif element.row is not None:
            node = self._leaf(element.name, element.row, place, element.form)
            node.blank = element.blank
            node.children = [child for below in element.children for child in self._element(below, place, f"{path}/")]
            yield node
        elif element.refused is not None and not self._headed(element, place, path):
            yield self._refusal(element, place)
        elif element.collapse is None:
            yield from self._block(element, place, path)
        elif self._source.read(element.collapse, place).answered or path in self._within:
            yield from self._block(element, replace(place, within=element.collapse), path)
        else:
            yield self._leaf(element.name, element.collapse, place, "line")

    def _block(self, element: Element, place: Place, path: str) -> Iterator[Node]:
        """An element with others inside, or with the word it prints when there are none."""
        inside = "" if path == self._driver.layout.name else f"{path}/"
        children = [node for child in element.children for node in self._element(child, place, inside)]
        if not children and element.none is not None and not self._skipped(element, place):
            yield Node(element.name, element.none, form=BLOCK)
            return
        if not children and element.collapse is None and not any(True for _ in element.rows()):
            return  # nothing but elements no row explains, and this capture has none of them here
        node = tree(element.name, children)
        node.blank = element.blank
        if element.bare:
            node.form = BARE
        for name, row in element.attributes:
            where = f"{path}/@{name}"
            if where in self._verbatim:
                node.attributes[name] = self._verbatim[where][0]
                continue
            reading = self._source.read(row, place)
            node.attributes[name] = self._text(row, reading)
            self._note(node, f"/@{name}", row, reading)
        yield node

    def _skipped(self, element: Element, place: Place) -> bool:
        """Whether the list inside has entries of which none is printed: the heading then stands without a word."""
        return any(child.repeat is not None and self._source.left_out(child.repeat, place) for child in element.children)

    def _headed(self, element: Element, place: Place, path: str) -> bool:
        """Whether the rows of an element's heading answer, or the capture has it where none does."""
        return all(f"{path}/@{name}" in self._verbatim or self._source.read(row, place).answered for name, row in element.attributes)

    def _refusal(self, element: Element, place: Place) -> Node:
        """The sentence printed in place of an element without its heading: the state stands behind it."""
        _, row = element.attributes[0]
        reading = self._source.read(row, place)
        form = SENTENCE if element.error is None else LINE
        node = Node(element.error or element.name, f"{element.refused}{self._text(row, reading)}", form=form, blank=element.blank)
        self._note(node, f"/@{element.attributes[0][0]}", row, reading)
        return node

    def _leaf(self, name: str, row: str, place: Place, form: str) -> Node:
        reading = self._source.read(row, place)
        escape = PLAIN if self._driver.escapes.get(row) == "none" else FULL
        node = Node(name, self._text(row, reading), form=_FORMS[form], escape=escape)
        self._note(node, "", row, reading)
        return node

    def _text(self, row: str, reading: Reading) -> str:
        return text_of(self._driver, row, reading, lenient=self._lenient)

    def _note(self, node: Node, suffix: str, row: str, reading: Reading) -> None:
        self._made.setdefault(id(node), []).append((suffix, row, reading))
        self._kept.append(node)  # an id stays a node's own only while the node lives

    def _holds(self, predicate: Predicate, place: Place) -> bool:
        if predicate.kind == "answered":
            return self._source.read(predicate.name, place).answered != (predicate.sign == "!")
        if predicate.kind == "supported":
            return (self._source.read(predicate.name, place).code != NOT_SUPPORTED) != (predicate.sign == "!")
        if predicate.kind == "arch":
            return predicate.holds_for(self._architecture(place))
        reading = self._source.read(f"{predicate.name}.mode_current", place)
        return reading.answered and reading.raw == 1

    def _architecture(self, place: Place) -> int | None:
        raw = self._source.read("architecture", place).raw
        return raw if isinstance(raw, int) else None


def text_of(driver: Driver, row: str, reading: Reading, *, lenient: bool = False) -> str:
    """What ``driver`` prints for a reading of ``row``; FormatError for a value that has no text, unless ``lenient``."""
    if reading.raw is None:
        return driver.text_of(reading.code)
    try:
        return driver.form(row).text(reading.raw)
    except FormatError:
        if not lenient:
            raise
        return f"no text for {reading.raw!r}"


def _steps(path: str) -> Iterator[int]:
    """Where each step of ``path`` ends."""
    for number, char in enumerate(path):
        if char == "/":
            yield number
    yield len(path)
