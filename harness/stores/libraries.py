"""The cache of branch libraries: the mock library with what one driver's own exports, laid down under the names a driver's installation has.

Beside the images, content-addressed and bounded as they are.  What lies here is run: a folder that another account owns is not taken.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.words.errors import MissingError

KEPT = 64
"""Libraries kept; the ones longest unused go first."""
SONAME = "libnvidia-ml.so.1"
DEVELOPMENT = "libnvidia-ml.so"
"""The link that a driver's installation has beside the library, for programs that name no version."""


@dataclass(frozen=True)
class LibraryCache:
    """The libraries in ``folder``, which need not exist yet: a folder each, named by what it was made from."""

    folder: Path

    def fetch(self, key: str, version: str, make: Callable[[], bytes]) -> Path:
        """The library called ``key``, as ``libnvidia-ml.so.1``, made by ``make`` where it is not there; whole or not at all.

        ``version`` is the driver's: the file is ``libnvidia-ml.so.<version>``, the other two names are links.  Two processes may make the same one at
        once: the first rename stands; one that is no longer whole is made again.

        Raises MissingError when the folder cannot be written, or is another account's.
        """
        home = self.folder / key
        path = home / SONAME
        try:
            self._open()
            if path.is_file():
                with contextlib.suppress(OSError):  # a folder that is only read serves what lies in it
                    os.utime(home)
                return path
            data = make()
            aside = Path(tempfile.mkdtemp(dir=self.folder, prefix=".new-"))
            try:
                self._lay_down(aside, version, data)
                if not self._put(aside, home) and not path.is_file():  # what a cleaner of old files, or a prune that was ended, left of one
                    shutil.rmtree(home, ignore_errors=True)
                    self._put(aside, home)
            finally:
                shutil.rmtree(aside, ignore_errors=True)
            self._prune()
        except OSError as error:
            raise MissingError(
                f"{self.folder}: cannot keep libraries there ({error.strerror}); set NVPARITY_CACHE to a folder that can be written"
            ) from error
        return path

    def _open(self) -> None:
        """Make the folder where it is not there; MissingError where it or the one it is in belongs to another account."""
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for folder in (self.folder, self.folder.parent):
            if folder.stat().st_uid not in (0, os.geteuid()):
                raise MissingError(f"{folder}: belongs to another account, and libraries are run from it; set NVPARITY_CACHE to a folder of your own")

    @staticmethod
    def _put(aside: Path, home: Path) -> bool:
        """Rename ``aside`` to ``home``; False where there is one."""
        try:
            aside.rename(home)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):  # rename(2): which of them is the file system's choice
                raise
            return False
        return True

    @staticmethod
    def _lay_down(folder: Path, version: str, data: bytes) -> None:
        """The file and its two links, as a driver's installation has them."""
        name = f"{DEVELOPMENT}.{version}"
        (folder / name).write_bytes(data)
        (folder / name).chmod(0o755)
        (folder / SONAME).symlink_to(name)
        (folder / DEVELOPMENT).symlink_to(SONAME)
        folder.chmod(0o755)

    def _prune(self) -> None:
        """Remove what is longest unused beyond ``KEPT``."""
        homes = sorted((path for path in self.folder.iterdir() if not path.name.startswith(".")), key=_used, reverse=True)
        for old in homes[KEPT:]:
            shutil.rmtree(old, ignore_errors=True)


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
