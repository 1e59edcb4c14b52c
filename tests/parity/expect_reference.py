"""What ``expect_fields`` expects of keys that no capture shows: workload power profiles, the hostname, shares of engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

CODES = {
    "not_supported": 3, "no_permission": 4, "not_found": 6, "function_not_found": 13, "gpu_lost": 15, "reset_required": 16, "deprecated": 26,
    "not_ready": 27, "unknown_error": 999,
}  # fmt: skip
AGES = ("kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "rubin")

Flat = dict[str, Any]
Held = tuple[int, Any]
NOTHING: Held = (3, None)


def since(values: Flat, age: str) -> bool:
    """Whether the board's architecture is ``age`` or newer."""
    word = str(values.get("architecture", "")).strip().lower().replace("ada_lovelace", "ada")
    return word in AGES and AGES.index(word) >= AGES.index(age)


def _profiles(which: str) -> Callable[[Flat, Flat], Held]:
    """F12 to F17: the profiles offered, those of them asked for, those left when each pair that conflicts has lost the worse."""

    def made(values: Flat, _states: Flat) -> Held:
        block = "power.workload_power_profiles."
        asked, offers = values.get(f"{block}requested"), values.get(f"{block}supported")
        known = {offer["id"]: offer for offer in offers or ()}
        if (asked is None and offers is None) or (which == "supported" and offers is None):
            return NOTHING
        numbers = set(known) if which == "supported" else {number for number in asked or () if offers is None or number in known}
        if which == "enforced":
            lost = {
                worse for worse in numbers for other in numbers
                if known and known[other].get("priority", 0) < known[worse].get("priority", 0)
                and (worse in known[other].get("conflicts", ()) or other in known[worse].get("conflicts", ()))
            }  # fmt: skip
            numbers -= lost
        return 0, sum(1 << number for number in numbers).to_bytes(32, "little")

    return made


def _offered(values: Flat, _states: Flat) -> Held:
    """Ten numbers a profile: its id, its priority, the eight words of the mask of those it conflicts with."""
    offers = values.get("power.workload_power_profiles.supported")
    if offers is None:
        return NOTHING
    numbers: list[int] = []
    for offer in offers:
        clashes = offer.get("conflicts") or ()
        numbers += [offer["id"], offer.get("priority", 0)]
        numbers += [sum(1 << clash % 32 for clash in set(clashes) if clash // 32 == word) for word in range(8)]
    return 0, b"".join(number.to_bytes(4, "little") for number in numbers)


def _hostname(values: Flat, _states: Flat) -> Held:
    return (0, values.get("hostname") or "") if since(values, "blackwell") else NOTHING


def _shares(values: Flat, states: Flat) -> Held:
    """R14, R19: five numbers a process, where some process gives a share of an engine and the GPU is not in MIG mode."""
    if "processes" in states:
        return CODES[states["processes"]], None
    names = ("sm_util", "mem_util", "enc_util", "dec_util")
    listed = values.get("processes") or []
    if values.get("mig.mode_current") == "enabled" or not any(name in process for process in listed for name in names):
        return NOTHING
    return 0, tuple(process.get(name) or 0 for process in listed for name in ("pid", *names))


def _monitored(values: Flat, states: Flat) -> Held:
    if "monitoring" in states:
        return CODES[states["monitoring"]], None
    busy = values.get("utilization.gpu") is not None
    known = [values["monitoring"]] if "monitoring" in values else [False] if "processes" in states else [True] if busy else []
    known += [values["brand"] not in ("geforce", "unknown")] if "brand" in values else []
    return (0, int(known[0])) if known else NOTHING


DERIVED: dict[str, Callable[[Flat, Flat], Held]] = {
    **{f"workload_{which}": _profiles(which) for which in ("supported", "requested", "enforced")},
    "hostname": _hostname,
    "process_utilization": _shares,
    "monitoring": _monitored,
    "workload_offered": _offered,
}
