"""Compile: keys to fields, defaults of the reference, states, derivations, and the driver's tables."""

from __future__ import annotations

import pytest

from harness.stages import compile as compiling
from harness.stages import compile_derived
from harness.stores import profiles
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib import fields
from mocklib.image import Absence, Accounted, Pages, pack


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


def spec_of(tree, keys: str = "", version: str = "550.163.01", device: str = "index: 0"):
    text = f'version: "1.0"\nsystem: {{driver_version: "{version}"}}\ndevice_defaults: {{{keys}}}\ndevices: [{{{device}}}]\n'
    return compiling.compile_profile(profiles.parse(text.encode()), tree.resolve(version))


def field(tree, name: str, keys: str = "", **more):
    value = spec_of(tree, keys, **more).devices[0][name]
    return value.status or value.value


def test_a_key_that_is_not_given_is_not_supported(tree):
    (device,) = spec_of(tree).devices
    answered = {name for name, value in device.items() if value.status == 0 and not name.startswith("failure.")}  # inert by default
    assert answered == {
        "minor_number", "uuid", "pdi", "performance_state", "virtualization.mode", "protected_memory.total_bytes",
        "protected_memory.used_bytes", "protected_memory.free_bytes", "capabilities.egm", "processes.compute", "processes.graphics", "processes.mps",
        "processes.graphics_listed",
    }  # fmt: skip
    assert all(value.status == 3 or name.startswith("failure.") for name, value in device.items() if name not in answered)


def test_every_field_of_the_image_is_named_and_every_derivation_exists(tree):
    assert set(spec_of(tree).devices[0]) == set(fields.device_fields())
    assert {definition.source for definition in fields.device_fields().values() if definition.source} <= compile_derived.known_sources()


def test_a_bare_profile_packs(tree):
    assert len(pack(spec_of(tree))) > 1000


@pytest.mark.parametrize(
    ("name", "keys", "value"),
    [
        ("brand", "brand: geforce", 5),
        ("architecture", "architecture: Hopper", 9),
        ("multi_gpu_board", "multi_gpu_board: true", 1),
        ("fan.speed_percent", 'fan: {speed_percent: "35"}', 35),
        ("fan.speed_percent", 'fan: {speed_percent: "N/A"}', 3),
        ("inforom.pwr_object", 'inforom: {pwr_object: "N/A"}', 3),
        ("serial", 'serial: ""', ""),
        ("clocks_throttle_reasons.counters.sync_boost_us", "clocks_throttle_reasons: {counters: {sync_boost_us: 7}}", 7000),
        ("clocks_throttle_reasons.counters.sync_boost_us", "clocks_throttle_reasons: {gpu_idle: true}", 0),
        ("clocks_throttle_reasons.mask", "clocks_throttle_reasons: {gpu_idle: true, display_clocks_setting: true}", 0x101),
        ("clocks_throttle_reasons.supported_mask", "clocks_throttle_reasons: {gpu_idle: true}", 0x1FF),
        (
            "clocks_throttle_reasons.supported_mask",
            "clocks_throttle_reasons: {gpu_idle: true}, states: {clocks_throttle_reasons.hw_slowdown: not_supported}",
            0x1F7,
        ),
        ("board_id", 'pci: {bus_id: "0001:53:02.0"}', 0x15302),
        ("pci.bus_id", 'pci: {bus_id: "0000:2d:00.0"}', "00000000:2D:00.0"),
        ("pci.bus_id_legacy", 'pci: {bus_id: "0000:2d:00.0"}', "0000:2D:00.0"),
        ("pci.base_class", "pci: {device_id: 1}", 3),
        ("power.requested_limit_mw", "power: {enforced_limit_mw: 70000}", 70000),
        ("power.power_state", "power: {enforced_limit_mw: 1}, performance_state: P8", 8),
        ("clocks.graphics_customer_boost_max", "clocks: {graphics_max: 1410}", 1410),
        ("accounting.buffer_size", "accounting: {mode: disabled}", 4000),
        ("ecc.errors.volatile.single_bit.total", "ecc: {mode_current: enabled}", 0),
        ("ecc.sram.aggregate.uncorrectable", "ecc: {sram: {aggregate: {uncorrectable_parity: 2, uncorrectable_secded: 3}}}", 5),
        ("retired_pages.single_bit", "retired_pages: {single_bit: {count: 2, addresses: [1]}}", Pages(2, (1,))),
        ("retired_pages.double_bit", "retired_pages: {double_bit: {count: 1, addresses: [1], timestamps: [9]}}", Pages(1, (1,), (9,))),
        ("mig.max_devices", "mig: {mode_current: disabled}", 0),
        ("mig.max_devices", "mig: {mode_current: enabled, max_gpu_instances: 7}", 7),
        ("platform.module_id", "platform: {slot_number: 4}, module_id: 2", 2),
        ("module_id", "platform: {module_id: 5}", 5),
        ("platform.slot_number", "platform: {host_id: 1}", 0xFF),
        ("clocks.supported", "supported_clocks: {memory_clocks: [{freq_mhz: 5, graphics_clocks: [3, 2]}]}", ((5, (3, 2)),)),
        ("thermal.tlimit.margin_c", "architecture: ada, thermal: {temperature_gpu_c: 40, slowdown_threshold_c: 88}", 48),
        ("thermal.tlimit.margin_c", "architecture: ampere, thermal: {temperature_gpu_c: 40, slowdown_threshold_c: 88}", 3),
        ("thermal.tlimit.shutdown_c", "architecture: hopper, thermal: {shutdown_threshold_c: 92, slowdown_threshold_c: 89}", -3),
        ("repair.channel_pending", "architecture: ampere, remapped_rows: {pending: true}", 1),
        ("repair.channel_pending", "architecture: turing, remapped_rows: {pending: true}", 3),
        ("repair.unrepairable_memory", "architecture: hopper, remapped_rows: {failure_occurred: true}", 1),
    ],
)  # fmt: skip
def test_a_field_is_its_key_its_default_or_its_derivation(tree, name, keys, value):
    assert field(tree, name, keys) == value


