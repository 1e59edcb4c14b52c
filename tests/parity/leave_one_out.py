"""A driver node made again from some of its captures, and what a capture that it has not seen says of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.stages import derive, derive_node
from harness.stages.compile import compile_profile
from harness.stages.importing import source
from harness.stores import captures, profiles
from harness.tables import drivers, strictyaml
from harness.tables.drivers import Driver, DriverTree
from harness.text.document import Document
from harness.words.version import DriverVersion
from tests.parity.expect import Wanted
from tests.parity.mutations_board import BOARDS, ROOT, SPACE, found, told
from tests.parity.mutations_library import Served


@dataclass(frozen=True)
class Fit:
    """How a node fits a capture that it was not made from.

    ``elements``: leaves of the capture; ``differences``: what the comparison finds (an element lost, one too many, another order); ``unmodelled``:
    paths that no row of the node explains, ``own`` those among them that the node made from every capture explains.
    """

    elements: int
    differences: frozenset[Wanted]
    unmodelled: frozenset[str]
    own: frozenset[str]


def by_driver() -> dict[str, tuple[str, ...]]:
    """Driver version -> the captures of it, where there are several."""
    found: dict[str, list[str]] = {}
    for name in BOARDS:
        version = captures.load_sidecar(SPACE.captures / name / "sidecar.yaml").driver
        if version is not None:
            found.setdefault(version, []).append(name)
    return {version: tuple(names) for version, names in found.items() if len(names) > 1}


def query(name: str) -> Document:
    """The query of a capture."""
    read = captures.load(SPACE.captures, name).query
    assert read is not None
    return read


def learnt_from(version: str, documents: Iterable[Document]) -> Driver:
    """The driver ``version`` as an import of ``documents``, one after another, leaves it in a tree that has never seen the version."""
    shipped = drivers.load(ROOT).nodes
    tree = DriverTree(shipped)
    del tree.nodes[DriverVersion(version)]  # its children are resolved by way of it all the same
    for document in documents:
        learnt = derive_node.learn(document, tree.resolve(version), tree)
        if learnt is not None:
            node = drivers.parse_node(strictyaml.load(learnt.text.encode(), f"{version}.yaml"))
            tree = DriverTree(shipped, {node.version: node})
    return tree.resolve(version)


def fit(name: str, driver: Driver, served: Served) -> Fit:
    """How ``driver`` prints the capture ``name``, derived by its tables."""
    document = query(name)
    derived = derive.derive(document, driver, name)
    spec = compile_profile(profiles.parse(derived.text.encode(), name), driver)
    nodes = dict(document.root.walk())
    kept = {path: (text, nodes[path].form if path in nodes else "line") for path, text in derived.verbatim.items()}
    data = served.render(spec, driver, kept)
    own = derive.derive(document, drivers.load(ROOT).resolve(driver.version), name)
    unmodelled = frozenset(derived.verbatim)
    differences = found(told(name, document.to_bytes()), data, driver, kept)
    return Fit(len(source.leaves(document)), frozenset(differences), unmodelled, unmodelled - frozenset(own.verbatim))
