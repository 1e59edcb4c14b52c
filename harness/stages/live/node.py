"""The node at hand: what its nvidia-smi prints and what we print over its library, one between two of the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from harness.stages.derive_walk import UNMODELLED, Walker
from harness.stages.importing import listed, source
from harness.stages.importing.source import Source
from harness.stages.render import process
from harness.stages.render.process import Job, Rendered, Verbatim
from harness.stages.smi import LIBRARY_NAME, NODE_LIMIT_S, SmiRun, node_smi, run_node
from harness.tables import drivers
from harness.text import paths
from harness.text.document import LINE
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY
from harness.words.errors import GateError, MissingError

VIEWS = {VIEW_QUERY: ("-q", "-x"), VIEW_LIST: ("-L",)}
"""View -> the arguments of nvidia-smi that print it."""
_LONGEST = 200


@dataclass(frozen=True)
class Node:
    """A node with a driver.

    ``root``: the workspace whose driver nodes win over the shipped ones.  ``variables``: the environment.  ``clock``: seconds since 1970.
    ``smi``, ``library``: its nvidia-smi and its libnvidia-ml.so.1, None for what PATH and the loader find.  ``limit_s``: how long one run may take.
    """

    root: Path | None
    variables: Mapping[str, str]
    clock: Callable[[], float]
    smi: Path | None = None
    library: Path | None = None
    limit_s: float = NODE_LIMIT_S

    def binary(self) -> Path:
        """The node's nvidia-smi; MissingError where there is none."""
        return node_smi(self.smi, self.variables)

    def opened(self) -> Path | None:
        """The library that is named, absolute; MissingError where it is no file."""
        if self.library is not None and not self.library.is_file():
            raise MissingError(f"{self.library}: no such library; name the node's {LIBRARY_NAME}, or leave --library out for what the loader finds")
        return None if self.library is None else self.library.absolute()


@dataclass(frozen=True)
class Taken:
    """One view of a node: nvidia-smi's text, ours, and nvidia-smi's again; ``kept``: paths that ours has from the first, as no row explains them."""

    view: str
    first: bytes
    ours: Rendered
    second: bytes
    kept: frozenset[str] = frozenset()


def take(node: Node, view: str) -> Taken:
    """The three texts of ``view``, one after the other.

    Raises MissingError where nvidia-smi, library or driver are not there or nvidia-smi gives no text of the view; GateError where nvidia-smi or the
    library hangs or dies; InputError for a text that is none.
    """
    first = printed(node, view)
    kept = _unmodelled(source.read(first, name_of(view)), node.root)
    library = node.opened()
    root = None if node.root is None else str(node.root)
    job = Job(str(library or LIBRARY_NAME), "", root, view, verbatim=kept, now=int(node.clock()))
    ours = process.render(job, limit_s=node.limit_s)
    return Taken(view, first, ours, printed(node, view), frozenset(kept))


def name_of(view: str) -> str:
    """What messages call nvidia-smi's text of ``view``."""
    return f"nvidia-smi {' '.join(VIEWS[view])}"


def printed(node: Node, view: str) -> bytes:
    """What nvidia-smi prints of ``view``."""
    binary = node.binary()
    run = run_node(binary, VIEWS[view], variables=node.variables, library=node.opened(), limit_s=node.limit_s)
    command = f"{binary} {' '.join(VIEWS[view])}"
    if run.status < 0:
        raise GateError(f"{command}: ended by {Signals(-run.status).name}{_said(run)}")
    if not _whole(view, run.stdout):
        raise MissingError(f"{command}: exit status {run.status} and no whole text of that view{_said(run)}; is the driver loaded?")
    return run.stdout


def _whole(view: str, text: bytes) -> bool:
    """Whether a text is one of its view, to its end: a node with a lost GPU gives one too, with an exit status of its own."""
    if view == VIEW_QUERY:
        return text.rstrip().endswith(b"</nvidia_smi_log>")
    return any(line.startswith((b"GPU ", b"Unable to determine")) for line in text.splitlines())


def _said(run: SmiRun) -> str:
    """The first line of what was printed, for a message."""
    lines = [line for line in (*run.stderr.splitlines(), *run.stdout.splitlines()) if line.strip()]
    return f": {lines[0].decode('utf-8', 'backslashreplace')[:_LONGEST]}" if lines else ""


def _unmodelled(text: Source, root: Path | None) -> dict[str, Verbatim]:
    """What the layout places and no row explains (MIG devices, GPUs in error): taken from nvidia-smi's own text, as from a capture."""
    if isinstance(text, Listing):
        return {path: (line, LINE) for path, line in listed.unmodelled(text).items()}
    version = source.driver_of(text)
    if version is None:
        return {}
    driver = drivers.load(root).resolve(version)
    placed = {path.partition("/")[2] for path, _ in driver.layout.walk()}
    nodes = dict(text.root.walk())
    rowless = [reading for reading in Walker(text, driver).readings() if reading.kind == UNMODELLED and reading.row is None]
    return {one.path: (one.text, nodes[one.path].form if one.path in nodes else LINE) for one in rowless if paths.distinct(one.path) in placed}
