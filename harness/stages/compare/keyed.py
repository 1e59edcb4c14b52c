"""Readings by key: GPUs of a render laid over the GPUs of a capture, and the leaves of both under the capture's paths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_GPU = re.compile(r"gpu\[(\d+)\](?=/|$)")


@dataclass(frozen=True)
class Keyed:
    """``expected`` and ``actual``: path -> text in file order, under the capture's GPU numbers.

    A GPU of the render that the capture has not is numbered after the capture's last.  ``names``: GPU number -> what a finding calls it.
    """

    expected: dict[str, str]
    actual: dict[str, str]
    names: dict[int, str]


def gpu_of(path: str) -> int | None:
    """The GPU number in ``path`` (``gpu[3]/uuid`` -> 3), or None for an element of the node."""
    found = _GPU.match(path)
    return int(found.group(1)) if found else None


def key(expected: Iterable[tuple[str, str]], actual: Iterable[tuple[str, str]]) -> Keyed:
    """Both sides' leaves, (path, text) in file order, under common paths.

    GPUs pair by UUID where it is unique on its side; what is left pairs in order of appearance (so a changed UUID is one finding, not a
    lost GPU).
    """
    wanted, got = list(expected), list(actual)
    pairs = _pair(_uuids(wanted), _uuids(got))
    return Keyed(
        expected=dict(wanted),
        actual={_renumber(path, pairs): text for path, text in got},
        names=_names(_uuids(wanted), pairs, _uuids(got)),
    )


def _uuids(leaves: list[tuple[str, str]]) -> dict[int, str | None]:
    """GPU number -> UUID, None where the block has none, in order of appearance."""
    found: dict[int, str | None] = {}
    for path, text in leaves:
        gpu = gpu_of(path)
        if gpu is not None:
            found.setdefault(gpu, None)
            if path == f"gpu[{gpu}]/uuid":
                found[gpu] = text
    return found


def _unique(uuids: dict[int, str | None]) -> dict[str, int]:
    counted = Counter(uuid for uuid in uuids.values() if uuid)
    return {uuid: gpu for gpu, uuid in uuids.items() if uuid and counted[uuid] == 1}


def _pair(wanted: dict[int, str | None], got: dict[int, str | None]) -> dict[int, int]:
    """Number in the render -> number in the capture."""
    mine, theirs = _unique(wanted), _unique(got)
    pairs = {theirs[uuid]: mine[uuid] for uuid in theirs if uuid in mine}
    free = [gpu for gpu in wanted if gpu not in pairs.values()]
    following = max(wanted, default=-1) + 1
    for gpu in got:
        if gpu in pairs:
            continue
        if free:
            pairs[gpu] = free.pop(0)
        else:
            pairs[gpu] = following
            following += 1
    return pairs


def _renumber(path: str, pairs: dict[int, int]) -> str:
    gpu = gpu_of(path)
    return path if gpu is None else _GPU.sub(f"gpu[{pairs[gpu]}]", path, count=1)


def _names(wanted: dict[int, str | None], pairs: dict[int, int], got: dict[int, str | None]) -> dict[int, str]:
    telling = _unique(wanted)
    names = {gpu: uuid if uuid and uuid in telling else str(gpu) for gpu, uuid in wanted.items()}
    for theirs, mine in pairs.items():
        names.setdefault(mine, got[theirs] or str(mine))
    return names
