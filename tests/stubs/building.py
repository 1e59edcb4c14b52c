"""Build stubs: the exports once, a small configuration for each stub, linked with the symbols it has."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from mocklib import build
from tests.stubs import exports

HERE = Path(__file__).resolve().parent
OUT = HERE.parent.parent / "build" / "stubs"
SONAME = "libnvidia-ml.so.1"
COMPILE = ("-c", "-std=gnu11", "-O1", "-fPIC", "-w")
"""No warnings: the generated code takes every liberty with the header's types, and no user runs it."""


@dataclass(frozen=True)
class Stub:
    """A stand-in for a real library: what it answers is a function of ``seed``, the function's name, the device and the arguments.

    ``without``: symbols it truly lacks, as an old driver does.  ``moving``: functions whose answer differs from call to call.  ``hangs``,
    ``crashes``: a function that never answers, that dies of SIGSEGV.  ``log``: file to which every call's name is appended (``slot`` for one of the
    private table).
    """

    seed: int = 1
    gpus: int = 1
    driver: str = "580.105.08"
    without: frozenset[str] = frozenset()
    moving: frozenset[str] = frozenset()
    hangs: str = ""
    crashes: str = ""
    log: Path | None = None


def stub(wanted: Stub, folder: Path) -> Path:
    """The library of ``wanted``, in ``folder`` under the name every client loads."""
    objects = _objects()
    compiler = build.find_compiler()
    folder.mkdir(parents=True, exist_ok=True)
    settings, symbols, made = folder / "settings.c", folder / "symbols.map", folder / SONAME
    settings.write_text(_settings(wanted), encoding="utf-8")
    exported = sorted(set((OUT / "names.txt").read_text(encoding="ascii").split()) - wanted.without)
    symbols.write_text("{ global: " + " ".join(f"{name};" for name in exported) + " local: *; };\n", encoding="ascii")
    compiler.run(*COMPILE, *_includes(), str(settings), "-o", str(folder / "settings.o"))
    link = ("-shared", f"-Wl,-soname,{SONAME}", f"-Wl,--version-script={symbols}")
    compiler.run(*link, *(str(item) for item in objects), str(folder / "settings.o"), "-o", str(made))
    return made


def sensible(folder: Path) -> Path:
    """The library of two_gpus.c, written by hand, in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / SONAME
    build.find_compiler().run("-shared", "-std=gnu11", "-fPIC", f"-Wl,-soname,{SONAME}", *_includes(), str(HERE / "two_gpus.c"), "-o", str(made))
    return made


def _includes() -> tuple[str, ...]:
    return f"-I{HERE}", f"-I{build.nvml_header().parent}"


def _objects() -> list[Path]:
    """The objects all stubs share, in build/stubs; made again where the header or the generator changed."""
    OUT.mkdir(parents=True, exist_ok=True)
    with FileLock(OUT / "lock"):
        compiler, header = build.find_compiler(), build.nvml_header()
        parts = [header, HERE / "exports.py", HERE / "stub.c", HERE / "stub.h", build.HERE / "gen" / "header.py", build.HERE / "gen" / "arguments.py"]
        wanted = hashlib.sha256(b"\0".join([repr(compiler).encode(), *(path.read_bytes() for path in parts)])).hexdigest()
        objects = [OUT / "exports.o", OUT / "stub.o"]
        stamp = OUT / "stamp"
        if stamp.exists() and stamp.read_text(encoding="ascii") == wanted and all(path.exists() for path in objects):
            return objects
        read = build.read_header(compiler, header)
        (OUT / "exports.c").write_text(exports.source(read), encoding="ascii")
        (OUT / "names.txt").write_text("\n".join(exports.names(read)), encoding="ascii")
        for source, made in ((OUT / "exports.c", objects[0]), (HERE / "stub.c", objects[1])):
            compiler.run(*COMPILE, *_includes(), str(source), "-o", str(made))
        stamp.write_text(wanted, encoding="ascii")
        return objects


def _settings(wanted: Stub) -> str:
    """The configuration of one stub as C."""
    texts = {"driver": wanted.driver, "log": str(wanted.log or ""), "hangs": wanted.hangs, "crashes": wanted.crashes}
    moving = "".join(f"{json.dumps(name)}, " for name in sorted(wanted.moving))
    return (
        '#include "stub.h"\n'
        f"const uint64_t stub_seed = {wanted.seed}u;\nconst unsigned int stub_gpus = {wanted.gpus};\n"
        + "".join(f"const char stub_{name}[] = {json.dumps(text, ensure_ascii=False)};\n" for name, text in texts.items())
        + f"const char *const stub_moving[] = {{{moving}0}};\n"
    )
