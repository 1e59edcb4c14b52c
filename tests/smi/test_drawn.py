"""Random profiles: what builtin prints of each, every binary at hand prints, byte for byte, in every view that both have.

`nox -s smi` takes ``IN_CI`` profiles for each binary, `nox -s smi -- --deep` ``DEEP`` (``NVPARITY_DRAWN``).  A profile is its seed; one that fails is
made smaller, and the smallest that still fails is printed.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.stages import retargeting
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.words.errors import NvparityError
from tests.smi import drawn, shrinking
from tests.smi.side_by_side import Difference, Pairs

IN_CI, DEEP = 300, 2000
IN_THREADS = 30
"""Where the library has the thread sanitizer: these views are printed from one thread, and a whole run is long."""
EACH = 10
"""Profiles a test."""
TRIES = 400
"""Attempts at a smaller profile."""


def count() -> int:
    """How many profiles are drawn."""
    usual = IN_THREADS if os.environ.get("NVPARITY_SANITIZED") == "threads" else IN_CI
    return int(os.environ.get("NVPARITY_DRAWN", usual))


@pytest.fixture(autouse=True)
def without_collecting() -> Iterator[None]:
    """Nothing here makes cycles, and a render makes many objects."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("first", range(0, count(), EACH))
def test_builtin_prints_what_every_binary_prints_of_profiles(pairs: Pairs, first: int, record_property: Callable[[str, object], None]) -> None:
    for seed in range(first, min(first + EACH, count())):
        document = drawn.document(seed)
        for difference in pairs.differences(document, drawn.views_of(document), seed=seed):
            pytest.fail(_told(pairs, seed, document, difference), pytrace=False)
    binaries = ", ".join(map(str, pairs.binaries))
    record_property("figure", f"drawn profiles, seeds {first} to {first + EACH - 1}: binaries {binaries}: 0 bytes of difference")


def _told(pairs: Pairs, seed: int, document: Mapping[str, Any], difference: Difference) -> str:
    """What failed, and the smallest profile of which it still does."""
    branch, view = difference.branch, difference.view

    def fails(candidate: dict[str, Any]) -> bool:
        try:
            return drawn.could_be_drawn(candidate) and any(pairs.differences(candidate, (view,), (branch,)))
        except NvparityError:
            return False

    small = shrinking.shrink(dict(document), fails, TRIES)
    last = next(pairs.differences(small, (view,), (branch,)))
    return f"seed {seed}, binary {last}\nof this profile:\n{yaml.safe_dump(small, allow_unicode=True, sort_keys=False)}"


def test_a_profile_is_its_seed() -> None:
    assert [drawn.document(seed) for seed in range(5)] == [drawn.document(seed) for seed in range(5)]
    assert drawn.document(0) != drawn.document(1)


def test_what_is_served_to_a_binary_is_what_re_targeting_makes_of_the_profile(pairs: Pairs, repository: Path) -> None:
    for seed in (1, 2):
        document = drawn.document(seed)
        profile = profiles.parse(profiles.dump(document).encode(), "drawn")
        for branch, spec in pairs.specs(document):
            if branch not in drawn.STALE:
                served = retargeting.retarget(profile, Workspace(repository), pairs.versions[branch])
                assert spec == replace(pairs.compiled(served.profile, pairs.versions[branch]), source=spec.source)


@pytest.mark.parametrize("view", ["q-x", "q", "L", "q:MEMORY,ECC"])
def test_one_byte_that_a_binary_prints_otherwise_is_a_difference(pairs: Pairs, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    branch, run = max(pairs.binaries), pairs.real
    assert list(pairs.differences(drawn.document(1), (view,), (branch,))) == []
    monkeypatch.setattr(pairs, "real", lambda *asked: replace(run(*asked), stdout=run(*asked).stdout[:-1] + b"."))
    assert [difference.view for difference in pairs.differences(drawn.document(1), (view,), (branch,))] == [view]
    monkeypatch.setattr(pairs, "real", lambda *asked: replace(run(*asked), status=-11))
    assert [difference.status for difference in pairs.differences(drawn.document(1), (view,), (branch,))] == [-11]


def test_a_difference_is_made_smaller_and_told(pairs: Pairs) -> None:
    branch = max(pairs.binaries)
    document = drawn.document(3)
    wrong = pairs.versions[sorted(pairs.binaries)[-2]]  # a library that the binary takes, and whose driver prints otherwise
    pairs.versions[branch], right = wrong, pairs.versions[branch]
    try:
        told = _told(pairs, 3, document, next(pairs.differences(document, ("q-x",), (branch,))))
    finally:
        pairs.versions[branch] = right
    assert told.startswith(f"seed 3, binary {branch}, view q-x, line ")
    assert len(yaml.safe_load(told.partition("of this profile:\n")[2])["devices"]) == 1


GPU = {"index": 0, "minor_number": 3, "pci": {"bus_id": "0000:56:1d.7", "device_id": 186, "subsystem_id": 57}}
FOUND: dict[str, dict[str, Any]] = {
    "pids whose difference has no room in 32 bits": {"processes": [{"pid": pid} for pid in (2147483649, 4294967295, 2, 1073741824, 3221225472)]},
    "a buffer of accounting none of whose processes has figures": {
        "accounting": {"terminated": [{"pid": 46, "gpu_util": 7}, {"pid": 47, "gpu_util": 8}]},
        "states": {"accounting.mode": "not_found"},
    },
}
"""What draws have found, made small."""


@pytest.mark.parametrize("found", FOUND)
def test_what_draws_have_found_stays_mended(pairs: Pairs, found: str) -> None:
    document = {**drawn.document(0), "devices": [{**GPU, **FOUND[found]}]}
    assert [str(difference) for difference in pairs.differences(document, ("q-x", "q", "q:ACCOUNTING"))] == []
