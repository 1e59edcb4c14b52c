"""A driver node from a capture: what a version nobody has seen prints, as changes to the nearest node.

Elements that another driver prints at the same place bring its row, predicate and collapse with them, and a text that another driver's format
alone can read brings that format; presence that hangs on the board stays a predicate.  An element that no row of any driver has, or whose text its
row cannot read, stands in the layout without a row: it is kept verbatim, with its position.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.stages import compile as compiling
from harness.stages import derive_node_view, derive_presence, derive_spelling, seen
from harness.stages.derive_walk import STATE, UNMODELLED, VALUE, Walker
from harness.stages.render.lists import rows_of
from harness.stores import profiles
from harness.tables import differ, drivers, rows
from harness.tables.drivers import Driver, DriverTree, SlotDef, needed_rows
from harness.tables.layout import Element, with_children
from harness.tables.rows import Route
from harness.text.listing import is_masked
from harness.text.model import REPEATED, Node
from harness.text.outline import Outline, Queried
from harness.words.fileformat import FORMAT
from harness.words.state import State
from mocklib import fields
from mocklib.getters import FIELD_VALUES

PID = "process.pid"


@dataclass(frozen=True)
class Learnt:
    """A node made from a capture.

    version   the node's version; ``spec`` what its file says
    changes   the changes of its layout to the parent's, as the file has them; of a node that was there those that it gains
    gains     whether the node was there
    """

    version: str
    spec: Mapping[str, Any]
    changes: tuple[dict[str, Any], ...]
    gains: bool = False

    @property
    def text(self) -> str:
        """The node's file, YAML."""
        return profiles.dump(self.spec)

    def of(self, operation: str) -> tuple[str, ...]:
        """Paths of one operation (add, remove, rename, move, replace), for the report."""
        found = []
        for change in self.changes:
            if operation in change:
                path = str(change[operation])
                names = "/".join(change["element"]) if operation == "add" else ""
                found.append(f"{path}/{names}".strip("/") if names else path)
        return tuple(found)


def learn(document: Queried, driver: Driver, tree: DriverTree, others: Sequence[Queried] = ()) -> Learnt | None:
    """The node that makes ``document`` printable, or None when the driver's own node explains every element.

    ``driver`` is the tree's answer for the document's version; ``others``: captures of the same view that its node prints now and that it must
    print on.  A capture without GPUs, one changed by hand and a `-q` text that something was cut out of teach nothing.
    """
    if document.kind == "edited" or not document.gpus or (isinstance(document, Outline) and document.cut):
        return None
    view = derive_node_view.of(document)
    found = [_learn(document, seen.by(document, parent), tree, others, view) for parent in view.parents(driver, tree)]
    return min(found, key=lambda learnt: 0 if learnt is None else len(learnt.changes))


def _learn(document: Queried, driver: Driver, tree: DriverTree, others: Sequence[Queried], view: derive_node_view.View) -> Learnt | None:
    """As `learn`, with ``driver``, as the view has it, for the parent."""
    donors = _donors(tree, driver, view)
    known = {path: element for path, (element, _) in donors.items()}
    root = _merge(driver.layout, [document.root], "", known)
    root, labelled = view.named(root, driver, tree)
    root = _settle_predicates(root, document, driver)
    respelt = derive_spelling.donors(document, driver, root, tree)
    reading = derive_spelling.respelt(driver, respelt)
    boards = derive_presence.boards(document, replace(reading, layout=root))
    boards += [board for other in others for board in derive_presence.boards(other, seen.by(other, driver))]
    root = derive_presence.settle(driver.layout, root, boards)
    root = _without_rows(root, document, reading)
    root = with_children(driver.layout, root.children)
    changes = differ.difference(driver.layout, root)
    if not changes and not respelt and not driver.assumed and not view.plain(document, driver):
        return None
    spec = _spec(driver, tree, {**view.plain(document, driver), view.changes: changes})
    driver = _of_branch(spec, driver, tree, _states(document, root, driver))
    _carry_routes(spec, root, driver, donors)
    for row in set(labelled) & set(root.rows()):
        _carry(spec, row, driver, labelled[row])
    for row, donor in respelt.items():
        _carry(spec, row, driver, donor)
    _carry_functions(spec, document, replace(driver, layout=root))
    return Learnt(str(spec["version"]), spec, tuple(changes), gains=not driver.inherited)


