"""A seeded fault: a patch that breaks one thing, with the test that must go red written above it.

The file is a patch as ``git diff`` writes it, under a head of ``Name: value`` lines and one empty line:

    Fault: what is broken, in one line
    Test: tests/unit/words/test_state.py::test_codes
    Needs: captures

``Test`` may stand several times: every one must go red.  ``Needs`` (optional) names what NVPARITY_REQUIRE can name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

HEAD = re.compile(r"([A-Z][a-z]+): (.+)")
TOUCHED = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
LIBRARY_SOURCES = ("mocklib/src/", "mocklib/include/", "mocklib/tables/", "mocklib/gen/")


class FaultError(Exception):
    """A fault file that is not one, in one line."""


@dataclass(frozen=True)
class Fault:
    """One seeded fault; ``path`` is its file, ``touched`` the files its patch changes."""

    path: Path
    what: str
    tests: tuple[str, ...]
    needs: tuple[str, ...]
    touched: tuple[str, ...]

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @property
    def needs_build(self) -> bool:
        """Whether the library must be built again: the patch touches what it is made from."""
        return any(path.startswith(LIBRARY_SOURCES) for path in self.touched)


def read(path: Path) -> Fault:
    """The fault in ``path``; FaultError where the head or the patch is not whole."""
    text = path.read_text("utf-8")
    head: dict[str, list[str]] = {}
    for line in text.split("\n\n", maxsplit=1)[0].splitlines():
        match = HEAD.fullmatch(line)
        if match is None or match[1] not in {"Fault", "Test", "Needs"}:
            raise FaultError(f"{path.name}: {line!r} in the head; it holds 'Fault: ...', 'Test: ...' and 'Needs: ...' lines and one empty line")
        head.setdefault(match[1], []).append(match[2])
    touched = tuple(TOUCHED.findall(text))
    if len(head.get("Fault", ())) != 1 or not head.get("Test") or not touched:
        raise FaultError(f"{path.name}: needs one 'Fault:' line, at least one 'Test:' line and a patch with '+++ b/...'")
    return Fault(path, head["Fault"][0], tuple(head["Test"]), tuple(" ".join(head.get("Needs", ())).split()), touched)


def read_all(folder: Path) -> list[Fault]:
    """Every fault of a folder, by name."""
    return [read(path) for path in sorted(folder.glob("*.patch"))]
