"""Which machine, compiler and libraries a measurement is of: figures of two machines are not compared."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def cpu_model(cpuinfo: str) -> str:
    """The processor's name in the text of /proc/cpuinfo, or ``unknown`` (some architectures name none)."""
    match = re.search(r"^model name\s*:\s*(.+)$", cpuinfo, re.MULTILINE)
    return match.group(1).strip() if match else "unknown"


def version_text(command: Sequence[str]) -> str:
    """What ``command --version`` prints, or nothing where it cannot be started."""
    try:
        done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""


def valgrind() -> str | None:
    """The path of valgrind, or None."""
    return shutil.which("valgrind")


def sha256(path: Path) -> str:
    """The sha256 of a file, hex."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def identity(compiler: Sequence[str]) -> dict[str, Any]:
    """The machine as the report names it: processor, cores, kernel, compiler (first line and sha256 of its version text), libc, valgrind.

    ``id`` is the sha256 over all of them: equal ids, comparable figures.
    """
    info = Path("/proc/cpuinfo")
    text = version_text(compiler)
    found = {
        "cpu": cpu_model(info.read_text() if info.exists() else ""),
        "cores": os.cpu_count(),
        "kernel": os.uname().release,
        "architecture": os.uname().machine,
        "compiler": text.partition("\n")[0] or "unknown",
        "compiler_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "libc": os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else "unknown",
        "valgrind": version_text([path]).strip() if (path := valgrind()) else None,
    }
    return {"id": hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest(), **found}
