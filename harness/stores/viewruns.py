"""captures/<id>/views.yaml and views/<view>.txt: what each view of nvidia-smi gave when a recording was made.

views.yaml has the command, exit status and stderr of every view; the text of those that no transcript holds stands in views/.  The time at which
a view was printed moves from one recording to the next, so in its file `MOMENT` stands in place of it, and views.yaml has it on the line
``recorded``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.stores import golden_reader
from harness.stores.goldens import write_whole
from harness.stores.sidecars import one_line
from harness.tables import strictyaml
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT, check_format

VIEWS = "views.yaml"
FOLDER = "views"
MOMENT = b"<recorded>"
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
"""What a view may be called; it is the name of its file."""
MAX_STDERR = 64 * 1024
_MOMENTS = re.compile(rb"[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9][0-9] [0-9:]{8} [0-9]{4}|[0-9]{4}/[0-9]{2}/[0-9]{2} [0-9:]{8}\.[0-9]{3}|" + MOMENT)
_KEYS = ("format", "recorded", "sha256", "views")
_RUN_KEYS = ("command", "status", "stderr")
_RECORDED_KEYS = ("start", "duration_ms", "moments")
_HASH_KEYS = ("raw", "scrubbed")


@dataclass(frozen=True)
class ViewRun:
    """One run of nvidia-smi.

    command:      the binary's name and its arguments
    status:       its exit status; minus the number of the signal that ended it; None when it was ended for taking too long
    stderr:       scrubbed
    start:        UTC; ``duration_ms``: milliseconds until it ended
    raw:          sha256 of stdout as it came; ``text``: scrubbed stdout, None for a view whose text a transcript holds or nobody keeps
    moments:      texts of ``text`` that say when it was printed, in order
    """

    command: tuple[str, ...]
    status: int | None
    stderr: str
    start: str
    duration_ms: int
    raw: str
    text: bytes | None = None
    moments: tuple[str, ...] = ()


def moments(text: bytes, own: Callable[[str], bool]) -> tuple[str, ...]:
    """The times in ``text`` that are its ``own``, as they stand there: those at which it was printed."""
    found = (match.group() for match in _MOMENTS.finditer(text))
    return tuple(moment.decode() for moment in found if moment == MOMENT or own(moment.decode()))


def write(folder: Path, runs: Mapping[str, ViewRun]) -> None:
    """Write ``runs`` by view into ``folder``, that of a capture in the making."""
    write_whole(folder / VIEWS, dump(runs).encode())
    (folder / FOLDER).mkdir()
    for view, run in runs.items():
        if run.text is not None:
            write_whole(folder / FOLDER / f"{view}.txt", _still(run.text, list(run.moments)))


def dump(runs: Mapping[str, ViewRun]) -> str:
    """``runs`` as the text of views.yaml."""
    recorded: dict[str, Any] = {}
    hashes: dict[str, Any] = {}
    views: dict[str, Any] = {}
    for view, run in runs.items():
        printed = {"moments": list(run.moments)} if run.text is not None else {}
        recorded[view] = {"start": run.start, "duration_ms": run.duration_ms, **printed}
        hashes[view] = {"raw": run.raw, "scrubbed": None if run.text is None else golden_reader.sha256(run.text)}
        views[view] = {"command": list(run.command), "status": run.status, "stderr": run.stderr}
    head = f"format: {FORMAT}\n" + one_line("recorded", recorded) + one_line("sha256", hashes)
    return head + yaml.safe_dump({"views": views}, sort_keys=False, allow_unicode=True, width=150)


def load(folder: Path) -> dict[str, ViewRun]:
    """What ``folder``, that of a capture, has of views; nothing where it has no views.yaml.  Raises InputError with file and line."""
    path = folder / VIEWS
    if not path.is_file():
        return {}
    found = strictyaml.load_file(path, kind="views")
    content = found.value
    if not isinstance(content, dict):
        raise InputError(f"{path}:1: a list of views is a mapping that starts with `format: {FORMAT}`")
    check_format(content.get("format"), found.where(("format",)))
    _known(found, (), content, _KEYS)
    parts = [content.get(key) for key in _KEYS[1:]]
    if not all(isinstance(part, dict) and part.keys() == (content.get("views") or {}).keys() for part in parts):
        raise InputError(f"{path}:1: `recorded`, `sha256` and `views` are mappings of the same views")
    return {str(view): _run(found, folder, str(view)) for view in content["views"]}


def strays(folder: Path) -> list[Path]:
    """What views/ in ``folder``, that of a capture, holds beside the texts of its views.  Raises InputError as `load` does."""
    inside, runs = folder / FOLDER, load(folder)
    due = {f"{view}.txt" for view, run in runs.items() if run.text is not None}
    return sorted(path for path in inside.iterdir() if path.name not in due) if inside.is_dir() else []


def _run(found: strictyaml.Document, folder: Path, view: str) -> ViewRun:
    content = found.value
    for key, keys in (("recorded", _RECORDED_KEYS), ("sha256", _HASH_KEYS), ("views", _RUN_KEYS)):
        if not isinstance(content[key][view], dict):
            raise InputError(f"{found.where((key, view))}: view {view} is no mapping")
        _known(found, (key, view), content[key][view], keys)
    when, run, hashes = content["recorded"][view], content["views"][view], content["sha256"][view]
    command, status, stderr = (run.get(key) for key in _RUN_KEYS)
    if not NAME.fullmatch(view):
        raise InputError(f"{found.where(('views', view))}: {view[:40]!r} is no name of a view: letters, digits and '-'")
    if not _texts(command) or not command or not (status is None or type(status) is int) or not isinstance(stderr, str) or len(stderr) > MAX_STDERR:
        raise InputError(f"{found.where(('views', view))}: `command` is a list of texts, `status` a number or null, `stderr` a text")
    start, duration, printed = when.get("start"), when.get("duration_ms"), when.get("moments", [])
    if not isinstance(start, str) or type(duration) is not int or duration < 0 or not _texts(printed):
        raise InputError(f"{found.where(('recorded', view))}: `start` is an instant, `duration_ms` a number, `moments` a list of texts")
    raw, scrubbed = (hashes.get(key) for key in _HASH_KEYS)
    if not _hash(raw) or not (scrubbed is None or _hash(scrubbed)):
        raise InputError(f"{found.where(('sha256', view))}: `raw` and `scrubbed` are sha256 (64 digits); `scrubbed` is null where no text is kept")
    text = None if scrubbed is None else _text(folder / FOLDER / f"{view}.txt", printed, str(scrubbed))
    return ViewRun(tuple(command), status, stderr, start, duration, str(raw), text, tuple(printed))


def _text(path: Path, printed: list[str], scrubbed: str) -> bytes:
    parts = strictyaml.read_file(path).split(MOMENT)
    if len(parts) != len(printed) + 1:
        raise InputError(f"{path}: {len(parts) - 1} times {MOMENT.decode()}, but {VIEWS} has {len(printed)} `moments` of it")
    text = b"".join(part + moment.encode() for part, moment in zip(parts, [*printed, ""], strict=True))
    if golden_reader.sha256(text) != scrubbed:
        raise InputError(f"{path}: not the text that was recorded: another sha256 than {VIEWS} has")
    return text


def _still(text: bytes, printed: list[str]) -> bytes:
    """``text`` with `MOMENT` in place of each of ``printed``, which stand there in that order."""
    out = bytearray()
    for moment in (moment.encode() for moment in printed):
        before, _, text = text.partition(moment)
        out += before + MOMENT
    return bytes(out) + text


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _hash(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None


def _known(found: strictyaml.Document, path: tuple[str | int, ...], value: dict[Any, Any], keys: tuple[str, ...]) -> None:
    for key in value:
        if key not in keys:
            raise InputError(f"{found.where((*path, key))}: {key!r} is no key here{did_you_mean(str(key), keys)}; known: {', '.join(keys)}")
