"""Import: read, join, scrub, learn the driver, derive, write, prove."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages import derive_node, derive_node_file
from harness.stages.compare import baselines, between, check, rules, sides, succession
from harness.stages.importing import doors, interchange, lacking, making, naming, neighbours, selecting, source, sources, staging
from harness.stages.importing import given as reading
from harness.stages.importing.making import Made
from harness.stages.recording import cleaning
from harness.stages.render import serving
from harness.stages.review import proposing
from harness.stores import captures, goldens, pending
from harness.tables import drivers
from harness.tables.shipped import shipped
from harness.text import joining
from harness.text.document import EDITED
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST
from harness.words.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from harness.stages.compare.case import Case
    from harness.stages.compare.sides import Side
    from harness.stages.compare.succession import Succession
    from harness.stages.derive_node import Learnt
    from harness.stages.importing.doors import Content
    from harness.stages.importing.given import Given
    from harness.stores.workspace import Workspace
    from harness.text.outline import Queried

ATTEMPTS = 8
"""How often an import begins anew because another one changed the driver nodes meanwhile."""


@dataclass(frozen=True)
class Imported:
    """What an import made.

    ``readings``: leaves by kind (value, state, literal, list, unmodelled, redacted, deferred) and ``elements``, their sum; ``states``: texts that
    stand for states -> how often; ``unmodelled``: path -> text, ``reasons``: path -> why; ``deferrals``: reason -> how many elements are not
    served yet; ``scrubbed``: family of identifiers -> distinct values replaced; ``learnt``: the driver node written, None when the version's own
    node explains everything;
    ``residue``: lines that still look like identifiers; ``cases``: the proof, one a view; ``written``: the files, or, when it is ``pending``,
    the folder of the proposal; ``compared``: what became of the elements of an earlier capture, where one was named; ``explained`` and ``residual``:
    of a recording, as in `Made`.
    """

    id: str
    kind: str
    driver: str | None
    readings: dict[str, int]
    states: dict[str, int]
    unmodelled: dict[str, str]
    scrubbed: dict[str, int]
    learnt: Learnt | None
    residue: list[str]
    cases: list[Case]
    written: list[Path]
    notes: tuple[str, ...] = field(default=())
    pending: bool = False
    compared: Succession | None = None
    deferrals: dict[str, int] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    explained: int = 0
    residual: Mapping[str, int] = field(default_factory=dict)

    @property
    def parity(self) -> bool:
        """Whether every view renders as the original was."""
        return all(case.parity for case in self.cases)


class KnownError(InputError):
    """The files are those of a capture that the workspace has, or that is pending in it: ``id``."""

    def __init__(self, known: str, how: str = "imported") -> None:
        super().__init__(f"already {how} as {known}: the files have the same hashes; give --id to keep a second copy")
        self.id = known


def run(
    space: Workspace,
    files: list[Path],
    name: str | None = None,
    given_source: str | None = None,
    *,
    edited: bool = False,
    propose: bool = False,
    earlier: Side | None = None,
) -> Imported:
    """Import ``files`` (a query, a list, or both of one node; ``-`` is standard input) into ``space``: `run_contents` with what they hold.

    ``given_source``: the words of ``--source``.  Raises InputError for files that cannot be read or hold no capture, UsageError for words
    that are no text.
    """
    return run_contents(space, doors.read_all(files), name, sources.parse(given_source), edited=edited, propose=propose, earlier=earlier)


def run_contents(
    space: Workspace,
    contents: list[Content],
    name: str | None,
    origin: captures.Source,
    *,
    edited: bool = False,
    propose: bool = False,
    earlier: Side | None = None,
) -> Imported:
    """Import ``contents`` (a query, a list, or both of one node), which come from ``origin``, into ``space`` as ``name`` (proposed when None).

    Nothing is written before everything is made and rendered; then it is renamed into place, or, where a capture of that ``name`` is there
    already or with ``propose``, laid down as pending.  Raises InputError for contents that are no captures, disagree, or give what is there
    already, KnownError for ones that were imported under a proposed id; UsageError for more contents than
    views; GateError for a capture whose driver node would no longer print another capture of the workspace.
    """
    given = interchange.read(contents, edited=edited) or reading.read(contents, edited=edited)
    return run_given(space, given, name, origin, propose=propose, earlier=earlier)


def run_given(
    space: Workspace, given: Given, name: str | None, origin: captures.Source, *, propose: bool = False, earlier: Side | None = None, new: bool = True
) -> Imported:
    """As `run_contents`, of what is read already; without ``new`` the same files may come in under another proposed id.

    Raises UsageError for answers alone that are to be compared with an ``earlier`` capture.
    """
    if earlier is not None and not given.texts:
        raise UsageError("--compare follows what nvidia-smi prints, and the import has answers alone; leave it out")
    for _ in range(ATTEMPTS - 1):
        with contextlib.suppress(staging.MovedError):
            return _run(space, given, name, origin, propose=propose, earlier=earlier, new=new)
    return _run(space, given, name, origin, propose=propose, earlier=earlier, new=new)


def propose_id(space: Workspace, given: Given, taken: Collection[str]) -> str:
    """The id of a capture that has none given: the first that is not ``taken``."""
    return naming.propose(given.products, given.driver, _products(space), taken)


def _run(space: Workspace, given: Given, name: str | None, origin: captures.Source, *, propose: bool, earlier: Side | None, new: bool) -> Imported:
    """One attempt; MovedError where another import was quicker to change the driver nodes that this one began with, or to take its id."""
    staging.sweep(space)
    if name is None and new:
        check_new(space, given)
    chosen = name or propose_id(space, given, staging.taken(space))
    again = captures.exists(space.captures, chosen)
    if not again:
        staging.check_free(space, chosen)
    with staging.stage(space) as staged:
        given = selecting.settle(given, drivers.load(staged.root))
        if given.kind != EDITED:
            between.same_node(given.texts, given.names, drivers.load(staged.root))
        learnt = _learn(staged, space, given)
        made = _make(staged, given, chosen)
        notes = (*_notes(given), *made.notes, *([] if given.query is None else joining.missing(given.query, VIEW_LIST in given.texts)))
        _write(staged, given, chosen, _origin(space, chosen, origin, again=again), notes)
        if given.kind != EDITED:
            _baseline(staged, given, chosen)
        cases = check.check(staged, [chosen], ruled=rules.of(space))
        compared = None if earlier is None else succession.follow(earlier, sides.of_texts(staged, chosen, given.texts))
        node = None if learnt is None else learnt.version
        neighbours.hold(staged, space, [chosen], node)
        if again or propose:
            findings = sum(len(case.findings) for case in cases)
            by = "import" if given.recorded is None or given.recorded.taken is None else "record"
            written = proposing.reimport(staged, space, chosen, node, findings, lambda: _check_name(space, name, chosen), by)
        else:
            written = _settle(staged, space, name, chosen, node)
    return Imported(
        id=chosen,
        kind=given.kind,
        driver=given.driver,
        readings=made.readings,
        states=made.states,
        unmodelled=made.unmodelled,
        scrubbed={family: count for family, count in given.report.items() if count},
        learnt=learnt,
        residue=[f"line {left.line}: {left.family}: {left.text}" for data in given.kept().values() for left in cleaning.residue(data)],
        cases=cases,
        written=written,
        pending=again or propose,
        compared=compared,
        notes=(*notes, *_doctype(space, given), *lacking.notes(given, drivers.load(space.root))),
        deferrals=made.deferrals,
        reasons=made.reasons,
        explained=made.explained,
        residual=made.residual,
    )


def _check_name(space: Workspace, name: str | None, chosen: str) -> None:
    """MovedError where another import took the id that was ``chosen`` for want of a ``name``: it may be the same capture, or need the next id."""
    if name is None and chosen in staging.taken(space):
        raise staging.MovedError(f"{chosen}: another import took that id meanwhile; nothing was written, do it again")


def _settle(staged: Workspace, space: Workspace, name: str | None, chosen: str, node: str | None) -> list[Path]:
    """Rename a new capture and all that belongs to it into place; the files, without the list of sources, which changes with each."""
    index = Path(space.captures.name, sources.NAME)
    places = [index, *staging.places(space, chosen)]
    if node is not None:
        places.insert(0, Path("profiles", "drivers", f"{node}.yaml"))

    def ready() -> None:
        _check_name(space, name, chosen)
        staging.check_free(space, chosen)
        sources.write(space, staged)

    return [path for path in staging.settle(staged, space, places, ready=ready) if path != space.root / index]


def _origin(space: Workspace, name: str, given: captures.Source, *, again: bool) -> captures.Source:
    """Where a capture comes from: as ``given``; where nothing is, as the capture that is there says."""
    if again and given == captures.Source():
        return captures.load_sidecar(space.captures / name / captures.SIDECAR).source
    return given


def check_new(space: Workspace, given: Given) -> None:
    """The same files under a second proposed name would be an id twice; a name given with ``--id`` says that this is wanted."""
    hashes = given.raw
    for stored in [*sorted(space.captures.glob("*/sidecar.yaml")), *sorted(space.root.glob(f"{pending.FOLDER}/*/captures/*/sidecar.yaml"))]:
        try:
            if not all(digest.encode() in stored.read_bytes() for digest in hashes.values()):
                continue  # no need to understand it
            sidecar = captures.load_sidecar(stored)
        except (InputError, OSError):
            continue  # the check says what is wrong with it
        if hashes.items() <= {view: one.raw for view, one in sidecar.views.items()}.items():
            raise KnownError(sidecar.id, "imported" if stored.parent.parent == space.captures else "pending")


def _make(staged: Workspace, given: Given, name: str) -> Made:
    """Derive the profile and write it; one that cannot be made from a capture changed by hand is left out, and a note says why."""
    try:
        due = making.due(given.texts, name, staged.root, given.recorded)
    except InputError as error:
        raise InputError(f"{next(iter(given.names.values()))}: {error}") from None
    if isinstance(due, str):
        leaves = [leaf for text in list(given.texts.values())[:1] for leaf in source.leaves(text)]
        return Made("", {"elements": len(leaves), "redacted": len(source.redacted(leaves))}, {}, {}, {}, (f"no profile: {due}",))
    goldens.write_whole(staged.profile_path(name), due.text.encode())
    return due


def _doctype(space: Workspace, given: Given) -> list[str]:
    """A DTD that no other driver of the tree names: nothing hangs on it, but whoever gave the file should know."""
    named = None if given.query is None else given.query.doctype
    tree = drivers.load(space.root)
    others = {tree.resolve(version).dtd for version in tree.versions() if version.text != given.driver}
    return (
        []
        if named is None or named in others
        else [f"{named} is no DTD that another driver names: elements decide what they are, it is printed as it is"]
    )


def _products(space: Workspace) -> dict[str, str]:
    return {**naming.products(shipped("profiles") / "boards.yaml"), **naming.products(space.profiles / "boards.yaml")}


def _learn(staged: Workspace, space: Workspace, given: Given) -> Learnt | None:
    """Write the node of a version that the tree does not fully explain; whether a version is told at all is for the profile to say."""
    learnt = None
    for view, text in given.texts.items():
        if not isinstance(text, Listing) and (driver := source.driver_of(text)) is not None:
            learnt = _learn_view(staged, space, view, text, driver) or learnt
    return learnt


def _learn_view(staged: Workspace, space: Workspace, view: str, text: Queried, driver: str) -> Learnt | None:
    """What one view teaches of its driver."""
    tree = drivers.load(staged.root)
    learnt = derive_node.learn(text, tree.resolve(driver), tree)
    if learnt is not None and learnt.gains and (others := neighbours.documents(space, learnt.version, view)):
        learnt = derive_node.learn(text, tree.resolve(driver), tree, others)
    if learnt is not None:
        target = staged.profiles / "drivers" / f"{learnt.version}.yaml"
        known = next((path for path in (target, shipped("profiles", "drivers", target.name)) if path.is_file()), None)
        made = derive_node_file.rewrite(known.read_text("utf-8"), learnt.spec) if known is not None and learnt.gains else learnt.text
        goldens.write_whole(target, made.encode())
    return learnt


def _write(staged: Workspace, given: Given, name: str, origin: captures.Source, notes: tuple[str, ...]) -> None:
    """Write the capture and its golden."""
    kind = given.kind
    hashes, extra = given.hashes(), given.recorded
    taken = None if extra is None else extra.taken
    views = {view: captures.View(part.raw, part.scrubbed, len(given.scrubbed[view])) for view, part in hashes.items()}
    counts = {family: count for family, count in given.report.items() if count}
    sidecar = captures.Sidecar(name, kind, given.driver, views, origin, counts, notes, taken)
    beside = () if extra is None else (extra.answers, extra.runs, extra.timeline)
    captures.write(staged.captures, captures.Capture(sidecar, dict(given.texts), *beside))
    by, why = ("import", "taken from the bytes of the file when it was imported") if taken is None else ("record", "taken as the node gave it")
    goldens.write(staged.golden, goldens.Golden(name, kind, hashes, by, why, recorded=taken is not None))


def _baseline(staged: Workspace, given: Given, name: str) -> None:
    """Accept the render of `-L` where the capture has the query alone: name and UUID, which the query's golden holds to the hardware."""
    if given.queried is None or VIEW_LIST in given.texts:
        return
    rendered = serving.render(staged.profile_path(name), staged, VIEW_LIST)
    why = "rendered when the capture was imported, which has no such view"
    baselines.write(staged.golden, baselines.Baselines(name, {VIEW_LIST: baselines.digest(rendered.data)}, "import", why))


def _notes(given: Given) -> tuple[str, ...]:
    return (*given.packed, *(f"line {note.line}: {note.what}" for text in given.texts.values() for note in text.notes))
