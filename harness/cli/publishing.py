"""``nvparity schema``: JSON Schema for editors, the table of keys and the table of getters."""

from __future__ import annotations

import json

import click

from harness.stores.schema import editor

GETTERS = "getters"


@click.command("schema")
@click.argument("name", metavar="[profile|driver|rules|sidecar|getters]", type=click.Choice((*editor.FILES, GETTERS)), default="profile")
@click.option("--table", is_flag=True, help="Print the keys of a profile, or the list of getters, as a Markdown table instead (docs has both).")
def command(name: str, table: bool) -> None:
    """Print the JSON Schema (2020-12) of a profile, a driver node, golden/rules.yaml or a capture's sidecar, for an editor that checks YAML.

    The files themselves are checked by nvparity, with more than a schema can say.  `getters --table` prints what a recording asks of NVML.
    """
    if name == GETTERS:
        if not table:
            raise click.UsageError("the list of getters is part of nvparity and has no schema; --table prints it")
        from harness.reports import getters

        click.echo(getters.page(), nl=False)
        return
    if not table:
        click.echo(json.dumps(editor.schema(name), indent=1, ensure_ascii=False))
        return
    if name != "profile":
        raise click.UsageError("--table is for profiles and getters only")
    from harness.reports import keytable

    click.echo(keytable.table(), nl=False)