def _spec(driver: Driver, tree: DriverTree, learnt: Mapping[str, Any]) -> dict[str, Any]:
    """The node's file: a new child of the node that answered, or that node's own file with more changes."""
    if driver.inherited:
        return {"format": FORMAT, "version": driver.version.text, "parent": driver.node.text, "seen": [driver.version.text], **learnt}
    own: dict[str, Any] = copy.deepcopy(dict(tree.nodes[driver.node].spec))  # the tree keeps its own
    return {**own, **{key: [*own.get(key, []), *value] if isinstance(value, list) else value for key, value in learnt.items()}}


def _states(document: Queried, root: Element, driver: Driver) -> dict[str, tuple[State | None, ...]]:
    """Row -> what each GPU prints there: a state, or None for a value or nothing at all."""
    places = {element.row: path.partition("/")[2] for path, element in root.walk() if element.row is not None}
    gpus = {row: path.removeprefix("gpu/") for row, path in places.items() if path.startswith("gpu/")}
    return {row: tuple(driver.state_of(gpu.get(path) or "") for gpu in document.gpus) for row, path in gpus.items()}


def _told_apart(row: str, measured: Driver, states: Mapping[str, tuple[State | None, ...]]) -> bool:
    """Whether ``row`` and another that ``measured`` prints from the same entry of its table show different states: this driver asks elsewhere."""
    route = measured.routes[row]
    same = [other for other, known in measured.routes.items() if (known.kind, known.target) == ("slot", route.target)]
    return route.kind == "slot" and len({states[other] for other in same if other in states}) > 1


def _unprinted(driver: Driver, measured: Driver, states: Mapping[str, tuple[State | None, ...]]) -> dict[str, SlotDef]:
    """Slots of rows that the capture shows and the measured binary never prints, where that binary's table has nothing else in their place."""
    own = {row for row in states if row in driver.routes and (row not in measured.routes or _told_apart(row, measured, states))}
    asked = {driver.routes[row].target for row in own if driver.routes[row].kind == "slot"}
    taken = {(slot.number, slot.key) for slot in measured.slots.values()}
    return {name: slot for name, slot in driver.slots.items() if name in asked - measured.slots.keys() and (slot.number, slot.key) not in taken}


def _of_branch(spec: dict[str, Any], driver: Driver, tree: DriverTree, states: Mapping[str, tuple[State | None, ...]]) -> Driver:
    """``driver`` with the private table that a binary of its branch showed, and the routes through it, where the node that answered is of another.

    ``spec`` follows.  ``states``: what the capture prints of each row; a route that cannot tell them apart is not taken.
    """
    measured = tree.measured(driver.version.branch) if driver.inherited else None
    if measured is None or driver.version.branch in driver.measured:
        return driver
    beside = _unprinted(driver, measured, states)
    slots: dict[str, Any] = {name: None for name in driver.slots if name not in {**measured.slots, **beside}}
    slots |= {name: slot.mapping() for name, slot in measured.slots.items() if driver.slots.get(name) != slot}
    spec["binary"] = tree.nodes[measured.node].spec["binary"]
    if slots:
        spec["slots"] = slots
    given = replace(driver, slots={**measured.slots, **beside})
    both = [(row, route, measured.routes[row]) for row, route in driver.routes.items() if row in measured.routes]
    routed = {row: known for row, route, known in both if "slot" in (route.kind, known.kind) and not _told_apart(row, measured, states)}
    for row in routed:
        _carry(spec, row, given, measured)
    return replace(given, routes={**driver.routes, **routed})


def _donors(tree: DriverTree, driver: Driver, view: derive_node_view.View) -> dict[str, tuple[Element, Driver]]:
    """Every element of every driver by path, with the driver it is taken from: the one nearest to ``driver`` by branch."""
    found: dict[str, tuple[Element, Driver]] = {}
    for version in sorted(tree.versions(), key=lambda known: abs(known.branch - driver.version.branch), reverse=True):
        donor = view.seen(tree.resolve(version))
        for path, element in donor.layout.walk():
            found[path.partition("/")[2]] = (element, donor)
    return found


def _carry_routes(spec: dict[str, Any], root: Element, driver: Driver, donors: dict[str, tuple[Element, Driver]]) -> None:
    """Routes, formats, field ids and slots of what the layout gained: inside a section that gained an element, all rows as the donor asks them."""
    for path, block in root.walk():
        below = path.partition("/")[2]
        came = [child for child in block.children if child.row is not None and child.row not in driver.routes and _at(below, child.name) in donors]
        if not came:
            continue
        owners = {child.row: donors[_at(below, child.name)][1] for child in came}
        first = next(iter(owners.values()))
        whole = block.repeat is None and below != ""
        shared = {_field(row): donor for row, donor in owners.items() if row is not None}
        beside = [child for child in block.children if child in came or (child.row is not None and _field(child.row) in shared)]
        for row in needed_rows(with_children(block, block.children if whole else tuple(beside))):
            donor = first if whole and row in first.routes else owners.get(row) or shared.get(_field(row), first)
            if row in donor.routes:
                _carry(spec, row, driver, donor)


