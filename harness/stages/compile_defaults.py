"""Defaults of the configuration reference: what a key answers when a profile does not give it.  A key that is not here has none."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from harness.stores.schema import codec, keys
from harness.tables.layout import ARCHITECTURES
from harness.text import rawbytes

Values = Mapping[str, Any]

_ZERO_IN_BLOCK = {
    "memory.": ("memory.reserved_bytes", "memory.used_bytes"),  # ledger C02, C03
    "pcie.": ("pcie.replay_counter", "pcie.replay_rollover_counter", "pcie.tx_throughput_kbps", "pcie.rx_throughput_kbps"),  # D09, D10
    "remapped_rows.": (
        "remapped_rows.correctable",
        "remapped_rows.uncorrectable",
        "remapped_rows.correctable_inactive",
        "remapped_rows.uncorrectable_inactive",
    ),  # M01, M02, M06
}
_FALSE_IN_BLOCK = {
    "remapped_rows.": ("remapped_rows.pending", "remapped_rows.failure_occurred"),  # M03, M04
    "clocks_throttle_reasons.": keys.FLAGS,  # J01 to J09
}


def default(name: str, values: Values) -> Any:
    """The profile value ``name`` has by default given the device's other values; None where the reference gives none."""
    for block, members in _ZERO_IN_BLOCK.items():
        if name in members:
            return 0 if _has(values, block) else None
    for block, members in _FALSE_IN_BLOCK.items():
        if name in members:
            return False if _has(values, block) else None
    if name.startswith(("ecc.errors.", "ecc.sram.")):  # L04 to L13: counters are zero while ECC is on
        return _ecc_default(name, values)
    if name.startswith("clocks_throttle_reasons.counters."):  # J10: no counter block means never throttled
        return 0 if _has(values, "clocks_throttle_reasons.") else None
    if name in _MEDIA:
        return _media_default(name, values)
    made = _BY_NAME.get(name)
    return None if made is None else made(values)


def derived(name: str) -> bool:
    """Whether ``name`` has a default that is worked out from other keys."""
    return name in _BY_NAME


def _has(values: Values, block: str) -> bool:
    """Whether the profile gives any key of a block."""
    return any(key.startswith(block) for key in values)


def _ecc_default(name: str, values: Values) -> Any:
    """Zero while the board has ECC; a board that counts SRAM errors in one figure (before Ampere) has no parts of it (L09, L11, L12)."""
    if not _has(values, "ecc."):
        return None
    combined = any(values.get(f"ecc.sram.{scope}.uncorrectable") is not None for scope in ("volatile", "aggregate"))
    if combined and name.startswith("ecc.sram.") and not name.endswith((".correctable", ".uncorrectable")):
        return None
    if name.endswith("threshold_exceeded"):
        return False
    if name.endswith(".uncorrectable") and name.startswith("ecc.sram."):
        return sum(int(values.get(f"{name}_{part}") or 0) for part in ("parity", "secded"))
    return 0


_MEDIA = tuple(f"{block}.{figure}" for block in ("encoder_stats", "fbc_stats") for figure in ("session_count", "average_fps", "average_latency_us"))


def _media_default(name: str, values: Values) -> Any:
    """K05, K06: zero in the block; of one that lists its sessions, their number and the means of their figures, rounded down."""
    block, _, figure = name.partition(".")
    if not _has(values, f"{block}."):
        return None
    listed = values.get(f"{block}.sessions") or []
    if figure == "session_count":
        return len(listed)
    return sum(int(session.get(figure, 0)) for session in listed) // max(len(listed), 1)


def _board_id(values: Values) -> int | None:
    """Domain << 16 | bus << 8 | device, of which 32 bits are left (ledger B25; the captures' board ids are exactly this)."""
    if values.get("pci.bus_id") is None:
        return None
    domain, bus, device, _ = codec.bus_id(str(values["pci.bus_id"]))
    return (domain << 16 | bus << 8 | device) & 0xFFFFFFFF


def _pdi(values: Values) -> int | None:
    """64 bits of the UUID's SHA-256, the same in every process (ledger B26, which says that it comes of the UUID and not how)."""
    uuid = values.get("uuid")
    return None if uuid is None else int.from_bytes(hashlib.sha256(rawbytes.encode(str(uuid))).digest()[:8], "big")


def _from(key: str) -> Callable[[Values], Any]:
    return lambda values: values.get(key)


def at_least(values: Values, name: str) -> bool:
    """Whether the board is of the architecture ``name`` or a newer one; not where it says none."""
    architecture = str(values.get("architecture", "")).strip().lower().replace("ada_lovelace", "ada")
    return architecture in ARCHITECTURES and ARCHITECTURES[architecture] >= ARCHITECTURES[name]


def older(values: Values, name: str) -> bool:
    """Whether the board is known to be of an architecture before ``name``: what the header says of "``name`` or newer" does not hold for it."""
    architecture = str(values.get("architecture", "")).strip().lower().replace("ada_lovelace", "ada")
    return architecture in ARCHITECTURES and ARCHITECTURES[architecture] < ARCHITECTURES[name]


def gpm(values: Values) -> bool:
    """Whether the board has profiling metrics: as the profile says, else Hopper and newer (ledger U10)."""
    given = values.get("gpm.supported")
    return at_least(values, "hopper") if given is None else bool(given)


def _repair_pending(values: Values) -> Any:
    """L14: a channel repair is pending when a row remapping is; Ampere and newer."""
    return bool(values.get("remapped_rows.pending")) if at_least(values, "ampere") else None


