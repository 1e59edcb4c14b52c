"""What ``expect_fields`` expects of what no capture prints (links, an injector, sessions, GPM, a checksum), and of what moves with time."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any

from mocklib import fields as tables
from tests.parity.expect_reference import AGES, CODES, NOTHING, Flat, Held, since

SESSION = {
    "encoder_stats": ("id", "pid", "codec", "width", "height", "average_fps", "average_latency_us"),
    "fbc_stats": ("id", "pid", "display", "type", "flags", "max_width", "max_height", "width", "height", "average_fps", "average_latency_us"),
}
WORDS = {"h264": 0, "hevc": 1, "av1": 2, "unknown": 0, "tosys": 1, "cuda": 2, "vid": 3, "hwenc": 4}
"""nvml.h, nvmlEncoderType_t and nvmlFBCSessionType_t."""
REASONS = ("sw_power_cap", "sync_boost", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")


def _no_links(values: Flat, _states: Flat) -> Held:
    """Ledger S01 to S28: not supported without the block; links are traced by the tests of their own calls."""
    assert not any(key.startswith("nvlink") for key in values), "a board with links needs an expectation of its own"
    return NOTHING


def _no_failure(values: Flat, _states: Flat) -> Held:
    """Ledger V01: healthy without the block, and nothing counted."""
    assert not any(key.startswith("failure.") for key in values), "a board that fails needs an expectation of its own"
    return 0, 0


def _sessions(block: str) -> Callable[[Flat, Flat], Held]:
    """Ledger K07: none where the board has the block and counts none; not known where it counts some and lists none."""

    def made(values: Flat, states: Flat) -> Held:
        if f"{block}.sessions" in values:
            numbers = [entry.get(member, 0) for entry in values[f"{block}.sessions"] for member in SESSION[block]]
            return 0, tuple(WORDS.get(number, number) for number in numbers)
        for name in (f"{block}.sessions", f"{block}.session_count"):
            if name in states:
                return CODES[states[name]], None
        return (0, ()) if any(key.startswith(f"{block}.") for key in values) and not values.get(f"{block}.session_count") else NOTHING

    return made


DERIVED: dict[str, Callable[[Flat, Flat], Held]] = {
    **{name: _no_links for field in tables.device_fields().values() if (name := field.source or "").startswith("nvlink_")},
    **{name: _no_failure for field in tables.device_fields().values() if (name := field.source or "").startswith("failure_")},
    "encoder_sessions": _sessions("encoder_stats"),
    "fbc_sessions": _sessions("fbc_stats"),
}


def _checksum(values: Flat) -> int | None:
    """L23: CRC-32 of the versions that are declared, each on a line behind its name."""
    names = ("image_version", "oem_object", "ecc_object", "pwr_object")
    lines = [f"{name} {values[f'inforom.{name}']}" for name in names if values.get(f"inforom.{name}") is not None]
    return zlib.crc32("\n".join(lines).encode("utf-8", "surrogateescape")) if lines else None


def _since_hopper(value: Any) -> Callable[[Flat], Any]:
    """U10, U13: GPM is there from Hopper on."""
    return lambda values: value if since(values, "hopper") else None


DEFAULTS: dict[str, Callable[[Flat], Any]] = {
    "inforom.configuration_checksum": _checksum,
    "encoder_stats.capacity_percent": lambda values: 100 if any(key.startswith("encoder_stats.") for key in values) else None,
    "gpm.supported": lambda values: since(values, "hopper") if since(values, AGES[0]) else None,
    "gpm.streaming": _since_hopper("disabled"),
    "gpm.pcie_tx_mib_per_sec": _since_hopper(2048),
    "gpm.pcie_rx_mib_per_sec": _since_hopper(2048),
    "power.average_draw_mw": lambda values: values.get("power.current_draw_mw"),
    "power.instant_draw_mw": lambda values: values.get("power.current_draw_mw"),
}


def rates(values: Flat, held: Mapping[str, Held]) -> dict[str, int]:
    """Field -> how much it grows in a second: counters of the event reasons that are active (J11), energy by the draw (F10)."""
    active = [name for name in REASONS if values.get(f"clocks_throttle_reasons.{name}") is True]
    counters = {f"clocks_throttle_reasons.counters.{name}_us": 1_000_000_000 for name in active}
    code, draw = held["power.current_draw_mw"]
    energy = {} if code else {"power.total_energy_consumption_mj": draw}
    return {name: rate for name, rate in {**counters, **energy}.items() if rate and not held[name][0]}
