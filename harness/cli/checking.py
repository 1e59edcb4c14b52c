"""``nvparity check``: the gate."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from rich.console import Console

from harness.cli import consoles, living, options
from harness.reports import document, junit, progress, table
from harness.stages.compare import by_binary, check, drift, rules, ruling
from harness.stages.importing import staging
from harness.stores import pending
from harness.stores.workspace import Workspace
from harness.words.errors import EXIT_GATE, EXIT_PARITY, GateError, MissingError, NothingError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stages.compare import Case


@click.command("check")
@click.argument("names", metavar="[ID]...", nargs=-1)
@options.root
@options.renderer
@click.option("--driver", hidden=True)  # known so that its refusal says why
@options.rules_file
@options.ci
@options.json_file
@options.junit_file
@living.flag
@living.smi
@living.library
@living.raw
def command(
    names: tuple[str, ...],
    root: str | None,
    renderer: str,
    driver: str | None,
    rules_file: str | None,
    json_file: str | None,
    junit_file: str | None,
    smi: str | None,
    library: str | None,
    *,
    ci: bool | None,
    on_node: bool,
    raw: bool,
) -> int:
    """Render each capture (all of them without ID) from the mock library and compare it with what the real node printed.

    ID is an id, a short name, or a board for all its captures. Hashes decide; where they differ, every difference is listed. The answers of a
    recording are compared call by call. Exit status 0 is parity: no finding left.

    Without ID, files that belong to no capture fail the gate too. What is pending is counted and never compared; in CI it fails the gate. A rule
    (golden/rules.yaml) that is expired or does nothing fails the gate by name. Outside a workspace the boards shipped with nvparity are checked.

    With --live no capture is read: on a node with a driver, what we print over its own library is held against what its own nvidia-smi prints before
    and after. What moved between these two is set aside; all else that differs is a fault of our rows or layouts. Nothing is stored.

    With --renderer smi a real nvidia-smi prints each capture of its branch, served as the binary's own version. Captures of other branches are told
    and not compared. What its release prints otherwise than the capture's is for rules of kind binary to name.
    """
    _apart(json_file, junit_file)
    if driver is not None:
        raise UsageError("--driver: a profile served as another driver has no original; nvparity render --driver prints it, and no gate counts it")
    if on_node:
        living.alone(names, rules_file, ci, renderer)
        return living.check(root, smi, library, json_file, junit_file, raw=raw)
    living.refuse(smi if renderer == "builtin" else None, library, raw=raw)
    space = _workspace(root)
    _whole(space)
    ruled = rules.of(space, rules_file)
    cases = _cases(space, names, renderer, smi, ruled)
    orphans = [] if names else drift.of_workspace(space)
    return _tell(space, cases, ruling.uses(ruled, cases, space.ids(), check.VERSION), orphans, (json_file, junit_file), ci=options.in_ci(ci))


def _tell(
    space: Workspace, cases: list[Case], uses: list[ruling.Use], orphans: list[str], files: tuple[str | None, str | None], *, ci: bool
) -> int:
    """Write the table, and the reports that ``files`` name (JSON, JUnit); the exit status."""
    waiting = pending.ids(space)
    if ci:
        orphans += [f"{pending.place(name)}: pending; accept or reject it" for name in waiting]
    stream = sys.stderr if "-" in files else sys.stdout
    table.check(cases, consoles.Whole(stream), orphans, uses, consoles.width_of(stream), waiting)
    options.emit(files[0], lambda: document.check(cases, orphans, uses, waiting))
    if files[1] is not None:
        options.deliver(files[1], junit.check(cases, orphans, uses))
    good = all(case.parity for case in cases) and not orphans and not any(use.problem for use in uses)
    return EXIT_PARITY if good else EXIT_GATE


def _cases(space: Workspace, names: tuple[str, ...], renderer: str, smi: str | None, ruled: list[rules.Rule]) -> list[Case]:
    """The cases of the captures chosen; NothingError where none is, or none of them can be compared."""
    chosen = space.select(names)
    if not chosen:
        raise NothingError(f"{space.captures}: no captures; nvparity import makes one")
    bar = Console(stderr=True)

    def watch(done: Iterable[list[Case]]) -> Iterable[list[Case]]:
        return progress.watched(done, len(chosen), bar, "checking", lambda of: of[0].id)

    if renderer == "builtin":
        return check.check(space, chosen, renderer, ruled, watch)
    cases = by_binary.cases(space, chosen, options.binaries_at(smi), ruled, watch)
    if all(case.skipped for case in cases):
        raise NothingError(table.skipped(cases))
    return cases


def _apart(json_file: str | None, junit_file: str | None) -> None:
    """Raise UsageError for two reports that would go into one file."""
    if json_file is not None and json_file == junit_file:
        raise UsageError(f"--json and --junit cannot both go to {'standard output' if json_file == '-' else json_file}")


def _whole(space: Workspace) -> None:
    """Raise GateError where a command that was killed has left files half done."""
    if halves := staging.interrupted(space):
        raise GateError(f"{', '.join(halves)}: half done by a command that was killed; nvparity pending takes it back")


def _workspace(root: str | None) -> Workspace:
    """The workspace at hand; outside any, the shipped one, which is said: who meant another folder would take its parity for theirs."""
    try:
        return Workspace.find(root)
    except MissingError:
        said = "no folder from here upward holds captures/ and golden/: checking the boards shipped with nvparity (--root DIR names yours)"
        click.echo(said, err=True)
        return Workspace.nearby(root)
