"""The mock library: the universal one, where it is found or built, and the branch library of a driver, made from it.

A branch library is the same machine code under the names that the driver's own library exports (``Driver.exports``).  It is made from the built
library's file, not by a linker, so that an installation without a compiler has it for every driver there is.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import mocklib
from harness.stages.smi import LIBRARY_NAME
from harness.stores import images
from harness.stores.libraries import LibraryCache
from harness.words.errors import MissingError
from mocklib import fields, missing
from mocklib.spec import ImageError

if TYPE_CHECKING:
    from harness.stores.profiles import Profile
    from harness.tables.drivers import Driver

_MOCKLIB = Path(mocklib.__file__).resolve().parent
CHECKOUT = _MOCKLIB.parent


@functools.cache
def universal() -> Path:
    """The library of every function: ``NVPARITY_LIBRARY``; in a checkout the one in build/lib/release, built where its inputs changed; else the
    installed one.

    Raises MissingError with the command that mends it.
    """
    named = os.environ.get("NVPARITY_LIBRARY")
    if named:
        if not Path(named).is_file():
            raise MissingError(f"NVPARITY_LIBRARY={named} is not a file; unset it or name a built libnvidia-ml.so.1")
        return Path(named).resolve()
    installed = _MOCKLIB / "_built" / LIBRARY_NAME
    if (CHECKOUT / "hatch_build.py").is_file():
        return _build(installed)
    if not installed.is_file():
        raise MissingError(f"no mock library in {installed.parent}; install nvparity again: pip install --force-reinstall nvparity")
    return installed


def _build(installed: Path) -> Path:
    """The checkout's own library; ``installed`` where it cannot be built and that one is there."""
    import filelock

    from harness.stages import building
    from mocklib import build

    out = CHECKOUT / "build" / "lib" / "release"
    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        with filelock.FileLock(out.parent / "release.lock"):
            return building.build_library("release", out)
    except build.BuildError as error:
        if installed.is_file():
            return installed
        raise MissingError(f"the mock library cannot be built: {error}") from error


def of_driver(driver: Driver, kept: Collection[str] = (), gone: Collection[str] = ()) -> Path:
    """The branch library of ``driver``, in the cache; ``kept`` are exported although the driver's own are said to lack them, ``gone`` are not.

    Raises MissingError where the cache cannot be written, or the universal library is no file that symbols can be taken from.
    """
    whole = universal()
    data = whole.read_bytes()
    lacking = frozenset(fields.since()) - (driver.exports | frozenset(kept)) | frozenset(gone)
    cache = LibraryCache(images.cache_folder(os.environ) / "libraries")
    version = driver.version.text
    try:
        key = images.key_of([data, _maker(), version.encode(), *(name.encode() for name in sorted(lacking))])
        return cache.fetch(key, version, lambda: missing.without(data, lacking))
    except ImageError as error:
        raise MissingError(f"{whole}: {error}; unset NVPARITY_LIBRARY or name a built libnvidia-ml.so.1") from error


def of_profile(profile: Profile, driver: Driver) -> Path:
    """The branch library that serves ``profile`` as ``driver``: what its recorded answers say of a symbol wins over what is known of the driver."""
    answered = frozenset(residual.asked.function for residual in profile.residual)
    return of_driver(driver, answered - profile.missing, profile.missing)


@functools.cache
def _maker() -> bytes:
    """The code that makes a branch library, as a part of its key."""
    return Path(missing.__file__).read_bytes()
