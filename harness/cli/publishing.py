"""``nvparity schema``: JSON Schema for editors, and the table of keys."""

from __future__ import annotations

import json

import click

from harness.stores.schema import editor


@click.command("schema")
@click.argument("name", metavar="[profile|driver|rules|sidecar]", type=click.Choice(editor.FILES), default="profile")
@click.option("--table", is_flag=True, help="Print the keys of a profile as a Markdown table instead (docs/profile.md has it).")
def command(name: str, table: bool) -> None:
    """Print the JSON Schema (2020-12) of a profile, a driver node, golden/rules.yaml or a capture's sidecar, for an editor that checks YAML.

    The files themselves are checked by nvparity, with more than a schema can say.
    """
    if not table:
        click.echo(json.dumps(editor.schema(name), indent=1, ensure_ascii=False))
        return
    if name != "profile":
        raise click.UsageError("--table is for profiles only")
    from harness.reports import keytable

    click.echo(keytable.table(), nl=False)
