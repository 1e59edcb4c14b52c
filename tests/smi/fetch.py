"""Fetch and check the real nvidia-smi binaries of ten driver branches: ``python -m tests.smi.fetch FOLDER``.

``python -m tests.smi.fetch PROGRAM FOLDER`` takes the one binary PROGRAM in their place.

Makes FOLDER/<branch>/nvidia-smi and FOLDER/<branch>/lib/libnvidia-ml.so.1 from Debian's non-free archive and writes what they are to
FOLDER/MANIFEST.tsv.  Packages are downloaded and unpacked, never installed: apt gets state folders and a sources file of its own in FOLDER/apt, the
archive's address is the one that the machine's own apt uses, and apt checks each package by the archive's signature.  A folder that holds binaries
and no manifest is its owner's: it is checked and nothing is fetched into it.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.stages import libraries
from harness.words.errors import MissingError
from tests.smi.checking import Checked, CheckError, check, version

EXIT_ENVIRONMENT = 4
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SUITES = ("bookworm", "sid", "experimental")


@dataclass(frozen=True)
class Branch:
    """One driver branch and the names its packages go by in the suites (the newest version of the branch is taken)."""

    number: int
    programs: tuple[str, ...]
    libraries: tuple[str, ...]


BRANCHES = (
    Branch(340, ("nvidia-legacy-340xx-smi",), ("libnvidia-legacy-340xx-ml1",)),
    Branch(390, ("nvidia-legacy-390xx-smi",), ("libnvidia-legacy-390xx-ml1",)),
    Branch(418, ("nvidia-tesla-418-smi",), ("libnvidia-tesla-418-ml1",)),
    Branch(450, ("nvidia-tesla-450-smi",), ("libnvidia-tesla-450-ml1",)),
    Branch(460, ("nvidia-tesla-460-smi",), ("libnvidia-tesla-460-ml1",)),
    Branch(470, ("nvidia-tesla-470-smi",), ("libnvidia-tesla-470-ml1",)),
    Branch(525, ("nvidia-tesla-smi",), ("libnvidia-tesla-ml1",)),
    Branch(535, ("nvidia-tesla-535-smi", "nvidia-smi"), ("libnvidia-tesla-535-ml1", "libnvidia-ml1")),
    Branch(550, ("nvidia-smi", "nvidia-tesla-550-smi"), ("libnvidia-ml1", "libnvidia-tesla-550-ml1")),
    Branch(555, ("nvidia-smi",), ("libnvidia-ml1",)),
)


class FetchError(Exception):
    """What the machine or the archive lacks, in one line."""


def output(command: list[str], cwd: Path | None = None) -> str:
    """The standard output of ``command``; FetchError with its last error line where it fails."""
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=cwd, stdin=subprocess.DEVNULL)
    except FileNotFoundError as error:
        raise FetchError(f"{command[0]} is not on this machine: the binaries come from Debian packages, so this needs Debian or its kin") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise FetchError(f"{' '.join(command[:2])} ... ended with {done.returncode}: {' | '.join(lines[-2:])}")
    return done.stdout


def archive() -> str:
    """The address of the Debian archive that this machine's apt uses (asked of apt itself, so mirrors and proxies hold)."""
    lines = output(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI) $(CODENAME)"]).splitlines()
    for origin, address, codename in (line.split(" ") for line in lines if line.count(" ") == 2):
        if origin == "Debian" and "security" not in codename:
            return address
    raise FetchError("apt knows no Debian archive yet: run apt-get update once, then this again")


