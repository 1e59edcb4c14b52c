"""Take a recording: the query, the answers, the other views, the query again; what comes of it is scrubbed before anybody sees it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness import __version__
from harness.stages.importing import given as reading
from harness.stages.importing import source
from harness.stages.recording import cleaning, viewing
from harness.stores import captures, golden_reader, viewruns
from harness.stores.sidecars import VIEW_ANSWERS
from harness.tables import moments, views
from harness.text import answers as answers_text
from harness.text import scrub
from harness.text.document import TRIMMED, Document
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY
from harness.words.errors import InputError, MissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from harness.stages.importing.given import Given
    from harness.stages.importing.source import Source
    from harness.stages.recording.following import Followed
    from harness.stages.recording.viewing import Camera, Shot
    from harness.tables.views import View
    from mocklib.answers import Recording

AGAIN = "q-x-again"
"""The query once more, after everything else: what differs has moved meanwhile.  Its text is not kept."""
VERSION, TABLE = "version", "table"
_CUT = re.compile(rb"(?<=\s\.\.\.)[^/\s|]+(?=/)")
"""The first part of a path that the table cut at its front: what is left of it may be of a user's name."""
_SLACK_S = 2
_QUOTED = 200
_RELEASE = re.compile(rb"NVIDIA-SMI(?: version\s*:)? +([0-9][0-9.]*)")


@dataclass(frozen=True)
class Node:
    """How a node is asked, handed in: ``ask`` gives every answer; ``camera`` takes views, None for answers alone; the ``clock`` (UTC); ``root``:
    whether the superuser asks; ``follow``: samples what moves after the answers, None where no time line is wanted.
    """

    ask: Callable[[], Recording]
    camera: Camera | None
    clock: Callable[[], datetime]
    root: bool
    follow: Callable[[Recording], Followed] | None = None


@dataclass(frozen=True)
class Take:
    """What a node gave: ``given`` as an import takes it; ``outcomes``: what became of each view, and ``said``, the first line of one that is not
    whole; ``second``: the query taken last; ``sampled``: what was sampled, in a sentence.
    """

    given: Given
    outcomes: dict[str, str]
    said: dict[str, str]
    second: Document | None
    sampled: str = ""


def take(node: Node, wanted: Sequence[View]) -> Take:
    """Record ``node`` in the views ``wanted`` (none: its answers alone).

    Raises InputError, naming the view, where one that must be whole is not; what ``node.ask`` raises where nothing answers.
    """
    began = node.clock()
    shots: dict[str, Shot] = {}
    camera = node.camera if wanted else None
    if camera is None:
        return _cleaned(node, shots, _asked(node), began)
    query, *rest = sorted(wanted, key=lambda view: view.name != VIEW_QUERY)
    shots[VIEW_QUERY] = camera.shoot(query, views.fields_of)
    _check_whole(node, VIEW_QUERY, shots[VIEW_QUERY])
    asked = _asked(node)
    for view in rest:
        shots[view.name] = camera.shoot(view, views.fields_of)
        if view.must_be_whole:
            _check_whole(node, view.name, shots[view.name])
    shots[AGAIN] = camera.shoot(query, views.fields_of)
    _check_whole(node, AGAIN, shots[AGAIN])
    return _cleaned(node, shots, asked, began)


def _check_whole(node: Node, view: str, shot: Shot) -> None:
    """Raises InputError where a view that must be whole is not; where no driver answers, what asking raises says it better."""
    if len(shot.stdout) > viewing.MAX_TEXT:
        command = viewing.shown(shot.command)
        raise InputError(f"{command} (view {view}): printed {len(shot.stdout)} bytes, more than {viewing.MAX_TEXT}; nothing was written")
    try:
        _whole(view, shot, scrub.scrub({view: shot.stdout}).files[view])
    except InputError as refused:
        try:
            if view == VIEW_QUERY:
                node.ask()
        except MissingError as error:
            raise error from None
        raise InputError(f"{refused}; --views none records the answers alone") from None


def _whole(view: str, shot: Shot, data: bytes) -> Source:
    """The text of a view that must be whole, scrubbed: ``data`` is its stdout."""
    name = f"{viewing.shown(shot.command)} (view {view})"
    ended = "did not end in time" if shot.status is None else f"exit status {shot.status}"
    if not data.strip():
        said = scrub.scrub({"stderr": shot.stderr}).files["stderr"].decode("utf-8", "backslashreplace").strip()
        raise InputError(f"{name}: printed nothing, {ended}{f': {said.splitlines()[0]}' if said else ''}; nothing was written")
    try:
        read = source.read(data, name)
        source.check_texts(read, data, name)
    except InputError as error:
        raise InputError(f"{error} ({ended}); nothing was written") from None
    due = Listing if view == VIEW_LIST else Document
    if not isinstance(read, due):
        printed = data.strip().splitlines()[0].decode("utf-8", "backslashreplace")[:_QUOTED]
        raise InputError(f"{name}: printed {printed!r} ({ended}); nothing was written")
    if read.kind == TRIMMED and isinstance(read, Document):
        raise InputError(f"{name}: {len(read.gpus)} GPUs of the {read.get('attached_gpus')} that it says are attached; nothing was written")
    return read


def _asked(node: Node) -> tuple[Recording, Followed | None]:
    """The answers, and right after them what moves."""
    answers = node.ask()
    return answers, None if node.follow is None else node.follow(answers)


