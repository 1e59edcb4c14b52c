"""Build the library: find a compiler, generate, compile, link.  The only module that starts a compiler.

``python -m mocklib.build [FLAVOUR [FOLDER]]`` builds without a default image; ``library`` is what the project's front end calls with one.
"""

from __future__ import annotations

import concurrent.futures
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from mocklib import fields
from mocklib.gen import crc, emit, handlers, names, pythonside, recorded
from mocklib.gen.header import OLDER, Header, HeaderMissingError, HeaderSyntaxError, find_header, parse

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
SONAME = "libnvidia-ml.so.1"
COMMON = ("-std=c11", "-D_GNU_SOURCE", "-fPIC", "-fvisibility=hidden", "-pthread", "-g1")
MACHINE = ("-fcf-protection=none",) if platform.machine() == "x86_64" else ()  # one instruction less in each getter
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror", "-Wno-deprecated-declarations")
FLAVOURS: dict[str, tuple[str, ...]] = {
    "release": ("-O2",),
    "sanitize": ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    "threads": ("-O1", "-fsanitize=thread", "-fno-omit-frame-pointer", "-Wno-tsan"),  # fences order what other processes see, too
    "killpoints": ("-O2", "-DNVP_KILLPOINTS"),
}
FLAVOURS |= {f"killpoints-{name}": (*FLAVOURS[name], "-DNVP_KILLPOINTS") for name in ("sanitize", "threads")}  # under a whole sanitized run
LINK = ("-shared", f"-Wl,-soname,{SONAME}", "-Wl,-z,now", "-Wl,-z,relro", "-Wl,--no-undefined", "-pthread")


class BuildError(RuntimeError):
    """The library cannot be built; the message says what is missing, where it was looked for, and what to do."""


@dataclass(frozen=True)
class Compiler:
    """A C compiler's command."""

    command: tuple[str, ...]

    def run(self, *arguments: str) -> str:
        """Run it; its standard output.  BuildError carries what it said."""
        done = subprocess.run([*self.command, *arguments], check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise BuildError(f"{shlex.join(self.command)} failed:\n{done.stderr.strip()[:4000]}")
        return done.stdout

    @property
    def is_zig(self) -> bool:
        """Whether this is zig's compiler, which needs no system headers."""
        return "zig" in Path(self.command[0]).name or "ziglang" in self.command


def find_compiler() -> Compiler:
    """CC, else cc, else the ziglang package."""
    if named := os.environ.get("CC"):
        try:
            command = tuple(shlex.split(named))
        except ValueError as error:
            raise BuildError(f"CC={named} is no command: {error}; unset it or name a C compiler") from error
        if not command or shutil.which(command[0]) is None:
            raise BuildError(f"CC={named} is not a program on PATH; unset it or name a C compiler")
        return Compiler(command)
    if found := shutil.which("cc"):
        return Compiler((found,))
    if importlib.util.find_spec("ziglang"):
        return Compiler((sys.executable, "-m", "ziglang", "cc"))
    raise BuildError("no C compiler: CC is not set, cc is not on PATH, ziglang is not installed; run: pip install ziglang (or apt-get install gcc)")


def nvml_header() -> Path:
    """nvml.h, or BuildError with the command that brings it."""
    try:
        return find_header()
    except HeaderMissingError as error:
        raise BuildError(str(error)) from error


def read_header(compiler: Compiler, path: Path) -> Header:
    """nvml.h with the older declarations, preprocessed and parsed."""
    text = compiler.run("-E", "-P", "-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-include", str(path), "-x", "c", str(OLDER))
    try:
        made = parse(text, path.read_text(encoding="latin-1"))
    except HeaderSyntaxError as error:
        raise BuildError(f"{path}: cannot be read as nvml.h: {error}; unset NVPARITY_NVML_HEADER or name the vendor's header") from error
    if "nvmlInit_v2" not in made.functions:
        raise BuildError(f"{path}: is no nvml.h: it declares no nvmlInit_v2; unset NVPARITY_NVML_HEADER or name the vendor's header")
    return made


def generated_folder(out: Path) -> Path:
    """Where generated files go for a library built in ``out``: beside it in a wheel, else build/gen."""
    return HERE / "_built" if out.resolve() == (HERE / "_built").resolve() else ROOT / "build" / "gen"


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole, by rename, where its content differs."""
    data = content.encode() if isinstance(content, str) else content
    if path.exists() and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f"{path.name}.new.{os.getpid()}")
    aside.write_bytes(data)
    aside.replace(path)


def _digest(*parts: bytes | str | Path) -> str:
    """SHA-256 over files and texts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part if isinstance(part, bytes) else part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _inputs() -> list[Path]:
    """Every file of the package that decides what is built."""
    kinds = ("*.py", "gen/*.py", "tables/*.yaml", "tables/functions/*.yaml", "tables/programs/*.yaml", "include/*.h", "src/*.c")
    return sorted(path for kind in kinds for path in HERE.glob(kind))


def generate(folder: Path) -> Path:
    """Write headers, sources and Python modules made from nvml.h and the tables into ``folder``; nothing is done where its inputs did not change."""
    compiler, path = find_compiler(), nvml_header()
    inputs = [item for item in _inputs() if item.parent.name in {"gen", "tables", "functions", "programs", "include"} or item.name == "fields.py"]
    stamp = folder / "zz_generated_stamp"
    wanted = _digest(path, *inputs)
    made = folder / f"{pythonside.CFFI_MODULE}.py"
    if made.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return folder
    header = read_header(compiler, path)
    table = handlers.load(header)
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / "zz_generated_names.h", names.header())
    write(folder / "zz_generated_names.c", names.source())
    write(folder / "zz_generated_handlers.h", emit.handler_prototypes(header, table))
    write(folder / "zz_generated_exports.c", emit.exports(header, table))
    write(folder / "zz_generated_parameters.c", emit.NOTE + recorded.source(header, table))
    write(folder / "zz_generated_crc.c", crc.source())
    write(folder / pythonside.SIGNATURES, pythonside.signatures(header))
    pythonside.write_cffi(header, folder)
    write(stamp, wanted)
    return folder


