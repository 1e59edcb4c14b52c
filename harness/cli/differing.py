"""``nvparity diff``: two captures, two profiles, or a capture and its render."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from harness.cli import options
from harness.reports import differences
from harness.stages.compare import check, difference, rules, sides
from harness.stores.workspace import Workspace
from harness.words.errors import EXIT_GATE, EXIT_PARITY

if TYPE_CHECKING:
    from harness.stages.compare.sides import Side


@click.command("diff")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--volatile", is_flag=True, help="Tell what moves by itself (timestamp, and what volatile rules name), too.")
@options.rules_file
@options.root
@options.json_file
def command(one: str, other: str, volatile: bool, rules_file: str | None, root: str | None, json_file: str | None) -> int:
    """Compare A and B, reading by reading: what changed, is missing in B, is invented by B, out of order, another state, or renamed.

    \b
    A and B are each one of
      ID            a capture (an id, a short name, or a board)
      FILE          what nvidia-smi -q -x or -L wrote ('-': standard input), or a profile (.yaml)
      render:ID     what the mock library prints for a profile
      profile:ID    the profile's keys

    Exit status 0: equal; 1: something differs; 2 and more: an error.
    """  # noqa: D301 - click reads the backspace
    space = Workspace.nearby(root)
    first, second = _sides(space, one, other)
    ruled = rules.of(space, rules_file)
    found = difference.compare(first, second, ruled, check.VERSION, volatile=volatile)
    if json_file != "-":
        for line in differences.lines(first, second, found):
            click.echo(line)
    options.emit(json_file, lambda: differences.document(first, second, found))
    return EXIT_PARITY if all(each.equal for each in found) else EXIT_GATE


def _sides(space: Workspace, one: str, other: str) -> tuple[Side, Side]:
    """Both sides; a render is made of the views that the side beside it has."""
    if one.startswith(f"{sides.RENDER}:"):
        second = sides.read(space, other)
        return sides.read(space, one, frozenset(second.views)), second
    first = sides.read(space, one)
    return first, sides.read(space, other, frozenset(first.views))
