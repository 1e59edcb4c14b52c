"""Fixtures of the parity tests: the boards of this repository, and a root folder that holds Python, the package, library, image and layouts alone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from mocklib.calls import built_folder

LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", "test", "tests", "idlelib", "tkinter", "lib2to3", "ensurepip", "site-packages", "dist-packages", "*.a"
)
THIRD_PARTY = ("cffi", "_cffi_backend*", "yaml", "_yaml", "pycparser")


def shared_objects(paths):
    """The shared objects that ``paths`` need, and the loader, by ldd."""
    found = set()
    for path in paths:
        done = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=False)
        found |= {Path(name) for name in re.findall(r"(/\S+) \(0x", done.stdout)}
    return found


def place(root: Path, path: Path) -> None:
    """Copy one file to the same path below ``root``."""
    target = root / path.relative_to("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        shutil.copy2(path, target)


@pytest.fixture(scope="session")
def isolated_root(tmp_path_factory: pytest.TempPathFactory, repository: Path, library_path: Path) -> Path:
    """A root folder with Python, the third-party modules a render imports, harness, mocklib, the library (/lib/nv) and the driver nodes.

    No captures/, no golden/, no profile.
    """
    root = tmp_path_factory.mktemp("root")
    interpreter = Path(sys.executable).resolve()
    stdlib = Path(sysconfig.get_paths()["stdlib"])
    shutil.copytree(stdlib, root / stdlib.relative_to("/"), ignore=LEFT_OUT, symlinks=False, ignore_dangling_symlinks=True)
    place(root, interpreter)
    site = root / "site"
    for package in ("harness", "mocklib"):
        shutil.copytree(repository / package, site / package, ignore=shutil.ignore_patterns("__pycache__", "_data", "_built"))
    shutil.copytree(repository / "profiles" / "drivers", site / "profiles" / "drivers")
    third = Path(sysconfig.get_paths()["platlib"])
    for pattern in THIRD_PARTY:
        for found in third.glob(pattern):
            copy = shutil.copytree if found.is_dir() else shutil.copy2
            copy(found, site / found.name)
    (site / "mocklib" / "_built").mkdir()
    for generated in built_folder().glob("zz_generated_*.py"):
        shutil.copy2(generated, site / "mocklib" / "_built")
    (root / "nv").mkdir()
    shutil.copy2(library_path, root / "nv" / library_path.name)
    binaries = [interpreter, library_path, *stdlib.glob("lib-dynload/*.so"), *site.rglob("*.so")]
    for needed in shared_objects(binaries):
        place(root, needed)
    (root / "tmp").mkdir()
    return root


@pytest.fixture(scope="session")
def enter(isolated_root: Path):
    """``enter(arguments, environment, input)``: run Python inside the isolated root; skipped where neither root nor a user namespace allows it."""
    tool = shutil.which("chroot", path=f"{os.environ.get('PATH', '')}:/usr/sbin") or "chroot"
    prefix = [tool] if os.geteuid() == 0 else [shutil.which("unshare") or "unshare", "-r", tool]
    interpreter = str(Path(sys.executable).resolve())
    probe = subprocess.run([*prefix, str(isolated_root), interpreter, "-c", "print(1)"], capture_output=True, text=True, check=False)
    if probe.stdout != "1\n":
        pytest.skip(f"no chroot here: {probe.stderr.strip()[-200:]}")

    def run(arguments, environment, data):
        command = [*prefix, str(isolated_root), interpreter, *arguments]
        return subprocess.run(command, input=data, env=environment, capture_output=True, check=False, cwd="/")

    return run
