"""captures/<id>/sidecar.yaml: provenance, kind, hashes and scrub report of a capture; of a recording also when, and with what, it was made.

What moves from one recording to the next (id, times, hashes) stands on lines that start with ``id``, ``recorded`` or ``sha256``.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from harness.tables import strictyaml
from harness.text import document, placeholders, transcript
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

SIDECAR = "sidecar.yaml"
VIEW_ANSWERS = "answers"
"""The view that a recording has beside those of nvidia-smi: what NVML answered."""
_KEYS = ("format", "id", "kind", "driver", "source", "recorded", "made", "views", "sha256", "scrubbed", "notes")
_SOURCE_KEYS = ("repository", "commit", "path", "licence", "text")
_VIEW_KEYS = ("raw", "scrubbed", "bytes")
_RECORDED_KEYS = ("at", "moved")
_MADE_KEYS = ("nvparity", "nvidia_smi", "root", "timeline")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?Z")


@dataclass(frozen=True)
class Source:
    """Where a capture came from; what is not known is None.  ``text`` is what the giver said in words."""

    repository: str | None = None
    commit: str | None = None
    path: str | None = None
    licence: str | None = None
    text: str | None = None


@dataclass(frozen=True)
class View:
    """One view of a capture: sha256 of the ``raw`` and of the ``scrubbed`` file, and how many ``bytes`` both have."""

    raw: str
    scrubbed: str
    bytes: int


@dataclass(frozen=True)
class Taken:
    """How a recording was made.

    at:          when it was begun, UTC
    moved:       paths of the readings that differ between the first `-q -x` and the one after the answers were asked
    nvparity:    the version that recorded; ``nvidia_smi``: that of the binary, None where none was run or it does not say
    root:        whether the superuser asked: others get NO_PERMISSION from some calls
    timeline:    whether timeline.txt keeps how its answers moved
    """

    at: str
    moved: tuple[str, ...]
    nvparity: str
    nvidia_smi: str | None
    root: bool
    timeline: bool = False


@dataclass(frozen=True)
class Sidecar:
    """What stands beside a transcript.

    driver:    the driver's version; None where no view says it (`-L`)
    views:     by name, ``q-x`` first, then ``q``, ``answers`` last
    scrubbed:  how many distinct values of each family were replaced
    notes:     what the reader noticed, one sentence each
    taken:     how it was made, of a recording
    """

    id: str
    kind: str
    driver: str | None
    views: dict[str, View]
    source: Source = field(default_factory=Source)
    scrubbed: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    taken: Taken | None = None

    @property
    def moved(self) -> tuple[str, ...]:
        """Paths of the readings that moved while a recording was made; none of any other capture."""
        return () if self.taken is None else self.taken.moved


def dump(sidecar: Sidecar) -> str:
    """``sidecar`` as the text of its file."""
    source = {key: value for key in _SOURCE_KEYS if (value := getattr(sidecar.source, key)) is not None}
    views = {view: asdict(part) for view, part in sidecar.views.items()}
    content: dict[str, Any] = {"format": FORMAT, "id": sidecar.id, "kind": sidecar.kind, "driver": sidecar.driver, "source": source}
    rest: dict[str, Any] = {"scrubbed": dict(sidecar.scrubbed), "notes": list(sidecar.notes)}
    if sidecar.taken is None:
        return _block({**content, "views": views, **rest})
    made = {key: value for key in _MADE_KEYS if (value := getattr(sidecar.taken, key)) or key != "timeline"}
    moving = one_line("recorded", {"at": sidecar.taken.at, "moved": list(sidecar.taken.moved)}) + one_line("sha256", views)
    return _block({**content, "made": made}) + moving + _block(rest)


def one_line(key: str, value: dict[str, Any]) -> str:
    """``key`` of the top level with all of ``value`` on one line, which a comparison of two recordings leaves out by how it starts."""
    return f"{key}: {yaml.safe_dump(value, sort_keys=False, allow_unicode=True, default_flow_style=True, width=1 << 30)}"


def _block(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=150)


def load_sidecar(path: Path) -> Sidecar:
    """The sidecar in the file ``path``.  Raises InputError with file and line."""
    found = strictyaml.load_file(path, kind="sidecar")
    content = found.value
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: a sidecar is a mapping that starts with `format: {FORMAT}`")
    check_format(content.get("format"), found.where(("format",)))
    _known(found, (), content, _KEYS)
    source, listed = content.get("source") or {}, "sha256" if "recorded" in content else "views"
    views = content.get(listed)
    if content.get("id") != path.parent.name:
        raise InputError(f"{found.where(('id',))}: id {content.get('id')!r} in a folder called {path.parent.name}")
    if content.get("kind") not in document.KINDS:
        raise InputError(f"{found.where(('kind',))}: {content.get('kind')!r} is no kind; known: {', '.join(document.KINDS)}")
    known = {transcript.VIEW_QUERY, transcript.VIEW_TEXT, transcript.VIEW_LIST, VIEW_ANSWERS}
    if not isinstance(source, dict) or not isinstance(views, dict) or not views or not set(views) <= known:
        what = "the hashes of answers, q-x, q and L" if "recorded" in content else "some of q-x, q and L, or answers that were imported"
        raise InputError(f"{found.where((listed,))}: `{listed}` holds {what}, `source` is a mapping")
    if {"recorded", "made", "sha256", "views"} & content.keys() not in ({"views"}, {"recorded", "made", "sha256"}):
        raise InputError(f"{found.where(())}: a recording has `recorded`, `made` and `sha256`; any other capture has `views` instead")
    _known(found, ("source",), source, _SOURCE_KEYS)
    scrubbed, notes, driver = content.get("scrubbed") or {}, content.get("notes") or [], content.get("driver")
    for family, count in scrubbed.items() if isinstance(scrubbed, dict) else [("scrubbed", None)]:
        if family not in placeholders.FAMILIES or not isinstance(count, int) or count < 0:
            listed = ", ".join(placeholders.FAMILIES)
            raise InputError(f"{found.where(('scrubbed', family))}: `scrubbed` says how many values of each family were replaced ({listed})")
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{found.where(('notes',))}: `notes` is a list of sentences")
    if not all(isinstance(value, str) for value in [*source.values(), "" if driver is None else driver]):
        raise InputError(f"{found.where(('source',))}: `driver` and what `source` says are text")
    return Sidecar(
        id=str(content["id"]),
        kind=str(content["kind"]),
        driver=driver,
        views={view: _view(found, listed, view, part) for view, part in views.items()},
        source=Source(**source),
        scrubbed=dict(scrubbed),
        notes=tuple(notes),
        taken=_taken(found, content) if "recorded" in content else None,
    )


def _taken(found: strictyaml.Document, content: dict[Any, Any]) -> Taken:
    """How a recording was made."""
    recorded, made = content["recorded"], content["made"]
    if not isinstance(recorded, dict) or not isinstance(made, dict):
        raise InputError(f"{found.where(('recorded',))}: `recorded` and `made` are mappings")
    _known(found, ("recorded",), recorded, _RECORDED_KEYS)
    _known(found, ("made",), made, _MADE_KEYS)
    at, moved = recorded.get("at"), recorded.get("moved")
    if not isinstance(at, str) or not _INSTANT.fullmatch(at) or not isinstance(moved, list) or not all(isinstance(path, str) for path in moved):
        raise InputError(f"{found.where(('recorded',))}: `at` is an instant such as '2026-01-31T12:00:00Z', `moved` a list of paths")
    tool, binary, root, sampled = (made.get(key) for key in _MADE_KEYS)
    if not isinstance(tool, str) or not (binary is None or isinstance(binary, str)) or not isinstance(root, bool):
        raise InputError(f"{found.where(('made',))}: `nvparity` and `nvidia_smi` are versions, the latter may be null; `root` is true or false")
    if sampled is not None and not isinstance(sampled, bool):
        raise InputError(f"{found.where(('made', 'timeline'))}: `timeline` is true or false")
    return Taken(at, tuple(moved), tool, binary, root, bool(sampled))


def _view(found: strictyaml.Document, listed: str, view: str, part: object) -> View:
    where = found.where((listed, view))
    if not isinstance(part, dict):
        raise InputError(f"{where}: view {view} is no mapping")
    _known(found, (listed, view), part, _VIEW_KEYS)
    raw, scrubbed, size = (part.get(key) for key in _VIEW_KEYS)
    if not isinstance(raw, str) or not isinstance(scrubbed, str) or not isinstance(size, int):
        raise InputError(f"{where}: view {view} needs raw and scrubbed (sha256) and bytes (a number)")
    return View(raw, scrubbed, size)


def _known(found: strictyaml.Document, path: tuple[str | int, ...], value: dict[Any, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            raise InputError(f"{found.where((*path, key))}: {key!r} is no key here{did_you_mean(str(key), keys)}; known: {', '.join(keys)}")
