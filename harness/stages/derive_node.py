"""A driver node from a capture: what a version nobody has seen prints, as changes to the nearest node.

Elements that another driver prints at the same place bring its row, predicate and collapse with them; presence that hangs on the board stays
a predicate.  An element that no row of any driver has, or whose text its row cannot read, stands in the layout without a row: it is kept
verbatim, with its position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.stages.derive_walk import UNMODELLED, Walker
from harness.stores import profiles
from harness.tables import differ
from harness.tables.drivers import Driver, DriverTree
from harness.tables.layout import Element, with_children
from harness.text.document import Document, Node
from harness.text.model import REPEATED


@dataclass(frozen=True)
class Learnt:
    """A node made from a capture.

    version   the driver's version; ``text`` the node file, YAML
    changes   the changes of its layout to the parent's, as the file has them
    """

    version: str
    text: str
    changes: tuple[dict[str, Any], ...]

    def of(self, operation: str) -> tuple[str, ...]:
        """Paths of one operation (add, remove, rename, move, replace), for the report."""
        found = []
        for change in self.changes:
            if operation in change:
                path = str(change[operation])
                names = "/".join(change["element"]) if operation == "add" else ""
                found.append(f"{path}/{names}".strip("/") if names else path)
        return tuple(found)


def learn(document: Document, driver: Driver, tree: DriverTree) -> Learnt | None:
    """The node that makes ``document`` printable, or None when the driver's own node explains every element.

    ``driver`` is the tree's answer for the document's version.  A capture without GPUs or one changed by hand teaches nothing.
    """
    if document.kind == "edited" or not document.gpus:
        return None
    known = _by_path(tree)
    root = _merge(driver.layout, [document.root], "", known)
    root = _without_rows(root, document, driver)
    root = with_children(driver.layout, root.children)
    changes = differ.difference(driver.layout, root)
    dtd = document.doctype or driver.dtd
    if not changes and not driver.assumed and dtd == driver.dtd:
        return None
    return Learnt(driver.version.text, profiles.dump(_spec(driver, tree, changes, dtd)), tuple(changes))


def _spec(driver: Driver, tree: DriverTree, changes: list[dict[str, Any]], dtd: str) -> dict[str, Any]:
    """The node's file: a new child of the node that answered, or that node's own file with more changes."""
    if driver.assumed:
        spec: dict[str, Any] = {"format": 1, "version": driver.version.text, "parent": driver.node.text, "seen": [driver.version.text]}
        if dtd != driver.dtd:
            spec["dtd"] = dtd
        return {**spec, "changes": changes}
    own = dict(tree.nodes[driver.node].spec)
    own["dtd"] = dtd
    own["changes"] = [*own.get("changes", []), *changes]
    return own


def _by_path(tree: DriverTree) -> dict[str, Element]:
    """Every element of every driver by path, newer drivers last (they win)."""
    found: dict[str, Element] = {}
    for version in tree.versions():
        for path, element in tree.resolve(version).layout.walk():
            found[path.partition("/")[2]] = element
    return found


def _merge(old: Element, nodes: list[Node], path: str, known: dict[str, Element]) -> Element:
    """``old`` as the nodes at its place print it."""
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
    if element.row is not None and any(node.children for node in nodes):
        block = Element(element.name, collapse=element.row, when=element.when)
        return _merge(block, nodes, path, known)
    return element if element.row is not None else _merge(element, nodes, path, known)


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
    """Children the capture does not print but whose presence hangs on the board or on a list's entries, behind the sibling they stood behind."""
    kept = list(children)
    names = [child.name for child in kept]
    for place, child in enumerate(old.children):
        if child.name in names or (child.when is None and child.repeat is None):
            continue
        before = [sibling.name for sibling in old.children[:place]]
        at = max((number + 1 for number, other in enumerate(kept) if other.name in before), default=0)
        kept.insert(at, child)
    return kept


def _without_rows(root: Element, document: Document, driver: Driver) -> Element:
    """Drops the row of every element some text of which its row cannot read."""
    probe = replace(driver, layout=root)
    refused = {reading.place for reading in Walker(document, probe).readings() if reading.kind == UNMODELLED and "@" not in reading.place}
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