def _field(row: str) -> str:
    """The profile key of a row: of two elements that tell one key, what came may be why the driver no longer asks for the other."""
    return rows.load()[row].field or row


def _carry(spec: dict[str, Any], row: str, driver: Driver, donor: Driver) -> None:
    """One row's route, format, field id and slot, from ``donor``."""
    route, own = donor.routes[row], rows.load()[row]
    view = derive_node_view.TEXT if driver.layout.name == drivers.TEXT_ROOT else derive_node_view.QUERY
    if not _same(route, driver.routes.get(row) or (own.route if view.beside else None)):
        spec.setdefault(view.routes, {})[row] = None if _same(route, own.route) and not view.beside else _route(route)
    if donor.forms.get(row) != driver.forms.get(row):
        spec.setdefault(view.formats, {})[row] = donor.forms.get(row) or (own.format if view.beside else None)
    if route.kind == "fieldvalue" and route.target not in driver.field_ids:
        spec.setdefault("field_ids", {})[route.target] = donor.field_ids[route.target]
    if route.kind == "slot" and route.target not in driver.slots:
        slot = donor.slots[route.target]
        if all((known.number, known.key) != (slot.number, slot.key) for known in driver.slots.values()):
            spec.setdefault("slots", {})[route.target] = slot.mapping()


def _same(one: Route, other: Route | None) -> bool:
    """Do both ask the same?  What they rest on follows from the branch (slots) or is written with the route (literals)."""
    return other is not None and (one == other or (one.kind == "slot" and replace(one, basis=other.basis) == other))


def _route(route: Route) -> dict[str, Any]:
    """A route's mapping; a literal that the donor's branch was seen to print is assumed here (slots: `DriverTree` tells)."""
    made: dict[str, Any] = {route.kind: list(route.operands) if route.operands else route.target}
    if route.args:
        made["args"] = dict(route.args)
    for name in ("out", "scope", "supported", "text", "why"):
        value = getattr(route, name)
        if value not in ("", 0, None, False):
            made[name] = value
    for name in ("bits", "gate"):
        if getattr(route, name) is not None:
            made[name] = list(getattr(route, name))
    if route.kind == "literal":
        made["basis"] = "assumed"
    return made


def _carry_functions(spec: dict[str, Any], document: Queried, driver: Driver) -> None:
    """Functions the capture shows an answer of, though the first release of the branch lacks them."""
    gated, carried = compiling.gates(driver), {**spec.get("routes", {}), **spec.get("text_routes", {})}
    found = set()
    for reading in Walker(document, driver).readings():
        if reading.kind != VALUE and (reading.kind != STATE or reading.state is State.of_code(compiling.FUNCTION_NOT_FOUND)):
            continue
        listed = rows_of("processes") if reading.kind == VALUE and reading.row == PID else ()  # an entry shows that its lists answer
        for row in (reading.row or "", *listed):
            plain = rows.load()[row].route if row in rows.load() else None
            if row in carried:
                route = plain if carried[row] is None else rows.parse_route(carried[row], "a carried route")
            else:
                route = _answering(driver.routes.get(row, plain), plain)
            found.add("" if route is None else FIELD_VALUES if route.kind == "fieldvalue" else route.target if route.kind == "call" else "")
    if found := {name for name in found if gated.get(name)}:
        spec["functions"] = sorted({*spec.get("functions", ()), *found})


def _answering(route: Route | None, plain: Route | None) -> Route | None:
    """``route``, or ``plain`` where only that version of the function writes what the row takes: the older one cannot have given it."""
    if route is None or plain is None or (route.kind, route.args, route.out) != (plain.kind, plain.args, plain.out):
        return route
    written = fields.written()
    return plain if route.out in written.get(plain.target, ()) and route.out not in written.get(route.target, (route.out,)) else route


