"""Every check of nvparity as a nox session; run as a program (``python3 noxfile.py -s parity``) it needs nothing but Python.

Started as a program without nox at hand, it makes a private environment in build/nox, installs nox there and goes on; ``nox -s parity`` and
``pipx run nox -s parity`` are the same sessions.  All sessions share one environment (build/env) and one library (build/lib/<flavour>).
Only the standard library is imported before nox is there.
"""

from __future__ import annotations

import os
import sys

EXIT_ENVIRONMENT = 4
OLDEST_PYTHON = (3, 11)
NOX_REQUIREMENT = "nox>=2024.10.9"


def stop(message: str) -> None:
    """Say what the environment lacks and end with its exit status (4)."""
    print(f"noxfile.py: {message}", file=sys.stderr)
    raise SystemExit(EXIT_ENVIRONMENT)


def venv_command() -> str:
    """The command that brings the venv module to this interpreter on Debian and its kin."""
    sudo = "" if os.geteuid() == 0 else "sudo "
    return f"{sudo}apt-get install -y python{sys.version_info[0]}.{sys.version_info[1]}-venv"


try:
    import hashlib
    import importlib.util
    import pathlib
    import platform
    import shutil
    import subprocess
except ImportError:  # Debian's python3-minimal has a part of the standard library only
    stop(f"this Python has not its whole standard library. Install it, then run the same command again:\n  {venv_command()}")

ROOT = pathlib.Path(__file__).resolve().parent
BUILD = ROOT / "build"


def start_private_nox() -> None:
    """Make build/nox where needed and become the nox in it; never returns."""
    private = BUILD / "nox"
    python = private / "bin" / "python"
    if not (private / "ready").exists():
        if any(importlib.util.find_spec(module) is None for module in ("venv", "ensurepip")):
            stop(f"this Python has no venv module. Install it, then run the same command again:\n  {venv_command()}")
        print(f"noxfile.py: making a private environment with nox in {private.relative_to(ROOT)}", file=sys.stderr)
        make = [sys.executable, "-m", "venv", "--clear", str(private)]
        install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile", NOX_REQUIREMENT]
        for command in (make, install):
            if subprocess.run(command, check=False).returncode != 0:
                stop(f"this command failed: {' '.join(command)}")
        (private / "ready").touch()
    os.execv(python, [str(python), "-m", "nox", "-f", str(ROOT / "noxfile.py"), *sys.argv[1:]])


if sys.version_info < OLDEST_PYTHON:
    stop(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}: run it as python3.11 noxfile.py ...")
try:
    import nox
except ImportError:
    if __name__ != "__main__":
        raise
    start_private_nox()
if __name__ == "__main__":
    os.execv(sys.executable, [sys.executable, "-m", "nox", "-f", str(ROOT / "noxfile.py"), *sys.argv[1:]])

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "none"
nox.options.sessions = ["lint", "types", "tests", "parity"]
nox.options.stop_on_first_error = False

PROJECT = nox.project.load_toml(ROOT / "pyproject.toml")
OLDEST_GLIBC = "2.17"  # what the recorder's library is linked for; the oldest platform tag of recorder_folder.py
MARKED_SESSIONS = ("bench", "faults", "blind", "sanitize", "recorder", "gate", "hostile", "clients")


# ---------------------------------------------------------------- the shared environment and library


def requirements(groups: tuple[str, ...]) -> list[str]:
    """What a session needs: the run-time and build requirements of pyproject.toml and its dependency groups, without hatchling; zig without a cc."""
    build = [requirement for requirement in PROJECT["build-system"]["requires"] if not requirement.startswith("hatchling")]
    compiler = [] if os.environ.get("CC") or shutil.which("cc") else ["ziglang"]  # 100 MB, only where it is needed
    found = [*PROJECT["project"]["dependencies"], *build, *compiler, *nox.project.dependency_groups(PROJECT, *groups)]
    return sorted(set(found))


