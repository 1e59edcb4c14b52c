"""Subtrees that are not served yet: at and below a path, and nothing beside it."""

from __future__ import annotations

import pytest

from harness.stages.importing import source
from harness.tables import deferred


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("gpu[0]/mig_devices/mig_device[3]/fb_memory_usage/total", "mig"),
        ("gpu[0]/mig[1]/uuid", "mig"),
        ("gpu[0]/mig[1]", "mig"),
        ("gpu[0]/mig_devices", None),
        ("gpu[0]/mig_mode/current_mig", None),
        ("mig_devices/mig_device", None),
    ],
)
def test_a_subtree_is_deferred_by_its_path(path: str, reason: str | None):
    assert deferred.reason_of(path) == reason


def test_each_reading_is_apart_once():
    leaves = [
        ("gpu[0]/serial", "[REDACTED]"),
        ("gpu[0]/odd", "1"),
        ("gpu[0]/mig[0]/uuid", "MIG-1"),
        ("gpu[0]/mig[0]/profile", "[REDACTED]"),
        ("gpu[0]/name", "A"),
    ]
    apart = source.apart(leaves, {"gpu[0]/serial", "gpu[0]/odd", "gpu[0]/mig[0]"})
    assert (set(apart.redacted), set(apart.unmodelled)) == ({"gpu[0]/serial", "gpu[0]/mig[0]/profile"}, {"gpu[0]/odd"})
    assert (apart.deferred, apart.deferrals()) == ({"gpu[0]/mig[0]/uuid": "mig"}, {"mig": 1})
    assert [apart.kind_of(path) for path, _ in leaves] == ["redacted", "unmodelled", "deferred", "redacted", None]
