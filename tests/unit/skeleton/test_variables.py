"""Every variable of the environment that the code reads is documented, and the lists of names say the same in C, in Python and in the page."""

from __future__ import annotations

import re
from pathlib import Path

from harness.words import variables
from tests.unit.skeleton import tree

READ_IN_C = re.compile(r'(?:nvp_environment|getenv)\("(\w+)"\)')
READ_IN_PYTHON = re.compile(r'(?:environ|environment|variables|inherited)(?:\.get\(|\[)"([A-Z_]+)"')
LISTED_IN_C = re.compile(r'"((?:MOCK|NVPARITY)_\w+)"')


def page(repository: Path) -> set[str]:
    return set(re.findall(r"`([A-Z][A-Z_]+)`", (repository / "docs" / "environment.md").read_text("utf-8")))


def in_c(repository: Path) -> set[str]:
    return {name for path in (repository / "mocklib" / "src").glob("*.c") for name in READ_IN_C.findall(path.read_text("utf-8"))}


def in_python() -> set[str]:
    found = [path for path in tree.files() if path.suffix == ".py" and tree.name(path).startswith(("harness/", "mocklib/"))]
    return {name for path in found for name in READ_IN_PYTHON.findall(path.read_text("utf-8"))}


def test_the_page_has_every_variable_that_is_read(repository: Path) -> None:
    read = in_c(repository) | in_python()
    assert {"MOCK_NVML_PRIVILEGE", "NVPARITY_CACHE", "MOCK_NVML_EPOCH", "CC"} <= read, "the patterns find what is read"
    handed_on = {"PATH", "PYTHONPATH", "LANG", "LD_LIBRARY_PATH", "HOME", "XDG_CACHE_HOME", "MALLOC_PERTURB_"}
    assert sorted(read - page(repository) - handed_on) == []


def test_the_lists_of_names_are_what_is_read(repository: Path) -> None:
    ours = {name for name in in_c(repository) if name.startswith(variables.PREFIXES)}
    assert ours == {*variables.LIBRARY, "NVPARITY_KILL_AT"}
    listed = set(LISTED_IN_C.findall((repository / "mocklib" / "src" / "environment.c").read_text("utf-8")))
    assert {name for name in listed if name.startswith("MOCK_NVML_") and name not in ("MOCK_NVML_", *variables.INERT)} == {
        name for name in variables.LIBRARY if name.startswith("MOCK_NVML_")
    }
    assert set(variables.INERT) <= listed
    assert {*variables.LIBRARY, *variables.INERT, *variables.HARNESS, *variables.TESTS} <= page(repository)
