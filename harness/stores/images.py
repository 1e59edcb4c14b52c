"""The cache of compiled images: content-addressed, safe to delete, bounded.

An image is named by the sha256 of everything it was made from, so a changed profile, driver node or table makes a new one and nothing needs
to be invalidated.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.words.errors import MissingError

KEPT = 256
"""Images kept; the ones longest unused go first."""


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where images are cached: ``NVPARITY_CACHE``, else ``nvparity/images`` under ``XDG_CACHE_HOME`` or ``HOME/.cache``, else under /tmp."""
    if environment.get("NVPARITY_CACHE"):
        return Path(environment["NVPARITY_CACHE"])
    if environment.get("XDG_CACHE_HOME"):
        return Path(environment["XDG_CACHE_HOME"]) / "nvparity" / "images"
    home = environment.get("HOME")
    return Path(home) / ".cache" / "nvparity" / "images" if home else Path(tempfile.gettempdir()) / f"nvparity-{os.getuid()}"


def key_of(parts: Iterable[bytes]) -> str:
    """The name of an image made from ``parts``: sha256 over each part's length and bytes."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()


@dataclass(frozen=True)
class ImageCache:
    """The images in ``folder``, which need not exist yet."""

    folder: Path

    def fetch(self, key: str, make: Callable[[], bytes]) -> Path:
        """The image called ``key``, made by ``make`` where it is not there; whole or not at all.

        Two processes may make the same image at once: both write the same bytes and the last rename stands.
        Raises MissingError when the folder cannot be written.
        """
        path = self.folder / f"{key}.img"
        if path.is_file():
            with contextlib.suppress(OSError):
                os.utime(path)
            return path
        data = make()
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=self.folder, prefix=".new-")
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            Path(name).replace(path)
        except OSError as error:
            raise MissingError(
                f"{self.folder}: cannot keep images there ({error.strerror}); set NVPARITY_CACHE to a folder that can be written"
            ) from error
        self._prune()
        return path

    def _prune(self) -> None:
        images = sorted(self.folder.glob("*.img"), key=_used, reverse=True)
        for old in images[KEPT:]:
            with contextlib.suppress(OSError):
                old.unlink()


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
