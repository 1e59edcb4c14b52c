"""Every function of the tables gives the fields its row names, and their statuses; read from the tables, not from what the generator made of them."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mocklib import fields as tables
from mocklib.image import FieldValue
from tests.contract import boards

STATUSES = (3, 4, 15, 26, 999)
PARAMETERS = ("percent_tmp_floor", "ramp_up_rate_mw_per_s", "ramp_down_rate_mw_per_s", "ramp_down_hysteresis_ms")
ROUTED_BY_DRIVER = {
    "clocks.memory_deferred_khz",
    "clocks_throttle_reasons.counters.hw_power_brake_slowdown_us",
    "clocks_throttle_reasons.counters.hw_thermal_slowdown_us",
    "gpu_fru_part_number",
    "gpu_part_number",
    "monitoring",
    "nvlink.bandwidth_per_link_mbps",
    "nvlink.common_speed_mbps",
    "nvlink.dl_counters",
    "nvlink.link_count",
    "nvlink.low_power.least",
    "nvlink.low_power.most",
    "nvlink.low_power.state",
    "nvlink.low_power.supported",
    "nvlink.low_power.unit",
    "nvlink.low_power_threshold",
    "nvlink.packet_bytes",
    "nvlink.switch_links",
    "pcie.atomics_inbound",
    "pcie.atomics_outbound",
    "pcie.device_current_link_gen",
    "pcie.host_max_link_gen",
    "pcie.replay_rollover_counter",
    "power.average_draw_mw",
    "power.edpp_multiplier_percent",
    "power.instant_draw_mw",
    "power.management_supported",
    "power.memory.average_draw_mw",
    "power.memory.instant_draw_mw",
    "power.module.average_draw_mw",
    "power.module.default_limit_mw",
    "power.module.enforced_limit_mw",
    "power.module.instant_draw_mw",
    "power.module.max_limit_mw",
    "power.module.min_limit_mw",
    "power.module.power_state",
    "power.module.requested_limit_mw",
    "power.smoothing.active_profile",
    "power.smoothing.admin_override",
    "power.smoothing.ceiling_mw",
    "power.smoothing.floor_mw",
    "power.smoothing.immediate_ramp_down",
    "power.smoothing.least_percent",
    "power.smoothing.most_percent",
    "power.smoothing.preset_count",
    *(f"power.smoothing.profiles.{preset}.{name}" for preset in range(5) for name in PARAMETERS),
    "processes.graphics_listed",
    "recovery_action",
    "relaxed_ordering_mode",
    "reset_status.drain_and_reset_recommended",
    "reset_status.reset_required",
    "retired_pages.pending_blacklist",
    "sparse_operation_mode",
    "thermal.temperature_memory_c",
    "thermal.tlimit.max_operating_c",
    "thermal.tlimit.memory_max_c",
    "thermal.tlimit.shutdown_c",
    "thermal.tlimit.slowdown_c",
    "voltage.graphics_uv",
}
"""Fields no function of the header gives: the driver's field ids and private slots do."""
PROGRAMS_ALONE = {
    *(f"clocks.locked_{name}.{end}_mhz" for name in ("graphics", "memory") for end in ("min", "max")),
    *(f"clocks.unlocked.{domain}_mhz" for domain in ("graphics", "sm", "memory")),
    "nvlink.low_power.default",
}
"""Fields that setters read and write, from which readings follow."""
Case = tuple[str, dict[str, Any], dict[str, str]]


def keyed(value: Any, keys: list[str], chosen: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """(arguments, field) for every entry of a mapping by ``keys``."""
    if not keys:
        yield chosen, value
        return
    for key, inner in value.items():
        yield from keyed(inner, keys[1:], {**chosen, keys[0]: key})


def cases() -> Iterator[Case]:
    """(function, arguments, {output: field}) for every answer the tables describe by themselves."""
    for path in sorted(pathlib.Path(tables.TABLES / "functions").glob("*.yaml")):
        for function, entry in tables.load_yaml(path).items():
            if function == "format":
                continue
            outs = {**entry.get("out", {}), **entry.get("string", {})}
            yield from by_arguments(function, outs, entry.get("by", []), {})
            for version, arm in entry.get("version", {}).items():
                struct = next(iter(arm["out"])).partition(".")[0]
                yield from by_arguments(function, arm["out"], [], {f"{struct}.version": version})


def by_arguments(function: str, outs: dict[str, Any], by: list[str], given: dict[str, Any]) -> Iterator[Case]:
    """One case for each combination of arguments that chooses a field."""
    found: dict[str, tuple[dict[str, Any], dict[str, str]]] = {}
    for output, value in outs.items():
        if isinstance(value, dict) and "const" in value:
            continue
        field = {"field": value} if isinstance(value, str) else value
        entries = [(given, field["field"])] if "field" in field else keyed(value, by, given)
        for arguments, name in entries:
            found.setdefault(repr(arguments), (arguments, {}))[1][output] = name
    for arguments, fields in found.values():
        yield function, arguments, fields


ALL = list(cases())
OPTIONAL = {"fabric.health_mask", "fabric.health_summary"}
"""Members with a number of their own for "not there": a status does not fail their call."""


def written(out: dict[str, Any], path: str) -> Any:
    """What a call wrote at ``parameter.member[1].member``."""
    if "[" not in path:
        return out[path]
    array, _, rest = path.partition("[")
    index, _, member = rest.partition("].")
    return out[array][int(index)][member]


def name_of(case: Any) -> str:
    return case if isinstance(case, str) else "-".join(map(str, case.values()))


def test_the_tables_have_cases() -> None:
    assert len(ALL) > 150


@pytest.mark.parametrize(("function", "arguments", "fields"), ALL, ids=name_of)
def test_a_call_gives_its_fields(serve: Callable[..., Any], function: str, arguments: dict[str, Any], fields: dict[str, str]) -> None:
    nvml, handle = serve()
    answer = nvml.call(function, handle, arguments)
    assert answer.code == 0
    values = boards.device()
    for output, field in fields.items():
        expected = values[field].value
        got = written(answer.out, output)
        if isinstance(expected, str) and isinstance(got, bytes):
            got = got.split(b"\0")[0].decode()
            expected = expected[: len(got)]
            assert got
        if isinstance(expected, int) and got != expected:  # a member of one byte holds the low byte, an unsigned one the two's complement
            assert got in {expected & 0xFF, expected & 0xFFFFFFFF}
            continue
        assert got == expected


@pytest.mark.parametrize(("function", "arguments", "fields"), ALL, ids=name_of)
def test_a_status_of_any_field_is_the_answer(serve: Callable[..., Any], function: str, arguments: dict[str, Any], fields: dict[str, str]) -> None:
    for position, field in enumerate(name for name in fields.values() if name not in OPTIONAL):
        status = STATUSES[position % len(STATUSES)]
        nvml, handle = serve(boards.spec(devices=[boards.device() | {field: FieldValue(status=status)}]))
        answer = nvml.call(function, handle, arguments)
        assert (answer.code, answer.out) == (status, {})


def test_every_field_is_given_by_something() -> None:
    named = {field for _, _, fields in ALL for field in fields.values()}
    by_hand = {field for field in tables.device_fields() if field not in named}
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(pathlib.Path(tables.HERE / "src").glob("*.c")))
    unread = sorted(field for field in by_hand if f"NVP_F_{field.replace('.', '_')}" not in text)
    assert unread == sorted(ROUTED_BY_DRIVER | PROGRAMS_ALONE)