def environment(session: nox.Session, *groups: str) -> str:
    """The Python of build/env with the requirements of ``groups`` installed; installs only what changed since."""
    home = BUILD / "env"
    python = str(home / "bin" / "python")
    wanted = requirements(groups)
    stamp = home / f"installed-{hashlib.sha256(repr((wanted, sys.version)).encode()).hexdigest()[:16]}"
    if not stamp.exists():
        if not (home / f"made-by-{sys.version_info[0]}.{sys.version_info[1]}").exists():
            session.run(sys.executable, "-m", "virtualenv", "--quiet", "--clear", str(home), external=True)
            (home / f"made-by-{sys.version_info[0]}.{sys.version_info[1]}").touch()
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
        session.run(*install, *wanted, external=True)
        stamp.touch()
    return python


def run(session: nox.Session, python: str, *arguments: str, **variables: str) -> None:
    """Run ``python arguments`` in the repository's root with the tree itself importable."""
    session.run(python, *arguments, external=True, env={"PYTHONPATH": str(ROOT), "ZIG_GLOBAL_CACHE_DIR": str(BUILD / "zig"), **variables})


def library(session: nox.Session, python: str, flavour: str = "release") -> str:
    """Build the library of ``flavour`` in build/lib/<flavour> where its inputs changed; the path of libnvidia-ml.so.1."""
    run(session, python, str(ROOT / "hatch_build.py"), flavour, str(BUILD / "lib" / flavour))
    return str(BUILD / "lib" / flavour / "libnvidia-ml.so.1")


def pytest(session: nox.Session, *arguments: str, groups: tuple[str, ...] = ("test",), flavour: str = "release") -> None:
    """Run pytest on the shared library; options after ``--`` are handed on and end the default selection of two workers."""
    python = environment(session, *groups)
    built = library(session, python, flavour)
    run(session, python, "-m", "pytest", *arguments, *session.posargs, NVPARITY_LIBRARY=built)


def user_paths(session: nox.Session) -> list[str]:
    """The arguments after ``--``, with files named relative to where nox was started made absolute."""
    start = pathlib.Path(session.invoked_from)
    return [str(start / word) if not word.startswith("-") and (start / word).exists() else word for word in session.posargs]


