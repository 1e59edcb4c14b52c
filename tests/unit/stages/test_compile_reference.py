"""Compile: what the configuration reference works out from keys that no capture shows."""

from __future__ import annotations

from typing import Any

import pytest

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers


def held(name: str, keys: str, node: str = "") -> Any:
    text = f'version: "1.0"\nsystem: {{driver_version: "580.105.08"}}\ndevice_defaults: {{{keys}}}\ndevices: [{{index: 0}}]\n{node}\n'
    value = compiling.compile_profile(profiles.parse(text.encode()), drivers.load().resolve("580.105.08")).devices[0][name]
    return f"status {value.status}" if value.status else value.value


FANS = "count: 2, speed_percent: '40', target_speed_percent: '45', max_speed_rpm: 5000"
OFFSETS = "clocks: {offsets: {graphics: {min_mhz: -200, max_mhz: 300}}}"
CLOCKS = "graphics_current: 210, sm_current: 1980, memory_current: 2619, sm_max: 1500"


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("fan.target_speed_percent", f"fan: {{{FANS}}}", 45),
        ("fan.target_speed_percent", 'fan: {target_speed_percent: "N/A"}', "status 3"),
        ("fan.speed_rpm", f"fan: {{{FANS}}}", 2000),
        ("fan.speed_rpm", 'fan: {count: 1, speed_percent: "N/A", max_speed_rpm: 5000}', "status 3"),
        ("fan.speed_rpm", "fan: {count: 1, speed_percent: 40}", "status 3"),
        ("fan.speed_rpm", "fan: {max_speed_rpm: 5000, speed_percent: 40}, states: {fan.max_speed_rpm: no_permission}", "status 4"),
        ("fan.min_speed_percent", f"fan: {{{FANS}}}", 0),
        ("fan.max_speed_percent", f"fan: {{{FANS}}}", 100),
        ("fan.max_speed_percent", f"fan: {{{FANS}, max_speed_percent: 90}}", 90),
        ("fan.max_speed_percent", "fan: {count: 0, max_speed_percent: 90}", "status 3"),
        ("hostname", "architecture: blackwell, hostname: gpu-node-0", "gpu-node-0"),
        ("hostname", "architecture: hopper, hostname: gpu-node-0", "status 3"),
        ("power.power_mizer_mode", "architecture: maxwell", 2),
        ("power.power_mizer_mode", "architecture: ampere, power: {power_mizer_mode: adaptive}", 0),
        ("power.power_mizer_mode", "architecture: kepler", "status 3"),
        ("clocks.offsets.graphics.set_mhz", OFFSETS, 0),
        ("clocks.offsets.graphics.min_mhz", OFFSETS, -200),
        ("clocks.offsets.memory.set_mhz", OFFSETS, "status 3"),
        ("clocks.adaptive_clocking", "clocks: {adaptive_clocking: disabled}", 0),
        ("clocks.graphics_current", f"clocks: {{{CLOCKS}, locked_graphics: {{min_mhz: 300, max_mhz: 1600}}}}", 300),
        ("clocks.sm_current", f"clocks: {{{CLOCKS}, locked_graphics: {{min_mhz: 300, max_mhz: 1600}}}}", 1500),
        ("clocks.memory_current", f"clocks: {{{CLOCKS}, locked_graphics: {{min_mhz: 300, max_mhz: 1600}}}}", 2619),
        ("clocks.memory_current", f"clocks: {{{CLOCKS}, locked_memory: {{min_mhz: 300, max_mhz: 1600}}}}", 1600),
        ("retired_pages.pending_retirement", "retired_pages: {pending_blacklist: true}", 1),
        ("retired_pages.pending_retirement", "retired_pages: {pending_blacklist: true, pending_retirement: false}", 0),
        ("fabric.state", "fabric: {state: auto}", 3),
        ("monitoring", "brand: tesla", 1),
        ("monitoring", "brand: nvidia_rtx", 1),
        ("monitoring", "brand: geforce", 0),
        ("monitoring", "brand: geforce, utilization: {gpu: 0}", 1),
        ("monitoring", "brand: tesla, monitoring: false", 0),
        ("monitoring", "brand: geforce, monitoring: true", 1),
        ("monitoring", "brand: tesla, states: {monitoring: no_permission}", "status 4"),
        ("monitoring", "name: Board", "status 3"),
        ("monitoring", "brand: tesla, utilization: {gpu: 0}, states: {processes: not_supported}", 0),
    ],
)
def test_a_field_is_what_the_reference_makes_of_the_keys(name: str, keys: str, value: Any) -> None:
    assert held(name, keys) == value