class Apt:
    """apt with state folders and sources of its own under ``home``; the machine's proxy and certificate settings hold, its packages are untouched."""

    def __init__(self, home: Path) -> None:
        for folder in ("lists/partial", "cache/archives/partial", "debs"):
            (home / folder).mkdir(parents=True, exist_ok=True)
        self.debs = home / "debs"
        sources = home / "sources.list"
        address = archive()
        sources.write_text("".join(f"deb [signed-by={KEYRING}] {address} {suite} non-free\n" for suite in SUITES))
        settings = {
            "Dir::Etc::sourcelist": sources.resolve(),
            "Dir::Etc::sourceparts": "-",
            "Dir::State::lists": (home / "lists").resolve(),
            "Dir::Cache": (home / "cache").resolve(),
            "APT::Sandbox::User": "root",
            "APT::Get::AllowUnauthenticated": "false",  # whatever the machine's own settings allow
            "Acquire::AllowInsecureRepositories": "false",
            "Acquire::AllowDowngradeToInsecureRepositories": "false",
            "Acquire::Languages": "none",
            "Acquire::Check-Valid-Until": "false",  # a mirror may lag behind; signatures still hold, and hashes are written down
            "Acquire::Retries": "3",
        }
        self.options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def update(self) -> None:
        """Read the archive's index of these suites."""
        output(["apt-get", *self.options, "-qq", "update"])

    def newest(self, packages: tuple[str, ...], branch: int) -> tuple[str, str] | None:
        """(package, version) of the newest version of ``branch`` among ``packages``; None where the archive has none."""
        lines = output(["apt-cache", *self.options, "madison", *packages]).splitlines()
        offers = [(package.strip(), version.strip()) for package, version, _ in (line.split("|") for line in lines)]
        offers = [(package, version) for package, version in offers if version.rpartition(":")[2].startswith(f"{branch}.")]
        return max(offers, key=lambda offer: version_key(offer[1]), default=None)

    def unpack(self, package: str, version: str, into: Path) -> Path:
        """Download one package and unpack it into ``into``; the path of the package file."""
        output(["apt-get", *self.options, "-qq", "download", f"{package}={version}"], cwd=self.debs)
        (found,) = self.debs.glob(f"{package}_{version.replace(':', '%3a')}_*.deb")
        into.mkdir(parents=True, exist_ok=True)
        output(["dpkg-deb", "-x", str(found), str(into)])
        return found


def version_key(version: str) -> list[int]:
    """A package version's upstream part as numbers: 550.163.01-5.1 gives [550, 163, 1]."""
    upstream = version.rpartition(":")[2].partition("-")[0]
    return [int(part) for part in upstream.split(".") if part.isdigit()]


def sha256(path: Path) -> str:
    """Hash of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def the_file(folder: Path, pattern: str) -> Path:
    """The one regular file of ``pattern`` under ``folder``."""
    found = [path for path in sorted(folder.rglob(pattern)) if path.is_file() and not path.is_symlink()]
    if len(found) != 1:
        raise FetchError(f"{folder} holds {len(found)} files {pattern}, one was expected")
    return found[0]


def fetch_branch(apt: Apt, branch: Branch, home: Path) -> list[str] | None:
    """Fetch one branch; its line of the manifest, or None where the archive has no such version."""
    program = apt.newest(branch.programs, branch.number)
    library = apt.newest(branch.libraries, branch.number)
    if program is None or library is None:
        return None
    unpacked = home / "apt" / f"unpacked-{branch.number}"
    shutil.rmtree(unpacked, ignore_errors=True)
    package = apt.unpack(*program, unpacked / "smi")
    apt.unpack(*library, unpacked / "lib")
    target = home / str(branch.number)
    (target / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copy2(the_file(unpacked / "lib" / "usr" / "lib", "libnvidia-ml.so.*.*"), target / "lib" / "libnvidia-ml.so.1")
    shutil.copy2(the_file(unpacked / "smi" / "usr" / "lib", "nvidia-smi"), target / "nvidia-smi.new")
    (target / "nvidia-smi.new").rename(target / "nvidia-smi")  # last and whole: its presence says that the branch is complete
    shutil.rmtree(unpacked)
    return [str(branch.number), *program, sha256(package), sha256(target / "nvidia-smi"), sha256(target / "lib" / "libnvidia-ml.so.1")]


HEADER = ("branch", "package", "version", "sha256 of the package", "sha256 of nvidia-smi", "sha256 of libnvidia-ml.so.1")


def fetch(home: Path) -> dict[str, list[str]]:
    """Fetch what ``home`` lacks; branch -> its line of the manifest.  FetchError, when all others are there, where the archive has not a branch."""
    manifest = home / "MANIFEST.tsv"
    known = {line.split("\t")[0]: line.split("\t") for line in manifest.read_text().splitlines()[1:]} if manifest.exists() else {}
    known = {number: row for number, row in known.items() if (home / number / "nvidia-smi").exists()}
    wanted = [branch for branch in BRANCHES if str(branch.number) not in known]
    if not wanted:
        return known
    if not KEYRING.exists():
        raise FetchError(f"{KEYRING} is missing: apt-get install -y debian-archive-keyring")
    apt = Apt(home / "apt")
    apt.update()
    for branch in wanted:
        line = fetch_branch(apt, branch, home)
        if line is not None:
            known[line[0]] = line
    rows = [known[str(branch.number)] for branch in BRANCHES if str(branch.number) in known]
    manifest.write_text("".join("\t".join(row) + "\n" for row in [HEADER, *rows]))
    lacking = [f"{branch.number} ({', '.join(branch.programs)})" for branch in BRANCHES if str(branch.number) not in known]
    if lacking:
        raise FetchError(f"the archive has no nvidia-smi of branch {'; '.join(lacking)} in {', '.join(SUITES)}; the others are fetched")
    return known


def given(home: Path) -> dict[str, list[str]]:
    """The binaries in a folder of somebody's own: branch -> what is known of it, which no manifest tells."""
    found = {path.parent.name: path for path in home.glob("[0-9]*/nvidia-smi") if path.parent.name.isdecimal()}
    return {number: [number, "given", "-", "-", sha256(path), "-"] for number, path in sorted(found.items())}