def default_source(image: bytes | None) -> str:
    """C that carries the zero-config default; without one the library says so at init."""
    data = image or b"\0"
    rows = [", ".join(f"0x{byte:02x}" for byte in data[start : start + 24]) for start in range(0, len(data), 24)]
    body = ",\n    ".join(rows)
    return (
        f'{emit.NOTE}#include "nvp.h"\n\nextern const unsigned char nvp_default_bytes[];\nextern const uint64_t nvp_default_size;\n\n'
        f"_Alignas(64) const unsigned char nvp_default_bytes[] = {{\n    {body},\n}};\nconst uint64_t nvp_default_size = {len(image or b'')};\n"
    )


def library(flavour: str, out: Path, default_image: bytes | None = None) -> Path:
    """Build ``flavour`` (one of FLAVOURS) into ``out``; the path of libnvidia-ml.so.1 there.

    ``default_image`` is the image of one device served with no configuration.  Nothing is compiled where nothing changed.
    """
    if flavour not in FLAVOURS:
        raise BuildError(f"no flavour {flavour!r}; there are {', '.join(FLAVOURS)}")
    compiler, path = find_compiler(), nvml_header()
    target, stamp = out / SONAME, out / "zz_generated_library"
    wanted = _digest(shlex.join(compiler.command), repr((FLAVOURS[flavour], COMMON, MACHINE, WARNINGS, LINK)), path, default_image or b"", *_inputs())
    generated = generate(generated_folder(out))
    if target.exists() and stamp.exists() and stamp.read_text(encoding="ascii") == wanted:
        return target
    objects = ROOT / "build" / "objects" / f"{flavour}-{os.getpid()}"
    objects.mkdir(parents=True, exist_ok=True)
    try:
        (objects / "zz_generated_default.c").write_text(default_source(default_image), encoding="ascii")
        sources = [*sorted((HERE / "src").glob("*.c")), *sorted(generated.glob("*.c")), objects / "zz_generated_default.c"]
        # zig would take the instructions of the machine it runs on, and in its memcpy, linked in, too
        baseline = ("-mcpu=baseline",) if compiler.is_zig else ()
        compile_ = ("-c", *baseline, *COMMON, *MACHINE, *FLAVOURS[flavour], *WARNINGS, f"-I{HERE / 'include'}", f"-I{generated}", f"-I{path.parent}")
        with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            list(pool.map(lambda source: compiler.run(*compile_, str(source), "-o", str(objects / f"{source.stem}.o")), sources))
        built = objects / SONAME
        extra = [part for part in FLAVOURS[flavour] if part.startswith("-fsanitize")]
        compiler.run(*LINK, *baseline, *extra, *(str(objects / f"{source.stem}.o") for source in sources), "-o", str(built))
        out.mkdir(parents=True, exist_ok=True)
        shutil.move(built, out / f"{SONAME}.new.{os.getpid()}")
        (out / f"{SONAME}.new.{os.getpid()}").replace(target)
    finally:
        shutil.rmtree(objects, ignore_errors=True)
    link = out / "libnvidia-ml.so"
    if not link.is_symlink():
        link.symlink_to(SONAME)
    write(stamp, wanted)
    return target


def main(arguments: list[str]) -> int:
    """Build one flavour without a default image."""
    flavour = arguments[0] if arguments else "release"
    out = Path(arguments[1]) if len(arguments) > 1 else ROOT / "build" / "lib" / flavour
    try:
        built = library(flavour, out)
    except (BuildError, fields.TableError) as error:
        sys.stderr.write(f"{error}\n")
        return 4
    sys.stdout.write(f"{built}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
