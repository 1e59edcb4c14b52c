"""The boards the mutations change: capture, golden, profile and image of each, and the comparison of a render with them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.stages.compare.judge import Actual, Expected, compare
from harness.stages.compile import compile_profile
from harness.stages.importing import source
from harness.stores import captures, golden_reader, goldens, profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.tables.drivers import Driver
from harness.text.document import Document
from harness.words.state import State
from mocklib.spec import ImageSpec, Pages, Process
from tests.parity.expect import Wanted

ROOT = Path(__file__).resolve().parents[2]
SPACE = Workspace(ROOT)
BOARDS = ("a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07")


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


@dataclass(frozen=True)
class Board:
    """One board of the repository.  ``profile`` is its document as written; ``spec`` what it compiles to."""

    id: str
    told: Told
    profile: Mapping[str, Any]
    driver: Driver
    spec: ImageSpec


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
    return Board(name, Told(name, document, golden), yaml.safe_load(text), driver, compile_profile(profile, driver))


def told(name: str, data: bytes) -> Told:
    """Golden and document made from ``data`` as an import makes them: hashes from the bytes."""
    document = source.read(data, name)
    assert isinstance(document, Document)
    assert document.to_bytes() == data
    return Told(name, document, goldens.hashes(data, data))


def state_texts(driver: Driver) -> frozenset[str]:
    """The texts the driver prints for states."""
    return frozenset(text for code, text in driver.texts.items() if text and code in {state.code for state in State})


def found(wanted: Told, data: bytes, driver: Driver) -> set[Wanted]:
    """What the comparison finds between ``wanted`` and a render; bytes must differ where it finds something and only there."""
    expected = Expected(
        id=wanted.id, kind=wanted.document.kind, leaves=wanted.leaves, data=wanted.document.to_bytes(), scrubbed=wanted.hashes.scrubbed,
        readings=wanted.hashes.readings.whole,
    )  # fmt: skip
    actual = Actual(
        renderer="builtin", driver=driver.version.text, layout=driver.node.text, data=data,
        read=lambda text: source.leaves(source.read(text, "render")), hash_readings=lambda text: golden_reader.read(text).whole,
    )  # fmt: skip
    case = compare(expected, actual, state_texts(driver))
    assert case.drift == []
    assert (case.bytes == "equal") == (case.findings == [])
    return {Wanted(finding.gpu or "", finding.path, finding.kind) for finding in case.findings}


def shaped(name: str, value: Any) -> Any:
    """A list in the classes that an image's content has."""
    if name.startswith("processes."):
        return tuple(Process(*process) for process in value)
    return Pages(*value) if name in ("retired_pages.single_bit", "retired_pages.double_bit") else value
