"""``nvparity list``: captures and profiles by name."""

from __future__ import annotations

import click

from harness.cli import options
from harness.stores.workspace import Workspace


@click.command("list")
@options.root
@options.json_file
def command(root: str | None, json_file: str | None) -> None:
    """List the captures and profiles of the workspace, with their short names."""
    space = Workspace.nearby(root)
    short: dict[str, list[str]] = {}
    for name, target in space.short_names().items():
        short.setdefault(target, []).append(name)
    captures = set(space.ids())
    rows = [
        {"id": name, "capture": name in captures, "profile": space.profile_path(name).is_file(), "short": sorted(short.get(name, []))}
        for name in sorted(captures | set(space.profile_ids()))
    ]
    if json_file != "-":
        width = max((len(str(row["id"])) for row in rows), default=0)
        for row in rows:
            has = " + ".join(kind for kind in ("capture", "profile") if row[kind])
            click.echo(f"{row['id']!s:<{width}}  {has:<17}  {', '.join(short.get(str(row['id']), []))}".rstrip())
    options.emit(json_file, lambda: {"version": 1, "root": str(space.root), "names": rows})
