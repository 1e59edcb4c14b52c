"""Where the state of a node is, and the image and profile that it is of; nothing else decides it.

state     ``--state``; else beside the document of ``--file``; else MOCK_NVML_STATE; else beside the document of MOCK_NVML_OVERRIDES; else beside
          the image
image     NVPARITY_IMAGE; else that of the profile: beside it, or in a cache; else the one beside the state; else, by its checksum, in the cache
profile   ``--config``; else MOCK_NVML_CONFIG; else the first that is there of the configuration reference's places; else what the image was made from

What the library finds by itself it finds in the same order, but for the options.  An image is taken only where a state that is there is of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.stages.render import serving
from harness.stores import images
from harness.stores.workspace import Workspace
from harness.words.errors import InputError, MissingError
from mocklib import image, state

ENDING = ".nvpstate"
SEARCHED = (Path("/etc/nvml-mock/config.yaml"), Path("/opt/nvml-mock/driver/config/config.yaml"))
"""Where the configuration reference looks for a profile (ledger A02), but for the folder of the library's installation."""


@dataclass(frozen=True)
class Asked:
    """The options of a command, as given."""

    state: str | None = None
    document: str | None = None
    config: str | None = None


@dataclass(frozen=True)
class Place:
    """A file, and by what it was found; ``path`` None: there is none, ``by`` says what was looked for."""

    path: Path | None
    by: str


@dataclass(frozen=True)
class Places:
    """State, image and profile of a node, and the override document, which need not be there; ``warnings``: what was named and is not there."""

    state: Place
    image: Place
    profile: Place
    document: Place
    warnings: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """One line a place, for people."""
        named = (("state", self.state), ("image", self.image), ("profile", self.profile), ("document", self.document))
        return [f"{name}: {place.path if place.path is not None else 'none'} ({place.by})" for name, place in named]


def find(asked: Asked, variables: Mapping[str, str], space: Workspace) -> Places:
    """The places of a command with options ``asked`` in an environment ``variables``; ``space`` finds profiles by id or short name."""
    profile, warnings = _profile(asked, variables, space)
    document = _document(asked, variables)
    target = _state(asked, variables, document)
    candidates = _Images(variables, profile.path, target.path)
    if target.path is not None and _there(target.path):
        wanted = state.made_of(target.path)
        found = next((place for place in candidates.all() if place.path is not None and image.known_by(place.path) == wanted), None)
        found = found or Place(None, f"none is the image that {target.path} is a state of (of the built-in default, say: no command reaches that)")
    else:
        found = next((place for place in candidates.named() if place.path is not None and image.known_by(place.path) is not None), None)
        found = found or Place(None, "NVPARITY_IMAGE is not set, and no profile that has an image was found")
    if target.path is None and found.path is not None:
        target = Place(found.path.with_name(found.path.name + ENDING), "beside the image")
    return Places(target, found, profile if profile.path is not None else _source(found, profile), document, warnings)


def _source(found: Place, profile: Place) -> Place:
    """The profile that the image says it was made from."""
    if found.path is None:
        return profile
    try:
        source = image.read(found.path.read_bytes(), devices=False).source
    except (OSError, image.ImageError):
        return profile
    return profile if source is None else Place(Path(source.path), f"{profile.by}, so the image's")


def _there(path: Path) -> bool:
    """Whether there is a state; MissingError for what is none and is left as it is."""
    try:
        return state.there(path)
    except state.StateError as error:
        raise MissingError(f"{path}: is there and is no state; name another file") from error


def _profile(asked: Asked, variables: Mapping[str, str], space: Workspace) -> tuple[Place, tuple[str, ...]]:
    """The profile that is named; one that is not there is warned of, and the image says what it was made from (ledger X01)."""
    if asked.config is not None:
        try:
            return Place(space.locate_profile(asked.config), "--config"), ()
        except InputError as error:
            return Place(None, f"--config {asked.config} is not there"), (f"--config: {error}",)
    named = variables.get("MOCK_NVML_CONFIG")
    if named:
        path = Path(named)
        if path.is_file():
            return Place(path.resolve(), "MOCK_NVML_CONFIG"), ()
        return Place(None, f"MOCK_NVML_CONFIG={named} is not there"), (f"MOCK_NVML_CONFIG={named}: no such file",)
    for path in SEARCHED:
        if path.is_file():
            return Place(path, "searched for"), ()
    return Place(None, "--config and MOCK_NVML_CONFIG are not given"), ()


def _document(asked: Asked, variables: Mapping[str, str]) -> Place:
    if asked.document is not None:
        return Place(Path(asked.document).absolute(), "--file")
    named = variables.get("MOCK_NVML_OVERRIDES")
    if named:
        return Place(Path(named).absolute(), "MOCK_NVML_OVERRIDES")
    return Place(None, "--file and MOCK_NVML_OVERRIDES are not given")


def _state(asked: Asked, variables: Mapping[str, str], document: Place) -> Place:
    if asked.state is not None:
        return Place(Path(asked.state).absolute(), "--state")
    if asked.document is not None and document.path is not None:
        return Place(document.path.with_name(document.path.name + ENDING), "beside the document of --file")
    named = variables.get("MOCK_NVML_STATE")
    if named:
        return Place(Path(named).absolute(), "MOCK_NVML_STATE")
    if document.path is not None:
        return Place(document.path.with_name(document.path.name + ENDING), "beside the document of MOCK_NVML_OVERRIDES")
    return Place(None, "no --state, MOCK_NVML_STATE, document or image")


@dataclass(frozen=True)
class _Images:
    """Where an image may be."""

    variables: Mapping[str, str]
    profile: Path | None
    state: Path | None

    def named(self) -> Iterator[Place]:
        """The one that is named, and those of the profile."""
        if self.variables.get("NVPARITY_IMAGE"):
            yield Place(Path(self.variables["NVPARITY_IMAGE"]).absolute(), "NVPARITY_IMAGE")
        if self.profile is not None:
            yield Place(serving.beside(self.profile), "beside the profile")
            cache = self.variables.get("XDG_CACHE_HOME") or (f"{self.variables['HOME']}/.cache" if self.variables.get("HOME") else None)
            if cache is not None:
                yield Place(Path(cache) / "nvparity" / f"{self.profile.stem}.nvpimg", "in the cache, under the profile's name")
        if self.state is not None and self.state.name.endswith(ENDING):
            yield Place(self.state.with_name(self.state.name.removesuffix(ENDING)), "beside the state")

    def all(self) -> Iterator[Place]:
        """Those, and every image in the cache of ``nvparity run``."""
        yield from self.named()
        folder = images.cache_folder(self.variables)
        for path in sorted(folder.glob("*.img")) if folder.is_dir() else ():
            yield Place(path, "in the cache, by its checksum")
