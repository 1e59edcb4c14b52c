"""Which text must stand at which element, worked out from the tables and a Board: the layout walked and the routes followed by code of its own.

Shares the tables and their loaders with the renderer, and the formats' ``text``; neither the walk, nor the evaluation of routes, nor the library.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from harness.tables import rows
from harness.tables.drivers import Driver
from harness.tables.layout import ARCHITECTURES, Element, Predicate
from harness.tables.rows import Route
from harness.words.state import State
from tests.parity.expect_calls import INSUFFICIENT_SIZE, NOT_FOUND, NOT_SUPPORTED, Board, Said

NUMBERED = frozenset((
    "gpu", "mig_device", "process_info", "accounted_process_info", "supported_mem_clock", "supported_graphics_clock", "retired_page",
    "retired_page_address", "vgpu",
))  # fmt: skip
COMPUTE, MPS, GRAPHICS, ALL = 1, 2, 4, 7


@dataclass(frozen=True)
class At:
    """Where a row is asked: the GPU's number, None for the node, the members of the list's entry around it, the row of the element around that."""

    gpu: int | None = None
    entry: Mapping[str, Any] = field(default_factory=dict)
    within: str = ""


class Leaf(NamedTuple):
    """One element without children: where, what it says, whose row it is ('' for an empty list, a list's word for none, what no row explains)."""

    path: str
    text: str
    row: str

    def below(self, step: str) -> Leaf:
        """The same leaf, its path from the element around it."""
        return Leaf(step + self.path, self.text, self.row)


class Model:
    """The leaves that a driver's nvidia-smi prints of a board; ``now`` in seconds since 1970, ``kept``: path -> text of what no row explains."""

    def __init__(self, driver: Driver, board: Board, now: int = 0, kept: Mapping[str, str] | None = None) -> None:
        self.driver = driver
        self.board = board
        self.now = now
        self.kept = kept or {}
        self._above = {path[: match.start()] for path in self.kept for match in re.finditer(r"/|$", path)}
        self._table = rows.load()
        self._forms: dict[str, Any] = {}
        self._known: dict[tuple[str, int | None], Said] = {}

    def leaves(self) -> list[Leaf]:
        """Every leaf in file order."""
        return list(self._below(self.driver.layout, At(), ""))

    # ---- readings

    def route(self, row: str) -> Route | None:
        """The route of ``row`` on this driver."""
        found = self.driver.routes.get(row)
        return found if found is not None or row not in self._table else self._table[row].route

    def said(self, row: str, at: At) -> Said:
        """The reading of ``row``."""
        if row in at.entry:
            return Said(0, at.entry[row])
        if at.entry:
            return self._looked_at(row, at)
        key = (row, at.gpu)
        if key not in self._known:
            self._known[key] = self._looked_at(row, at)
        return self._known[key]

    def _looked_at(self, row: str, at: At) -> Said:
        """The reading of ``row``, the empty text for a code that nvidia-smi does not look at."""
        route, said = self.route(row), self._follow(row, at)
        return Said(0, "") if route is not None and said.code in route.ignored else said

    def _follow(self, row: str, at: At) -> Said:
        route = self.route(row)
        if route is None:
            return Said(NOT_SUPPORTED)
        closed = self._closed(route, at)
        if closed:
            return Said(closed)
        said = getattr(self, f"_by_{route.kind}")(route, at)
        if route.room is not None and not said.code and isinstance(said.value, tuple) and len(said.value) > route.room:
            return Said(INSUFFICIENT_SIZE if route.overflow is None else route.overflow)
        if said.code and route.refusal is not None:
            return Said(route.refusal)
        for code, printed in route.refusals:
            if said.code == code:
                return Said(printed)
        return Said(0, _bits(route, said.value)) if route.bits and not said.code else said

    def _closed(self, route: Route, at: At) -> int:
        """The code with which a gate or the mask of what is supported keeps a row from being asked; 0 where neither does."""
        if route.gate is not None:
            gate, other = self.said(route.gate[0], at), self.route(route.gate[0])
            if gate.code and other is not None and (other.target, other.args) == (route.target, route.args):
                return gate.code
            if gate.code or gate.value != route.gate[1]:
                return NOT_SUPPORTED
        if route.supported:
            mask = self.board.call(route.supported, at.gpu, {}, "")
            if mask.code:
                return mask.code
            return 0 if route.bits is None or _bits(route, mask.value) else NOT_SUPPORTED
        return 0

    def _by_clock(self, _route: Route, _at: At) -> Said:
        return Said(0, self.now)

    def _by_literal(self, route: Route, _at: At) -> Said:
        code = State(route.target).code
        return Said(NOT_SUPPORTED if code is None else code)

    def _by_member(self, route: Route, at: At) -> Said:
        return Said(0, at.entry[route.target]) if route.target in at.entry else Said(NOT_SUPPORTED)

    def _by_call(self, route: Route, at: At) -> Said:
        args = {name: at.entry[value[1:]] if isinstance(value, str) else value for name, value in route.args}
        return self.board.call(route.target, at.gpu, args, route.out)

    def _by_fieldvalue(self, route: Route, at: At) -> Said:
        return self.board.field_value(at.gpu or 0, self.driver.field_ids[route.target], route.scope)

    def _by_slot(self, route: Route, at: At) -> Said:
        slot = self.driver.slots.get(route.target)
        return Said(NOT_SUPPORTED) if slot is None else self.board.slot(at.gpu or 0, slot.number, slot.key)

    def _by_sum(self, route: Route, at: At) -> Said:
        said = [self.said(row, at) for row in route.operands]
        answered = [one.value for one in said if not one.code]
        return Said(0, sum(answered)) if answered else said[0]

    def _by_difference(self, route: Route, at: At) -> Said:
        said = [self.said(row, at) for row in route.operands]
        refused = next((one for one in said if one.code), None)
        if refused is not None:
            return refused
        shown = [self.form(row).parse(self.form(row).text(one.value)) for row, one in zip(route.operands, said, strict=True)]
        return Said(0, int(shown[0]) - sum(int(value) for value in shown[1:]))

    def _by_all(self, route: Route, at: At) -> Said:
        said = [self.said(row, at) for row in route.operands if not self._shut(row, at)]
        return next((one for one in said if one.code), Said(0, len(said)))

    def _shut(self, row: str, at: At) -> bool:
        """Whether the gate of ``row`` keeps it from being asked."""
        route = self.route(row)
        return route is not None and route.gate is not None and bool(self._closed(route, at))

    def form(self, row: str) -> Any:
        """The format of ``row`` on this driver."""
        if row not in self._forms:
            self._forms[row] = self.driver.form(row)
        return self._forms[row]

    def text(self, row: str, said: Said) -> str:
        """What is printed for a reading."""
        if said.code:
            return self.driver.texts.get(said.code, "")
        value = len(said.value) if isinstance(said.value, tuple) else said.value
        return str(self.form(row).text(value))

    # ---- the walk

    def _below(self, element: Element, at: At, prefix: str) -> Iterator[Leaf]:
        """The leaves inside ``element``, their paths from there; ``prefix``: where it stands, as what is kept names it."""
        printed = [entry for child in element.children for entry in self._printed(child, at, prefix + child.name)]
        total = Counter(name for name, _ in printed)
        seen: Counter[str] = Counter()
        for name, leaves in printed:
            step = f"{name}[{seen[name]}]" if name in NUMBERED or total[name] > 1 else name
            seen[name] += 1
            yield from (leaf.below(step) for leaf in leaves)

    def _printed(self, child: Element, at: At, start: str) -> Iterator[tuple[str, list[Leaf]]]:
        """The name and leaves of each time that ``child`` is printed: by its list, else as often as entries are kept of it."""
        places = self._places(child, at)
        if f"{start}[0]" in self._above and (child.repeat is None or not places):
            number = sum(1 for path in self._above if re.fullmatch(re.escape(start) + r"\[[0-9]+\]", path))
            times = [(at, f"{start}[{entry}]") for entry in range(number)]
        else:
            listed = [(here, start if child.repeat is None else f"{start}[{entry}]") for entry, here in enumerate(places)]
            times = [(here, where) for here, where in listed if self._present(child, here)]
        for here, where in times:
            if child.refused is not None and self.said(child.attributes[0][1], here).code:
                row = child.attributes[0][1]
                yield child.error or child.name, [Leaf("", child.refused + self.text(row, self.said(row, here)), row)]
                continue
            leaves = self._element(child, here, where)
            if leaves is not None:
                yield child.name, leaves

    def _element(self, element: Element, at: At, where: str) -> list[Leaf] | None:
        """The leaves of one element, their paths from it; None where nothing of it is printed."""
        if where in self.kept:
            return [Leaf("", self.kept[where], "")]
        row = element.row or (None if where in self._above else self._collapsed(element, at))
        if row:
            return [Leaf("", self.text(row, self.said(row, at)), row)]
        here = replace(at, within=element.collapse or at.within)
        inside = [leaf.below("/") for leaf in self._below(element, here, f"{where}/")]
        if not inside and element.none is not None:
            return [Leaf("", element.none, element.collapse or "")]
        if not inside and element.collapse is None and not list(element.rows()):
            return None
        return [*self._attributes(element, at, where), *(inside or [Leaf("", "", element.collapse or "")])]

    def _attributes(self, element: Element, at: At, where: str) -> Iterator[Leaf]:
        for name, row in element.attributes:
            kept = self.kept.get(f"{where}/@{name}")
            yield Leaf(f"/@{name}", self.text(row, self.said(row, at)) if kept is None else kept, row if kept is None else "")

    def _collapsed(self, element: Element, at: At) -> str | None:
        """The row an element with children shows instead of them."""
        if element.collapse is not None and self.said(element.collapse, at).code:
            return element.collapse
        return None

    def _present(self, element: Element, at: At) -> bool:
        if element.when is None:
            return True
        ways = {"answered": self._answered, "supported": self._supported, "arch": self._arch, "mode": self._mode}
        return ways[element.when.kind](element.when, at)

    def _answered(self, when: Predicate, at: At) -> bool:
        answered = self.said(when.name, at).code == 0
        return not answered if when.sign == "!" else answered

    def _supported(self, when: Predicate, at: At) -> bool:
        lacks = self.said(when.name, at).code == NOT_SUPPORTED
        return lacks if when.sign == "!" else not lacks

    def _arch(self, when: Predicate, at: At) -> bool:
        said = self.said("architecture", at)
        number, wanted = (0 if said.code else said.value), ARCHITECTURES[when.name]
        return bool({"<": number < wanted, "=": number == wanted, ">=": number >= wanted}[when.sign])

    def _mode(self, when: Predicate, at: At) -> bool:
        said = self.said(f"{when.name}.mode_current", at)
        return said.code == 0 and said.value == 1

    # ---- lists

    def _places(self, element: Element, at: At) -> list[At]:
        if element.repeat is None:
            return [at]
        return list(getattr(self, f"_list_{element.repeat}")(at))

    def _list_gpus(self, at: At) -> list[At]:
        said = self.said("system.num_devices", at)
        return [At(gpu) for gpu in range(0 if said.code else said.value) if self.board.shown(gpu)]

    def _each(self, row: str, member: str, at: At) -> list[At]:
        said = self.said(row, at)
        return [] if said.code else [At(at.gpu, {**at.entry, row: value, member: value}) for value in said.value]

    def _list_memory_clocks(self, at: At) -> list[At]:
        return self._each("supported_clocks.memory", "memory_clock", at)

    def _list_graphics_clocks(self, at: At) -> list[At]:
        row = "supported_clocks.graphics"
        return [at] if self.said(row, at).code else self._each(row, "graphics_clock", at)

    def _list_retired_pages(self, at: At) -> list[At]:
        route = self.route(at.within)
        if route is None:
            return []
        pages, times = (self.board.call(route.target, at.gpu, dict(route.args), out).value or () for out in ("addresses", "timestamps"))
        dated = times if route.target.endswith("_v2") else [0] * len(pages)
        return [At(at.gpu, {"address": page, **({"timestamp": time} if time else {})}) for page, time in zip(pages, dated, strict=True)]

    def _list_processes(self, at: At) -> list[At]:
        """By pid; a pid's n-th entry of one list is its n-th of the other; the MPS list marks, and makes C of G (measured with 470 and 550)."""
        lists = {row: self.said(row, at) for row in (f"processes.{kind}" for kind in ("compute", "graphics", "mps")) if not self._shut(row, at)}
        if any(said.code for said in lists.values()):
            return []
        found: list[dict[str, Any]] = []
        for row, kind in (("processes.compute", COMPUTE), ("processes.graphics", GRAPHICS)):
            left = list(found)
            for process in lists[row].value if row in lists else ():
                same = next((other for other in left if other["pid"] == process["pid"]), None)
                if same is None:
                    found.append({**process, "type": kind})
                else:
                    same["type"] += kind
                    left.remove(same)
        marked = {process["pid"] for process in lists["processes.mps"].value} if "processes.mps" in lists else set()
        for process in found:
            if process["pid"] in marked:
                process["type"] = ALL if process["type"] & GRAPHICS else COMPUTE + MPS
        return [At(at.gpu, process) for process in sorted(found, key=lambda process: int(process["pid"]))]

    def _list_compute_processes(self, at: At) -> list[At]:
        said = self.said("processes.compute", at)
        return [] if said.code else [At(at.gpu, process) for process in said.value]

    def _list_accounted_processes(self, at: At) -> list[At]:
        said = self.said("accounting.pids", at)
        listed = [At(at.gpu, {"pid": pid}) for pid in (() if said.code else said.value)]
        return [entry for entry in listed if self.said("accounted_process.is_running", entry).code != NOT_FOUND]

    def _list_mig_devices(self, _at: At) -> list[At]:
        return []


def _bits(route: Route, value: Any) -> Any:
    if route.bits is None or not isinstance(value, int):
        return value
    low, width = route.bits
    return value >> low & (1 << width) - 1