def lay(program: Path, home: Path) -> None:
    """Copy one binary into the folder of its branch, the only one in ``home``; CheckError for a program that is no nvidia-smi."""
    branch = version(program, libraries.universal()).partition(".")[0]
    for other in home.glob("[0-9]*/nvidia-smi"):
        other.unlink()
    (home / branch).mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, home / branch / "nvidia-smi")


def is_given(home: Path) -> bool:
    """Whether ``home`` is somebody's own: it holds binaries and nothing that fetching leaves."""
    return any(home.glob("[0-9]*/nvidia-smi")) and not (home / "MANIFEST.tsv").exists() and not (home / "apt").exists()


def checked(home: Path, known: Mapping[str, list[str]]) -> list[str]:
    """A line for each branch, when each is what the manifest says; CheckError for the first that is not."""
    mock = libraries.universal()
    lines = []
    for number, row in known.items():
        program = home / number / "nvidia-smi"
        found = check(program, number, mock)
        unchanged(program, row)
        lines.append(f"{number}  {told(row, found)}  sha256 {row[4][:16]}")
    absent = [str(branch.number) for branch in BRANCHES if str(branch.number) not in known]
    return lines + ([f"not there: {', '.join(absent)}"] if absent else [])


def unchanged(program: Path, row: list[str]) -> None:
    """CheckError where the binary, its library or its version is not what was fetched."""
    number, package, version, _, binary, library = row
    if package == "given":
        return
    files = {program: binary, program.parent / "lib" / "libnvidia-ml.so.1": library}
    changed = [path for path, expected in files.items() if not path.exists() or sha256(path) != expected]
    if changed:
        raise CheckError(f"{changed[0]}: is not what was fetched as {package} {version}; remove {program.parent} to fetch {number} again")


def told(row: list[str], found: Checked) -> str:
    """Version, package and library of a branch; CheckError where the package is of another version than the binary says."""
    _, package, version = row[:3]
    upstream = version.rpartition(":")[2].partition("-")[0]
    if package != "given" and upstream != found.version:
        raise CheckError(f"{package} {version} holds nvidia-smi {found.version}")
    library = "no library beside it" if found.exports is None else f"{found.exports} nvml* exports"
    return f"{found.version}  {package if package == 'given' else f'{package} {version}'}  {library}"


def main(arguments: list[str]) -> int:
    """Fetch into the folder named, or check what its owner put there; 0, or 4 with one line of what is lacking or wrong.

    Two arguments are a program and the folder that it is laid into, as its owner's.
    """
    home = Path(arguments[-1])
    home.mkdir(parents=True, exist_ok=True)
    try:
        if len(arguments) > 1:
            lay(Path(arguments[0]), home)
        lines = checked(home, given(home) if is_given(home) else fetch(home))
    except (FetchError, CheckError, MissingError) as error:
        sys.stderr.write(f"nvidia-smi binaries: {error}\n")
        return EXIT_ENVIRONMENT
    sys.stdout.write(f"nvidia-smi binaries in {home}:\n" + "".join(f"  {line}\n" for line in lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