def _unrepairable(values: Values) -> Any:
    """L15: Hopper and newer."""
    if not at_least(values, "hopper"):
        return None
    return bool(values.get("remapped_rows.failure_occurred") or values.get("ecc.sram.threshold_exceeded"))


def _checksum(values: Values) -> int | None:
    """CRC-32 of the versions that are declared, so boards with others have another one (L23); nothing without the block (L22)."""
    declared = [(part, values.get(f"inforom.{part}")) for part in ("image_version", "oem_object", "ecc_object", "pwr_object")]
    text = "\n".join(f"{part} {version}" for part, version in declared if version is not None)
    return zlib.crc32(rawbytes.encode(text)) if text else None


def _reference(values: Values) -> int | None:
    """The zero point of the T.Limit figures (G08): slowdown, else shutdown, else maximum operating temperature; Ada and newer (G07)."""
    if not at_least(values, "ada"):
        return None
    for key in ("thermal.slowdown_threshold_c", "thermal.shutdown_threshold_c", "thermal.max_operating_c"):
        if values.get(key) is not None:
            return int(values[key])
    return None


def _offset(key: str) -> Callable[[Values], int | None]:
    """Reference minus a temperature (G08, G09)."""

    def made(values: Values) -> int | None:
        reference, value = _reference(values), values.get(key)
        return None if reference is None or value is None else reference - int(value)

    return made


def _platform(value: Any) -> Callable[[Values], Any]:
    """A member of the platform block: ``value`` where another member is given, nothing where the block is absent (E01)."""
    return lambda values: value if _has(values, "platform.") else None


_BY_NAME: Mapping[str, Callable[[Values], Any]] = {
    "board_id": _board_id,
    "pdi": _pdi,
    "inforom.configuration_checksum": _checksum,
    "c2c_mode": lambda values: "enabled" if values.get("nvlink.c2c_enabled") else None,  # S04: off is not supported, never disabled
    "retired_pages.single_bit": _from("retired_pages.single_bit_retirement"),  # L26
    "retired_pages.double_bit": _from("retired_pages.double_bit_retirement"),
    "retired_pages.pending_retirement": _from("retired_pages.pending_blacklist"),  # one reading, which drivers print under either name
    "power.power_mizer_mode": lambda values: "auto" if at_least(values, "maxwell") else None,  # F29
    "performance_state": lambda _: "P0",  # K01
    "power.power_state": lambda values: values.get("performance_state", "P0") if _has(values, "power.") else None,  # F09
    "power.average_draw_mw": _from("power.current_draw_mw"),  # F07
    "power.instant_draw_mw": _from("power.current_draw_mw"),
    "power.requested_limit_mw": _from("power.enforced_limit_mw"),  # F04
    "clocks.graphics_customer_boost_max": _from("clocks.graphics_max"),  # I05
    "accounting.buffer_size": lambda values: 4000 if _has(values, "accounting.") else None,  # R02
    "virtualization.mode": lambda _: "none",  # Q01
    "bar1_memory.total_bytes": lambda values: 256 << 20 if _has(values, "bar1_memory.") else None,  # C06
    "pci.base_class": lambda values: 3 if _has(values, "pci.") else None,  # D05
    "pci.sub_class": lambda values: 2 if _has(values, "pci.") else None,
    "protected_memory.total_bytes": lambda _: 0,  # C08
    "protected_memory.used_bytes": lambda _: 0,
    "protected_memory.free_bytes": lambda _: 0,
    "capabilities.egm": lambda _: "disabled",  # N08
    "encoder_stats.capacity_percent": lambda values: 100 if _has(values, "encoder_stats.") else None,  # K08
    "gpm.supported": lambda values: at_least(values, "hopper") if values.get("architecture") is not None else None,  # U10
    "gpm.streaming": lambda values: "disabled" if gpm(values) else None,
    "gpm.pcie_tx_mib_per_sec": lambda values: 2048 if gpm(values) else None,  # U13
    "gpm.pcie_rx_mib_per_sec": lambda values: 2048 if gpm(values) else None,
    "gsp_firmware.default_mode": _from("gsp_firmware.mode"),  # B21
    "fabric.state": lambda values: "completed" if _has(values, "fabric.") else None,  # T04
    "fabric.status": lambda values: 0 if _has(values, "fabric.") else None,  # T05
    "fabric.clique_id": lambda values: 0 if _has(values, "fabric.") else None,
    "fabric.cluster_uuid": lambda values: "0" * 32 if _has(values, "fabric.") else None,
    "platform.slot_number": _platform(0xFF),  # a place the platform does not report: printed N/A beside members that are
    "platform.tray_index": _platform(0xFF),
    "platform.host_id": _platform(0xFF),
    "platform.peer_type": _platform("direct_connected"),  # E05
    "platform.chassis_serial_number": _platform(""),
    "platform.fabric_guid": _platform("0" * 32),  # E07
    "platform.module_id": lambda values: values.get("module_id") if _has(values, "platform.") else None,  # E06
    "module_id": _from("platform.module_id"),
    "repair.channel_pending": _repair_pending,
    "repair.tpc_pending": lambda values: False if at_least(values, "ampere") else None,
    "repair.unrepairable_memory": _unrepairable,
    "thermal.tlimit.margin_c": _offset("thermal.temperature_gpu_c"),
    "thermal.tlimit.shutdown_c": _offset("thermal.shutdown_threshold_c"),
    "thermal.tlimit.slowdown_c": _offset("thermal.slowdown_threshold_c"),
    "thermal.tlimit.max_operating_c": _offset("thermal.max_operating_c"),
}
