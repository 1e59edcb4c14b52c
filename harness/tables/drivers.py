"""The driver tree: nodes of exact driver versions, each a parent and a delta, resolved to what one driver prints and asks."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.tables import changes, formats, rows, strictyaml
from harness.tables.layout import Element, parse_element
from harness.tables.shipped import shipped
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import check_format
from harness.words.state import State
from harness.words.version import DriverVersion
from mocklib import fields
from mocklib.spec import SHAPES as KNOWN_SHAPES

ROOT, TEXT_ROOT = "nvidia_smi_log", "nvsmi_log"
UNKNOWN_ERROR = 999
SHAPES = tuple(KNOWN_SHAPES)
WAYS = {"processes": ("by_pid", "in_step")}
"""List -> ways in which nvidia-smi reads it, the newest first."""
_MERGED = ("texts", "handle_texts", "handle_ends", "field_ids", "slots", "routes", "formats", "escapes", "lists", "text_routes", "text_formats",
           "text_inner")  # fmt: skip
_ELEMENTS = frozenset(("elements", "changes"))
"""What a node has whose elements were seen."""
_NODE_KEYS = frozenset(("format", "version", "parent", "seen", "only_seen", "binary", "dtd", "declaration", "texts", "handle_texts", "handle_ends",
                        "elements", "changes", "field_ids", "slots", "routes", "formats", "escapes", "lists", "functions", "text", "text_changes",
                        "text_routes", "text_formats", "text_column", "text_inner"))  # fmt: skip


@dataclass(frozen=True)
class SlotDef:
    """One entry of the private table: its number, the shape of its call, and of one of field values the id there."""

    number: int
    shape: str
    key: int = 0

    def mapping(self) -> dict[str, Any]:
        """As a node's file has it."""
        return {"number": self.number, "shape": self.shape, **({"key": self.key} if self.key else {})}


@dataclass(frozen=True)
class Node:
    """One node of the tree as its file has it; ``source`` is the file's name."""

    version: DriverVersion
    parent: DriverVersion | None
    seen: tuple[str, ...]
    spec: Mapping[str, Any]
    source: str
    where: str


@dataclass(frozen=True)
class Driver:
    """One driver, resolved.

    version    the version asked for
    node       the node that answered
    assumed    True when the version has no node of its own, or one that only `-q` text showed: layout and routes are inherited
    inherited  True when the version has no node of its own: what answers is the nearest older node, else the oldest
    layout     root element (nvidia_smi_log)
    dtd        file name in the DOCTYPE line
    declaration  the XML declaration line
    texts      return code -> text printed instead of a value
    field_ids  name -> id for nvmlDeviceGetFieldValues
    slots      name -> slot of the private table
    routes     row id -> route, for every row the layout prints
    forms      row id -> format, where this driver prints a row otherwise than the row's own format
    escapes    row id -> ``none`` for texts printed without XML escapes
    lists      name of a list -> how it is read, one of WAYS.  ``processes``: which of them the MPS list marks, ``by_pid`` those it names,
               ``in_step`` as far as its pids, compared with each process in turn, are those of other lists, too
    functions  functions this version is seen to have although nothing else shows that its library exports them
    measured   branches whose binaries showed the nodes from the root to this one what they have
    evidence   branch of the binary that showed this node its slots; None where a node changes them without one
    handle_texts  return code -> why a GPU's handle is not given, where that has other words; a code without any is an unknown error
    handle_ends  ``sentence`` that `-q` prints in place of everything where a handle is not given, ``passes``: codes with which it goes on without it
    text       root of what `-q` prints without `-x`; text_routes, text_forms: as routes and forms, for its rows; text_column: where its colons stand,
               text_inner: where those below a label stand that have another column; text_seen: whether a binary or a text showed it, so that it is
               not merely that of the node's parent
    """

    version: DriverVersion
    node: DriverVersion
    assumed: bool
    layout: Element
    dtd: str
    declaration: str
    texts: Mapping[int, str]
    field_ids: Mapping[str, int]
    slots: Mapping[str, SlotDef]
    routes: Mapping[str, rows.Route]
    forms: Mapping[str, str]
    escapes: Mapping[str, str]
    functions: frozenset[str] = frozenset()
    measured: frozenset[int] = frozenset()
    evidence: int | None = None
    text: Element = field(default_factory=lambda: Element(TEXT_ROOT))
    text_routes: Mapping[str, rows.Route] = field(default_factory=dict)
    text_forms: Mapping[str, str] = field(default_factory=dict)
    text_column: int = 0
    text_seen: bool = False
    lists: Mapping[str, str] = field(default_factory=dict)
    handle_texts: Mapping[int, str] = field(default_factory=dict)
    text_inner: Mapping[str, int] = field(default_factory=dict)
    handle_ends: Mapping[str, Any] = field(default_factory=dict)
    inherited: bool = False
    _states: dict[str, State] = field(default_factory=dict, compare=False)

    def state_of(self, text: str) -> State | None:
        """The state a text stands for on this driver, or None when it is a value."""
        if not self._states:
            for code, printed in sorted(self.texts.items()):
                state = State.of_code(code)
                if state is not None and printed:
                    self._states.setdefault(printed, state)
        return self._states.get(text)

    @property
    def slots_are_own(self) -> bool:
        """Whether a binary of this driver's own branch showed its private table: in the table of another branch a slot may be one that writes."""
        return self.evidence == self.version.branch

    @property
    def exports(self) -> frozenset[str]:
        """The functions that this driver's own library exports."""
        return fields.exported(self.version.parts) | self.functions

    def form(self, row: str) -> formats.Format:
        """The format this driver prints a row in."""
        return formats.get(self.forms.get(row) or rows.load()[row].format)

    def in_text(self) -> Driver:
        """This driver as its `-q` text has it: that tree is its layout, with the routes and formats of that tree's rows."""
        texted = replace(self, layout=self.text, routes=self.text_routes, forms=self.text_forms)
        return replace(texted, assumed=self.inherited or not self.text_seen)

    def text_of(self, code: int) -> str:
        """The text printed for a return code; a code the binary does not know prints an empty body."""
        return self.texts.get(code, "")

    def handle_text_of(self, code: int) -> str:
        """Why a GPU's handle is not given, as the line in its place says it."""
        return self.handle_texts.get(code, self.text_of(UNKNOWN_ERROR))


