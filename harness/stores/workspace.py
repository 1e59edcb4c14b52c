"""Workspaces: the folder that holds captures/, profiles/ and golden/, and the names by which its profiles are called.

An installed nvparity ships one workspace of its own (``tables.shipped``); without one at hand, profiles and driver nodes come from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.stores import references
from harness.tables import strictyaml
from harness.tables.shipped import shipped
from harness.words.errors import InputError, MissingError, UsageError

HELP = "nvparity list names what there is, nvparity import makes one of what nvidia-smi -q -x prints"
ID_SHAPE = re.compile(r"[A-Za-z0-9._-]{1,128}")

RESERVED = {"boards": "profiles/boards.yaml", "rules": "golden/rules.yaml", "sources.md": "captures/SOURCES.md", "readme.md": "captures/README.md"}
"""Ids, in lower case, whose files would take the place of files of the workspace's own."""


def check_id(name: str) -> str:
    """``name`` itself when it may name a capture: letters, digits, ``.``, ``_``, ``-``, not hidden, not a parent folder, not `RESERVED`.

    Raises UsageError otherwise.
    """
    if not ID_SHAPE.fullmatch(name) or name.startswith("."):
        raise UsageError(f"id {name!r}: an id is 1 to 128 letters, digits, '.', '_' or '-' and does not start with '.'")
    if name.lower() in RESERVED:
        raise UsageError(f"id {name!r}: its files would be taken for {RESERVED[name.lower()]}; choose another id")
    return name


@dataclass(frozen=True)
class Workspace:
    """One workspace; ``root`` is absolute.  Folders that are not there count as empty."""

    root: Path

    @classmethod
    def find(cls, root: str | Path | None = None, start: Path | None = None) -> Workspace:
        """The workspace at ``root``, else the nearest folder from ``start`` (the current one) upward holding captures/ and golden/.

        Raises InputError when ``root`` is no folder, MissingError when nothing is found upward.
        """
        if root is not None:
            folder = Path(root)
            if not folder.is_dir():
                raise InputError(f"{folder}: not a folder; make it first (--root names the folder that holds captures/ and golden/)")
            return cls(folder.resolve())
        here = (start or Path.cwd()).resolve()
        for folder in (here, *here.parents):
            if (folder / "captures").is_dir() and (folder / "golden").is_dir():
                return cls(folder)
        raise MissingError(f"no folder from {here} upward holds captures/ and golden/; name one with --root DIR (--root . begins one here)")

    @classmethod
    def nearby(cls, root: str | Path | None = None, start: Path | None = None) -> Workspace:
        """``find``, falling back to the shipped workspace where the search upward finds nothing."""
        try:
            return cls.find(root, start)
        except MissingError:
            return cls(shipped())

    @property
    def captures(self) -> Path:
        """captures/: one folder a capture, sidecar and transcript."""
        return self.root / "captures"

    @property
    def profiles(self) -> Path:
        """profiles/: <id>.yaml, boards.yaml, drivers/."""
        return self.root / "profiles"

    @property
    def golden(self) -> Path:
        """golden/: <id>.yaml and baselines."""
        return self.root / "golden"

    def profile_path(self, name: str) -> Path:
        """Where the profile of capture ``name`` stands."""
        return self.profiles / f"{name}.yaml"

    def ids(self) -> list[str]:
        """Every capture's id, sorted: the folders of captures/ that hold a sidecar."""
        if not self.captures.is_dir():
            return []
        return sorted(entry.name for entry in self.captures.iterdir() if (entry / "sidecar.yaml").is_file())

    def select(self, names: tuple[str, ...]) -> list[str]:
        """The ids that ``names`` mean (ids, short names, or boards for all their captures), in the order given; all when ``names`` is empty.

        Raises UsageError for a name that means nothing here.
        """
        ids = self.ids()
        if not names:
            return ids
        short = self.short_names()
        chosen: dict[str, None] = {}
        for name in names:
            alone = name in ids or short.get(name) in ids
            meant = [references.find(name, ids, short)] if alone else references.of_board(name, ids)
            if not meant:
                raise UsageError(f"no capture {name!r} in {self.captures}{references.near(name, [*ids, *short])}; nvparity list names all")
            chosen.update(dict.fromkeys(filter(None, meant)))
        return list(chosen)

    def locate_capture(self, reference: str) -> tuple[Workspace, str] | None:
        """The workspace and the id that ``reference`` (an id, a short name or a board) means; the shipped workspace is asked last.

        None where no capture has that name.  Raises InputError for a board of several.
        """
        for space in (self, Workspace(shipped())):
            found = references.find(reference, space.ids(), space.short_names())
            if found is not None:
                return space, found
        return None

    def short_names(self) -> dict[str, str]:
        """Short name -> profile id, from profiles/boards.yaml; empty when that file is not there.

        Raises InputError for a file of another shape.
        """
        path = self.profiles / "boards.yaml"
        if not path.is_file():
            return {}
        loaded = strictyaml.load_file(path, kind="boards").value
        boards = loaded.get("boards") if isinstance(loaded, dict) else None
        if not isinstance(boards, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in boards.items()):
            raise InputError(f"{path}: expected 'format: 1' and 'boards:', a mapping of short name to profile id")
        return dict(boards)

    def locate_profile(self, reference: str) -> Path:
        """The profile file that ``reference`` (path, id, short name or board) means; the shipped workspace is asked last.

        Raises InputError when nothing has that name, or several have it.
        """
        path = Path(reference)
        if path.is_file():
            return path.resolve()
        if "/" in reference or reference.endswith((".yaml", ".yml")):
            what = "a folder" if path.is_dir() else "no regular file"
            said = f"is {what}; give a profile file, an id or a short name" if path.exists() else "no such profile file"
            raise InputError(f"{reference}: {said}")
        known: list[str] = []
        for space in (self, Workspace(shipped())):
            ids, short = space.profile_ids(), space.short_names()
            found = references.find(reference, ids, short)
            if found is not None:
                return space.profile_path(found)
            known += [*short, *ids]
        if any(reference in space.ids() for space in (self, Workspace(shipped()))):
            raise InputError(f"{reference} is a capture without a profile, nothing can serve it; nvparity show {reference} says why")
        hint = references.near(reference, known)
        raise InputError(f"no profile {reference!r}: not an id, a short name or a path{hint}; {HELP}")

    def profile_ids(self) -> list[str]:
        """Every profile's id, sorted."""
        if not self.profiles.is_dir():
            return []
        return sorted(path.stem for path in self.profiles.glob("*.yaml") if path.name != "boards.yaml" and not path.name.startswith("."))
