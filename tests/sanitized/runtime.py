"""The two sanitizers' runtimes of a whole run: their options, and the world in which every process has one.

Tests start nvidia-smi, compilers and commands with environments of their own, so LD_PRELOAD would be lost on the way.  In a mount namespace of
its own (util-linux ``unshare``; root is not needed where the kernel lets users have one) /etc is a copy in memory with an ``ld.so.preload`` in it:
every process in there loads the runtime before anything else, whoever started it and with what environment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mocklib import build

HERE = Path(__file__).resolve().parent
_CRASHES = {f"handle_{signal}": 0 for signal in ("segv", "sigbus", "abort", "sigfpe", "sigill")}
"""A crash stays the signal that tests of crashing libraries look for."""
_LIMITS = {"disable_coredump": 0}
"""Limits are the tests': the runtime would fail where nvidia-smi's limit of core files is set from outside while it starts."""


@dataclass(frozen=True)
class Sanitizer:
    """One flavour of the library; the runtime (without ``lib`` and ``.so``) its processes need first, its options, and who gives Python memory."""

    flavour: str
    runtime: str
    options: dict[str, int]
    allocator: str = "default"
    unjudged: str = ""
    """A function of the library, static or not, whose frame in a report makes it none."""


SANITIZERS = {
    "sanitize": Sanitizer(
        "sanitize",
        "asan",
        {
            "verify_asan_link_order": 0,  # preload.c, which has the options, stands before the runtime
            "detect_leaks": 0,  # an interpreter frees nothing at its end; that the library does not grow is measured by tests/contract/test_storms.py
            "halt_on_error": 1,
            "quarantine_size_mb": 16,
            "malloc_context_size": 2,
            **_CRASHES,
            **_LIMITS,
        },
        allocator="malloc",  # the runtime knows the ends of what malloc gives, so those of cffi's buffers, too
    ),
    "threads": Sanitizer(
        "threads",
        "tsan",
        {
            "halt_on_error": 1,
            "ignore_noninstrumented_modules": 1,  # the interpreter's own order is not seen
            "die_after_fork": 0,
            "report_thread_leaks": 0,  # a client's own affair: nvidia-smi pmon joins one thread of two
            **_CRASHES,
            **_LIMITS,
        },
        unjudged="^end$",  # the destructor: pmon waits for its readers by a flag and a sleep, then ends, and no runtime sees that order
    ),
}


class WorldError(Exception):
    """The processes cannot be given the runtime; the message says why."""


@dataclass(frozen=True)
class World:
    """Where a run of one sanitizer keeps what it needs and what it finds: ``home``/log, ``home``/loaded."""

    sanitizer: Sanitizer
    home: Path

    @property
    def log(self) -> Path:
        """The folder of reports, one file for each process that made one."""
        return self.home / "log"

    @property
    def loaded(self) -> Path:
        """One line for each NVML library a process opened: pid, runtime it asks for, program, path."""
        return self.home / "loaded"

    def make(self) -> None:
        """Empty the folder of reports and build what is loaded first.  Raises WorldError, mocklib.build.BuildError."""
        shutil.rmtree(self.log, ignore_errors=True)
        self.log.mkdir(parents=True)
        self.log.chmod(0o777)
        self.loaded.write_text("", "ascii")
        self.loaded.chmod(0o666)
        (self.home / "etc").mkdir(exist_ok=True)
        options = {**self.sanitizer.options, "log_exe_name": 1, "log_path": self.log / self.sanitizer.runtime}
        if self.sanitizer.unjudged:
            (self.home / "suppressions").write_text(f"race:{self.sanitizer.unjudged}\n", "ascii")
            options["suppressions"] = self.home / "suppressions"
        undefined = {"halt_on_error": 1, "print_stacktrace": 1, "log_exe_name": 1, "log_path": self.log / "ubsan"}
        texts = {"OPTIONS": _spelt(options), "UBSAN_OPTIONS": _spelt(undefined), "LOADED": str(self.loaded)}
        compiler, target = build.find_compiler(), self.home / "preload.so"
        compiler.run(*self._flags(), *(f'-D{name}="{text}"' for name, text in texts.items()), str(HERE / "preload.c"), "-o", str(target), "-ldl")
        runtime = Path(compiler.run(f"-print-file-name=lib{self.sanitizer.runtime}.so").strip())
        if not runtime.is_absolute():
            raise WorldError(f"this compiler has no {runtime}: install gcc and its sanitizers, or name it in CC")
        (self.home / "ld.so.preload").write_text(f"{target}\n{runtime.resolve()}\n", "utf-8")
        if subprocess.run(self.command(["true"]), check=False, capture_output=True).returncode:
            raise WorldError("no mount namespace of our own here (unshare --mount): run as root, or where the kernel lets users have one")

    def _flags(self) -> tuple[str, ...]:
        known = ("-std=c11", "-D_GNU_SOURCE", f"-D{self.sanitizer.runtime.upper()}")
        return (*known, "-O1", "-shared", "-fPIC", "-fvisibility=hidden", *build.WARNINGS)

    def command(self, command: Sequence[str]) -> list[str]:
        """``command`` as it is started so that it and every process it starts load the runtime first."""
        etc, preload = self.home / "etc", self.home / "ld.so.preload"
        copied = 'mount -t tmpfs tmpfs "$0" && { cp -a /etc/. "$0" 2>/dev/null; cp "$1" "$0/ld.so.preload"; }'  # a user may not read all of it
        script = copied + ' && mount --bind "$0" /etc && shift && exec "$@"'
        user = [] if os.geteuid() == 0 else ["--map-root-user"]
        return ["unshare", "--mount", *user, "sh", "-c", script, str(etc), str(preload), *command]


def _spelt(options: dict[str, object]) -> str:
    return ":".join(f"{name}={value}" for name, value in options.items())