class DriverTree:
    """All nodes, shipped and of the workspace; the latter win.

    A shipped node's parents are shipped nodes: a workspace's node of the same version replaces one for that version, not under its children.
    """

    def __init__(self, nodes: Mapping[DriverVersion, Node], own: Mapping[DriverVersion, Node] | None = None) -> None:
        self._shipped = dict(nodes)
        self.nodes = dict(sorted({**nodes, **(own or {})}.items(), key=lambda item: item[0]))
        self._resolved: dict[DriverVersion, Driver] = {}

    def versions(self) -> tuple[DriverVersion, ...]:
        """Versions with a node, ascending."""
        return tuple(self.nodes)

    def nearest(self, version: DriverVersion) -> DriverVersion:
        """The node for a version: its own, else one that lists it as seen, else the nearest older, else the oldest.

        A node with ``only_seen`` lacks what boards of its time do not print: it stands for the versions it has seen and lends its elements to others.
        So does one that `-q` text alone showed, which has no elements of its own.
        """
        if version in self.nodes:
            return version
        seen = [known for known, node in self.nodes.items() if version.text in node.seen]
        if seen:
            return seen[-1]
        usual = [known for known, node in self.nodes.items() if node.spec.get("only_seen") is not True and _ELEMENTS & node.spec.keys()]
        older = [known for known in usual if known < version]
        return older[-1] if older else usual[0]

    def resolve(self, version: DriverVersion | str) -> Driver:
        """What a driver version prints and asks; ``assumed`` tells that it has no node of its own."""
        wanted = DriverVersion(version) if isinstance(version, str) else version
        return self.answering(self.nearest(wanted), wanted)

    def answering(self, node: DriverVersion, wanted: DriverVersion) -> Driver:
        """What the driver ``wanted`` prints and asks when ``node``, one of `versions`, answers for it."""
        if node not in self._resolved:
            self._resolved[node] = self._build(node)
        known = self._resolved[node]
        if wanted.text == known.version.text:
            return known
        inherited = wanted.text not in self.nodes[node].seen and wanted != node
        functions = frozenset() if wanted < node else known.functions  # what a newer driver has says nothing of an older one
        exports = fields.exported(wanted.parts) | functions
        routes, text_routes = (_based(table, wanted.branch in known.measured, exports) for table in (known.routes, known.text_routes))
        known = replace(known, version=wanted, routes=routes, text_routes=text_routes, functions=functions)
        return replace(known, inherited=inherited, assumed=known.assumed or inherited)

    def measured(self, branch: int) -> Driver | None:
        """The newest node of ``branch`` whose private table a binary of that branch showed; None where no binary was at hand."""
        found = [version for version, node in self.nodes.items() if version.branch == branch and "binary" in node.spec]
        return self.resolve(found[-1]) if found else None

    def binaries(self) -> dict[int, DriverVersion]:
        """The binaries that nodes were measured with, by branch; of two of one branch the newer."""
        told = sorted(DriverVersion(str(node.spec["binary"])) for node in self.nodes.values() if "binary" in node.spec)
        return {version.branch: version for version in told}

    def chain(self, version: DriverVersion) -> list[Node]:
        """The nodes from the root down to ``version``; InputError for an unknown parent or a cycle."""
        chain: list[Node] = []
        current: DriverVersion | None = version
        while current is not None:
            shipped_child = bool(chain) and self._shipped.get(chain[-1].version) is chain[-1]
            node = self._shipped.get(current) if shipped_child else self.nodes.get(current)
            if node is None:
                raise InputError(f"{chain[-1].where}: parent {current} has no node{did_you_mean(str(current), map(str, self.nodes))}")
            if node in chain:
                raise InputError(f"{node.where}: node {current} is its own ancestor")
            chain.append(node)
            current = node.parent
        return chain[::-1]

    def _build(self, version: DriverVersion) -> Driver:
        layout: Element | None = None
        text = Element(TEXT_ROOT)
        merged: dict[str, dict[Any, Any]] = {name: {} for name in _MERGED}
        plain: dict[str, str] = {}
        functions: set[str] = set()
        measured: set[int] = set()
        evidence: int | None = None
        for node in self.chain(version):
            if "elements" in node.spec:
                layout = parse_element({ROOT: {"elements": node.spec["elements"]}}, node.where)
            if "text" in node.spec:
                text = parse_element({TEXT_ROOT: {"elements": node.spec["text"]}}, node.where)
            if layout is None:
                raise InputError(f"{node.where}: the root node needs elements")
            layout = changes.apply(layout, node.spec.get("changes", []), node.where)
            text = changes.apply(text, node.spec.get("text_changes", []), node.where)
            for name, table in merged.items():
                table.update(node.spec.get(name, {}))
                for gone in [key for key, value in table.items() if value is None]:
                    del table[gone]
            if node.version <= version:  # an older driver may stand below a newer one, whose library it has not
                functions.update(map(str, node.spec.get("functions", ())))
            if "binary" in node.spec or "slots" in node.spec:
                evidence = DriverVersion(str(node.spec["binary"])).branch if "binary" in node.spec else None
                measured |= set() if evidence is None else {evidence}
            plain.update({name: str(node.spec[name]) for name in ("dtd", "declaration", "text_column") if name in node.spec})
        where = self.nodes[version].where
        exports = fields.exported(version.parts) | functions
        assert layout is not None
        spec = self.nodes[version].spec
        return Driver(
            version, version, not _ELEMENTS & spec.keys(), layout, plain.get("dtd", ""), plain.get("declaration", ""),
            {int(code): str(text) for code, text in merged["texts"].items()},
            {str(name): int(number) for name, number in merged["field_ids"].items()},
            {str(name): _slot(name, spec, where) for name, spec in merged["slots"].items()},
            _based(_routes(layout, merged["routes"], where), version.branch in measured, exports), merged["formats"], merged["escapes"],
            frozenset(functions), frozenset(measured), evidence, text,
            _based(_routes(text, {**merged["routes"], **merged["text_routes"]}, where), version.branch in measured, exports),
            {**merged["formats"], **merged["text_formats"]}, int(plain.get("text_column", 0)),
            _text_seen(self.nodes[version]),
            {str(name): _list(name, way, where) for name, way in merged["lists"].items()},
            {int(code): str(text) for code, text in merged["handle_texts"].items()},
            {str(label): int(column) for label, column in merged["text_inner"].items()}, merged["handle_ends"],
        )  # fmt: skip


