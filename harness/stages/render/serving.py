"""From a profile to something that serves it: the library, the image, the state, a render of it."""

from __future__ import annotations

import functools
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import mocklib
from harness.stages import compile as compiling
from harness.stages import compile_answers, libraries, retargeting
from harness.stages.render import process
from harness.stages.timeline import clocks
from harness.stages.timeline import file as timeline_file
from harness.stores import images, profiles
from harness.stores.schema import kept as kept_keys
from harness.tables import drivers, strictyaml
from harness.text.model import LINE
from harness.words.errors import InputError
from mocklib import image, state

if TYPE_CHECKING:
    from harness.stages.render.process import Rendered
    from harness.stages.timeline.clocks import Wanted
    from harness.stores.profiles import Profile
    from harness.stores.workspace import Workspace
    from mocklib.spec import Clock

_MOCKLIB = Path(mocklib.__file__).resolve().parent


def library(version: str | None = None, root: Path | None = None) -> Path:
    """The mock library, as ``libnvidia-ml.so.1``: the universal one, or for a driver ``version`` the branch library.

    The universal library exports every function; what a driver lacks answers FUNCTION_NOT_FOUND there.  A branch library exports what that driver's
    own does, and no other name can be looked up in it.  ``root``: a workspace whose driver nodes win over the shipped ones.
    Raises MissingError with the command that mends it, InputError for a version that is none.
    """
    return libraries.universal() if version is None else libraries.of_driver(drivers.load(root).resolve(version))


def library_of(profile: Path, space: Workspace, driver: str | None = None) -> Path:
    """The branch library that serves ``profile``, in the cache: that of its driver, but for the symbols of which its recorded answers tell.

    ``driver``: that of the one it is served as (`retargeting`).
    """
    read = profiles.load(profile) if driver is None else retargeted(profile, space, driver).profile
    return libraries.of_profile(read, drivers.load(space.root).resolve(read.driver_version))


def image_bytes(profile: Path, space: Workspace, driver: str | None = None) -> bytes:
    """The image of ``profile``, its driver taken from the tree that ``space`` sees; ``driver``: served as that one (`retargeting`)."""
    read = profiles.load(profile)
    return packed(read if driver is None else retargeting.retarget(read, space, driver).profile, space)


def packed(read: Profile, space: Workspace) -> bytes:
    """The image of a profile that is read already."""
    driver = drivers.load(space.root).resolve(read.driver_version)
    try:
        return image.pack(compiling.compile_profile(read, driver))
    except image.ImageError as error:
        raise InputError(compile_answers.refused(read) or f"{read.source}: {error}") from error


def image_of(profile: Path, space: Workspace, driver: str | None = None) -> Path:
    """The image of ``profile`` (as ``driver``) in the cache, compiled when profile, driver nodes, tables or nvparity changed since."""
    cache = images.ImageCache(images.cache_folder(os.environ))
    return cache.fetch(_key(profile, space, driver), lambda: image_bytes(profile, space, driver))


def image_served(profile: Path, space: Workspace, served: retargeting.Retargeted) -> Path:
    """As ``image_of``, of a profile that is re-targeted already."""
    cache = images.ImageCache(images.cache_folder(os.environ))
    return cache.fetch(_key(profile, space, served.driver.version.text), lambda: packed(served.profile, space))


def write_image(profile: Path, space: Workspace, target: Path, driver: str | None = None) -> None:
    """Compile ``profile`` (as ``driver``) into ``target``, whole and renamed.

    InputError where a file lies there that is no image: a profile under a name that was meant for its image.
    """
    if target.is_file() and not image.replaceable(target):
        raise InputError(f"{target}: is there and is no image; name another file or remove it")
    image.write(target, image_bytes(profile, space, driver))


def clock_of(image_path: Path, wanted: Wanted, profile: Path) -> Clock:
    """The clock that ``wanted`` asks for, of the image of ``profile``; UsageError where it asks for none, InputError for one without a start."""
    return wanted.clock(image.read(image_path.read_bytes()).clock, str(profile))


def make_state(image_path: Path, target: Path, clock: Clock | None = None) -> None:
    """A fresh state of the image, written whole to ``target``; ``clock``: the time it is served by, where that is not the image's own."""
    state.create(target, image_path.read_bytes())
    if clock is not None:
        state.set_clock(target, clock)