def _cleaned(node: Node, shots: dict[str, Shot], asked: tuple[Recording, Followed | None], began: datetime) -> Take:
    """Everything scrubbed at once, read again, and held together."""
    answers, followed = asked
    raw = {view: shot.stdout for view, shot in shots.items()}
    kept = {view: text if len(text) <= viewing.MAX_TEXT else b"" for view, text in raw.items()}
    kept = {view: text if view in (VIEW_QUERY, VIEW_LIST, AGAIN) else _CUT.sub(_masked, text) for view, text in kept.items()}
    ordered = {view: kept[view] for view in (VIEW_QUERY, VIEW_LIST, *kept) if view in kept}
    ordered |= {f"{view} stderr": _CUT.sub(_masked, shot.stderr[: viewruns.MAX_STDERR]) for view, shot in shots.items()}
    cleaned = cleaning.clean(ordered, answers, None if followed is None else followed.line)
    read = {view: _whole(view, shots[view], cleaned.files[view]) for view in (VIEW_QUERY, VIEW_LIST, AGAIN) if view in shots}
    second = read.pop(AGAIN, None)
    names = {view: viewing.shown(shots[view].command) for view in read} | {VIEW_ANSWERS: "the answers of NVML"}
    reading.check(read, names)
    told = answers_text.dump(cleaned.answers).encode()
    hashes = {view: golden_reader.sha256(raw[view]) for view in read} | {VIEW_ANSWERS: golden_reader.sha256(answers_text.dump(answers).encode())}
    scrubbed = {view: cleaned.files[view] for view in read} | {VIEW_ANSWERS: told}
    moved = _moved(read.get(VIEW_QUERY), second)
    taken = captures.Taken(_instant(began), moved, __version__, _release(shots), node.root, timeline=cleaned.timeline is not None)
    runs = {view: _run(view, shot, cleaned) for view, shot in shots.items()}
    extra = reading.Recorded(cleaned.answers, runs, taken, cleaned.timeline)
    given = reading.Given(names, hashes, scrubbed, read, cleaned.report, _notes(taken, extra.driver), extra)
    outcomes = {view: viewing.WHOLE if view in (*read, AGAIN) else shot.outcome for view, shot in shots.items()}
    said = {view: _said(shots[view], cleaned.files) for view, outcome in outcomes.items() if outcome != viewing.WHOLE or shots[view].status}
    again = second if isinstance(second, Document) else None
    return Take(given, outcomes, {view: line for view, line in said.items() if line}, again, "" if followed is None else followed.said)


def _notes(taken: captures.Taken, driver: str | None) -> tuple[str, ...]:
    """An nvidia-smi of another release than the driver (in a container, say) prints its own layout: whoever reads it should know."""
    if taken.nvidia_smi is None or driver in (None, taken.nvidia_smi):
        return ()
    return (f"nvidia-smi {taken.nvidia_smi} on driver {driver}: the elements and their order are those of nvidia-smi's release",)


def _masked(match: re.Match[bytes]) -> bytes:
    return b"x" * len(match.group())


def _run(view: str, shot: Shot, cleaned: cleaning.Cleaned) -> viewruns.ViewRun:
    """The run of a view as the store keeps it: the text where no transcript holds it."""
    text = None if view in (VIEW_QUERY, VIEW_LIST, AGAIN) else cleaned.files[view]
    stderr = cleaned.files[f"{view} stderr"].decode("utf-8", "backslashreplace")
    first, last = shot.began.timestamp() - _SLACK_S, shot.began.timestamp() + shot.duration_ms / 1000 + _SLACK_S
    printed = () if text is None else viewruns.moments(text, lambda moment: first <= _seconds(moment) <= last)
    raw = golden_reader.sha256(shot.stdout)
    return viewruns.ViewRun(shot.command, shot.status, stderr, _instant(shot.began), shot.duration_ms, raw, text, printed)


def _seconds(moment: str) -> float:
    """Seconds since 1970 of a time as nvidia-smi prints it, in UTC, as it was told to; -1 for what is no time."""
    try:
        return moments.parse_ctime(moment) if moment[:1].isalpha() else moments.parse_bbx(moment) / 1_000_000
    except ValueError:
        return -1


def _moved(first: Source | None, second: Source | None) -> tuple[str, ...]:
    """The paths whose text differs between two queries, in their order; that of an element that only one of them has, too."""
    if first is None or second is None:
        return ()
    old, new = dict(source.leaves(first)), dict(source.leaves(second))
    return tuple(path for path in dict.fromkeys((*old, *new)) if old.get(path) != new.get(path))


def _release(shots: dict[str, Shot]) -> str | None:
    """The version that nvidia-smi says of itself, in its own view or in its table."""
    texts = [shots[view].stdout for view in (VERSION, TABLE) if view in shots]
    return next((match[1].decode() for text in texts if (match := _RELEASE.search(text))), None)


def _said(shot: Shot, files: dict[str, bytes]) -> str:
    cleaned = scrub.scrub({**files, "said": shot.said}).files["said"]
    return cleaned.decode("utf-8", "backslashreplace")[:_QUOTED]


def _instant(when: datetime) -> str:
    """A moment in UTC, to the millisecond."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.") + f"{when.microsecond // 1000:03d}Z"
