"""The two sides of a diff: a capture, a file that nvidia-smi wrote, a render, or a profile, each as readings by path with the row of each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages import seen
from harness.stages.answers import replaying
from harness.stages.compare import answered
from harness.stages.compare.check import state_texts, verbatim_of
from harness.stages.derive_walk import Walker
from harness.stages.importing import doors, source
from harness.stages.render import serving
from harness.stores import captures, profiles, references
from harness.stores.captures import VIEW_ANSWERS
from harness.tables import drivers
from harness.tables.shipped import shipped
from harness.text import answers
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.stages.importing.source import Source
    from harness.stores.schema.answers import Residual
    from harness.stores.workspace import Workspace
    from mocklib.answers import Recording

CAPTURE, FILE, RENDER, PROFILE = "capture", "file", "render", "profile"
KEYS = "keys"
"""The one view of a profile."""


@dataclass(frozen=True)
class View:
    """One view of a side.

    ``leaves``: (path, text) in file order; ``rows``: path -> row id, where a row explains the element; ``states``: the texts that stand for
    states; ``redacted``: paths of what the giver hid; ``data``: the bytes, None for a profile; ``kind``: of the text (own, re-indented,
    trimmed, edited).
    """

    leaves: list[tuple[str, str]]
    rows: Mapping[str, str]
    states: frozenset[str]
    redacted: frozenset[str] = frozenset()
    data: bytes | None = None
    kind: str = ""

    @property
    def whole(self) -> bool:
        """Whether every GPU of the node is in it."""
        return self.kind != "trimmed"


@dataclass(frozen=True)
class Side:
    """One side: its ``name`` as given, what it is (``kind``), the capture's ``id`` (empty for a file), its ``driver``, its ``views``."""

    name: str
    kind: str
    id: str
    driver: str | None
    views: Mapping[str, View] = field(default_factory=dict)


def read(space: Workspace, name: str, views: frozenset[str] = frozenset({VIEW_QUERY})) -> Side:
    """The side that ``name`` means: ``render:REF``, ``profile:REF``, a file (``-``: standard input), or REF for the capture.

    ``views``: those that a render is made of.  Raises InputError for a name that means nothing and for files that are not sound.
    """
    prefix, _, reference = name.partition(":")
    if prefix == RENDER and reference:
        return _render(space, name, reference, views)
    if prefix == PROFILE and reference:
        return _profile(name, space.locate_profile(reference))
    path = Path(name)
    if path.is_file() or name == doors.STDIN:
        return _profile(name, path) if path.suffix in {".yaml", ".yml"} else _file(space, path)
    located = space.locate_capture(name)
    if located is None:
        known = [*space.ids(), *space.short_names(), *(entry for entry in space.profile_ids())]
        raise InputError(f"{name!r} is no capture{references.near(name, known)} and no file; a diff takes ID, FILE, render:ID or profile:ID")
    return _capture(*located, name)


def of_texts(space: Workspace, name: str, texts: Mapping[str, Source]) -> Side:
    """The side of texts at hand, as the driver nodes of ``space`` explain them."""
    driver = next((version for text in texts.values() if (version := source.driver_of(text)) is not None), None)
    return Side(name, CAPTURE, "", driver, {view: _text(space, text) for view, text in texts.items()})


def _capture(space: Workspace, identity: str, name: str) -> Side:
    capture = captures.load(space.captures, identity)
    views = {view: _text(space, text) for view, text in capture.texts.items()}
    if capture.answers is not None:
        views[VIEW_ANSWERS] = _recorded(capture.answers)
    return Side(name, CAPTURE, identity, capture.sidecar.driver, views)


def _recorded(recording: Recording) -> View:
    """Answers as readings; what is no SUCCESS stands where a state does."""
    states = frozenset(answers.answer_text(answer) for answer in recording.values() if answer.code)
    data = answers.dump(recording).encode()
    return View(answered.leaves(recording), {}, states, data=data, kind="own")