@pytest.mark.parametrize(
    ("keys", "value"),
    [("average_draw_mw: 5, instant_draw_mw: 6", 5), ("instant_draw_mw: 6", 6), ("current_draw_mw: 4, average_draw_mw: 5", 4), ("min_limit_mw: 1", 3)],
)
def test_power_usage_is_the_average_else_the_instant_draw(tree, keys, value):
    assert field(tree, "power.current_draw_mw", f"power: {{{keys}}}") == value


@pytest.mark.parametrize(("reserved", "value"), [("reserved_bytes: 3, ", 4), ("", 1)])
def test_the_older_memory_call_counts_the_reserved_part_as_used(tree, reserved, value):
    assert field(tree, "memory.v1_used_bytes", f"memory: {{total_bytes: 10, {reserved}used_bytes: 1, free_bytes: 6}}") == value


@pytest.mark.parametrize(
    ("state", "code"),
    [("not_supported", 3), ("no_permission", 4), ("not_found", 6), ("function_not_found", 13), ("gpu_lost", 15), ("reset_required", 16),
     ("deprecated", 26), ("not_ready", 27), ("unknown_error", 999)],
)  # fmt: skip
def test_a_state_answers_its_code_whatever_the_value(tree, state, code):
    assert field(tree, "compute_mode", f"compute_mode: default, states: {{compute_mode: {state}}}") == code


def test_a_state_of_a_list_reaches_the_fields_made_from_it(tree):
    assert field(tree, "accounting.processes", "accounting: {mode: enabled}, states: {accounting.terminated: not_supported}") == 3
    assert field(tree, "pci.bus", 'pci: {bus_id: "0000:01:00.0"}, states: {pci.bus_id: gpu_lost}') == 15


