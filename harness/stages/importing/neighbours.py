"""Captures that share a driver node with one that is imported: a node that changes must still print them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.compare import check
from harness.stages.importing import staging
from harness.stores import captures
from harness.tables import drivers
from harness.words.errors import GateError
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from harness.stages.derive_node import Learnt
    from harness.stores.workspace import Workspace


def hold(staged: Workspace, space: Workspace, name: str, learnt: Learnt | None) -> None:
    """Check the captures of ``space`` that take the node ``learnt``, which ``staged`` holds beside the capture ``name``.

    Raises GateError, naming them, where some reach parity now and would not with that node.
    """
    if learnt is None:
        return
    names = [known for known in _sharing(staged, space, learnt) if known != name]
    staging.borrow(staged, space, names)
    failing = {case.id for case in check.check(staged, names) if not case.parity}
    broken = failing & {case.id for case in check.check(space, sorted(failing)) if case.parity}
    if broken:
        raise GateError(
            f"the driver node {learnt.version} that prints this capture would no longer print {', '.join(sorted(broken))}: boards of one driver "
            "version whose elements differ in a way that no predicate tells apart; nothing was written, give it a workspace of its own (--root)"
        )


def _sharing(staged: Workspace, space: Workspace, learnt: Learnt) -> list[str]:
    tree = drivers.load(staged.root)
    found = []
    for name in space.ids():
        driver = captures.load_sidecar(space.captures / name / captures.SIDECAR).driver
        if driver is not None and tree.nearest(DriverVersion(driver)).text == learnt.version:
            found.append(name)
    return found
