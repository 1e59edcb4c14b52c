"""A folder of captures at once: what its files are, which belong together, and their imports one after another.

Files are told apart by their bytes and imported in an order that hangs on their content alone, so neither names nor places decide an id.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.stages.importing import bundle, doors, given, interchange, manifest, naming, pipeline, source, staging
from harness.stages.importing.given import Given
from harness.stores import golden_reader
from harness.stores.captures import Source as Origin
from harness.text import dcgm
from harness.text.document import Document
from harness.text.listing import Listing
from harness.text.outline import Outline
from harness.text.transcript import VIEW_LIST
from harness.words.errors import EXIT_GATE, InputError, NvparityError, did_you_mean
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from harness.stages.importing.doors import Content
    from harness.stages.importing.pipeline import Imported
    from harness.stages.importing.source import Source
    from harness.stores.workspace import Workspace

IMPORTED, KNOWN, REFUSED, SKIPPED = "imported", "already there", "refused", "skipped"
OUTCOMES = (IMPORTED, KNOWN, REFUSED, SKIPPED)


@dataclass(frozen=True)
class Outcome:
    """What became of ``files``, paths below the folder: one of `OUTCOMES`, the capture's ``id`` and the ``reason``, each empty where there is none.

    ``made``: the import; ``status``: the exit status it would have alone.
    """

    files: tuple[str, ...]
    outcome: str
    id: str = ""
    reason: str = ""
    status: int = 0
    made: Imported | None = None


@dataclass(frozen=True)
class _File:
    """One file that is a capture or an answers document: its ``path`` below the folder, what it holds, what that says, where it comes from."""

    path: str
    content: Content
    text: Source | Given
    sha256: str
    origin: Origin
    edited: bool


@dataclass(frozen=True)
class Plan:
    """What a folder holds: ``groups`` of files to import together, in the order of import; ``copies``: the files of the same bytes, by the path
    of the one that is imported; the ``settled`` rest.
    """

    groups: tuple[tuple[_File, ...], ...]
    copies: dict[str, list[str]]
    settled: tuple[Outcome, ...]

    @property
    def total(self) -> int:
        """How many outcomes `run` gives."""
        return len(self.groups) + sum(map(len, self.copies.values()))


def plan(folder: Path, origin: Origin, *, edited: bool = False) -> Plan:
    """The plan for ``folder``; ``origin`` and ``edited`` are what holds for every file that its MANIFEST.tsv says nothing of.

    Raises InputError for a folder that cannot be read and for a MANIFEST.tsv that is none.
    """
    rows = manifest.load(folder)
    files: list[_File] = []
    settled: list[Outcome] = []
    names = list(_names(folder))
    for name in names:
        if name == manifest.NAME:
            continue
        row = rows.get(name)
        found = _look(folder, name, row, *((origin, edited) if row is None else (row.source, row.edited or edited)))
        if isinstance(found, Outcome):
            settled.append(found)
        else:
            files += found
    for name in (name for name in rows if name not in names):
        reason = f"{manifest.NAME}:{rows[name].line} names it, the folder has it not{did_you_mean(name, names)}"
        settled.append(Outcome((name,), SKIPPED, reason=reason))
    first: dict[str, _File] = {}
    copies: dict[str, list[str]] = {}
    for file in sorted(files, key=lambda file: (file.edited, file.path)):
        if first.setdefault(file.sha256, file) is not file:
            copies.setdefault(first[file.sha256].path, []).append(file.path)
    return Plan(tuple(sorted(_groups(list(first.values())), key=_order)), copies, tuple(settled))


def recordings(space: Workspace, folder: Path, names: list[str], *, propose: bool = False) -> Iterator[Outcome]:
    """Take the recordings ``names`` of the bundle ``folder`` over into ``space``, or ``propose`` them, each whole or not at all."""
    for name in names:
        files = (f"{space.captures.name}/{name}",)
        try:
            given, origin = bundle.read(folder, name)
            pipeline.check_new(space, given)
            free = name not in staging.taken(space)
            made = pipeline.run_given(space, given, name if free else None, origin, propose=propose)
        except pipeline.KnownError as error:
            yield Outcome(files, KNOWN, error.id)
        except NvparityError as error:
            yield Outcome(files, REFUSED, reason=str(error), status=error.exit_status)
        else:
            reason = "" if made.parity else f"no parity: {sum(len(case.findings) for case in made.cases)} findings"
            yield Outcome(files, IMPORTED, made.id, reason, 0 if made.parity else EXIT_GATE, made)


def run(space: Workspace, planned: Plan, *, propose: bool = False) -> Iterator[Outcome]:
    """Import the groups of ``planned`` into ``space``, or ``propose`` them, each whole or not at all; one outcome a group and a copy as soon as it
    is known.
    """
    for group in planned.groups:
        done = _import(space, group, propose=propose)
        yield done
        for file in group:
            for copy in planned.copies.get(file.path, ()):
                yield replace(done, files=(copy,), outcome=done.outcome if done.status else KNOWN, reason=f"the bytes of {file.path}", made=None)


def _import(space: Workspace, group: tuple[_File, ...], *, propose: bool) -> Outcome:
    files = tuple(file.path for file in group)
    try:
        made = pipeline.run_contents(space, [file.content for file in group], None, group[0].origin, edited=group[0].edited, propose=propose)
    except pipeline.KnownError as error:
        return Outcome(files, KNOWN, error.id)
    except NvparityError as error:
        return Outcome(files, REFUSED, reason=_shortened(str(error), group), status=error.exit_status)
    reason = "" if made.parity else f"no parity: {sum(len(case.findings) for case in made.cases)} findings"
    return Outcome(files, IMPORTED, made.id, reason, 0 if made.parity else EXIT_GATE, made)


def _names(folder: Path) -> Iterator[str]:
    """The plain files below ``folder``, hidden ones left out, as sorted paths."""

    def fail(error: OSError) -> None:
        raise InputError(f"{error.filename}: cannot be read: {error.strerror}") from error

    for here, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            path = Path(here) / name
            if not name.startswith(".") and path.is_file():
                yield str(path.relative_to(folder))


def _look(folder: Path, name: str, row: manifest.Row | None, origin: Origin, edited: bool) -> list[_File] | Outcome:
    """The capture in the file ``name``, or each of several `-q` texts; else why it is none: skipped when it is something else, refused when it is a
    broken one.
    """
    path = folder / name
    try:
        data = doors.read_bytes(path)
        manifest.check(row, data, name)
        content = doors.unpack(data, str(path))
    except doors.ArchiveError as error:
        return Outcome((name,), SKIPPED, reason=_plain(str(error), path))
    except InputError as error:
        return Outcome((name,), REFUSED, reason=_plain(str(error), path), status=error.exit_status)
    data = content.data
    if several := doors.texts(content):
        files = [_look_one(folder, name, one, origin, edited) for one in several]
        wrong = next((file for file in files if isinstance(file, Outcome)), None)
        return [file for file in files if isinstance(file, _File)] if wrong is None else wrong
    found = _look_one(folder, name, content, origin, edited)
    return [found] if isinstance(found, _File) else found


def _look_one(folder: Path, name: str, content: Content, origin: Origin, edited: bool) -> _File | Outcome:
    """As `_look`, of what one door gave."""
    path, data = folder / name, content.data
    try:
        text = interchange.given(content) if dcgm.is_one(data) else source.read(data, str(path), edited=edited)
    except InputError as error:
        reason = _plain(str(error), path)
        if source.meant_as_query(data) or dcgm.is_one(data):
            return Outcome((name,), REFUSED, reason=reason, status=error.exit_status)
        return Outcome((name,), SKIPPED, reason=reason)
    called = name + content.name.removeprefix(str(path))
    return _File(called, content, text, golden_reader.sha256(data), origin, edited)


def _plain(message: str, path: Path) -> str:
    """``message`` without the name of the file, which the table shows beside it; a line number stays."""
    rest = message.removeprefix(str(path))
    return f"line {rest[1:]}" if rest.startswith(":") and rest[1:2].isdigit() else rest.removeprefix(": ")


def _shortened(message: str, group: tuple[_File, ...]) -> str:
    for file in group:
        message = message.replace(file.content.name, file.path)
    return message.removeprefix(f"{group[0].path}: ")


def _groups(files: list[_File]) -> Iterator[tuple[_File, ...]]:
    """Each query, or `-q` text, with the list of the same node, where exactly one of them and one list have the same GPUs; every other file alone."""
    by_node: dict[tuple[str, ...], list[_File]] = {}
    for file in files:
        by_node.setdefault(_node(file), []).append(file)
    for node, same in by_node.items():
        queries = [file for file in same if isinstance(file.text, Document | Outline)]
        lists = [file for file in same if isinstance(file.text, Listing)]
        if node and len(queries) == len(lists) == 1 and _joins(queries[0], lists[0]):
            yield queries[0], lists[0]
        else:
            yield from ((file,) for file in same)


def _joins(query: _File, rows: _File) -> bool:
    if query.edited != rows.edited or isinstance(query.text, Given) or not isinstance(rows.text, Listing):
        return False
    texts: dict[str, Source] = {source.view(query.text): query.text, VIEW_LIST: rows.text}
    try:
        given.check(texts, {source.view(query.text): query.path, VIEW_LIST: rows.path})
    except InputError:
        return False
    return True


def _node(file: _File) -> tuple[str, ...]:
    """The UUIDs of the node's GPUs; empty where one is hidden, repeated or made up of zeros."""
    uuids = [] if isinstance(file.text, Given) else source.uuids(file.text)
    told = all(uuids) and len(set(uuids)) == len(uuids)
    return tuple(sorted(uuids)) if told else ()


def _order(group: tuple[_File, ...]) -> tuple[object, ...]:
    """By driver, older ones first, then by what is proposed as a name, then by the bytes: the names of the files are not asked.

    What was changed by hand, or has something cut out, comes last: it teaches nothing of its driver, which another may.
    """
    text = group[0].text
    if isinstance(text, Given):
        version, names = text.driver, text.products
    else:
        version, names = source.driver_of(text), source.names(text)
    last = group[0].edited or (isinstance(text, Outline) and text.cut)
    return (last, _parts(version), naming.propose(names, version, {}, ()), [file.sha256 for file in group])


def _parts(version: str | None) -> tuple[int, ...]:
    try:
        return () if version is None else DriverVersion(version).parts
    except InputError:
        return ()  # its import says what is wrong with it