@pytest.mark.spec("T12")
@pytest.mark.parametrize(
    ("health", "mask", "summary"),
    [
        ("", 0, 0),
        (
            "degraded_bandwidth: false, route_recovery: false, route_unhealthy: false, access_timeout_recovery: false, incorrect_configuration: none",
            0x1AA,
            1,
        ),
        ("degraded_bandwidth: true, route_recovery: false", 9, 3),
        ("degraded_bandwidth: true, route_unhealthy: true", 0x11, 2),
        ("incorrect_configuration: no_partition", 0x400, 2),
    ],
)
def test_fabric_health_is_a_mask_and_the_summary_follows_from_it(tree, health, mask, summary):
    keys = f"fabric: {{clique_id: 1, health: {{{health}}}}}"
    assert field(tree, "fabric.health_mask", keys) == mask
    assert field(tree, "fabric.health_summary", keys) == summary
    assert field(tree, "fabric.state", keys) == 3


@pytest.mark.spec("T11", "T13")
def test_a_pinned_summary_and_mask_win(tree):
    assert field(tree, "fabric.health_summary", "fabric: {health_summary: limited_capacity, health_mask: 170}") == 3
    assert field(tree, "fabric.health_mask", "fabric: {health_mask: 170}") == 170


@pytest.mark.spec("T01")
def test_without_a_fabric_block_there_is_no_fabric(tree):
    for name in ("fabric.state", "fabric.status", "fabric.health_mask", "fabric.health_summary"):
        assert field(tree, name) == 3


def test_processes_go_to_the_lists_their_type_names(tree):
    keys = (
        'processes: [{pid: 1, type: C, name: a, used_memory_mib: 5}, {pid: 2, type: G}, {pid: 3, type: "C+G"}, {pid: 4, type: M, gpu_instance_id: 1}]'
    )
    (device,) = spec_of(tree, keys).devices
    listed = {name: [process.pid for process in device[f"processes.{name}"].value] for name in ("compute", "graphics", "mps")}
    assert listed == {"compute": [1, 3], "graphics": [2, 3], "mps": [4]}
    first, unknown = device["processes.compute"].value
    assert (first.used_bytes, first.gpu_instance) == (5 << 20, 0xFFFFFFFF)
    assert unknown.used_bytes == 0xFFFFFFFFFFFFFFFF
    assert device["processes.mps"].value[0].gpu_instance == 1


def test_running_processes_are_accounted_for_the_time_that_accounting_is_on(tree):
    keys = (
        "accounting: {mode: %s, buffer_size: %d, "
        "terminated: [{pid: 8, gpu_util: 3, mem_util: 2, max_memory_mib: 4, time_ms: 7}, {pid: 9, time_ms: 1}]}, "
        "processes: [{pid: 1, sm_util: 5, mem_util: 6, used_memory_mib: 7}, {pid: 2, accounted: false}, "
        "{pid: 9, used_memory_mib: 1, max_memory_mib: 3}, {pid: 4}]"
    )
    terminated = Accounted(8, 3, 2, 4 << 20, 7)
    running = (Accounted(1, 5, 6, 7 << 20, running=True), Accounted(9, 0, 0, 3 << 20, running=True), Accounted(4, 0, 0, 2**64 - 1, running=True))
    assert field(tree, "accounting.processes", keys % ("enabled", 4000)) == (terminated, *running)
    assert field(tree, "accounting.processes", keys % ("enabled", 2)) == running[1:]
    assert field(tree, "accounting.processes", keys % ("disabled", 4000)) == (terminated, *running)
    assert field(tree, "accounting.processes", keys.replace("mode: %s, ", "") % 4000) == (terminated, Accounted(9, time_ms=1))


@pytest.mark.parametrize(("keys", "on"), [("ecc: {mode_current: enabled}", True), ("ecc: {mode_current: disabled}", False), ("", False)])
def test_the_ecc_mode_bit_follows_the_current_mode(tree, keys, on):
    assert ("ecc" in spec_of(tree, keys).modes[0]) is on


@pytest.mark.spec("B24")
def test_functions_that_the_drivers_library_does_not_export_are_gated(tree):
    old, new = spec_of(tree, version="470.74").gates, spec_of(tree, version="595.91.07").gates
    assert old["nvmlDeviceGetMemoryInfo_v2"] == 13
    assert "nvmlDeviceGetMemoryInfo_v2" not in new
    assert "nvmlDeviceGetMemoryInfo" not in old
    assert "nvmlRetry_NvRmControl" in new, "gone since 535"
    assert set(new) == set(fields.since()) - tree.resolve("595.91.07").exports


