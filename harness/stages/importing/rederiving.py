"""Profiles written again from the captures they were derived from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.importing import making
from harness.stores import captures
from harness.stores.goldens import write_whole

if TYPE_CHECKING:
    from pathlib import Path

    from harness.stores.workspace import Workspace


def run(space: Workspace, names: list[str]) -> list[tuple[Path, bool]]:
    """The profile of each capture ``names``, and whether it had to be written.

    All are made before the first is written.  Raises InputError for a capture that is not sound.
    """
    made = []
    for name in names:
        capture = captures.load(space.captures, name)
        first = next(iter(capture.texts.values()))
        made.append((space.profile_path(name), making.profile(first, name, space.root).text.encode()))
    written = []
    for path, data in made:
        changed = not path.is_file() or path.read_bytes() != data
        if changed:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(path, data)
        written.append((path, changed))
    return written
