"""The fault runner tells a fault that is seen from one that survives and from one that proves nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.faults.fault import Fault, FaultError, read
from tests.faults.runner import copy_tree, try_fault

MODULE = "def double(n):\n    return n * 2\n"
TESTS = (
    "from module import double\n\ndef test_two():\n    assert double(2) == 4\n\ndef test_three():\n    assert double(3) == 6\n\n"
    "def test_red():\n    assert double(1) == 3\n\ndef test_type():\n    assert isinstance(double(1), int)\n"
)
HEAD = "Fault: {what}\nTest: {test}\n\n"
PATCH = "--- a/module.py\n+++ b/module.py\n@@ -1,2 +1,2 @@\n def double(n):\n-    return n * 2\n+    {line}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project of one module and one test file."""
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "module.py").write_text(MODULE)
    (folder / "test_module.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\n")
    return folder


def fault(tmp_path: Path, line: str, test: str = "test_module.py::test_three") -> Fault:
    path = tmp_path / "a-fault.patch"
    path.write_text(HEAD.format(what="double adds two", test=test) + PATCH.format(line=line))
    return read(path)


def test_a_fault_that_turns_its_test_red_is_killed(tmp_path: Path, tree: Path) -> None:
    assert try_fault(fault(tmp_path, "return n + 2"), tree, None).outcome == "killed"


def test_a_fault_its_test_does_not_see_survives(tmp_path: Path, tree: Path) -> None:
    verdict = try_fault(fault(tmp_path, "return n + 2", "test_module.py::test_two"), tree, None)
    assert (verdict.outcome, verdict.why) == ("survived", "test_module.py::test_two stays green")


def test_a_fault_that_crashes_its_test_is_killed(tmp_path: Path, tree: Path) -> None:
    assert try_fault(fault(tmp_path, "return __import__('os').kill(__import__('os').getpid(), 9)"), tree, None).outcome == "killed"


def test_each_of_several_tests_must_go_red(tmp_path: Path, tree: Path) -> None:
    one = fault(tmp_path, "return n + 2")
    both = Fault(one.path, one.what, ("test_module.py::test_two", *one.tests), one.needs, one.touched)
    assert try_fault(both, tree, None).outcome == "survived"


def test_a_test_that_is_red_without_the_fault_proves_nothing(tmp_path: Path, tree: Path) -> None:
    verdict = try_fault(fault(tmp_path, "return n + 2", "test_module.py::test_red"), tree, None)
    assert verdict.outcome == "broken"
    assert "not green on the sound tree" in verdict.why


def test_a_fault_that_keeps_the_test_from_running_proves_nothing(tmp_path: Path, tree: Path) -> None:
    verdict = try_fault(fault(tmp_path, "return ("), tree, None)
    assert verdict.outcome == "broken"
    assert "did not run" in verdict.why


def test_a_patch_that_no_longer_applies_proves_nothing(tmp_path: Path, tree: Path) -> None:
    (tree / "module.py").write_text("def double(n):\n    return n + n\n")
    verdict = try_fault(fault(tmp_path, "return n + 2"), tree, None)
    assert verdict.outcome == "broken"
    assert "does not apply" in verdict.why


def test_the_tree_is_as_before_afterwards(tmp_path: Path, tree: Path) -> None:
    try_fault(fault(tmp_path, "return n + 2"), tree, None)
    assert (tree / "module.py").read_text() == MODULE


@pytest.mark.parametrize(
    "text",
    ["", "Fault: x\n\n" + PATCH, "Test: t\n\n" + PATCH, "Fault: x\nTest: t\n\nno patch\n", "Faulty: x\nTest: t\n\n" + PATCH],
)
def test_a_file_that_is_no_fault_is_refused_by_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "odd.patch"
    path.write_text(text)
    with pytest.raises(FaultError, match=r"odd\.patch"):
        read(path)


def test_only_a_patch_of_the_librarys_sources_asks_for_a_build(tmp_path: Path) -> None:
    path = tmp_path / "c.patch"
    path.write_text(HEAD.format(what="x", test="t") + PATCH.format(line="x").replace("module.py", "mocklib/src/image.c"))
    assert read(path).needs_build
    assert not fault(tmp_path, "return 1").needs_build


def test_the_copy_holds_what_git_would_track_and_no_build(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "build").mkdir(parents=True)
    for name in ("kept.py", "build/left-out.py"):
        (root / name).touch()
    (root / ".gitignore").write_text("/build/\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    copy_tree(root, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").rglob("*")) == [".gitignore", "kept.py"]