def test_retired_pages_are_read_under_the_references_name() -> None:
    pages = held("retired_pages.double_bit", "retired_pages: {double_bit_retirement: {count: 1, addresses: [4096]}}")
    assert (pages.count, tuple(pages.addresses)) == (1, (4096,))


@pytest.mark.spec("S04")
@pytest.mark.parametrize(("node", "value"), [("{c2c_enabled: true}", 1), ("{c2c_enabled: false}", "status 3"), ("{}", "status 3")])
def test_a_node_without_c2c_says_not_supported_and_never_disabled(node: str, value: Any) -> None:
    assert held("c2c_mode", "", f"nvlink: {node}") == value


def test_a_devices_own_c2c_mode_wins_over_the_nodes() -> None:
    assert held("c2c_mode", "c2c_mode: disabled", "nvlink: {c2c_enabled: true}") == 0


def ids(mask: bytes) -> list[int]:
    number = int.from_bytes(mask, "little")
    return [bit for bit in range(256) if number >> bit & 1]


OFFERED = "supported: [{id: 0, priority: 10, conflicts: [1, 5]}, {id: 1, priority: 20}, {id: 5, priority: 5}, {id: 6, priority: 40}]"


@pytest.mark.spec("F17")
@pytest.mark.parametrize(
    ("requested", "asked", "enforced"),
    [
        ("[]", [], []),
        ("[0, 6]", [0, 6], [0, 6]),
        ("[0, 1]", [0, 1], [0]),
        ("[0, 5]", [0, 5], [5]),
        ("[0, 1, 5, 6]", [0, 1, 5, 6], [5, 6]),
        ("[2, 6]", [6], [6]),
    ],
)
def test_of_profiles_that_conflict_the_one_of_better_priority_is_enforced(requested: str, asked: list[int], enforced: list[int]) -> None:
    keys = f"power: {{workload_power_profiles: {{{OFFERED}, requested: {requested}}}}}"
    found = [ids(held(f"power.workload_profiles.{which}", keys)) for which in ("supported", "requested", "enforced")]
    assert found == [[0, 1, 5, 6], asked, enforced]


def test_a_board_that_says_nothing_of_what_it_offers_enforces_what_is_asked_for() -> None:
    keys = "power: {workload_power_profiles: {requested: [3]}}"
    assert ids(held("power.workload_profiles.enforced", keys)) == [3]
    assert held("power.workload_profiles.supported", keys) == "status 3"
    assert ids(held("power.workload_profiles.requested", "power: {workload_power_profiles: {supported: []}}")) == []


def test_each_process_has_its_shares_of_the_engines_where_some_process_gives_one() -> None:
    listed = "processes: [{pid: 7, sm_util: 75, dec_util: 1}, {pid: 9, type: G}]"
    assert held("processes.utilization", listed) == (7, 75, 0, 0, 1, 9, 0, 0, 0, 0)
    assert held("processes.utilization", "processes: [{pid: 7}]") == "status 3"
    assert held("processes.utilization", "processes: []") == "status 3"
    assert held("processes.utilization", f"{listed}, mig: {{mode_current: enabled}}") == "status 3"


def test_a_devices_own_processes_stand_instead_of_the_defaults() -> None:
    text = 'version: "1.0"\nsystem: {driver_version: "580.105.08"}\ndevice_defaults: {processes: [{pid: 7}], encoder_stats: {session_count: 2}}\n'
    profile = profiles.parse(f"{text}devices: [{{index: 0}}, {{index: 1, processes: [{{pid: 8}}]}}, {{index: 2, processes: []}}]\n".encode())
    devices = compiling.compile_profile(profile, drivers.load().resolve("580.105.08")).devices
    assert [[process.pid for process in device["processes.compute"].value] for device in devices] == [[7], [8], []]
    assert [device["encoder_stats.session_count"].value for device in devices] == [2, 2, 2]
