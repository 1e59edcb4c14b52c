"""The boards the mutations change: capture, golden, profile and image of each, and the comparison of a render with them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.stages.compare import check
from harness.stages.compare.judge import Expected, compare
from harness.stages.compile import compile_profile
from harness.stages.importing import source
from harness.stages.render.process import Rendered, Verbatim
from harness.stores import captures, golden_reader, goldens, profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.tables.drivers import Driver
from harness.text.document import Document
from harness.words.state import State
from mocklib.spec import Accounted, ImageSpec, Pages, Process
from tests.parity.expect import Wanted

ROOT = Path(__file__).resolve().parents[2]
SPACE = Workspace(ROOT)


def compared(space: Workspace) -> tuple[str, ...]:
    """The captures of ``space`` whose query is compared with what the mock library prints."""
    sidecars = [captures.load_sidecar(path) for path in sorted(space.captures.glob("*/sidecar.yaml"))]
    return tuple(sidecar.id for sidecar in sidecars if "q-x" in sidecar.views and sidecar.kind != "edited")


BOARDS = compared(SPACE)


@dataclass(frozen=True)
class Told:
    """A text to be equal to: its document, and the golden's hashes of its bytes."""

    id: str
    document: Document
    hashes: goldens.Hashes

    @functools.cached_property
    def leaves(self) -> list[tuple[str, str]]:
        """Its leaves."""
        return source.leaves(self.document)

    @functools.cached_property
    def hidden(self) -> frozenset[str]:
        """Paths of the readings that the giver hid, which are not compared."""
        return source.redacted(self.leaves)


@dataclass(frozen=True)
class Board:
    """One board of the repository.

    ``profile`` is its document as written; ``spec`` what it compiles to; ``kept`` what no row explains, path -> text and form.
    """

    id: str
    told: Told
    profile: Mapping[str, Any]
    driver: Driver
    spec: ImageSpec
    kept: Mapping[str, Verbatim]


@functools.cache
def board(name: str) -> Board:
    """The board ``name``; its transcript still gives the bytes that the golden's hash was taken from."""
    document = captures.load(SPACE.captures, name).query
    golden = goldens.load(SPACE.golden / f"{name}.yaml").views["q-x"]
    assert document is not None
    assert golden_reader.sha256(document.to_bytes()) == golden.scrubbed
    text = SPACE.profile_path(name).read_bytes()
    profile = profiles.parse(text, name)
    driver = drivers.load(ROOT).resolve(profile.driver_version)
    kept = check.verbatim_of(SPACE.profile_path(name), document)
    return Board(name, Told(name, document, golden), yaml.safe_load(text), driver, compile_profile(profile, driver), kept)


def told(name: str, data: bytes) -> Told:
    """Golden and document made from ``data`` as an import makes them: hashes from the bytes."""
    document = source.read(data, name)
    assert isinstance(document, Document)
    assert document.to_bytes() == data
    return Told(name, document, goldens.hashes(data, data))


def state_texts(driver: Driver) -> frozenset[str]:
    """The texts the driver prints for states."""
    return frozenset(text for code, text in driver.texts.items() if text and code in {state.code for state in State})


def found(wanted: Told, data: bytes, driver: Driver, kept: Mapping[str, Verbatim] | None = None) -> set[Wanted]:
    """What the comparison finds between ``wanted`` and a render; of an own layout, bytes must differ where it finds something and only there."""
    expected = Expected(
        id=wanted.id, kind=wanted.document.kind, leaves=wanted.leaves, data=wanted.document.to_bytes(), scrubbed=wanted.hashes.scrubbed,
        readings=wanted.hashes.readings.whole, redacted=wanted.hidden, unmodelled=frozenset(kept or ()),
    )  # fmt: skip
    rendered = Rendered(data, driver.version.text, driver.node.text, driver.assumed, [])
    case = compare(expected, check.actual(rendered, wanted.document, "builtin", wanted.id, wanted.hidden), state_texts(driver))
    assert case.drift == []
    assert case.bytes == ("n/a" if wanted.document.kind != "own" else "differs" if case.findings else "equal")
    return {Wanted(finding.gpu or "", finding.path, finding.kind) for finding in case.findings}


def shaped(name: str, value: Any) -> Any:
    """A list in the classes that an image's content has."""
    if name in ("processes.compute", "processes.graphics", "processes.mps"):
        return tuple(Process(*process) for process in value)
    if name == "accounting.processes":
        return tuple(Accounted(*process) for process in value)
    return Pages(*value) if name in ("retired_pages.single_bit", "retired_pages.double_bit") else value
