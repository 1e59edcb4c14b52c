"""What a driver node keeps of each view of nvidia-smi, for `derive_node`: `-q -x` its elements and DTD, `-q` its labels and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from harness.stages import derive_node_labels
from harness.tables.layout import with_children
from harness.text.model import BARE, Node
from harness.text.outline import ATTACHED, GPU, Outline

if TYPE_CHECKING:
    from harness.tables.drivers import Driver, DriverTree
    from harness.tables.layout import Element
    from harness.text.outline import Queried


@dataclass(frozen=True)
class View:
    """One view: the keys of a node under which its changes, routes and formats stand.

    ``beside``: its routes and formats stand beside those of `-q -x`, which hold where it has none: taking one away says nothing.
    """

    changes: str
    routes: str
    formats: str
    beside: bool = False

    def seen(self, driver: Driver) -> Driver:
        """``driver`` as the view has it."""
        return driver

    def parents(self, driver: Driver, _tree: DriverTree) -> list[Driver]:
        """The drivers whose node that of ``driver``'s version may be a child of, the first of them where all teach alike: the tree's answer."""
        return [driver]

    def named(self, root: Element, _driver: Driver, _tree: DriverTree) -> tuple[Element, dict[str, Driver]]:
        """``root`` with the rows of elements that no driver's view has, and row -> the driver that each is of; tags tell none."""
        return root, {}

    def plain(self, document: Queried, driver: Driver) -> dict[str, Any]:
        """Keys, beside changes, by which ``document`` differs from what ``driver`` prints."""
        doctype = None if isinstance(document, Outline) else document.doctype
        return {"dtd": doctype} if doctype is not None and doctype != driver.dtd else {}


@dataclass(frozen=True)
class TextView(View):
    """The view `-q`."""

    def seen(self, driver: Driver) -> Driver:
        """``driver`` as its `-q` text has it."""
        return driver.in_text()

    def parents(self, driver: Driver, tree: DriverTree) -> list[Driver]:
        """Of a version without a node: those of its branch whose `-q` text was seen, older ones first, the nearest first; else the tree's answer.

        Releases of a branch print alike, while the nearest older node may be of another branch, or have its own text from one.
        """
        if not driver.inherited:
            return [driver]
        wanted = driver.version
        told = [version for version in tree.versions() if version.branch == wanted.branch and not tree.resolve(version).in_text().assumed]
        ordered = [version for version in told if version < wanted][::-1] + [version for version in told if version > wanted]
        return [tree.answering(version, wanted) for version in ordered] or [driver]

    def named(self, root: Element, _driver: Driver, _tree: DriverTree) -> tuple[Element, dict[str, Driver]]:
        """By the labels, which the rows of `-q -x` have too; the empty line above the number of GPUs goes with whatever stands there."""
        followers = [*(child.name for child in root.children[1:]), ""]
        spaced = [
            replace(child, blank=follower == ATTACHED or child.name == GPU) for child, follower in zip(root.children, followers, strict=True)
        ]
        return derive_node_labels.named(with_children(root, tuple(spaced)), _driver, _tree)

    def plain(self, document: Queried, driver: Driver) -> dict[str, Any]:
        """Where the colons stand, where that differs."""
        if not isinstance(document, Outline):
            return {}
        found: dict[str, Any] = {}
        if document.layout.column != driver.text_column:
            found["text_column"] = document.layout.column
        inner = {**driver.text_inner, **dict(document.layout.inner)}
        if inner != driver.text_inner:
            found["text_inner"] = inner
        return found


QUERY, TEXT = View("changes", "routes", "formats"), TextView("text_changes", "text_routes", "text_formats", beside=True)


def of(document: Queried) -> View:
    """The view of ``document``."""
    return TEXT if isinstance(document, Outline) else QUERY


def grouped(node: Node, element: Element) -> Node:
    """``node`` with the entries that ``element`` has without a line of their own each in a node of its own; itself where there are none."""
    homes = {inner.name: bare.name for bare in element.children if bare.bare for inner in bare.children}
    if not any(child.tag in homes for child in node.children):
        return node
    children: list[Node] = []
    for child in node.children:
        home = homes.get(child.tag)
        entry = children[-1] if children and children[-1].form == BARE and children[-1].tag == home else None
        if home is None:
            children.append(child)
        elif entry is None or any(other.tag == child.tag for other in entry.children):
            children.append(Node(home, children=[child], form=BARE))
        else:
            entry.children.append(child)
    return replace(node, children=children)
