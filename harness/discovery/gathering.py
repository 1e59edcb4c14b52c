"""Where the four texts come from: a capture of a workspace, files, a folder, or the nvidia-smi of this node."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.discovery.texts import Texts
from harness.stages.importing import doors
from harness.stages.smi import SmiRun, node_smi, run_node
from harness.text import listing, rawbytes, refusals
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import GateError, InputError, MissingError, UsageError

if TYPE_CHECKING:
    from harness.stages.importing.doors import Content
    from harness.stores.captures import Capture

LISTING, REPORT, GPU_INSTANCES, COMPUTE_INSTANCES = "listing", "report", "gpu_instances", "compute_instances"
COMMANDS = {LISTING: ("-L",), REPORT: ("-q", "-x"), GPU_INSTANCES: ("mig", "-lgi"), COMPUTE_INSTANCES: ("mig", "-lci")}
"""Part of `Texts` -> the arguments of nvidia-smi that print it."""
EITHER = "instances"
"""Part of a sentence that both tables have in their place: -lci of a node without GPU instances says so, too."""
VIEWS = {VIEW_LIST: LISTING, VIEW_TEXT: REPORT, VIEW_QUERY: REPORT, "mig-lgi": GPU_INSTANCES, "mig-lci": COMPUTE_INSTANCES}
"""View of a capture -> the part that it is; of two that are one part the later is taken."""
MAX_FILES = 64
"""The most files of a folder that are looked at."""

_SIGNS: tuple[tuple[str, re.Pattern[bytes]], ...] = (
    (REPORT, re.compile(rb"<nvidia_smi_log|<!DOCTYPE nvidia_smi|=NVSMI LOG=")),
    (COMPUTE_INSTANCES, re.compile(rb"^[ \t]*\|[ \t]*Compute instances:|^(?:No|Failed to display) compute instances", re.MULTILINE)),
    (GPU_INSTANCES, re.compile(rb"^[ \t]*\|[ \t]*GPU instances:|^Failed to display GPU instances:", re.MULTILINE)),
    (EITHER, re.compile(rb"^No GPU instances found|^No MIG-(?:enabled|supported) devices found", re.MULTILINE)),
    (LISTING, re.compile(rb"^[ \t#]*GPU [0-9]+:|^No devices (?:were )?found|^Unable to determine the device handle", re.MULTILINE)),
)
_WHY = re.compile(r"(?:Unable|Failed) to ")
"""How a line begins that says why nvidia-smi fails; rows may stand before it."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
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
    found = _parts(doors.read_all(paths))
    if not found:
        raise UsageError("no file given")
    return _texts(found, lambda part: f"no file holds a text of {view(part)}")


def of_folder(folder: Path) -> Texts:
    """The texts among the files of ``folder``, other files are passed over.  Raises InputError where there is none, or two of a kind."""
    try:
        named = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
    except OSError as error:
        raise InputError(f"{folder}: cannot be read: {error.strerror}") from error
    if len(named) > MAX_FILES:
        raise InputError(f"{folder}: {len(named)} files, the most is {MAX_FILES}; name the four texts of one node")
    unread: list[str] = []
    found = _parts(_that_are_texts(named, unread))
    passed = f" ({unread[0]})" if unread else ""
    if not found:
        raise InputError(f"{folder}: no file of it holds what nvidia-smi {', '.join(map(view, COMMANDS))} print{passed}")
    return _texts(found, lambda part: f"no file holds a text of {view(part)}{passed}")


def _parts(contents: Iterable[Content]) -> dict[str, bytes]:
    """Part -> its text.  Raises InputError for a text that is none of the four, or the second of its kind."""
    found: dict[str, Content] = {}
    told = sorted(((part_of(content.data), content) for content in contents), key=lambda one: one[0] == EITHER)
    for sign, content in told:
        free = COMPUTE_INSTANCES if GPU_INSTANCES in found and COMPUTE_INSTANCES not in found else GPU_INSTANCES
        part = free if sign == EITHER else sign
        if part is None and content.data.startswith(_UTF16):
            raise refusals.utf16(content.name)
        if part is None:
            raise InputError(f"{content.name}: none of {', '.join(map(view, COMMANDS))}; give what nvidia-smi printed for one of these")
        if part in found:
            raise InputError(f"{content.name}: a second text of nvidia-smi {view(part)}, beside {found[part].name}; give the texts of one node")
        found[part] = content
    return {part: content.data for part, content in found.items()}


def _that_are_texts(paths: Iterable[Path], unread: list[str]) -> Iterator[Content]:
    """The files that are one of the four texts; ``unread`` gets a line for each that may be one and cannot be read."""
    for path in paths:
        try:
            content = doors.read(path)
        except (InputError, MissingError) as error:
            unread.append(str(error))
            continue
        if content.data.startswith(_UTF16):
            unread.append(str(refusals.utf16(content.name)))
        elif part_of(content.data) is not None:
            yield content


def of_node(variables: Mapping[str, str], smi: Path | None = None, library: Path | None = None) -> Texts:
    """What the nvidia-smi of this node prints: ``smi``, else the first on PATH; ``library``: the one it is to load, else what the loader finds.

    ``-L`` and ``-q -x`` that fail leave their part empty, or what they printed of it as `Texts.failed`; ``mig -lgi`` and ``mig -lci`` end with a
    failing status where there is nothing to list, and what they say, on either stream, is their text (ledger DM64, DM89).  Raises MissingError
    without an nvidia-smi.
    """
    binary = node_smi(smi, variables)

    found: dict[str, bytes] = {}
    missing: dict[str, str] = {}
    failed: list[tuple[str, str]] = []
    for part, arguments in COMMANDS.items():
        try:
            run = run_node(binary, arguments, variables=variables, library=library)
        except GateError as error:
            missing[part] = str(error)
            continue
        if part in (GPU_INSTANCES, COMPUTE_INSTANCES):
            found[part] = run.stdout + run.stderr
        elif run.status == 0:
            found[part] = run.stdout
        elif part_of(run.stdout) == part:
            found[part] = run.stdout
            failed.append((view(part), f"{binary} {view(part)} {_ended(run)}"))
        else:
            missing[part] = f"{binary} {view(part)} {_ended(run)}"
    return replace(_texts(found, lambda part: missing[part]), failed=tuple(failed))


def part_of(data: bytes) -> str | None:
    """The part that ``data`` is, EITHER for one that may be each of two, None for a text of something else."""
    return next((part for part, sign in _SIGNS if sign.search(data)), None)


def _ended(run: SmiRun) -> str:
    """How a run that failed ended, with the first line it left."""
    lines = (run.stdout + run.stderr).decode("utf-8", "replace").strip().splitlines()
    lines = [line for line in lines if _WHY.match(line)] or lines
    return f"ended with status {run.status}" + (f": {lines[0].strip()[:200]}" if lines else "")


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