def _file(space: Workspace, path: Path) -> Side:
    content = doors.read(path)
    text = source.read(content.data, content.name)
    return Side(content.name, FILE, "", source.driver_of(text), {source.view(text): _text(space, text)})


def _text(space: Workspace, text: Source, driver: str | None = None) -> View:
    """A text as a view; ``driver`` where the text does not say it."""
    leaves = source.leaves(text)
    version = source.driver_of(text) or driver
    rows = {path: path.rpartition("/")[2] for path, _ in leaves if path.endswith(("/name", "/uuid"))}
    states: frozenset[str] = frozenset()
    if version is not None:
        resolved = drivers.load(space.root).resolve(version)
        states = state_texts(resolved)
        if not isinstance(text, Listing):
            rows = {reading.path: reading.row for reading in Walker(text, seen.by(text, resolved)).readings() if reading.row is not None}
    return View(leaves, rows, states, source.redacted(leaves), text.to_bytes(), text.kind)


def _render(space: Workspace, name: str, reference: str, views: frozenset[str]) -> Side:
    path = space.locate_profile(reference)
    home = next((one for one in (space, type(space)(shipped())) if path == one.profile_path(path.stem)), None)
    texts = captures.load(home.captures, path.stem).texts if home is not None and captures.exists(home.captures, path.stem) else {}
    found: dict[str, View] = {}
    driver = None
    shown = views - {KEYS, VIEW_ANSWERS}
    if VIEW_ANSWERS in views:
        found[VIEW_ANSWERS] = _recorded(replaying.record_mock(path, space if home is None else home))
    for view in sorted(shown, key=(VIEW_QUERY, VIEW_TEXT, VIEW_LIST).index) or ([] if found else [VIEW_QUERY]):
        verbatim = verbatim_of(path, texts[view]) if view in texts else None
        rendered = serving.render(path, space if home is None else home, source.printed(texts[view]) if view in texts else view, verbatim)
        driver = rendered.driver
        found[view] = _text(space, source.read(rendered.data, name), driver)
    return Side(name, RENDER, path.stem if texts else "", driver, found)


def _profile(name: str, path: Path) -> Side:
    read = profiles.load(path)
    return Side(name, PROFILE, "", read.driver_version, {KEYS: profile_view(read)})


def profile_view(read: profiles.Profile) -> View:
    """A profile's keys and residual answers as readings: values as JSON, states by name; they have no order."""
    leaves = [(f"{block}.{key}", _shown(value)) for block, part in (("clock", read.clock), ("system", read.system)) for key, value in part.items()]
    for number, device in enumerate(read.shown):
        own = {key: _shown(value) for key, value in _flat(device.values)} | {key: state.value for key, state in device.states.items()}
        leaves += [(f"gpu[{number}]/{key}", text) for key, text in own.items()]
    apart = [(number, device.state) for number, device in enumerate(read.devices) if device.state is not None]
    leaves += [(f"devices[{number}].state", state.value) for number, state in apart]
    kept = [*_answers("", read.answers)]
    for number, device in enumerate(read.shown):
        kept += _answers(f"gpu[{number}]/", device.answers)
    for number, device in enumerate(read.devices):
        kept += _answers(f"devices[{number}].", device.answers if device.state is not None else ())
    unmodelled = read.origin.get("unmodelled") or {}
    leaves += [(f"{path} (unmodelled)", _shown(text)) for path, text in unmodelled.items()]
    states = {state.value for device in read.shown for state in device.states.values()} | {state.value for _, state in apart}
    states |= {text for _, text in kept if not text.startswith("SUCCESS")}
    return View(sorted([*leaves, *kept]), {}, frozenset(states))


def _answers(where: str, held: Iterable[Residual]) -> list[tuple[str, str]]:
    return [(f"{where}answers.{answers.call(residual.asked)}", answers.answer_text(residual.answer)) for residual in held]


def _flat(values: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Key and value; the entries of a list of mappings one by one."""
    flat: list[tuple[str, Any]] = []
    for key, value in values.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            flat += [(f"{key}[{number}]", entry) for number, entry in enumerate(value)]
        else:
            flat.append((key, value))
    return flat


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
