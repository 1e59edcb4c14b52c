"""Models of the other files people write or read in an editor: driver nodes, rules, sidecars.

Their readers check them by hand, with more than a schema can say; a test holds that both take and refuse the same.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, RootModel, StringConstraints

from harness.stores.schema.blocks import Count
from harness.stores.schema.kinds import Base, DriverVersion
from harness.tables import layout, rows
from harness.tables.changes import OPERATIONS
from harness.tables.drivers import SHAPES
from harness.text import document, placeholders

Words = Annotated[str, StringConstraints(min_length=1)]
Format = Literal[1]
Release = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)*$")]
Within = Annotated[str | float, Field(json_schema_extra={"pattern": r"^[0-9]+(\.[0-9]+)?( *[^ 0-9].*)?$"})]
Globs = Annotated[list[str], Field(min_length=1)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9]")]


class _Rule(Base):
    """What every rule has.  path: a pattern over paths; captures, boards: globs, all without."""

    path: Words
    reason: Words
    captures: Globs = Field(default=["*"])
    boards: Globs = Field(default=["*"])


class Expected(_Rule):
    """A reading that moves by itself, or one whose serving is still to come."""

    kind: Literal["volatile", "deferred"]


class Tolerance(_Rule):
    """A number that may differ by ``within``, in the element's own unit: ``1 C``."""

    kind: Literal["tolerance"]
    within: Within


class Gap(_Rule):
    """A difference that holds until the version of nvparity in ``expires``."""

    kind: Literal["gap"]
    expires: Release


class _OfBinary(Base):
    """What one release of nvidia-smi prints otherwise than another.  versions: the capture's driver, the binary's; when: as arch>=ampere."""

    path: Annotated[str, Field(pattern=r"^[^*\[]+$")]
    kind: Literal["binary"]
    reason: Words
    versions: Annotated[list[DriverVersion], Field(min_length=2, max_length=2)]
    view: Literal["q-x", "q"] = "q-x"
    when: Annotated[str, Field(pattern=r"^arch(<|>=|=)[a-z]+$")] | None = None


class Presence(_OfBinary):
    """An element that the binary's release never prints, or always does while no capture of the capture's driver has it.

    shown: two captures that show it, of the one driver and of the other.
    """

    prints: Literal["never", "always"]
    shown: Annotated[list[str], Field(min_length=2, max_length=2)] | None = None


class Repetition(_OfBinary):
    """An element under whose name the binary's release prints the reading of the element ``of`` again."""

    prints: Literal["repeats"]
    of: Annotated[str, Field(pattern=r"^[^*\[]+$")]


class Rules(Base):
    """golden/rules.yaml: differences that are expected, by path and with a reason."""

    format: Format
    rules: list[Annotated[Expected | Tolerance | Gap, Field(discriminator="kind")] | Annotated[Presence | Repetition, Field(discriminator="prints")]]


class View(Base):
    """One view of a capture: sha256 of the raw and of the scrubbed file, and how many bytes both have."""

    raw: str
    scrubbed: str
    bytes: int


class Views(Base):
    """The views of a capture, one at least."""

    query: View | None = Field(default=None, alias="q-x")
    text: View | None = Field(default=None, alias="q")
    list: View | None = Field(default=None, alias="L")
    answers: View | None = None


class Recorded(Base):
    """When a recording was begun (UTC), and the paths of the readings that moved meanwhile."""

    at: str
    moved: list[str]


class Made(Base):
    """What made a recording: the versions of nvparity and of nvidia-smi, whether the superuser asked, and whether it was sampled over time."""

    nvparity: str
    nvidia_smi: str | None
    root: bool
    timeline: bool = False


class Source(Base):
    """Where a capture came from; ``text`` is what the giver said in words."""

    repository: str | None = None
    commit: str | None = None
    path: str | None = None
    licence: str | None = None
    text: str | None = None


_WAYS = [{"required": ["views"]}, {"required": ["recorded", "made", "sha256"]}]


