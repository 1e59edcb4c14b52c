"""Options that several commands share, and what is done with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

root = click.option("--root", metavar="DIR", type=click.Path(), help="Work on this folder's captures/, profiles/ and golden/.")
json_file = click.option("--json", "json_file", metavar="FILE", type=click.Path(), help="Also write the result as JSON ('-': to standard output).")


def emit(json_file: str | None, made: Callable[[], Any]) -> None:
    """Write what ``made`` gives as JSON to ``json_file``: whole and renamed, or to standard output for ``-``; nothing for None."""
    if json_file is None:
        return
    text = json.dumps(made(), indent=2, ensure_ascii=False) + "\n"
    if json_file == "-":
        click.echo(text, nl=False)
        return
    path = Path(json_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text, "utf-8")
    fresh.replace(path)
