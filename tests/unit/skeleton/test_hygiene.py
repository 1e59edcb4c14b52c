"""What must not be in the tree: raw captures, the vendor's header, pending goldens, paths of one machine, marks left over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.skeleton import tree

TEXT_LIMIT = 6000
ELEMENT = re.compile(r"^\s*<(\w+)>.*</\1>\r?$", re.MULTILINE)
MARKS = re.compile("|".join(("TO" + "DO", "FIX" + "ME", r"\bXX" + r"X\b", "NotImplemented" + "Error")))
MACHINE_PATHS = re.compile(r"(?<![\w.])/(?:work/(?:main|shared)|tmp/w/)")
UUID = re.compile(rb"(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
KEPT_AS_FOUND = ("captures/", "golden/", "LICENSE")


def read(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


def own_text() -> list[Path]:
    """Files that people write: all but transcripts, hashes and the licence."""
    return [path for path in tree.files() if not tree.name(path).startswith(KEPT_AS_FOUND)]


def test_no_file_is_a_raw_capture() -> None:
    opening = "<nvidia_smi" + "_log>"
    large = [path for path in tree.files() if path.stat().st_size > TEXT_LIMIT]
    assert [tree.name(path) for path in large if opening in (text := read(path)) and len(ELEMENT.findall(text)) > 60] == []


def test_no_file_is_the_vendors_header_or_made_from_it() -> None:
    declared = re.compile(r"nvmlReturn_t\s+DECLDIR|NVML_STRUCT_VERSION\(data, ver\)")
    assert [tree.name(path) for path in tree.files() if len(declared.findall(read(path))) > 2] == []


def test_no_binary_is_committed() -> None:
    assert [tree.name(path) for path in tree.files() if b"\0" in path.read_bytes()[:8192]] == []


def test_no_golden_is_pending() -> None:
    assert [tree.name(path) for path in tree.files() if ".pending" in tree.name(path) or path.suffix in {".orig", ".rej", ".bak"}] == []


def test_no_mark_of_unfinished_work_is_left() -> None:
    assert [f"{tree.name(path)}: {match.group()}" for path in own_text() for match in MARKS.finditer(read(path))] == []


def test_no_path_of_one_machine_is_written_down() -> None:
    found = [f"{tree.name(path)}: {match.group()}" for path in own_text() for match in MACHINE_PATHS.finditer(read(path))]
    assert found == []


def test_no_address_of_a_package_registry_is_written_down() -> None:
    hosts = re.compile(r"(?:deb\.debian|pypi|pythonhosted|npmjs)\.(?:org|com)")
    assert [f"{tree.name(path)}: {match.group()}" for path in tree.files() for match in hosts.finditer(read(path))] == []


def test_text_files_end_in_one_newline() -> None:
    sources = [path for path in own_text() if path.suffix in {".py", ".c", ".h", ".yaml", ".md", ".toml"}]
    assert [tree.name(path) for path in sources if (text := read(path)) and (not text.endswith("\n") or text.endswith("\n\n"))] == []


@pytest.mark.parametrize("folder", ["captures", "profiles", "golden", "mocklib", "harness", "tests"])
def test_each_folder_says_what_is_in_it(folder: str) -> None:
    text = read(tree.ROOT / folder / "README.md")
    assert "nox -s" in text or "nvparity" in text, f"{folder}/README.md names no command that checks it"


def test_no_uuid_of_a_raw_capture_is_in_the_tree(raw_captures: Path) -> None:
    real = {found.lower() for path in raw_captures.rglob("*") if path.is_file() for found in UUID.findall(path.read_bytes())}
    real = {uuid for uuid in real if len(set(uuid[4:])) > 8}  # a giver's own placeholder, all zeros or ones, is no secret
    assert len(real) > 10
    leaks = [tree.name(path) for path in tree.files() if real & {found.lower() for found in UUID.findall(path.read_bytes())}]
    assert leaks == []
