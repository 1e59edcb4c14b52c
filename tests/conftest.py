"""Fixtures and options every test shares: the built library, raw captures, real binaries, and the account of what was skipped and why.

Raw captures, real binaries and profiles of another mock are found only through NVPARITY_CAPTURES, NVPARITY_SMI and NVPARITY_CONFIGS.  Unset,
their tests are skipped and counted by reason; named in NVPARITY_REQUIRE (``captures,smi,configs``), such a skip is a failure.
"""

from __future__ import annotations

import collections
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stores import captures
from harness.stores.workspace import Workspace
from tests.spec import blinding, recording

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = tuple(
    ROOT / "tests" / place
    for place in (
        "clients",
        "parity/test_recorded_profiles.py",
        "parity/test_recorded_stubs.py",
        "stubs",
        "unit/cli/test_recording.py",
        "unit/stages/answers/test_replaying.py",
        "unit/stages/live",
        "unit/stages/recording",
        "unit/stages/timeline/test_following.py",
    )
)
"""What asks an NVML library as its client: clients that are not ours, and our recorder and live check on libraries that are not ours."""
REQUIREMENTS = ("captures", "smi", "configs")


def required() -> frozenset[str]:
    """The names in NVPARITY_REQUIRE; an unknown one is a usage error."""
    names = frozenset(filter(None, os.environ.get("NVPARITY_REQUIRE", "").split(",")))
    if unknown := names - set(REQUIREMENTS):
        raise pytest.UsageError(f"NVPARITY_REQUIRE names {', '.join(sorted(unknown))}; it takes {', '.join(REQUIREMENTS)}")
    return names


def lacking(requirement: str, reason: str) -> None:
    """Skip for ``reason``, or fail where NVPARITY_REQUIRE names the requirement."""
    if requirement in required():
        pytest.fail(f"{reason} (NVPARITY_REQUIRE names {requirement})", pytrace=False)
    pytest.skip(reason)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--figures", action="store_true", help="print what the proofs measured: one line a capture, driver node or file")
    parser.addoption("--spec-blind", action="store_true", help="let each function of the ledger in turn not answer: a test of its rows must be red")
    parser.addoption("--spec-list", help="write the tests of the run that are marked spec, with their rows, to this file as JSON")


