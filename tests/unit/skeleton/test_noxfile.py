"""The noxfile as a program on a machine that lacks something, and as a list of sessions."""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.unit.skeleton import tree

NOXFILE = tree.ROOT / "noxfile.py"
SESSIONS = {
    "recorder", "lint", "types", "tests", "parity", "import", "bench", "sanitize", "faults", "blind", "smi", "proofs", "zig", "hostile",
    "clients", "spec",
}  # fmt: skip


def started(prelude: str) -> subprocess.CompletedProcess[str]:
    """The noxfile run as a program after ``prelude``, on a machine without nox."""
    script = f"import runpy, sys\nsys.modules['nox'] = None\n{prelude}\nrunpy.run_path({str(NOXFILE)!r}, run_name='__main__')"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def sessions() -> dict[str, ast.FunctionDef]:
    found = {}
    for node in tree.tree(NOXFILE).body:
        if isinstance(node, ast.FunctionDef) and any("nox.session" in ast.unparse(decorator) for decorator in node.decorator_list):
            found[node.name.rstrip("_")] = node
    return found


def test_without_the_venv_module_the_apt_command_is_printed() -> None:
    done = started("import pathlib\nsys.modules['ensurepip'] = None\npathlib.Path.exists = lambda path: False")
    assert done.returncode == 4
    assert f"apt-get install -y python{sys.version_info[0]}.{sys.version_info[1]}-venv" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_python_that_is_too_old_is_told_so() -> None:
    done = started("sys.version_info = (3, 10, 1, 'final', 0)\nsys.version = '3.10.1 (x)'")
    assert done.returncode == 4
    assert done.stderr == "noxfile.py: Python 3.11 or newer is needed, this is 3.10.1: run it as python3.11 noxfile.py ...\n"


def test_every_session_has_a_docstring() -> None:
    assert set(sessions()) == SESSIONS
    assert [name for name, function in sessions().items() if not ast.get_docstring(function)] == []


def test_nothing_but_the_standard_library_is_imported_before_nox() -> None:
    found = [(node.lineno, alias.name.split(".")[0]) for node in ast.walk(tree.tree(NOXFILE)) if isinstance(node, ast.Import) for alias in node.names]
    nox_line = next(line for line, name in found if name == "nox")
    assert {name for line, name in found if line < nox_line} <= sys.stdlib_module_names
