"""Make ``tables/since.yaml``: ``python -m mocklib.gen.since BRANCH=FILE ... [without=NAME,...]``.

FILE is the nvml.h of a driver branch, its libnvidia-ml library, or a .txt with names known to be exported there, one a line.  A function's first
branch is the lowest that has it; its last branch is written where a later header or library shows that it is gone.  Names after ``without=`` are
left out.  The document goes to standard output.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

USAGE = "usage: python -m mocklib.gen.since BRANCH=FILE ... [without=NAME,...]   (FILE: nvml.h, libnvidia-ml.so or names.txt of that driver branch)"
DECLARED = re.compile(r"^\s*(?:nvmlReturn_t|const\s+DECLDIR\s+char\s*\*|const\s+char\s*\*)\s+(?:DECLDIR\s+)?(nvml[A-Z]\w*)\s*\(", re.MULTILINE)
DEPRECATED = re.compile(r"\bnvmlReturn_t\s+DECLDIR\s+(nvml[A-Z]\w*)\s*\(")
HEADER = """# First driver branch that has each function, made by python -m mocklib.gen.since from the headers of the CUDA releases and one library.
# name: first branch, or name: [first, last] where later releases lack it.  470 stands for "470 or older": older libraries were not read.
# CUDA 11.7 = 515, 11.8 = 520, 12.0 = 525, 12.1 = 530, 12.2 = 535, 12.3 = 545, 12.4 = 550, 12.5 = 555, 12.6 = 560, 12.8 = 570, 12.9 = 575,
# 13.0 = 580, 13.1 = 590, 13.2 = 595, 13.3 = 610 (610.57.04 reports it), 13.4 = 615 (nvidia-ml-py 13.615 has its functions and no newer ones);
# 616 stands for the first branch after 615: no evidence names the branch of CUDA 13.5.
format: 1
functions:
"""


def names_of(path: Path) -> set[str]:
    """The NVML functions a header declares or a library exports."""
    if ".so" in path.name:
        listing = subprocess.run(["nm", "-D", "--defined-only", str(path)], check=True, capture_output=True, text=True).stdout
        return {line.split()[-1] for line in listing.splitlines() if line.split()[-1].startswith("nvml")}
    text = path.read_text(encoding="latin-1")
    if path.suffix == ".txt":
        return set(text.split())
    found = set(DECLARED.findall(text)) | set(DEPRECATED.findall(text))
    return found - {"nvmlReturn_t"}


def spans(branches: dict[int, set[str]], declared: dict[int, set[str]], libraries: set[int]) -> dict[str, tuple[int, int | None]]:
    """Name -> (first branch, last branch or None).

    A name some header declares is gone when the newest header lacks it; one no header declares is gone when the newest library lacks it.
    """
    in_headers = set().union(*declared.values())
    newest = declared[max(declared)]
    exported = branches[max(libraries)] if libraries else set()
    found = {}
    for name in sorted(set().union(*branches.values())):
        seen = sorted(branch for branch, names in branches.items() if name in names)
        found[name] = (seen[0], None if name in (newest if name in in_headers else exported) else seen[-1])
    return found


def main(arguments: list[str]) -> int:
    """Print the document for ``BRANCH=FILE`` arguments; 2 on a wrong one."""
    branches: dict[int, set[str]] = {}
    declared: dict[int, set[str]] = {}
    libraries: set[int] = set()
    without: set[str] = set()
    for argument in arguments:
        branch, separator, file = argument.partition("=")
        if branch == "without" and separator:
            without |= set(file.split(","))
            continue
        if not separator or not branch.isdigit() or not Path(file).is_file():
            sys.stderr.write(f"{argument}: no BRANCH=FILE with a readable file\n{USAGE}\n")
            return 2
        names = names_of(Path(file))
        branches.setdefault(int(branch), set()).update(names)
        if file.endswith(".h"):
            declared.setdefault(int(branch), set()).update(names)
        elif ".so" in file:
            libraries.add(int(branch))
    if not declared:
        sys.stderr.write(f"{USAGE}\n")
        return 2
    sys.stdout.write(HEADER)
    for name, (first, last) in spans(branches, declared, libraries).items():
        if name not in without:
            sys.stdout.write(f"  {name}: {first}\n" if last is None else f"  {name}: [{first}, {last}]\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