def _based(routes: Mapping[str, rows.Route], measured: bool, exports: Collection[str]) -> Mapping[str, rows.Route]:
    """``routes`` as a driver has them.

    Those through the private table rest on ``slot`` where a binary of the driver's branch was ``measured``, else they are assumed.  Those through a
    function ask the newest of its versions that is not newer and that the driver's library ``exports``, as nvidia-smi of each branch does.
    """
    basis = "slot" if measured else "assumed"
    found = {row: replace(route, basis=basis) if route.kind == "slot" else route for row, route in routes.items()}
    return {row: replace(route, target=rows.exported(route.target, exports)) if route.kind == "call" else route for row, route in found.items()}


def _text_seen(node: Node) -> bool:
    """Whether a node says its `-q` text, or was measured whole with the binary of a version that it has seen."""
    return "text" in node.spec or "text_changes" in node.spec or node.spec.get("binary") in node.seen


def _slot(name: str, spec: Any, where: str) -> SlotDef:
    if not isinstance(spec, dict) or spec.get("shape") not in SHAPES or not isinstance(spec.get("number"), int):
        raise InputError(f"{where}: slot {name!r} is {{number, shape}} with a shape of {', '.join(SHAPES)}")
    key = spec.get("key", 0)
    if not isinstance(key, int) or (key != 0) != (spec["shape"] == "field_values"):
        raise InputError(f"{where}: slot {name!r}: field_values takes a key, the id of an entry; other shapes take none")
    return SlotDef(spec["number"], spec["shape"], key)


