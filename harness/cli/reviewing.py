"""``nvparity review``: pending proposals one after the other."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from harness.cli import options
from harness.reports import reviewed
from harness.stages.importing import staging
from harness.stages.review import deciding, differing
from harness.stores import pending
from harness.stores.workspace import Workspace
from harness.words.errors import MissingError, NothingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROMPT = "[a]ccept, [r]eject, [s]kip, [q]uit? "
ACCEPTED, REJECTED, SKIPPED = "accepted", "rejected", "skipped"
_COLOURS = {"    +": "green", "    -": "red", "    ~": "yellow"}


@click.command("review")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.by
@options.ci
@options.root
def command(names: tuple[str, ...], by: str | None, root: str | None, *, ci: bool | None) -> None:
    """Walk through what is pending (all of it without ID): its differences are shown, a key decides.

    a accepts, r asks for the reason and rejects, s leaves it pending, q ends. It needs a terminal; without one, use nvparity pending, accept
    and reject.
    """
    space = Workspace.find(root)
    options.refuse_in_ci(ci, space, "review")
    staging.sweep(space)  # a killed command may have taken a proposal away half
    chosen = pending.select(space, names)
    if not chosen:
        raise NothingError("nothing is pending")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        ways = "; ".join(f"nvparity accept {name}, or nvparity reject {name} --reason TEXT" for name in chosen)
        raise MissingError(f"a review needs a terminal; without one: {ways}")
    console = Console(soft_wrap=True, highlight=False)
    walk(space, chosen, options.person(by), console, lambda prompt: console.input(prompt, markup=False))


def walk(space: Workspace, names: Sequence[str], by: str, console: Console, ask: Callable[[str], str]) -> dict[str, int]:
    """Show each proposal on ``console`` and do what ``ask(prompt)`` answers; how many were accepted, rejected and skipped.

    The end of the answers (EOFError) is q.
    """
    done = {ACCEPTED: 0, REJECTED: 0, SKIPPED: 0}
    for number, name in enumerate(names, 1):
        _show(space, name, f"{number}/{len(names)}", console)
        answer = _answer(ask)
        if answer == "q":
            done[SKIPPED] += len(names) - number + 1
            break
        done[_decide(space, name, by, answer, ask)] += 1
    console.print(Text(", ".join(f"{count} {word}" for word, count in done.items())))
    return done


def _show(space: Workspace, name: str, counter: str, console: Console) -> None:
    proposal = pending.load(space, name)
    first, *more = reviewed.heading(proposal, deciding.stale(space, proposal), deciding.rejected_before(space, proposal))
    console.print(Text(f"{counter} {first}", style="bold"))
    for line in more:
        console.print(Text(line, style="red"))
    for change in differing.of(space, proposal):
        console.print(Text(reviewed.summary(change)))
        for line in reviewed.diff(change):
            console.print(Text(line, style=_COLOURS.get(line[:5], "")))


def _answer(ask: Callable[[str], str]) -> str:
    """The first letter of an answer that is one of the four."""
    while True:
        try:
            answer = ask(PROMPT).strip().lower()[:1]
        except EOFError:
            return "q"
        if answer and answer in "arsq":
            return answer


def _decide(space: Workspace, name: str, by: str, answer: str, ask: Callable[[str], str]) -> str:
    if answer == "a":
        deciding.accept(space, [name], by)
        return ACCEPTED
    if answer == "r":
        reason = ask("reason (empty: skip): ").strip()
        if reason:
            deciding.reject(space, [name], by, reason)
            return REJECTED
    return SKIPPED
