"""What became of the marked tests in the runs on this tree: build/spec-results.json, kept by every session, read by ``nox -s spec``."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from filelock import FileLock

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "build" / "spec-results.json"
INPUTS = ("harness", "mocklib", "tests", "profiles", "golden", "captures", "pyproject.toml", "hatch_build.py", "noxfile.py")
"""What an outcome rests on: an outcome of another content of these is none."""


def fingerprint(root: Path = ROOT) -> str:
    """The content of the tree as one hash; files that Python and the build leave there are not of it."""
    digest = hashlib.sha256()
    for name in INPUTS:
        path = root / name
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            parts = file.relative_to(root).parts
            if file.is_file() and not {"__pycache__", "_built", "_data"} & set(parts) and not file.name.endswith(".pyc"):
                digest.update(f"{'/'.join(parts)}\0{file.stat().st_size}\0".encode())
                digest.update(file.read_bytes())
    return digest.hexdigest()


def read(tree: str, file: Path = FILE) -> dict[str, str]:
    """Node id -> what became of it last on this tree: ``passed``, ``failed`` or ``skipped: reason``."""
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return dict(kept["tests"]) if kept.get("tree") == tree else {}


def merge(tree: str, outcomes: Mapping[str, str], file: Path = FILE) -> None:
    """Keep the outcomes of one run beside those of the others; two sessions at once wait for each other."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        text = json.dumps({"tree": tree, "tests": {**read(tree, file), **outcomes}}, indent=0, sort_keys=True)
        draft = file.with_suffix(f".{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        draft.replace(file)
