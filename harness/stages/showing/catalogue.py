"""What there is: every capture and profile of a workspace, one entry a name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.stores import captures, golden_reader, goldens, pending
from harness.stores.references import board_of
from harness.tables import strictyaml
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace


@dataclass(frozen=True)
class Entry:
    """One name.

    ``capture``, ``profile``: whether there is one; ``short``: its short names; ``driver``: None where no view says it; ``gpus``: how many it
    holds, None where its files do not tell; ``kind`` and ``views`` of the capture; ``problem``: what keeps its files from being read;
    ``pending``: whether something waits to be reviewed.
    """

    id: str
    capture: bool
    profile: bool
    short: tuple[str, ...]
    board: str
    driver: str | None = None
    gpus: int | None = None
    kind: str | None = None
    views: tuple[str, ...] = ()
    problem: str | None = None
    pending: bool = False


def entries(space: Workspace) -> list[Entry]:
    """Every id of ``space``, sorted.  A file that cannot be read is a problem of its entry, not of the list."""
    short: dict[str, list[str]] = {}
    for name, target in space.short_names().items():
        short.setdefault(target, []).append(name)
    known, made, waiting = set(space.ids()), set(space.profile_ids()), set(pending.ids(space))
    found = []
    for name in sorted(known | made | waiting):
        entry = Entry(name, name in known, name in made, tuple(sorted(short.get(name, []))), board_of(name))
        try:
            read = _capture(space, entry) if entry.capture else _profile(space, entry) if entry.profile else entry
        except InputError as error:
            read = replace(entry, problem=str(error))
        found.append(replace(read, pending=name in waiting))
    return found


def _capture(space: Workspace, entry: Entry) -> Entry:
    sidecar = captures.load_sidecar(space.captures / entry.id / captures.SIDECAR)
    return replace(entry, driver=sidecar.driver, gpus=_gpus(space, entry.id), kind=sidecar.kind, views=tuple(sidecar.views))


def _gpus(space: Workspace, name: str) -> int | None:
    """How many GPUs the capture holds, by its golden (which has a hash of each), else by its text."""
    path = space.golden / f"{name}.yaml"
    if path.is_file():
        return max(len(hashes.readings.gpus) for hashes in goldens.load(path).views.values())
    texts = captures.load(space.captures, name).bytes().values()
    return max(len(golden_reader.read(text).gpus) for text in texts)


def _profile(space: Workspace, entry: Entry) -> Entry:
    """A profile without a capture; read without its schema, which is for those who use it to check."""
    value = strictyaml.load_file(space.profile_path(entry.id), kind="profile").value
    system = value.get("system") if isinstance(value, dict) else None
    system = system if isinstance(system, dict) else {}
    devices = value.get("devices") if isinstance(value, dict) else None
    count = system.get("num_devices", len(devices) if isinstance(devices, list) else None)
    driver = system.get("driver_version")
    return replace(entry, driver=None if driver is None else str(driver), gpus=count if isinstance(count, int) else None)
