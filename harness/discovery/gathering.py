"""Where the four texts come from: a capture of a workspace, files, a folder, or the nvidia-smi of this node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.discovery.texts import Texts
from harness.stages.importing import doors
from harness.stages.smi import SmiRun, node_smi, run_node
from harness.text import listing, rawbytes
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import GateError, InputError, MissingError, UsageError

if TYPE_CHECKING:
    from harness.stores.captures import Capture

LISTING, REPORT, GPU_INSTANCES, COMPUTE_INSTANCES = "listing", "report", "gpu_instances", "compute_instances"
COMMANDS = {LISTING: ("-L",), REPORT: ("-q", "-x"), GPU_INSTANCES: ("mig", "-lgi"), COMPUTE_INSTANCES: ("mig", "-lci")}
"""Part of `Texts` -> the arguments of nvidia-smi that print it."""
VIEWS = {VIEW_LIST: LISTING, VIEW_TEXT: REPORT, VIEW_QUERY: REPORT, "mig-lgi": GPU_INSTANCES, "mig-lci": COMPUTE_INSTANCES}
"""View of a capture -> the part that it is; of two that are one part the later is taken."""
MAX_FILES = 64
"""The most files of a folder that are looked at."""

_SIGNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (REPORT, re.compile(rb"<nvidia_smi_log|<!DOCTYPE nvidia_smi|=NVSMI LOG=")),
    (COMPUTE_INSTANCES, re.compile(rb"^[ \t]*\|[ \t]*Compute instances:|^No compute instances found", re.MULTILINE)),
    (GPU_INSTANCES, re.compile(rb"^[ \t]*\|[ \t]*GPU instances:|^No GPU instances found|^No MIG-(?:enabled|supported) devices found", re.MULTILINE)),
    (LISTING, re.compile(rb"^[ \t#]*GPU [0-9]+:|^No devices (?:were )?found|^Unable to determine the device handle", re.MULTILINE)),
)
_ROW = re.compile(rb"^GPU [0-9]+:", re.MULTILINE)
_MOVED_ROW = re.compile(rb"^[ \t#]+GPU [0-9]+:", re.MULTILINE)


def view(part: str) -> str:
    """What nvidia-smi is asked for ``part``: ``-L``."""
    return " ".join(COMMANDS[part])


def of_capture(capture: Capture) -> Texts:
    """The texts that ``capture`` holds; what a recording's nvidia-smi printed of instances is among its views."""
    found = {part: capture.texts[name].to_bytes() for name, part in VIEWS.items() if name in capture.texts}
    found |= {VIEWS[name]: run.text for name, run in capture.runs.items() if name in VIEWS and run.text is not None}
    return _texts(found, lambda part: f"capture {capture.sidecar.id} holds no text of {view(part)}")


def of_files(paths: Iterable[Path]) -> Texts:
    """The texts in ``paths``, each told apart by its content; ``-`` is standard input, and what is packed is unpacked as an import does.

    Raises InputError for a file that is none of the four, or the second of its kind, UsageError for no file at all.
    """
    found: dict[str, tuple[bytes, str]] = {}
    for content in doors.read_all(paths):
        part = part_of(content.data)
        if part is None:
            raise InputError(f"{content.name}: none of {', '.join(map(view, COMMANDS))}; give what nvidia-smi printed for one of these")
        if part in found:
            raise InputError(f"{content.name}: a second text of nvidia-smi {view(part)}, beside {found[part][1]}; give the texts of one node")
        found[part] = (content.data, content.name)
    if not found:
        raise UsageError("no file given")
    return _texts({part: data for part, (data, _) in found.items()}, lambda part: f"no file holds a text of {view(part)}")


def of_folder(folder: Path) -> Texts:
    """The texts among the files of ``folder``, other files are passed over.  Raises InputError where there is none, or two of a kind."""
    try:
        named = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from error
    if len(named) > MAX_FILES:
        raise InputError(f"{folder}: {len(named)} files, the most is {MAX_FILES}; name the four texts of one node")
    texts = [path for path in named if part_of(_head(path)) is not None]
    if not texts:
        raise InputError(f"{folder}: no file of it holds what nvidia-smi {', '.join(map(view, COMMANDS))} print")
    return of_files(texts)


def of_node(variables: Mapping[str, str], smi: Path | None = None, library: Path | None = None) -> Texts:
    """What the nvidia-smi of this node prints: ``smi``, else the first on PATH; ``library``: the one it is to load, else what the loader finds.

    ``-L`` and ``-q -x`` that fail leave their part empty; ``mig -lgi`` and ``mig -lci`` end with a failing status where there is nothing to list, and
    what they say, on either stream, is their text (ledger DM64, DM89).  Raises MissingError without an nvidia-smi.
    """
    binary = node_smi(smi, variables)

    def ask(part: str) -> bytes | str:
        try:
            run = run_node(binary, COMMANDS[part], variables=variables, library=library)
        except GateError as error:
            return str(error)
        if part in (GPU_INSTANCES, COMPUTE_INSTANCES):
            return run.stdout + run.stderr
        return run.stdout if run.status == 0 else f"{binary} {view(part)} {_ended(run)}"

    asked = {part: ask(part) for part in COMMANDS}
    return _texts({part: said for part, said in asked.items() if isinstance(said, bytes)}, lambda part: str(asked[part]))


def part_of(data: bytes) -> str | None:
    """The part that ``data`` is, None for a text of something else."""
    return next((part for part, sign in _SIGNS if sign.search(data)), None)


def _ended(run: SmiRun) -> str:
    """How a run that failed ended, with the first line it left."""
    lines = (run.stdout + run.stderr).decode("utf-8", "replace").strip().splitlines()
    return f"ended with status {run.status}" + (f": {lines[0].strip()[:200]}" if lines else "")


def _head(path: Path) -> bytes:
    try:
        return doors.read(path).data
    except (InputError, MissingError):
        return b""


def _texts(found: Mapping[str, bytes], reason: Callable[[str], str]) -> Texts:
    missing = tuple((view(part), reason(part)) for part in COMMANDS if part not in found)
    texts = Texts(found.get(LISTING), found.get(REPORT), found.get(GPU_INSTANCES), found.get(COMPUTE_INSTANCES), missing)
    return replace(texts, listing=None if texts.listing is None else moved(texts.listing))


def moved(data: bytes) -> bytes:
    """A list whose rows all stand further right, as one copied out of a page does, as nvidia-smi writes it; any other as it is.

    Such a copy may have lost the white space that tells an instance's row, or be a comment.
    """
    if _ROW.search(data) or not _MOVED_ROW.search(data):
        return data
    try:
        return rawbytes.encode(listing.write(Listing(listing.read(data).rows)))
    except InputError:
        return data
