"""Walk a document along a driver's layout: what each leaf is, by the tables alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from harness.stages import derive_architecture
from harness.tables import formats, rows
from harness.tables.drivers import Driver
from harness.tables.layout import Element
from harness.text.listing import is_hidden
from harness.text.model import Node
from harness.text.outline import Queried
from harness.words.errors import InputError
from harness.words.state import State

VALUE, STATE, LITERAL, LIST, UNMODELLED = "value", "state", "literal", "list", "unmodelled"
_GPUS = ("gpus", "handles")
_LIST_ROWS = {"processes": "processes.compute", "accounted_processes": "accounting.pids", "memory_clocks": "supported_clocks.memory"}


@dataclass(frozen=True)
class Reading:
    """One leaf (or attribute) of a document.

    path   as ``Node.walk`` spells it, an attribute behind ``@``; ``place`` the same without indices
    gpu    number of the GPU block, None outside
    entry  numbers of the enclosing list entries inside the GPU, outermost first
    row    row id, None where no row explains the element
    kind   ``value`` (raw holds it), ``state``, ``literal`` (printed without asking), ``list`` (an empty list), ``unmodelled`` (why tells)
    """

    path: str
    place: str
    gpu: int | None
    entry: tuple[int, ...]
    row: str | None
    text: str
    kind: str
    raw: int | str | None = None
    state: State | None = None
    why: str = ""


class Walker:
    """Reads one document for one driver."""

    def __init__(self, document: Queried, driver: Driver) -> None:
        self._document = document
        self._driver = driver
        self._rows = rows.load()
        self._gpu: int | None = None
        self._told: dict[int, derive_architecture.Told | None] = {}

    def readings(self) -> list[Reading]:
        """Every leaf in file order, the attributes of an element before its children."""
        return list(self._inside(self._document.root, self._driver.layout, "", "", ()))

    def _inside(self, node: Node, element: Element | None, path: str, place: str, entry: tuple[int, ...]) -> Iterator[Reading]:
        counts: dict[str, int] = {}
        bared = _Bared()
        for step, child in node.steps():
            number = counts.get(child.tag, 0)
            counts[child.tag] = number + 1
            below = self._choose(element, child)
            where = f"{place}{child.tag}"
            inner = entry
            if below is None and (bare := _bare(element, child.tag)) is not None:
                below, inner = bare.child(child.tag), (*entry, bared.number(bare, child.tag))
            elif below is not None and below.repeat in _GPUS:
                self._gpu = number
            elif below is not None and below.repeat is not None:
                inner = (*entry, number)
            yield from self._attributes(child, below, f"{path}{step}", where)
            if child.is_leaf:
                yield self._leaf(child, below, f"{path}{step}", where, inner)
            if child.children:
                yield from self._inside(child, below, f"{path}{step}/", f"{where}/", inner)
            if below is not None and below.repeat in _GPUS:
                self._gpu = None

    def _choose(self, element: Element | None, node: Node) -> Element | None:
        """The layout's element for a node: the one of its name whose architecture predicate holds for this GPU."""
        if element is None:
            return None
        same = [child for child in element.children if child.name == node.tag]
        if len(same) < 2:
            return same[0] if same else None
        architecture = self.architecture(self._gpu)
        return next((child for child in same if child.when is None or child.when.kind != "arch" or child.when.holds_for(architecture)), None)

    def architecture(self, gpu: int | None) -> int | None:
        """The number nvmlDeviceGetArchitecture must have answered for a GPU: by its product_architecture, else by the elements it prints.

        None where nothing says it.
        """
        if gpu is None:
            return None
        place = self._driver.layout.place_of(derive_architecture.ROW)
        text = None if place is None else self._document.get(f"gpu[{gpu}]/{place.removeprefix('gpu/')}")
        if text is None:
            told = self.told(gpu)
            return None if told is None else told.number
        if self._driver.state_of(text) is not None:
            return None
        try:
            raw = self._driver.form("architecture").parse(text)
        except InputError:
            return None
        return int(raw)

    def told(self, gpu: int) -> derive_architecture.Told | None:
        """What the elements of GPU block ``gpu`` say of its architecture, on a driver that does not print it."""
        if gpu not in self._told:
            self._told[gpu] = derive_architecture.tell(self._document, gpu, self._driver.layout)
        return self._told[gpu]

    def _attributes(self, node: Node, element: Element | None, path: str, place: str) -> Iterator[Reading]:
        known = dict(element.attributes) if element is not None else {}
        for name, text in node.attributes.items():
            yield self._read(f"{path}/@{name}", f"{place}/@{name}", known.get(name), text, ())

    def _leaf(self, node: Node, element: Element | None, path: str, place: str, entry: tuple[int, ...]) -> Reading:
        text = node.text or ""
        if element is None:
            return self._unmodelled(path, place, entry, None, text, "no row of this driver")
        if element.row is not None:
            return self._read(path, place, element.row, text, entry)
        if element.none is not None and text == element.none:
            return Reading(path, place, self._gpu, entry, None, text, LIST)
        if element.collapse is not None:
            state = self._driver.state_of(text)
            if state is not None:
                return Reading(path, place, self._gpu, entry, element.collapse, text, STATE, None, state)
        if text == "" and element.children:
            return Reading(path, place, self._gpu, entry, _list_row(element), text, LIST)
        return self._unmodelled(path, place, entry, element.collapse, text, "no row explains this text")

    def _read(self, path: str, place: str, row: str | None, text: str, entry: tuple[int, ...]) -> Reading:
        if row is None:
            return self._unmodelled(path, place, entry, None, text, "no row of this driver")
        route = self._driver.routes.get(row)
        if route is not None and route.kind == "literal":
            printed = State(route.target)
            if printed.code is not None and text == self._driver.text_of(printed.code):
                return Reading(path, place, self._gpu, entry, row, text, LITERAL, None, printed)
            return self._unmodelled(path, place, entry, row, text, f"this driver prints {route.target} here")
        if is_hidden(text):
            return Reading(path, place, self._gpu, entry, row, text, STATE, None, State.REDACTED)
        form = self._driver.form(row)
        state = None if _marks_absence(form, text) else self._driver.state_of(text)
        if state is not None:
            return Reading(path, place, self._gpu, entry, row, text, STATE, None, state)
        try:
            return Reading(path, place, self._gpu, entry, row, text, VALUE, form.parse(text))
        except formats.FormatError as error:
            return self._unmodelled(path, place, entry, row, text, str(error))

    def _unmodelled(self, path: str, place: str, entry: tuple[int, ...], row: str | None, text: str, why: str) -> Reading:
        return Reading(path, place, self._gpu, entry, row, text, UNMODELLED, None, None, why)


def _bare(element: Element | None, tag: str) -> Element | None:
    """The entry without a line of its own in which ``element`` has ``tag``."""
    listed = () if element is None else element.children
    return next((child for child in listed if child.bare and child.child(tag) is not None), None)


class _Bared:
    """Counts the entries of lists whose entries have no line of their own: one begins where a label comes again."""

    def __init__(self) -> None:
        self._entries: dict[str, list[set[str]]] = {}

    def number(self, bare: Element, tag: str) -> int:
        """The number of the entry of ``bare`` that ``tag`` stands in."""
        entries = self._entries.setdefault(bare.name, [])
        if not entries or tag in entries[-1]:
            entries.append(set())
        entries[-1].add(tag)
        return len(entries) - 1


def _list_row(element: Element) -> str | None:
    if element.collapse is not None:
        return element.collapse
    repeats = [child.repeat for child in element.children if child.repeat is not None]
    return _LIST_ROWS.get(repeats[0]) if repeats else None


def _marks_absence(form: formats.Format, text: str) -> bool:
    """Whether a format has a value of its own for this text (N/A as NVML's mark of a value it does not have)."""
    return form.name in ("instance_id", "process_mib") and text == "N/A"
