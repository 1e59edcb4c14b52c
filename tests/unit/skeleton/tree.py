"""What the skeleton's tests look at: the files of the project, Python modules as syntax trees."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
LEFT_OUT = {"build", "dist", "__pycache__", "_built", "_data"}


@cache
def files() -> tuple[Path, ...]:
    """The project's files: what git tracks or would track; outside a checkout, all but build folders and dot folders."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"], capture_output=True, text=True, check=False
    )
    if listing.returncode == 0:
        found = [ROOT / name for name in listing.stdout.split("\0") if name]
    else:
        found = [path for path in ROOT.rglob("*") if not _left_out(path.relative_to(ROOT))]
    return tuple(sorted(path for path in found if path.is_file()))


def _left_out(path: Path) -> bool:
    return any(part in LEFT_OUT or (part.startswith(".") and part not in {".ci", ".gitignore", ".editorconfig"}) for part in path.parts)


def name(path: Path) -> str:
    """A file's path as messages give it."""
    return path.relative_to(ROOT).as_posix()


def modules(*folders: str) -> list[Path]:
    """The Python files under ``folders``, or all of the project."""
    return [path for path in files() if path.suffix == ".py" and (not folders or name(path).split("/", maxsplit=1)[0] in folders)]


@cache
def tree(path: Path) -> ast.Module:
    """The syntax tree of a Python file."""
    return ast.parse(path.read_text("utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[str]:
    """The first name of every module that ``path`` imports, at any depth of the file; type-checking imports count too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".", maxsplit=1)[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".", maxsplit=1)[0]


def calls(path: Path) -> Iterator[str]:
    """The dotted name of every call in ``path``: ``os.execv``, ``print``."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)
