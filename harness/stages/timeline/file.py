"""The time line that a profile names: ``timeline: {file: ../captures/<id>/timeline.txt, loop: false}``, the file relative to the profile."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages.timeline.playing import play
from harness.stores.filenames import ANSWERS, TIMELINE
from harness.stores.schema import codec
from harness.tables import strictyaml
from harness.text import answers, timeline
from harness.words.errors import InputError
from mocklib.spec import Clock, ImageError, ImageSpec

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stores.profiles import Profile
    from harness.text.timeline_model import TimeLine
    from mocklib.answers import Recording


def found(profile: Profile) -> Path | None:
    """The file of the profile's time line: the one that it names, else that of the capture it is made from; None where it has no time line.

    InputError where there is no such file, or nothing that says which it is.
    """
    if profile.timeline is None:
        return None
    named, capture = profile.timeline.get("file"), profile.origin.get("capture")
    if profile.path is None:
        raise InputError(f"{profile.source}: has a time line, whose file is found from the profile's own; give the profile as a file")
    if named is None and capture is None:
        raise InputError(f"{profile.source}: timeline names no file, nor the profile a capture it could be of; write timeline: {{file: PATH}}")
    here = profile.path.parent
    path = here.parent / "captures" / str(capture) / TIMELINE if named is None else here / str(named)
    if not path.is_file():
        raise InputError(f"{profile.source}: timeline: {path} is no file; bring it, or take the key timeline out")
    return path


def files(path: Path) -> list[Path]:
    """What the time line at ``path`` is played from: it, and the answers of its recording where they lie beside it."""
    return [file for file in (path, path.with_name(ANSWERS)) if file.is_file()]


def load(path: Path) -> TimeLine:
    """The time line in the file ``path``; InputError with file and line."""
    return timeline.load(_text(path), str(path))


def _text(path: Path) -> str:
    """The text of a file."""
    try:
        return strictyaml.read_file(path).decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: byte {error.start} is not UTF-8; take the whole file again") from None


def beside(path: Path) -> Recording | None:
    """The answers of the recording whose time line is at ``path``; None for a time line that lies alone.  InputError with file and line."""
    file = path.with_name(ANSWERS)
    return answers.load(_text(file), str(file)) if file.is_file() else None


def played(profile: Profile, spec: ImageSpec) -> ImageSpec:
    """``spec``, the image of ``profile``, with the profile's time line: its first sample stands at the instant of the clock, else at its own.

    Beside the time line of a recording lie its answers, which say what stayed.  The clock of a profile that names no instant stands there too.
    """
    path = found(profile)
    if path is None or profile.timeline is None:
        return spec
    line = load(path)
    at = profile.clock.get("at")
    start = line.start_ns if at is None else codec.instant_ns(str(at))
    if spec.clock.mode == "real" and profile.clock.get("mode") != "real":
        spec = replace(spec, clock=Clock("frozen", start))
    try:
        return play(line, spec, start, loop=bool(profile.timeline.get("loop")), recording=beside(path))
    except ImageError as error:
        raise InputError(f"{profile.source}: timeline: {error}; is it that of another recording?") from error
