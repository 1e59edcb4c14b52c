"""Fields that the configuration reference makes of keys no capture shows: workload power profiles, the hostname, shares of the engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from struct import pack
from typing import Any

from harness.stages import compile_defaults, compile_sessions
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)


def _offered(values: Values) -> Mapping[int, tuple[int, frozenset[int]]] | None:
    """Workload power profiles the board offers: id -> (priority, ids it conflicts with); None where it does not say."""
    listed = values.get("power.workload_power_profiles.supported")
    if listed is None:
        return None
    return {int(entry["id"]): (int(entry.get("priority", 0)), frozenset(entry.get("conflicts") or ())) for entry in listed}


def _requested(values: Values) -> frozenset[int] | None:
    """Profiles asked for, of those offered (ledger F16); None without the block (F12)."""
    listed, offered = values.get("power.workload_power_profiles.requested"), _offered(values)
    if listed is None and offered is None:
        return None
    return frozenset(number for number in listed or () if offered is None or number in offered)


def _enforced(values: Values) -> frozenset[int] | None:
    """Profiles asked for but those that conflict with one of better priority, a lower number, that is asked for, too (F17)."""
    asked, offered = _requested(values), _offered(values)
    if asked is None or offered is None:
        return asked
    better = {number: {other for other in asked if offered[other][0] < offered[number][0]} for number in asked}
    clash = {number: {other for other in better[number] if number in offered[other][1] or other in offered[number][1]} for number in asked}
    return frozenset(number for number in asked if not clash[number])


def _profile_mask(chosen: Callable[[Values], Iterable[int] | None]) -> Callable[[Values, States], FieldValue]:
    """A 255-bit mask of profile ids as 32 bytes, lowest id first."""

    def made(values: Values, _: States) -> FieldValue:
        numbers = chosen(values)
        return _ABSENT if numbers is None else FieldValue(sum(1 << number for number in numbers).to_bytes(32, "little"))

    return made


def _profile_table(values: Values, _: States) -> FieldValue:
    """What is known of each profile offered, by its id: ``struct nvp_workload`` of nvp_image.h, from which the library works out what is enforced."""
    offered = _offered(values)
    if offered is None:
        return _ABSENT
    rows = ((pack("=II", number, priority), sum(1 << other for other in conflicts)) for number, (priority, conflicts) in offered.items())
    return FieldValue(b"".join(head + mask.to_bytes(32, "little") for head, mask in rows))


def _hostname(values: Values, _: States) -> FieldValue:
    """The name given to the GPU, empty where none is; Blackwell and newer (ledger B14)."""
    return FieldValue(str(values.get("hostname") or "")) if compile_defaults.at_least(values, "blackwell") else _ABSENT


_USES = ("sm_util", "mem_util", "enc_util", "dec_util")


def _process_utilization(values: Values, _: States) -> FieldValue:
    """Each process's pid and shares of the engines (ledger R14, R19); a profile that gives no share has no samples, nor has a GPU in MIG mode."""
    entries = values.get("processes") or []
    if not any(use in entry for entry in entries for use in _USES) or values.get("mig.mode_current") == "enabled":
        return _ABSENT
    return FieldValue(tuple(number for entry in entries for number in (int(entry["pid"]), *(int(entry.get(use) or 0) for use in _USES))))


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "workload_supported": _profile_mask(_offered),
    "workload_requested": _profile_mask(_requested),
    "workload_enforced": _profile_mask(_enforced),
    "hostname": _hostname,
    "encoder_sessions": lambda values, states: compile_sessions.field("encoder_stats", values, states),
    "fbc_sessions": lambda values, states: compile_sessions.field("fbc_stats", values, states),
    "process_utilization": _process_utilization,
    "workload_offered": _profile_table,
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
