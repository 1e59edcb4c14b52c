"""The inverses of the derivations: keys that several fields are computed from, out of these fields."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from harness.stages import compile_derived, compile_sessions
from harness.stages.answers import inverting_links, inverting_lists, inverting_places, inverting_tuning
from harness.stores.schema import codec, keys
from harness.words.errors import InputError
from harness.words.state import State
from mocklib import fields
from mocklib.spec import Process

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.told import Told

Telling = Mapping[str, "Told"]


def settle(made: Keys, told: Telling) -> None:
    """Give ``made`` the keys that make the derived fields what ``told`` says; a field that the keys make so already is left alone.

    A value that no key can make leaves the keys as they were: the answer itself is kept then.
    """
    for name, inverse in _INVERSES:
        said = told.get(name)
        if said is not None and not said.code and (name in _TOLD or not makes(made, said)):
            inverse(made, said, told)
    inverting_lists.settle(made, told)


def makes(made: Keys, said: Told) -> bool:
    """Whether the keys make the derived field what was answered."""
    served = compile_derived.derive(fields.device_fields()[said.name].source or "", made.values, made.states)
    return not served.status and comparable(served.value) == comparable(said.value)


def comparable(value: Any) -> Any:
    """A field's value without what another call says: a process list has no names, and no list protected memory."""
    if isinstance(value, tuple) and value and all(isinstance(item, Process) for item in value):
        return tuple((item.pid, item.used_bytes, item.gpu_instance, item.compute_instance) for item in value)
    return value


def _bus_id(made: Keys, said: Told, _: Telling) -> None:
    try:
        codec.bus_id(said.value)
    except InputError:
        return
    made.put("pci.bus_id", codec.to_profile(keys.device_keys()["pci.bus_id"], said.value), said)


def _bus_id_legacy(made: Keys, said: Told, told: Telling) -> None:
    if "pci.bus_id" not in told:
        _bus_id(made, said, told)


def _pci(made: Keys, said: Told, told: Telling) -> None:
    """The address of a struct without its text; the function is 0 on every board seen."""
    parts = [told.get(f"pci.{part}") for part in ("domain", "bus", "device")]
    if "pci.bus_id" in told or "pci.bus_id_legacy" in told or any(part is None or part.code for part in parts):
        return
    domain, bus, device = (part.value for part in parts if part is not None)
    if 0 <= domain < 2**32 and 0 <= bus < 256 and 0 <= device < 256:
        made.put("pci.bus_id", f"{domain:04X}:{bus:02X}:{device:02X}.0", said)


def _used(made: Keys, said: Told, told: Telling) -> None:
    """The older memory call is the only word on what is used where the newer one is not there."""
    if "memory.used_bytes" not in told and said.value >= 0:
        made.put("memory.used_bytes", said.value, said)


def _number(key: str, most: int = 2**32 - 1) -> Callable[[Keys, Told, Telling], None]:
    def inverse(made: Keys, said: Told, _: Telling) -> None:
        if 0 <= said.value <= most:
            made.put(key, said.value, said)

    return inverse


def _monitoring(made: Keys, said: Told, _: Telling) -> None:
    if said.value in (0, 1):
        made.put("monitoring", bool(said.value), said)


def _bits(mask: bytes) -> list[int]:
    number = int.from_bytes(mask, "little")
    return [bit for bit in range(min(number.bit_length(), 255)) if number >> bit & 1]


def _offered(made: Keys, said: Told, _: Telling) -> None:
    made.put("power.workload_power_profiles.supported", [{"id": number} for number in _bits(said.value)], said)


def _requested(made: Keys, said: Told, _: Telling) -> None:
    made.put("power.workload_power_profiles.requested", _bits(said.value), said)


def _hostname(made: Keys, said: Told, _: Telling) -> None:
    if len(said.value) <= 63 and re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?", said.value, re.ASCII):
        made.put("hostname", said.value, said)


def _sessions(block: str) -> Callable[[Keys, Told, Telling], None]:
    """The sessions of an engine, where each codec and type has a word."""

    def inverse(made: Keys, said: Told, _: Telling) -> None:
        entries = compile_sessions.entries(block, said.value)
        if entries is not None:
            made.put(f"{block}.sessions", entries, said)

    return inverse


def _throttle(made: Keys, said: Told, told: Telling) -> None:
    """The event reasons: those that are active, and those that the board does not have."""
    supported = told.get("clocks_throttle_reasons.supported_mask")
    mask = said.value
    for bit, flag in enumerate(keys.FLAGS):
        if supported is not None and not supported.code and not supported.value >> bit & 1:
            made.refuse(flag, State.NOT_SUPPORTED, supported)
        else:
            made.put(flag, bool(mask >> bit & 1), said)


def _supported(made: Keys, _: Told, told: Telling) -> None:
    mask = told.get("clocks_throttle_reasons.mask")
    if mask is not None and not mask.code:
        _throttle(made, mask, told)


def _health_mask(made: Keys, said: Told, _: Telling) -> None:
    """The parts of the mask; one that has bits which no part stands for is kept whole."""
    parts: dict[str, Any] = {}
    left = said.value
    made.drop("fabric.health_mask")
    for path, low in keys.HEALTH:
        made.drop(path)
        width = 4 if path.endswith("incorrect_configuration") else 2
        bits = said.value >> low & ((1 << width) - 1)
        try:
            parts.update({path: codec.to_profile(keys.device_keys()[path], bits)} if bits else {})
        except InputError:
            continue
        left &= ~(bits << low)
    if left:
        parts = {"fabric.health_mask": said.value}
    for path, value in parts.items():
        made.put(path, value, said)


def _health_summary(made: Keys, said: Told, _: Telling) -> None:
    """A summary of its own; 0 is the struct's not supported."""
    key = keys.device_keys()["fabric.health_summary"]
    if said.value == 0:
        made.drop(key.path)
        if not makes(made, said):
            made.refuse(key.path, State.NOT_SUPPORTED, said)
    elif said.value in dict(key.words).values():
        made.put(key.path, codec.to_profile(key, said.value), said)


_INVERSES: tuple[tuple[str, Callable[[Keys, Told, Telling], None]], ...] = (
    ("pci.bus_id", _bus_id), ("pci.bus_id_legacy", _bus_id_legacy), ("pci.domain", _pci), ("pci.bus", _pci), ("pci.device", _pci),
    ("memory.v1_used_bytes", _used), ("power.current_draw_mw", _number("power.current_draw_mw")),
    ("monitoring", _monitoring),
    ("power.workload_profiles.supported", _offered), ("power.workload_profiles.requested", _requested),
    ("clocks_throttle_reasons.mask", _throttle), ("clocks_throttle_reasons.supported_mask", _supported),
    ("fabric.health_mask", _health_mask), ("fabric.health_summary", _health_summary),
    ("mig.max_devices", _number("mig.max_gpu_instances")), ("hostname", _hostname), *inverting_tuning.INVERSES,
    *inverting_links.INVERSES, *inverting_places.INVERSES,
    ("encoder_stats.sessions", _sessions("encoder_stats")), ("fbc_stats.sessions", _sessions("fbc_stats")),
)  # fmt: skip
"""Derived field -> what turns it back, in the order in which they lean on each other."""
_TOLD = frozenset(("pci.bus_id", "memory.v1_used_bytes", "clocks_throttle_reasons.mask", "fabric.health_mask", "fabric.health_summary",
                   "monitoring"))  # fmt: skip
"""Fields whose keys a text tells, too, or that would hang on readings: they are said even where other keys would make the same of them."""