def test_a_driver_older_than_the_table_is_gated_as_its_oldest(tree):
    assert spec_of(tree, version="304.137").gates == spec_of(tree, version="340.108").gates
    assert len(spec_of(tree, version="340.108").gates) > len(spec_of(tree, version="470.74").gates)


def test_the_private_table_is_that_of_the_driver(tree):
    def slots(version):
        return {slot.number: slot.field for slot in spec_of(tree, version=version).slots}

    assert slots("470.256.02")[211] == "gsp_firmware.version"
    assert slots("535.274.02")[243] == "sparse_operation_mode"
    assert slots("550.163.01")[249] == "sparse_operation_mode"
    assert slots("525.147.05")[237] == "thermal.tlimit.margin_c"
    assert slots("550.163.01")[237] == "gpu_fru_part_number"


def test_a_field_id_answers_by_scope(tree):
    ids = {(row.id, row.scope): row.field for row in spec_of(tree).field_ids}
    assert ids[185, 0] == "power.average_draw_mw"
    assert ids[185, 1] == "power.module.average_draw_mw"
    assert ids[82, None] == "thermal.temperature_memory_c"
    assert (269, None) not in ids
    assert (269, None) in {(row.id, row.scope) for row in spec_of(tree, version="580.105.08").field_ids}


@pytest.mark.spec("B04", "B05")
@pytest.mark.parametrize(
    ("system", "value"),
    [("cuda_version_major: 13, cuda_version_minor: 2", 13020), ('cuda_version: "12.8"', 12080), ("", 12040)],
)
def test_cuda_is_the_number_keys_else_the_text_else_12_4(tree, system, value):
    text = f'version: "1.0"\nsystem: {{driver_version: "550.1", {system}}}\n'
    spec = compiling.compile_profile(profiles.parse(text.encode()), tree.resolve("550.1"))
    assert spec.system["system.cuda_version"].value == value


def test_the_clock_is_frozen_where_the_profile_says_so(tree):
    text = 'version: "1.0"\nsystem: {driver_version: "550.1"}\nclock: {mode: frozen, at: "2026-08-21T08:54:01Z"}\n'
    spec = compiling.compile_profile(profiles.parse(text.encode()), tree.resolve("550.1"))
    assert (spec.clock.mode, spec.clock.at_ns) == ("frozen", 1787302441 * 10**9)
    assert spec_of(tree).clock.mode == "real"


def test_a_date_that_does_not_exist_is_refused(tree):
    text = 'version: "1.0"\nsystem: {driver_version: "550.1"}\nclock: {at: "2026-02-30T00:00:00Z"}\n'
    with pytest.raises(InputError, match="clock"):
        compiling.compile_profile(profiles.parse(text.encode()), tree.resolve("550.1"))