def _list(name: str, way: Any, where: str) -> str:
    if name not in WAYS or way not in WAYS[name]:
        known = ", ".join(f"{each} {one}" for each, ways in WAYS.items() for one in ways)
        raise InputError(f"{where}: no list {name!r} that is read {way!r}; known is {known}")
    return str(way)


def _routes(layout: Element, overrides: Mapping[str, Any], where: str) -> dict[str, rows.Route]:
    table = rows.load()
    for name in overrides:
        if name not in table:
            raise InputError(f"{where}: route of unknown row {name!r}{did_you_mean(str(name), table)}")
    routes: dict[str, rows.Route] = {}
    for name in needed_rows(layout):
        if name not in table:
            raise InputError(f"{where}: the layout names an unknown row {name!r}{did_you_mean(name, table)}")
        route = rows.parse_route(overrides[name], where) if name in overrides else table[name].route
        if route is not None:
            routes[name] = route
    for name, spec in overrides.items():
        routes.setdefault(name, rows.parse_route(spec, where))
    return routes


def needed_rows(layout: Element) -> list[str]:
    """Row ids a layout prints or asks for a predicate or a collapse, each once, in order."""
    found: dict[str, None] = {}
    for _, element in layout.walk():
        for _, row in element.attributes:
            found[row] = None
        if element.row is not None:
            found[element.row] = None
        if element.collapse is not None:
            found[element.collapse] = None
        if element.when is not None and element.when.kind in ("answered", "supported"):
            found[element.when.name] = None
    return list(found)


def parse_node(document: strictyaml.Document) -> Node:
    """A node from its document; InputError with file and line."""
    spec = document.value
    if not isinstance(spec, dict):
        raise InputError(f"{document.source}:1: a driver node is a mapping")
    for key in spec:
        if key not in _NODE_KEYS:
            raise InputError(f"{document.where((key,))}: unknown key {key!r}{did_you_mean(str(key), _NODE_KEYS)}")
    check_format(spec.get("format"), document.where(("format",)))
    if not isinstance(spec.get("version"), str):
        raise InputError(f"{document.where(('version',))}: version is missing or not quoted text")
    parent = spec.get("parent")
    return Node(
        DriverVersion(spec["version"]), None if parent is None else DriverVersion(str(parent)), tuple(map(str, spec.get("seen", []))), spec,
        document.source, document.where(()),
    )  # fmt: skip


def load(root: Path | None = None) -> DriverTree:
    """The tree: shipped nodes, then those of the workspace ``root`` (``profiles/drivers/*.yaml``), which win over shipped ones."""
    shipped_nodes = _folder(shipped("profiles", "drivers"))
    if not shipped_nodes:
        raise InputError(f"{shipped('profiles', 'drivers')}: no driver nodes; the installation is incomplete")
    own = None if root is None else root / "profiles" / "drivers"
    if own is None or own.resolve() == shipped("profiles", "drivers").resolve():
        return _tree(shipped_nodes, {})
    return _tree(shipped_nodes, _folder(own))


_TREES: dict[tuple[int, ...], DriverTree] = {}
_MOST_TREES = 16


def _tree(shipped_nodes: dict[DriverVersion, Node], own: dict[DriverVersion, Node]) -> DriverTree:
    """The tree of these nodes, the same one for the same nodes: a driver that it resolved is not built again.

    Nodes are told apart by identity, which none loses as long as its tree is kept.
    """
    key = (*map(id, shipped_nodes.values()), 0, *map(id, own.values()))
    tree = _TREES.get(key)
    if tree is None:
        tree = DriverTree(shipped_nodes, own)
        if len(_TREES) >= _MOST_TREES:
            _TREES.clear()
        _TREES[key] = tree
    return tree


@functools.lru_cache(maxsize=256)
def _parsed(data: bytes, name: str) -> Node:
    """The node in a file's bytes: a check resolves a driver for every capture, and the tree is the same each time."""
    return parse_node(strictyaml.load(data, name, "node"))


def _folder(folder: Path) -> dict[DriverVersion, Node]:
    found: dict[DriverVersion, Node] = {}
    for path in sorted(folder.glob("*.yaml")):
        name = f"profiles/drivers/{path.name}"
        node = _parsed(strictyaml.read_file(path, name), name)
        if node.version.text != path.stem:
            raise InputError(f"{node.where}: version {node.version} in a file called {path.name}")
        found[node.version] = node
    return found