# ---------------------------------------------------------------- sessions


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff over the Python files, import-linter over the layers."""
    python = environment(session, "lint")
    run(session, python, "-m", "ruff", "check", ".")
    run(session, str(BUILD / "env" / "bin" / "lint-imports"))


@nox.session
def types(session: nox.Session) -> None:
    """Mypy, strict, over the packages, the tests and the build files."""
    run(session, environment(session, "types"), "-m", "mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """The test suite on two workers; what another session runs (parity, hostile, clients, bench, ...; smi once NVPARITY_SMI is set) is left to it."""
    left_out = [*MARKED_SESSIONS, *(["smi"] if os.environ.get("NVPARITY_SMI") else [])]
    pytest(session, "-n", "2", "--dist", "worksteal", "-m", f"not ({' or '.join(left_out)})")


@nox.session(default=False)
def hostile(session: nox.Session) -> None:
    """What is broken on purpose: writers killed at each store, damaged images and states, many writers and readers at once."""
    pytest(session, "-n", "2", "--dist", "worksteal", "-m", "hostile", "tests")


@nox.session(default=False)
def clients(session: nox.Session) -> None:
    """What asks NVML as a client: nvidia-ml-py and what NVPARITY_CLIENTS names on the mock, our recorder and live check on other libraries."""
    pytest(session, "-n", "2", "--dist", "worksteal", "-m", "clients", "tests")


@nox.session(default=False)
def spec(session: nox.Session) -> None:
    """The ledger's rows in build/spec.json: passed, different, uncovered; runs what the sessions before it on this tree did not.

    A row is passed when every test marked with it passed: tests, smi, hostile, clients and blind leave their outcomes in build/spec-results.json.
    """
    python = environment(session, "test")
    run(session, python, "-m", "tests.spec", *session.posargs, NVPARITY_LIBRARY=library(session, python))


@nox.session
def parity(session: nox.Session) -> None:
    """Render every capture from the mock library and compare it with its golden; reports in build/parity/."""
    python = environment(session)
    built = library(session, python)
    report = BUILD / "parity"
    report.mkdir(parents=True, exist_ok=True)
    check = [python, "-m", "harness.cli", "check", "--root", str(ROOT), "--renderer", "builtin", "--json", str(report / "report.json")]
    variables = {**os.environ, "PYTHONPATH": str(ROOT), "NVPARITY_LIBRARY": built}
    variables.pop("COLUMNS", None)  # the report keeps every column
    done = subprocess.run([*check, *session.posargs], cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    (report / "report.txt").write_text(done.stdout, encoding="utf-8")
    if done.returncode:
        session.error(f"nvparity check ended with exit status {done.returncode}; what it found is in {report.relative_to(ROOT)}/")


@nox.session(name="import", default=False)
def import_(session: nox.Session) -> None:
    """Import captures of your own: nox -s import -- query.xml [list.txt] [--id ID] [--source TEXT]."""
    python = environment(session)
    built = library(session, python)
    run(session, python, "-m", "harness.cli", "import", *user_paths(session), NVPARITY_LIBRARY=built)


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Measure the library's calls against tests/bench/limits.yaml, JSON in build/bench/; after ``--``: --gate, --cases, --profile, --peer."""
    python = environment(session, "bench")
    built = library(session, python)
    (BUILD / "bench").mkdir(parents=True, exist_ok=True)
    stages = ["-q", "-m", "bench", "tests/bench", f"--benchmark-json={BUILD / 'bench' / 'stages.json'}", "--benchmark-columns=min,median,rounds"]
    run(session, python, "-m", "pytest", *stages, NVPARITY_LIBRARY=built)
    run(session, python, "-m", "tests.bench", *session.posargs, NVPARITY_LIBRARY=built)


@nox.session(default=False)
def sanitize(session: nox.Session) -> None:
    """Drive every exported function of the library built with the address and undefined-behaviour sanitizers, its threads under the thread sanitizer.

    After ``--``: ``--whole`` runs the whole suite on both libraries instead (by hand: it takes hours); then ``sanitize`` or ``threads``, ``--resume``
    and files or folders of tests as ``python -m tests.sanitized`` takes them.
    """
    if "--whole" not in session.posargs:
        pytest(session, "-m", "sanitize", "tests", flavour="sanitize")
        return
    run(session, environment(session, "test"), "-m", "tests.sanitized", *(word for word in session.posargs if word != "--whole"))


@nox.session(default=False)
def zig(session: nox.Session) -> None:
    """Build the library with zig's compiler into build/lib/zig: the ABI's tests and every capture hold on it as on cc's."""
    python = environment(session, "zig")
    compiler = {"CC": f"{python} -m ziglang cc", "ZIG_LOCAL_CACHE_DIR": str(BUILD / "zig")}
    folder = BUILD / "lib" / "zig"
    run(session, python, str(ROOT / "hatch_build.py"), "release", str(folder), **compiler)
    chosen = {**compiler, "NVPARITY_LIBRARY": str(folder / "libnvidia-ml.so.1")}
    run(session, python, "-m", "pytest", "-n", "2", "-m", f"not ({' or '.join(MARKED_SESSIONS)})", "tests/contract", *session.posargs, **chosen)
    run(session, python, "-m", "harness.cli", "check", "--root", str(ROOT), **chosen)