def test_an_image_knows_the_file_it_is_made_from(tree, tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text('version: "1.0"\nsystem: {driver_version: "550.1"}\n')
    source = compiling.compile_profile(profiles.load(path), tree.resolve("550.1")).source
    assert source is not None
    assert (source.path, source.size, source.mtime_ns) == (str(path), path.stat().st_size, path.stat().st_mtime_ns)


@pytest.mark.spec("A14")
def test_the_zero_config_default_is_eight_a100s_with_the_ledgers_identity(tree, repository):
    board = profiles.load(repository / "profiles" / "a100-sxm4-40gb-x1_570.148.08.yaml")
    spec = compiling.zero_config_spec(board, tree.resolve("550.163.01"))
    assert len(spec.devices) == 8
    last = spec.devices[7]
    assert last["uuid"].value == "GPU-4d4f434b-0000-0000-0000-000000000007"
    assert last["pci.bus_id"].value == "00000000:08:00.0"
    assert last["minor_number"].value == 7
    assert last["bar1_memory.total_bytes"].value == 256 << 20
    assert last["name"].value == "NVIDIA A100-SXM4-40GB"
    assert spec.system["system.driver_version"].value == "550.163.01"
    assert spec.system["system.nvml_version"].value == "12.550.163.01"
    assert spec.system["system.cuda_version"].value == 12040
    assert len({device["board_id"].value for device in spec.devices}) == 8


@pytest.mark.spec("B15", "B17")
def test_minor_number_and_uuid_are_those_of_the_index_where_a_profile_gives_none(tree):
    found = spec_of(tree, device='index: 0}, {index: 2, uuid: "GPU-x"}, {index: 5, minor_number: 1').devices
    assert [device["minor_number"].value for device in found] == [0, 2, 1]
    made = "GPU-4d4f434b-0000-0000-0000-{:012d}".format
    assert [device["uuid"].value for device in found] == [made(0), "GPU-x", made(5)]


def test_a_board_with_one_figure_of_sram_errors_has_no_parts_of_it(tree):
    (device,) = spec_of(tree, "ecc: {mode_current: enabled, sram: {volatile: {uncorrectable: 4}}}").devices
    assert device["ecc.sram.volatile.uncorrectable"].value == 4
    assert device["ecc.sram.volatile.correctable"].value == 0
    assert {device[f"ecc.sram.{name}"].status for name in ("volatile.uncorrectable_parity", "uncorrectable_sources.l2", "threshold_exceeded")} == {3}


def test_a_hidden_member_of_a_struct_is_zero_and_one_that_stands_alone_is_not_supported(tree):
    keys = 'pci: {bus_id: "0000:01:00.0", subsystem_id: 5}, states: {pci.device_id: redacted, gpu_part_number: redacted, clocks.sm_max: redacted}'
    assert field(tree, "pci.device_id", keys) == 0
    assert field(tree, "pci.subsystem_id", keys) == 5
    (device,) = spec_of(tree, keys).devices
    assert (device["gpu_part_number"].status, device["clocks.sm_max"].status) == (3, 3)


def test_a_hidden_text_of_a_struct_is_empty_and_hides_what_is_made_of_it(tree):
    (device,) = spec_of(tree, "states: {pci.bus_id: redacted}").devices
    assert [device[name].value for name in ("pci.bus_id", "pci.bus_id_legacy", "pci.bus", "pci.domain")] == ["", "", 0, 0]


def test_inactive_remappings_are_none_where_the_block_does_not_say(tree):
    assert field(tree, "remapped_rows.correctable_inactive", "remapped_rows: {pending: false}") == 0
    assert field(tree, "remapped_rows.uncorrectable_inactive", "remapped_rows: {uncorrectable_inactive: 4}") == 4
    assert field(tree, "remapped_rows.correctable_inactive") == 3


@pytest.mark.parametrize(
    ("device", "handle", "reading"),
    [("state: uncaptured", 0, 6), ("state: gpu_lost", 15, 15), ("state: unknown_error", 999, 15), ("state: no_permission", 4, 15)],
)
def test_a_gpu_with_a_state_of_its_own_answers_that_and_nothing_else(tree, device: str, handle: int, reading: int):
    spec = spec_of(tree, "brand: tesla, memory: {total_bytes: 4096}", device=f"index: 0, {device}")
    assert {value.status for value in spec.devices[0].values()} == {reading}
    assert (spec.modes, spec.absences) == ([frozenset()], [Absence(handle, reading)])


def test_a_lost_gpu_is_found_by_what_it_is_known_by(tree):
    spec = spec_of(tree, device='index: 0, state: gpu_lost, uuid: GPU-1, pci: {bus_id: "0001:53:02.0"}')
    known = {name: value.value for name, value in spec.devices[0].items() if value.status == 0}
    assert set(known) == {"uuid", "pci.domain", "pci.bus", "pci.device", "pci.function", "pci.bus_id", "pci.bus_id_legacy"}
    assert (known["uuid"], known["pci.domain"], known["pci.bus"]) == ("GPU-1", 1, 0x53)
