"""What the commands of ``nvparity ctl`` share: options before and after the command, refusals, what is said at the end."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import named, tell
from harness.stages.overriding import document, places
from harness.stores.workspace import Workspace
from harness.words.errors import InputError, MissingError, NvparityError, StorageError, UsageError

if TYPE_CHECKING:
    from harness.stages.overriding.document import Overrides
    from harness.stages.overriding.nodes import Node

_OPTIONS = (
    click.option("--gpu", metavar="GPU", callback=named, help="Index, UUID of the profile, or all."),
    click.option("--state", metavar="FILE", type=click.Path(), callback=named, help="The state to change (of `nvparity run --state FILE`, say)."),
    click.option("--file", "file", metavar="DOC", type=click.Path(), callback=named, help="The override document; the state lies beside it."),
    click.option("--config", metavar="PROFILE", callback=named, help="The profile that is served: a file, an id or a short name."),
    click.option("--root", metavar="DIR", type=click.Path(), callback=named, help="Work on this folder's profiles/."),
    click.option("--dry-run", is_flag=True, default=None, help="Check and say what would be done; write nothing."),
    click.option("--json", "as_json", is_flag=True, default=None, help="Print the result as JSON."),
)


def _seconds(context: click.Context, option: click.Parameter, value: float) -> float:
    """Refuses a number that is none, which lies in every range."""
    if math.isnan(value):
        raise click.BadParameter("nan is no number of seconds", context, option)
    return value


interval = click.option("--interval", metavar="S", type=click.FloatRange(0.05, 3600), callback=_seconds, default=1.0, show_default=True,
                        help="Seconds between looks.")  # fmt: skip


def options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Every option that a command takes before and after its name."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@dataclass(frozen=True)
class Call:
    """The options of one command line: those after the command's name win over those before it."""

    command: str
    gpu: str | None
    asked: places.Asked
    root: str | None
    dry_run: bool
    as_json: bool

    @property
    def space(self) -> Workspace:
        """The workspace whose profiles and driver nodes are used."""
        return Workspace.nearby(self.root)

    def places(self) -> places.Places:
        """Where state, image and profile are; what is named and not there is said on standard error."""
        found = places.find(self.asked, os.environ, self.space)
        for line in found.warnings:
            tell(line)
        return found

    def node(self) -> Node:
        """The node to work on."""
        from harness.stages.overriding import nodes

        return nodes.open_node(self.places(), self.space)

    def target(self, node: Node) -> int | None:
        """The GPU that ``--gpu`` names, None for all of them; UsageError without it."""
        if self.gpu is None:
            raise UsageError(f"{self.command}: --gpu is missing: an index, a UUID or all")
        return node.target(self.gpu)

    def of_node(self) -> None:
        """UsageError for ``--gpu``: what the command does is of the whole node."""
        if self.gpu is not None:
            raise UsageError(f"{self.command}: is of the node, it takes no --gpu")


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command of the group: ``function(call, ...)`` with its own arguments; what it refuses ends with 2, what cannot be read or written with 1."""

    @options
    @functools.wraps(function)
    def run(*arguments: Any, **own: Any) -> Any:
        context = click.get_current_context()
        before = context.obj or {}
        names = ("gpu", "state", "file", "config", "root", "dry_run", "as_json")
        chosen = {name: before.get(name) if (value := own.pop(name)) is None else value for name in names}
        asked = places.Asked(chosen["state"], chosen["file"], chosen["config"])
        call = Call(context.info_name or "", chosen["gpu"], asked, chosen["root"], bool(chosen["dry_run"]), bool(chosen["as_json"]))
        with refusals():
            return function(call, *arguments, **own)

    return run


@contextlib.contextmanager
def refusals() -> Iterator[None]:
    """Errors of input as refusals (2), of files as trouble with them (1): the exit statuses of this group (ledger X)."""
    from mocklib.state import StateError

    try:
        yield
    except InputError as error:
        raise UsageError(str(error)) from error
    except (MissingError, StateError) as error:
        raise StorageError(str(error)) from error
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else "output"
        raise StorageError(f"{where}: {error.strerror or error}") from error


def name_of(target: int | None) -> str:
    """What was changed, in words."""
    return "all GPUs" if target is None else f"GPU {target}"


def done(call: Call, target: str, changes: object = None) -> None:
    """Say that it is done; of a dry run, what would have been written."""
    if call.as_json:
        said = {"version": 1, "command": call.command, "target": target, "dry_run": call.dry_run, "changes": changes}
        click.echo(json.dumps(said, ensure_ascii=False))
        return
    if call.dry_run:
        click.echo(f"dry run: {call.command} would be applied to {target}")
        if changes:
            click.echo(document.yaml_of(changes), nl=False)
        return
    click.echo(f"ok: {call.command} applied to {target}")


def said(call: Call, told: dict[str, Any], text: str) -> None:
    """Print what a command was asked to say: ``text``, or the object ``told``."""
    click.echo(json.dumps({"version": 1, "command": call.command, **told}, ensure_ascii=False) if call.as_json else text)


def refused(name: str, error: NvparityError | click.ClickException) -> None:
    """Print a refusal as an object; what it says goes to standard error, too."""
    message, status = (error.format_message(), 2) if isinstance(error, click.ClickException) else (str(error), error.exit_status)
    click.echo(json.dumps({"version": 1, "command": name, "error": message, "exit_status": status}))


def put(call: Call, node: Node, target: int | None, written: Overrides) -> None:
    """Say what was put in force on the GPUs of ``target``, and which functions do not follow it."""
    from harness.stages.overriding import putting

    for line in (*putting.as_recorded(node, written), *putting.passed_over(node, written)):
        tell(line)
    done(call, name_of(target), written.plain())
