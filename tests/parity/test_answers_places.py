"""Where the GPUs of a node stand, through the whole chain: affinities and levels of a recording derive into root complexes."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import yaml

from harness.stages import compile as compiling
from harness.stages.answers import deriving, gathering, gathering_places, replaying, residual
from harness.stores import profiles
from harness.tables import drivers
from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import Answer
from tests.parity.fixed_point import STILL
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
ADDRESSES = [f"0000:{number:02X}:00.0" for number in (1, 2, 0x41, 0x81)]
ROOTS: list[dict[str, Any]] = [
    {"id": "first", "numa_node": 0, "devices": [ADDRESSES[0], ADDRESSES[2]], "cpu_affinity": "0-3,9"},
    {"id": "second", "numa_node": 0, "devices": [ADDRESSES[1]]},
    {"id": "third", "numa_node": 1, "devices": [ADDRESSES[3]]},
]
FIELDS = ("topology.root", "topology.numa_node", "topology.cpus", "topology.default_level")
LEVELS = gathering_places.LEVELS


def document(node: dict[str, Any], device: dict[str, Any] | None = None) -> str:
    written = {
        "format": 1, "version": "1.0", "system": {"driver_version": "580.105.08"}, **node, "device_defaults": {"brand": "nvidia", **(device or {})},
        "devices": [{"index": index, "pci": {"bus_id": address, "device_id": 0x1EB810DE}} for index, address in enumerate(ADDRESSES)],
    }  # fmt: skip
    return yaml.safe_dump(written) + STILL


def derived(recording: Recording) -> str:
    return deriving.derive(recording, drivers.load()).text


def places(text: str) -> list[dict[str, object]]:
    profile = profiles.parse(text.encode())
    devices = compiling.compile_profile(profile, drivers.load().resolve("580.105.08")).devices
    return [{name: device[name].status or device[name].value for name in FIELDS} for device in devices]


@functools.cache
def recorded() -> Recording:
    return replaying.record_mock(document({"pcie_topology": {"root_complexes": ROOTS, "cores_per_numa": 8}}), SPACE)


@pytest.fixture
def recording(served_library: object) -> Recording:
    del served_library
    return recorded()


def roots(text: str) -> list[dict[str, Any]]:
    return list((yaml.safe_load(text).get("pcie_topology") or {}).get("root_complexes") or [])


def with_levels(recording: Recording, levels: dict[tuple[int, int], int]) -> Recording:
    """The recording with other levels of these pairs, each way."""
    both = {(gpu, Gpu(other)): level for pair, level in levels.items() for gpu, other in (pair, pair[::-1])}
    changed = dict(recording)
    for asked in recording:
        far = dict(asked.arguments).get("device2")
        if asked.function == LEVELS and (asked.gpu, far) in both:
            changed[asked] = Answer(0, {"pathInfo": both[asked.gpu, far]})  # type: ignore[index]
    assert changed != recording
    return changed


def test_root_complexes_come_back_and_explain_every_answer(recording: Recording) -> None:
    made = derived(recording)
    assert places(made) == places(document({"pcie_topology": {"root_complexes": ROOTS, "cores_per_numa": 8}}))
    assert [root["devices"] for root in roots(made)] == [root["devices"] for root in ROOTS]
    assert [root["cpu_affinity"] for root in roots(made)] == ["0-3,9", "0-7", "8-15"]
    settled = residual.settle(made, recording, SPACE)
    assert (settled.explained, dict(settled.residual)) == (len(recording), {})


def test_one_level_for_all_pairs_is_the_key_of_its_name() -> None:
    given = document({}, {"topology": {"default_level": "multiple"}})
    recording = replaying.record_mock(given, SPACE)
    made = derived(recording)
    assert (roots(made), places(made)) == ([], places(given))
    assert dict(residual.settle(made, recording, SPACE).residual) == {}


@pytest.mark.parametrize("levels", [{(0, 2): 20}, {(0, 3): 40}, {(0, 1): 10}, {(1, 3): 30}])
def test_levels_that_no_root_complex_makes_are_no_root_complexes(recording: Recording, levels: dict[tuple[int, int], int]) -> None:
    """A bridge between two, a NUMA node's own links, one of three pairs that should be alike, one NUMA node where the memory is of two."""
    assert roots(derived(with_levels(recording, levels))) == []


def test_answers_that_root_complexes_cannot_say_are_kept(recording: Recording) -> None:
    other = with_levels(recording, {(0, 2): 20})
    settled = residual.settle(derived(other), other, SPACE)
    assert settled.residual[LEVELS] == 9, "the last GPU has one level to all others"


def test_an_address_that_two_gpus_have_is_below_one_root_complex(recording: Recording) -> None:
    doubled = dict(recording)
    for asked in recording:
        if asked.gpu == 3 and asked.function.startswith("nvmlDeviceGetPciInfo"):
            doubled[asked] = recording[Asked(asked.function, 0, asked.arguments)]
    assert doubled != recording
    made = derived(doubled)
    assert sum(root["devices"].count(ADDRESSES[0]) for root in roots(made)) == 1
    assert profiles.parse(made.encode()).devices


@pytest.mark.parametrize("odd", ["text", -1, [], [2**64], [-1], ["a"], [3, 0, 0, 0], None, [2**64 - 1] * 4])
def test_odd_affinities_never_make_a_profile_that_does_not_hold(recording: Recording, odd: object) -> None:
    changed = {
        asked: Answer(0, {**answer.out, **dict.fromkeys({"nodeSet", "cpuSet", "pathInfo"} & answer.out.keys(), odd)}) if not answer.code else answer
        for asked, answer in recording.items()
    }
    assert places(derived(changed))


def test_a_place_is_told_by_both_affinities_alone(recording: Recording) -> None:
    """Of one GPU no level is asked: it is below a root complex of its own."""
    alone = {asked: answer for asked, answer in recording.items() if asked.gpu in (None, 0) and asked.function != LEVELS}
    told = gathering.gather(alone, drivers.load().resolve("580.105.08"))[0].fields
    assert (told["topology.root"].value, told["topology.numa_node"].value, told["topology.cpus"].value) == (0, 0, (0x20F,))
