"""What a REF on the command line is: a capture with its profile, a file that nvidia-smi wrote, or a profile alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages.importing import doors, making, source
from harness.stages.render import serving
from harness.stores import captures, profiles, references
from harness.stores.workspace import HELP
from harness.tables import drivers
from harness.text.listing import Listing
from harness.words.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from harness.stages.importing.source import Source
    from harness.stores.profiles import Profile
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import Driver

PROFILES = frozenset({".yaml", ".yml"})


@dataclass(frozen=True)
class Subject:
    """What REF means.

    ``name``: as reports call it; ``printed``: what printed the elements (capture t4-x1_..., file query.xml, render of mine.yaml); ``text``: gives
    them; ``profile``: the profile, for a file the one that it derives into, None where none can be made; ``driver``: None where no driver is told;
    ``captured``: for a profile of its own, that of the capture it says it is from; ``told``: of one that is served as another driver.
    """

    name: str
    printed: str
    text: Callable[[], Source]
    profile: Profile | None
    driver: Driver | None
    captured: Profile | None = None
    told: str = ""


def split(space: Workspace, reference: str) -> tuple[str, str | None]:
    """REF and PATH of ``REF[:PATH]``; a file whose name holds a colon is a REF."""
    name, colon, path = reference.partition(":")
    if Path(reference).exists() or reference in space.ids():
        return reference, None
    while colon and Path(f"{name}:{path.partition(':')[0]}").exists():  # a folder or file with a colon in its name
        more, colon, path = path.partition(":")
        name = f"{name}:{more}"
    return (name, path) if colon else (reference, None)


def file_of(name: str) -> Path | None:
    """The file that ``name`` is, where it is one that nvidia-smi may have written; None for profiles and names."""
    path = Path(name)
    return path if (path.is_file() and path.suffix not in PROFILES) or name == doors.STDIN else None


def read_file(path: Path) -> Source:
    """The text in a file that nvidia-smi wrote.  Raises InputError for what is none."""
    content = doors.read(path)
    return source.read(content.data, content.name)


def read(space: Workspace, name: str, driver: str | None = None) -> Subject:
    """The subject of REF ``name``; ``driver``: its profile served as that one.

    Raises InputError for one that means nothing, or several boards, and for files that are not sound; UsageError for a driver of what has no profile.
    """
    path = file_of(name)
    if driver is not None:
        if path is not None:
            raise UsageError(f"--driver: {name} is what a driver printed; a profile can be served as another")
        return _retargeted(space, space.locate_profile(name), driver)
    if path is not None:
        return _file(space, path)
    located = None if Path(name).is_file() else space.locate_capture(name)
    if located is not None:
        return _capture(*located)
    if not Path(name).is_file() and not _known(space, name):
        known = [*space.ids(), *space.profile_ids(), *space.short_names()]
        raise InputError(f"{name!r} is no id, short name, board or file{references.near(name, known)}; {HELP}")
    return _profile(space, space.locate_profile(name))


def _known(space: Workspace, name: str) -> bool:
    return name in space.profile_ids() or name in space.short_names() or "/" in name or Path(name).suffix in PROFILES


def _file(space: Workspace, path: Path) -> Subject:
    text = read_file(path)
    said = source.driver_of(text)
    driver = None if said is None else drivers.load(space.root).resolve(said)
    name = doors.name_of(path) if str(path) == doors.STDIN else path.name
    return Subject(name, f"file {name}", lambda: text, _made(space, text, path), driver)


def _made(space: Workspace, text: Source, path: Path) -> Profile | None:
    """The profile that an import would make of ``text``; None where it would refuse it, which is for an import to say."""
    try:
        return profiles.parse(making.profile({source.view(text): text}, path.stem, space.root).text.encode(), f"profile of {path}")
    except InputError:
        return None


def _capture(space: Workspace, name: str) -> Subject:
    capture = captures.load(space.captures, name)
    first = next(iter(capture.texts.values()), None)
    path = space.profile_path(name)
    profile = profiles.load(path) if path.is_file() else None
    version = capture.sidecar.driver or (profile.driver_version if profile is not None else None)
    driver = None if version is None else drivers.load(space.root).resolve(version)
    if first is not None:
        return Subject(name, f"capture {name}", lambda: first, profile, driver)
    printed = f"render of {name}, which has answers alone"
    return Subject(name, printed, lambda: source.read(serving.render(path, space).data, printed), profile, driver)


def _retargeted(space: Workspace, path: Path, driver: str) -> Subject:
    """A profile's render as another driver: the elements are that driver's, the keys the profile's."""
    served = serving.retargeted(path, space, driver)
    printed = f"render of {path.name} as {served.driver.version}"

    def text() -> Source:
        return source.read(serving.render(path, space, driver=driver).data, printed)

    return Subject(path.stem, printed, text, served.profile, served.driver, told=served.line)


def _profile(space: Workspace, path: Path) -> Subject:
    profile = profiles.load(path)
    driver = drivers.load(space.root).resolve(profile.driver_version)
    located = space.locate_capture(str(profile.origin.get("capture") or ""))
    first = None if located is None else located[0].profile_path(located[1])
    captured = profiles.load(first) if first is not None and first.is_file() and first != path else None
    printed = f"render of {path.name}"
    return Subject(path.name, printed, lambda: source.read(serving.render(path, space).data, printed), profile, driver, captured)


def facts(space: Workspace, path: Path) -> dict[str, Any]:
    """Facts on a file that nvidia-smi wrote, ready for JSON: its kind, view, driver and layout, GPUs, readings by kind, states, notes."""
    text = read_file(path)
    found: dict[str, Any] = {"file": doors.name_of(path), "kind": text.kind, "view": source.view(text), "driver": None, "layout": None}
    found["notes"] = _notes(text)
    if isinstance(text, Listing):
        return {**found, "gpus": [{"name": row.name, "uuid": row.uuid} for row in text.gpus], "readings": {}, "states": {}}
    found["gpus"] = source.boards(text)
    version = source.driver_of(text)
    if version is None:
        return {**found, "readings": {}, "states": {}}
    driver = drivers.load(space.root).resolve(version)
    found |= {"driver": version, "layout": f"{driver.node} (assumed)" if driver.assumed else driver.node.text}
    made = making.profile({source.view(text): text}, path.stem, space.root)
    return {**found, "readings": dict(made.readings), "states": dict(made.states)}


def _notes(text: Source) -> list[str]:
    return [f"line {note.line}: {note.what}" for note in text.notes]