def beside(profile: Path) -> Path:
    """Where the library looks first for the image of ``profile``: the same name, ending in .nvpimg."""
    return profile.with_suffix(".nvpimg")


def apart(profile: Path, served: retargeting.Retargeted) -> Path:
    """Where the image of a profile goes that is ``served`` as another driver: beside it, under no name that the library takes for the profile's."""
    return profile.with_suffix(f".{served.driver.version}.nvpimg") if served.changed else beside(profile)


def retargeted(profile: Path, space: Workspace, driver: str) -> retargeting.Retargeted:
    """``profile`` as ``driver``, with what reports say of that."""
    return retargeting.retarget(profiles.load(profile), space, driver)


def render(
    profile: Path,
    space: Workspace,
    view: str = "q-x",
    verbatim: dict[str, process.Verbatim] | None = None,
    wanted: Wanted | None = None,
    driver: str | None = None,
) -> Rendered:
    """What nvidia-smi would print for ``profile``, by the builtin renderer in a process of its own.

    ``verbatim``: elements no row explains, by path; what the profile keeps of them when None, each on a line of its own.  ``wanted``: the clock it
    is rendered by, where that is not the image's own.  ``driver``: the one that it is served as, where that is not the profile's own.
    """
    if verbatim is None:
        texts = kept(profile) if driver is None else retargeted(profile, space, driver).profile.origin.get("unmodelled") or {}
        verbatim = {str(path): (str(text), LINE) for path, text in texts.items()}
    made = image_of(profile, space, driver)
    job = process.Job(str(library()), str(made), str(space.root), view, verbatim=verbatim)
    if wanted is None:
        return process.render(job)
    clock = clock_of(made, wanted, profile)
    return process.render(replace(job, now=clocks.now_ns(clock, wanted.real_ns) // clocks.SECOND), clock)


def unserved(profile: Path) -> str:
    """One line naming the keys of ``profile`` that are accepted and that no call answers from; empty where there is none."""
    found = str(kept_keys.unserved(strictyaml.load_file(profile, kind="profile").value))
    return found and f"{profile}: {found}"


def kept(profile: Path) -> dict[str, str]:
    """Path -> text of the elements that the profile keeps because no row explains them (``origin.unmodelled``); the schema is not checked here."""
    loaded = strictyaml.load_file(profile, kind="profile").value
    origin = loaded.get("origin") if isinstance(loaded, dict) else None
    listed = origin.get("unmodelled") if isinstance(origin, dict) else None
    return {str(path): str(text) for path, text in listed.items()} if isinstance(listed, dict) else {}


def _key(profile: Path, space: Workspace, driver: str | None) -> str:
    """Everything an image is made from: the profile with its place in the file system (the library checks it), the driver that it is served as, the
    nodes and the tables.
    """
    try:
        status = profile.stat()
        parts = [profile.read_bytes(), repr((str(profile), status.st_size, status.st_mtime_ns, status.st_ino)).encode()]
    except OSError as error:
        raise InputError(f"{profile}: cannot be read: {error.strerror}") from error
    parts += [_tables(), _time_line(profile, parts[0]), b"" if driver is None else driver.encode("utf-8", "surrogateescape")]
    nodes = space.profiles / "drivers"
    parts += [path.read_bytes() for path in sorted(nodes.glob("*.yaml"))]
    return images.key_of(parts)


def _time_line(profile: Path, data: bytes) -> bytes:
    """The time line that the profile names; nothing where it names none."""
    if b"timeline" not in data:
        return b""
    path = timeline_file.found(profiles.parse(data, str(profile), profile))
    return b"" if path is None else b"".join(strictyaml.read_file(file) for file in timeline_file.files(path))


@functools.cache
def _tables() -> bytes:
    """The packages' own data and code that an image depends on, as one digest."""
    package = Path(__file__).resolve().parents[2]
    files = sorted([*package.rglob("*.py"), *package.rglob("*.yaml"), *_MOCKLIB.glob("*.py"), *(_MOCKLIB / "tables").rglob("*.yaml")])
    shipped = sorted((package.parent / "profiles" / "drivers").glob("*.yaml"))
    listed = [*files, *shipped, *sorted((_MOCKLIB / "include").glob("*.h"))]
    return images.key_of(path.read_bytes() for path in listed).encode()