def _merge(old: Element, nodes: list[Node], path: str, known: dict[str, Element]) -> Element:
    """``old`` as the nodes at its place print it."""
    nodes = [derive_node_view.grouped(node, old) for node in nodes]
    tags = _order([[child.tag for child in node.children] for node in nodes if node.children])
    if not tags:
        return old
    children: list[Element] = []
    brought = {known[where].row for tag in tags if (where := _at(path, tag)) in known and old.child(tag) is None}
    for tag in tags:
        inner = [child for node in nodes for child in node.children if child.tag == tag]
        where = _at(path, tag)
        same = [child for child in old.children if child.name == tag]
        if len(same) == 1 and same[0].row is not None and same[0].row in brought and where in known:
            same = []  # its row moves to an element that came: it is what newer drivers print here
        children += [_one(element, inner, where, known) for element in same] if same else [_new(tag, inner, where, known)]
    return with_children(old, tuple(_keep_absent(old, children)))


def _at(path: str, tag: str) -> str:
    return f"{path}/{tag}" if path else tag


def _one(element: Element, nodes: list[Node], path: str, known: dict[str, Element]) -> Element:
    if element.row is not None and any(node.children and node.text is None for node in nodes):
        block = Element(element.name, collapse=element.row, when=element.when)
        return _merge(block, nodes, path, known)
    return element if element.row is not None and not any(node.children for node in nodes) else _merge(element, nodes, path, known)


def _new(tag: str, nodes: list[Node], path: str, known: dict[str, Element]) -> Element:
    """An element this driver's parent lacks: as another driver has it, else without a row."""
    if path in known:
        return _one(known[path], nodes, path, known)
    return _merge(Element(tag), nodes, path, known)


def _order(lists: list[list[str]]) -> list[str]:
    """One order of the tags of several blocks: a tag new to the order stands behind the one before it."""
    order: list[str] = []
    for tags in lists:
        at = 0
        for tag in tags:
            if tag in order:
                at = order.index(tag) + 1
            else:
                order.insert(at, tag)
                at += 1
    return order


def _keep_absent(old: Element, children: list[Element]) -> list[Element]:
    """Children the capture does not print but whose presence hangs on the board, on a list's entries or on what was asked for (and entries that are
    printed with the capture that has them), behind the sibling they stood behind.
    """
    kept = list(children)
    names = [child.name for child in kept]
    for place, child in enumerate(old.children):
        verbatim = child.name in REPEATED and not any(True for _ in child.rows())
        if child.name in names or (child.when is None and child.repeat is None and not child.on_request and not verbatim):
            continue
        before = [sibling.name for sibling in old.children[:place]]
        at = max((number + 1 for number, other in enumerate(kept) if other.name in before), default=0)
        kept.insert(at, child)
    return kept


def _settle_predicates(root: Element, document: Queried, driver: Driver) -> Element:
    """Architecture predicates that the capture contradicts: one that hides an element it prints goes, an element it should print and does not too."""
    walker = Walker(document, driver)
    shown = {number: {_place(path) for path, _ in gpu.walk()} for number, gpu in enumerate(document.gpus)}
    boards = [(walker.architecture(number), places) for number, places in shown.items()]
    return _settle(root, "", boards)


def _place(path: str) -> str:
    return "gpu/" + re.sub(r"\[[0-9]+\]", "", path)


def _settle(element: Element, path: str, boards: list[tuple[int | None, set[str]]]) -> Element:
    children: list[Element] = []
    for child in element.children:
        where = _at(path, child.name)
        kept = _settle(child, where, boards)
        twins = [other for other in element.children if other.name == child.name]
        if child.when is None or child.when.kind != "arch":
            children.append(kept)
            continue
        holding = [where in places for architecture, places in boards if child.when.holds_for(architecture)]
        hidden = [where in places for architecture, places in boards if not child.when.holds_for(architecture)]
        if len(twins) == 1 and any(hidden):
            children.append(replace(kept, when=None))
        elif any(holding) or not holding or path not in {place for _, places in boards for place in places}:
            children.append(kept)
    return with_children(element, tuple(children))


def _without_rows(root: Element, document: Queried, driver: Driver) -> Element:
    """Drops the row of every element some text of which its row cannot read; a text that the giver masked says nothing about the driver."""
    unread = [reading for reading in Walker(document, replace(driver, layout=root)).readings() if reading.kind == UNMODELLED]
    refused = {reading.place for reading in unread if "@" not in reading.place and not is_masked(reading.text)}
    return _drop_rows(root, refused, "")


def _drop_rows(element: Element, refused: set[str], path: str) -> Element:
    children = []
    for child in element.children:
        where = f"{path}/{child.name}" if path else child.name
        if where in refused and not child.children and child.name not in REPEATED:
            children.append(Element(child.name, when=child.when))
        else:
            children.append(_drop_rows(child, refused, where))
    return with_children(element, tuple(children))
