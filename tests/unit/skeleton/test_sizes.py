"""No module over 400 lines, no function over 50: what grows past that is split by noun."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.unit.skeleton import tree

MODULE_LINES = 400
FUNCTION_LINES = 50
C_FUNCTION = re.compile(r"^[a-zA-Z_][^;{}#]*\)\s*\{\n.*?^\}", re.MULTILINE | re.DOTALL)


def python_functions(path: Path) -> Iterator[tuple[str, int]]:
    """(name, lines) of every function, from ``def`` to its last line."""
    for node in ast.walk(tree.tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def c_functions(text: str) -> Iterator[tuple[str, int]]:
    """(first line, lines) of every function whose closing brace stands in the first column."""
    for match in C_FUNCTION.finditer(text):
        yield match.group().partition("\n")[0], match.group().count("\n") + 1


def sources() -> list[Path]:
    return [path for path in tree.files() if path.suffix in {".py", ".c", ".h"}]


def test_modules_are_under_400_lines() -> None:
    lengths = {tree.name(path): path.read_text("utf-8").count("\n") for path in sources()}
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_functions_are_under_50_lines() -> None:
    long = {
        f"{tree.name(path)}: {name}": lines
        for path in sources()
        for name, lines in (python_functions(path) if path.suffix == ".py" else c_functions(path.read_text("utf-8")))
        if lines > FUNCTION_LINES
    }
    assert long == {}


def test_a_long_c_function_is_seen() -> None:
    text = "static int f(int a)\n{\n" + "    a += 1;\n" * 60 + "    return a;\n}\n"
    assert [lines for _, lines in c_functions(text)] == [64]