@nox.session(default=False)
def recorder(session: nox.Session) -> None:
    """Make the folder that records on a node without network and compiler (build/recorder, and as one archive), then record with it."""
    python = environment(session, "zig")
    home = BUILD / "recorder"
    shutil.rmtree(home, ignore_errors=True)
    # zig links for the C library of nodes older than this machine; cc would take this machine's.  -E: pip hides this environment by PYTHONPATH
    compiler = f"{python} -E -m ziglang cc -target {platform.machine()}-linux-gnu.{OLDEST_GLIBC}"
    zig = {"CC": compiler, "ZIG_GLOBAL_CACHE_DIR": str(BUILD / "zig"), "ZIG_LOCAL_CACHE_DIR": str(BUILD / "zig")}
    wheel = [python, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir", str(home), str(ROOT)]
    session.run(*wheel, external=True, env=zig)
    folder = home / "nvparity-recorder"
    run(session, python, str(ROOT / "recorder_folder.py"), str(next(home.glob("*.whl"))), str(folder))
    shutil.make_archive(str(folder), "gztar", home, folder.name)
    session.log(f"{folder.relative_to(ROOT)}.tar.gz: unpack it on the node, then python3 -m harness record in it")
    pytest(session, "-m", "recorder", "tests", *session.posargs)


@nox.session(default=False)
def faults(session: nox.Session) -> None:
    """Apply each seeded fault to a copy of the tree: the test it names must go red."""
    python = environment(session, "test")
    built = library(session, python)
    run(session, python, "-m", "tests.faults", *session.posargs, NVPARITY_LIBRARY=built)


@nox.session(default=False)
def blind(session: nox.Session) -> None:
    """Let each handler in turn answer NOT_SUPPORTED: exactly its rows change, and a test of the ledger's rows that speak of it goes red."""
    pytest(session, "-n", "2", "-m", "blind", "tests")
    left_out = " or ".join(("smi", *MARKED_SESSIONS))
    run(session, str(BUILD / "env" / "bin" / "python"), "-m", "pytest", "-q", "-m", f"spec and not ({left_out})", "--spec-blind", "tests")


@nox.session(default=False)
def proofs(session: nox.Session) -> None:
    """Every proof over every capture, 200 mutations of each point a capture (NVPARITY_MUTATIONS), and the figures that docs/proofs.md has."""
    python = environment(session, "test")
    built = library(session, python)
    each = os.environ.get("NVPARITY_MUTATIONS", "200")
    options = ["-n", "2", "--dist", "worksteal", "--figures", *(session.posargs or ["tests/parity"])]
    run(session, python, "-m", "pytest", *options, NVPARITY_LIBRARY=built, NVPARITY_MUTATIONS=each)


@nox.session(default=False)
def smi(session: nox.Session) -> None:
    """Fetch the ten real nvidia-smi binaries from Debian non-free into build/smi, or take those of NVPARITY_SMI; then run the tests that use them.

    After ``--``: ``--deep`` runs the random profiles and the tracer alone, 2,000 profiles a binary and every code of each field; a file or folder of
    tests (tests/smi/test_fetch.py) takes the place of all tests.
    """
    python = environment(session, "test")
    built = library(session, python)
    home = os.environ.get("NVPARITY_SMI") or str(BUILD / "smi")
    program = [home] if pathlib.Path(home).is_file() else []
    home = str(BUILD / "smi-given") if program else home
    run(session, python, "-m", "tests.smi.fetch", *program, home, NVPARITY_LIBRARY=built)
    deep = {"NVPARITY_DRAWN": "2000"} if "--deep" in session.posargs else {}
    words = [word for word in session.posargs if word != "--deep"]
    named = any((ROOT / word.partition("::")[0]).exists() for word in words)
    tests = ["tests/smi/test_drawn.py", "tests/parity/test_tracer_smi.py"] if deep else [] if named else ["tests"]
    options = ["-n", "2", "--dist", "worksteal", "-m", "smi", "--figures", *words]
    run(session, python, "-m", "pytest", *options, *tests, NVPARITY_LIBRARY=built, NVPARITY_SMI=home, **deep)
