"""``nvparity record``: a node with a driver becomes capture, profile and golden."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click

from harness.cli import options
from harness.stages import smi
from harness.stages.importing import sources
from harness.stages.recording import following, pipeline, sampling
from harness.stages.recording.taking import Node
from harness.stages.recording.viewing import Camera
from harness.stores.workspace import Workspace, check_id
from harness.tables import views
from harness.words.errors import EXIT_GATE, EXIT_PARITY, MissingError


@click.command("record")
@click.option("--id", "name", metavar="ID", help="Name of the capture: letters, digits, '.', '_', '-' (default: <board>-x<count>_<driver>).")
@click.option("--mode", type=click.Choice(pipeline.MODES), default=pipeline.NEW, show_default=True, help="What becomes of an ID that is there.")
@click.option("--views", "wanted", metavar="NAMES", default=views.ALL, show_default=True, help="Names between commas, all, or none: answers alone.")
@click.option("--smi", "binary", metavar="PATH", type=click.Path(), help="The node's nvidia-smi (default: the first on PATH).")
@click.option("--library", metavar="PATH", type=click.Path(), help="The node's libnvidia-ml.so.1 (default: the one that the loader finds).")
@click.option("--interval", metavar="S", type=float, help="Then sample what moves, every S seconds: a time line (with --count).")
@click.option("--count", metavar="N", type=int, help="Samples of the time line, the answers themselves being the first.")
@click.option("--source", metavar="TEXT", help="Where the node stands: repository=... licence=..., or words.")
@options.ci
@options.root
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON instead of in words.")
def command(
    name: str | None,
    mode: str,
    wanted: str,
    binary: str | None,
    library: str | None,
    interval: float | None,
    count: int | None,
    source: str | None,
    root: str | None,
    *,
    ci: bool | None,
    as_json: bool,
) -> int:
    """Record this node: every view of nvidia-smi and the answer of every getter of NVML. Nothing is set, reset, created or destroyed.

    The recording is a capture, a profile and a golden in DIR, which is made where it is not there; `nvparity import DIR` takes it over elsewhere.
    Identifiers are replaced before anything is written.

    `-q -x` and `-L` must be whole. What became of any other view is recorded and named. Then the mock of the recording is rendered and asked: exit
    status 0 says that it prints and answers what the node did.

    Modes: new takes the next free id (one given with --id must be free); once leaves a recording that is there alone; what refresh finds to differ is
    pending until `nvparity review`; none asks and reports everything and writes nothing.

    --interval 1 --count 600 keeps how readings move for ten minutes; Ctrl-C ends that with what was taken.
    """
    from harness.cli import consoles
    from harness.reports import recorded

    chosen = None if name is None else check_id(name)
    listed = views.select(wanted)
    plan = sampling.plan(interval, count)
    with _folder(root):
        space = Workspace.find(root)
        if mode != pipeline.NOTHING:
            options.refuse_in_ci(ci, space, "record", f"with --no-ci, or with --mode {pipeline.NOTHING}, which reports alone")
        node = _node(Path(binary) if binary else None, Path(library) if library else None, with_views=bool(listed))
        if plan is not None:
            node = replace(node, follow=lambda answers: following.follow(Path(library) if library else smi.LIBRARY_NAME, answers, plan, space.root))
        done = pipeline.run(space, node, listed, chosen, mode, sources.parse(source))
    if as_json:
        options.emit("-", lambda: recorded.to_json(done))
    else:
        recorded.show(done, space.root, consoles.Whole(sys.stdout))
    return EXIT_PARITY if done.made is None or done.made.parity else EXIT_GATE


@contextlib.contextmanager
def _folder(root: str | None) -> Iterator[None]:
    """The folder ``root``, made where nothing has its name; one in which nothing was recorded then goes again."""
    made = Path(root) if root is not None and not os.path.lexists(root) else None
    if made is not None:
        try:
            made.mkdir(parents=True)
        except OSError as error:
            raise MissingError(f"{root}: cannot be made: {error.strerror}") from error
    try:
        yield
    finally:
        if made is not None:
            with contextlib.suppress(OSError):  # not empty: the recording is in it
                made.rmdir()


def _node(binary: Path | None, library: Path | None, *, with_views: bool) -> Node:
    """This node, with its own clock and environment."""
    from harness.stages.recording import asking

    def clock() -> datetime:
        return datetime.now(UTC)

    camera = None
    if with_views:
        try:
            camera = Camera(smi.node_smi(binary, os.environ), os.environ, clock, library)
        except MissingError as error:
            raise MissingError(f"{error}; --views none records the answers alone") from None
    return Node(lambda: asking.ask(library), camera, clock, os.geteuid() == 0)
