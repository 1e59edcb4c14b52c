"""Captures that share a driver node with one that is imported: a node that changes must still print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.compare import check, rules
from harness.stages.importing import staging
from harness.stores import captures
from harness.tables import drivers
from harness.text.listing import Listing
from harness.words.errors import GateError
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Collection

    from harness.stores.workspace import Workspace
    from harness.text.outline import Queried


def documents(space: Workspace, node: str, view: str) -> list[Queried]:
    """The texts of ``view`` in ``space`` that its driver node ``node`` prints."""
    found = [captures.load(space.captures, name).texts.get(view) for name in _sharing(space, space, node)]
    return [text for text in found if text is not None and not isinstance(text, Listing) and text.kind != "edited"]


def hold(staged: Workspace, space: Workspace, own: Collection[str], node: str | None) -> None:
    """Check the captures of ``space`` that take the driver node ``node``, which ``staged`` holds beside captures of its ``own``.

    Raises GateError, naming them, where some reach parity now and would not with that node.
    """
    if node is None:
        return
    names = [known for known in _sharing(staged, space, node) if known not in own]
    staging.borrow(staged, space, names)
    failing = {case.id for case in check.check(staged, names, ruled=rules.of(space)) if not case.parity}
    broken = failing & {case.id for case in check.check(space, sorted(failing)) if case.parity}
    if broken:
        raise GateError(
            f"the driver node {node} that prints {', '.join(own)} would no longer print {', '.join(sorted(broken))}: boards of one driver "
            "version whose elements differ in a way that no predicate tells apart; nothing was written, give it a workspace of its own (--root)"
        )


def _sharing(staged: Workspace, space: Workspace, node: str) -> list[str]:
    tree = drivers.load(staged.root)
    found = []
    for name in space.ids():
        driver = captures.load_sidecar(space.captures / name / captures.SIDECAR).driver
        if driver is not None and tree.nearest(DriverVersion(driver)).text == node:
            found.append(name)
    return found
