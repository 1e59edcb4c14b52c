"""Every test is run by a session: a mark that the tests session leaves out is the whole selection of another, and .ci/run runs that one."""

from __future__ import annotations

import ast
import re

import pytest

from tests.unit.skeleton import tree

NOXFILE = tree.tree(tree.ROOT / "noxfile.py")
GATE = "gate"
"""Left to the proofs session, which runs tests/parity whole."""
FOLDERS = {GATE: ("tests/parity/",), "bench": ("tests/bench/",)}
"""Marks whose session looks in one folder only."""


def functions() -> dict[str, str]:
    """The noxfile's functions by name, as source."""
    return {node.name: ast.unparse(node) for node in NOXFILE.body if isinstance(node, ast.FunctionDef)}


def left_out() -> list[str]:
    """The marks that the tests session does not run."""
    found = next(node for node in NOXFILE.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MARKED_SESSIONS")
    return [*ast.literal_eval(found.value), "smi"]


def registered() -> set[str]:
    """The marks that pyproject.toml registers."""
    import tomllib

    settings = tomllib.loads((tree.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return {re.split(r"[:(]", line)[0] for line in settings["tool"]["pytest"]["ini_options"]["markers"]}


@pytest.mark.parametrize("mark", left_out())
def test_what_the_tests_session_leaves_out_is_run_by_another(mark: str) -> None:
    assert mark in registered()
    if mark == "faults":  # no test carries it: its session applies patches
        assert marked("faults") == []
    elif mark == GATE:
        assert "'tests/parity'" in functions()["proofs"]
        assert "'-m', 'pytest'" in functions()["proofs"]
        assert functions()["proofs"].count("'-m'") == 1, "the proofs session selects by a mark"
    else:
        assert f"'-m', '{mark}'" in functions()[mark], f"the session {mark} does not select the mark {mark}"


def test_every_mark_is_one_of_a_session_or_one_that_selects_nothing() -> None:
    assert registered() == {*left_out(), "slow", "spec", "unsanitized"}
    assert [name for name, source in functions().items() if "'slow'" in source or "not slow" in source] == []


@pytest.mark.parametrize("mark", FOLDERS)
def test_a_mark_of_a_session_that_looks_in_one_folder_stands_nowhere_else(mark: str) -> None:
    assert [name for name in marked(mark) if not name.startswith(FOLDERS[mark])] == []


def marked(mark: str) -> list[str]:
    """The modules of tests that put a mark on something."""
    pattern = re.compile(rf"pytest\.mark\.{mark}\b")
    return [tree.name(path) for path in sorted((tree.ROOT / "tests").rglob("*.py")) if pattern.search(path.read_text(encoding="utf-8"))]


def test_the_gate_runs_every_session_that_the_tests_session_leaves_something_to() -> None:
    steps = re.findall(r"^step (\w+) \d+", (tree.ROOT / ".ci" / "run").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*left_out(), "tests", "spec"} - {GATE} <= set(steps)