class Sidecar(Base):
    """captures/<id>/sidecar.yaml: provenance, kind, hashes and scrub report of a capture; a recording says how it was made."""

    model_config = ConfigDict(json_schema_extra={"oneOf": _WAYS})  # type: ignore[dict-item]  # pydantic's type knows no nested lists

    format: Format
    id: Id
    kind: Literal[document.KINDS]  # type: ignore[valid-type]
    driver: str | None = None
    source: Source | None = None
    recorded: Recorded | None = None
    made: Made | None = None
    views: Annotated[Views, Field(json_schema_extra={"minProperties": 1})] | None = None
    sha256: Annotated[Views, Field(json_schema_extra={"minProperties": 1})] | None = None
    scrubbed: dict[Literal[placeholders.FAMILIES], Annotated[int, Field(ge=0)]] | None = None  # type: ignore[valid-type]
    notes: list[str] | None = None


class Element(Base):
    """One element of a layout: the row of its text, or the elements inside it."""

    row: str | None = None
    elements: list[NamedElement] = Field(default=[])
    when: str | None = None
    repeat: Literal[layout.REPEATS] | None = None  # type: ignore[valid-type]
    form: Literal[layout.FORMS] = "line"  # type: ignore[valid-type]
    collapse: str | None = None
    none: str | None = None
    attributes: dict[str, str] = Field(default={})
    blank: bool = False
    display: list[str] = Field(default=[])
    on_request: bool = False
    bare: bool = False
    refused: str | None = None
    error: str | None = None


class NamedElement(RootModel[Annotated[dict[str, str | Element], Field(min_length=1, max_length=1)]]):
    """One key, the element's name: its row, or what else there is to say."""


class Slot(Base):
    """One entry of the private table."""

    number: Count
    shape: Literal[SHAPES]  # type: ignore[valid-type]
    key: Count | None = None


class Route(Base):
    """Where a reading comes from: exactly one of the kinds, and what its call is given."""

    call: str | None = None
    fieldvalue: str | None = None
    slot: str | None = None
    member: str | None = None
    literal: str | None = None
    clock: str | None = None
    sum: list[str] | None = None
    difference: list[str] | None = None
    all: list[str] | None = None
    args: dict[str, int | str] | None = None
    out: str | None = None
    scope: int | None = None
    bits: list[int] | None = None
    supported: str | None = None
    gate: list[Any] | None = None
    text: bool | None = None
    ignored: list[int] | None = None
    summary: Literal[rows.SUMMARIES] | None = None  # type: ignore[valid-type]
    room: int | None = None
    overflow: int | None = None
    refusal: int | None = None
    refusals: dict[int, int] | None = None
    basis: Literal[rows.BASES] | None = None  # type: ignore[valid-type]
    why: str | None = None


class Change(Base):
    """One change to the parent's layout: exactly one operation."""

    add: str | None = None
    remove: str | None = None
    rename: str | None = None
    move: str | None = None
    replace: str | None = None
    after: str | None = None
    to: str | None = None
    element: NamedElement | None = None


class HandleEnds(Base):
    """What `-q` prints in place of everything where a GPU's handle is not given, and the codes with which it goes on without that GPU."""

    sentence: str | None = None
    passes: list[int] | None = None


Changes = list[Annotated[Change, Field(json_schema_extra={"oneOf": [{"required": [name]} for name in OPERATIONS]})]]
Routes = dict[str, Annotated[Route, Field(json_schema_extra={"oneOf": [{"required": [name]} for name in rows.ROUTE_KINDS]})] | None]


class Node(Base):
    """profiles/drivers/<version>.yaml: what a driver prints and asks, as a change to its parent."""

    format: Format
    version: DriverVersion
    parent: DriverVersion | None = None
    seen: list[DriverVersion] | None = None
    only_seen: bool | None = None
    binary: DriverVersion | None = None
    dtd: str | None = None
    declaration: str | None = None
    texts: dict[int, str | None] | None = None
    handle_texts: dict[int, str | None] | None = None
    handle_ends: HandleEnds | None = None
    elements: list[NamedElement] | None = None
    changes: Changes | None = None
    field_ids: dict[str, Count | None] | None = None
    slots: dict[str, Slot | None] | None = None
    routes: Routes | None = None
    formats: dict[str, str | None] | None = None
    escapes: dict[str, str | None] | None = None
    lists: dict[Literal["processes"], Literal["by_pid", "in_step"] | None] | None = None
    functions: list[str] | None = None
    text: list[NamedElement] | None = None
    text_changes: Changes | None = None
    text_routes: Routes | None = None
    text_formats: dict[str, str | None] | None = None
    text_column: Count | None = None
    text_inner: dict[str, Count | None] | None = None