def pytest_configure(config: pytest.Config) -> None:
    required()
    if config.getoption("--spec-blind"):
        config.pluginmanager.register(blinding.Blinder(), "spec-blind")
    elif "NVPARITY_SANITIZED" not in os.environ:  # some tests of a row are skipped there
        config.pluginmanager.register(recording.Recorder(config.getoption("--spec-list")), "spec")
    os.environ.pop("CI", None)  # under it nothing is written; the tests that want it set it
    for number in (signal.SIGHUP, signal.SIGQUIT):  # nohup, and a shell's "&", have them ignored, and every command under test inherits that
        signal.signal(number, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that asks for a real binary is of the smi session, one of CLIENTS is of the clients session, whether they say so or not."""
    for item in items:
        if not {item.path, *item.path.parents}.isdisjoint(CLIENTS):
            item.add_marker(pytest.mark.clients)
        if {"smi_binaries", "smi_binary"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.smi)
        marker = item.get_closest_marker("unsanitized")
        if marker is not None and os.environ.get("NVPARITY_SANITIZED") in (marker.args[1:] or ("sanitize", "threads")):
            item.add_marker(pytest.mark.skip(reason=f"under a sanitizer: {marker.args[0]}"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the working tree."""
    return ROOT


@pytest.fixture(scope="session")
def raw_captures() -> Path:
    """The folder of raw captures: MANIFEST.tsv and the files it names."""
    named = os.environ.get("NVPARITY_CAPTURES")
    if not named:
        lacking("captures", "NVPARITY_CAPTURES is not set: no raw captures")
    folder = Path(str(named))
    if not (folder / "MANIFEST.tsv").is_file():
        pytest.fail(f"NVPARITY_CAPTURES={named} has no MANIFEST.tsv", pytrace=False)
    return folder


@pytest.fixture(scope="session")
def raw_capture(raw_captures: Path) -> Callable[[str], Path]:
    """``raw_capture("qx/name.xml")``: one raw capture by its path in the folder."""

    def find(name: str) -> Path:
        path = raw_captures / name
        if not path.is_file():
            lacking("captures", f"NVPARITY_CAPTURES has no {name}")
        return path

    return find


@pytest.fixture(scope="session")
def foreign_configs() -> list[Path]:
    """Profiles that another mock ships, which must load unchanged."""
    named = os.environ.get("NVPARITY_CONFIGS")
    if not named:
        lacking("configs", "NVPARITY_CONFIGS is not set: no profiles of another mock")
    found = sorted(Path(str(named)).glob("*.yaml"))
    if not found:
        pytest.fail(f"NVPARITY_CONFIGS={named} has no *.yaml", pytrace=False)
    return found


@pytest.fixture(scope="session")
def smi_binaries() -> dict[int, Path]:
    """The real nvidia-smi binaries by branch: {470: .../470/nvidia-smi, ...}."""
    named = os.environ.get("NVPARITY_SMI")
    if not named:
        lacking("smi", "NVPARITY_SMI is not set: no nvidia-smi binaries (nox -s smi fetches them)")
    found = {int(path.parent.name): path for path in sorted(Path(str(named)).glob("[0-9]*/nvidia-smi"))}
    if not found:
        pytest.fail(f"NVPARITY_SMI={named} has no <branch>/nvidia-smi", pytrace=False)
    return found


@pytest.fixture(scope="session")
def smi_binary(smi_binaries: dict[int, Path]) -> Callable[[int], Path]:
    """``smi_binary(470)``: the real binary of one branch."""

    def find(branch: int) -> Path:
        if branch not in smi_binaries:
            lacking("smi", f"NVPARITY_SMI has no nvidia-smi of branch {branch}")
        return smi_binaries[branch]

    return find


def built(flavour: str) -> Path:
    """The library of ``flavour`` in build/lib, built where its inputs changed; one test worker builds, the others wait."""
    from filelock import FileLock

    out = ROOT / "build" / "lib" / flavour
    out.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(out.parent / f"{flavour}.lock"):
        subprocess.run([sys.executable, str(ROOT / "hatch_build.py"), flavour, str(out)], check=True, cwd=ROOT)
    return out / "libnvidia-ml.so.1"


@pytest.fixture(scope="session")
def library_path() -> Path:
    """The built release library: NVPARITY_LIBRARY where a session named it, else built here."""
    named = os.environ.get("NVPARITY_LIBRARY")
    return Path(named) if named else built("release")


@pytest.fixture(scope="session")
def flavour_path() -> Callable[[str], Path]:
    """``flavour_path("sanitize")``: the library of another flavour; in a whole sanitized run one with its sanitizer, too."""
    sanitized = os.environ.get("NVPARITY_SANITIZED")
    return built if not sanitized else lambda flavour: built(f"{flavour}-{sanitized}")


@pytest.fixture(scope="session")
def nvml_stub(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """``nvml_stub(seed=3, gpus=2, ...)``: a stand-in for a real library that shares no code with ours; settings as in tests/stubs/building.Stub."""
    from tests.stubs import building

    def make(**settings: object) -> Path:
        return building.stub(building.Stub(**settings), tmp_path_factory.mktemp("stub"))  # type: ignore[arg-type] # the record's own names and types

    return make


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures where they are asked for; the skips by reason."""
    reasons: collections.Counter[str] = collections.Counter()
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple):
            reasons[report.longrepr[2].removeprefix("Skipped: ")] += 1
    if terminalreporter.config.getoption("--figures"):
        reports = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
        for line in sorted(str(value) for report in reports if report.when == "call" for name, value in report.user_properties if name == "figure"):
            terminalreporter.line(line)
    if reasons:
        terminalreporter.section("skipped, by reason")
    for reason, count in reasons.most_common():
        terminalreporter.line(f"{count:5d}  {reason}")


@pytest.fixture
def served_library(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The library under test as the commands find it: NVPARITY_LIBRARY names it."""
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    return library_path


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """An empty workspace."""
    root = tmp_path / "work"
    root.mkdir()
    return Workspace(root)


@pytest.fixture
def query(tmp_path: Path, repository: Path) -> Path:
    """A query file: the T4 as its transcript has it."""
    path = tmp_path / "query.xml"
    path.write_bytes(captures.load(repository / "captures", "t4-x1_595.91.07").texts["q-x"].to_bytes())
    return path
