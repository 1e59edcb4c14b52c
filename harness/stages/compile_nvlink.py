"""NVLinks of a GPU: the links of the profile, what they lead to, and what they count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from harness.stages import compile_defaults
from harness.stores.schema import links as schema_links
from harness.stores.schema.links import Link, Reduced
from harness.tables import linkids
from harness.words.state import State
from mocklib.image import FieldValue

if TYPE_CHECKING:
    from harness.stores.profiles import Device

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)
RATE_UNIT = 1_000_000
"""Rates of errors are in millionths a second."""
DUTY_CYCLE = 0.05
"""Share of a link's bandwidth that is used where the profile does not say (ledger S13)."""
PACKET_BYTES = 86
"""Bytes of a packet of NVLink 5 (ledger S15)."""
LANES = {"pascal": 8, "volta": 8, "turing": 8, "ampere": 4}
"""Lanes of a link by the architecture: as many as nvidia-smi asks the errors of where nobody tells it how many there are.  Of boards newer than
Ampere it asks 4, too; nothing at hand says how many those have."""
MEGABYTE = 1_000_000
"""``bandwidth_per_link_mbps`` is in MB/s: nvidia-smi prints a thousandth of it as GB/s (captures of A100 and H100 boards)."""
THRESHOLD, LEAST, UNIT_50_US = 1000, 1, 1
"""The idle period before links sleep, the least there is, and its unit (ledger S16; nvml.h)."""


def of_node(devices: Iterable[Device], version: tuple[int, ...]) -> tuple[Device, ...]:
    """The devices of a node, each knowing the addresses of all, since a link names its other end by index or address, and what the driver adds.

    ``version``: the numbers of the driver's version.
    """
    listed = tuple(devices)
    more = known(listed, version)
    return tuple(replace(one, values={**one.values, **more}) if schema_links.given(one.values) else one for one in listed)


def known(devices: Iterable[Device], version: tuple[int, ...]) -> dict[str, Any]:
    """What ``of_node`` adds to each device's keys."""
    peers = tuple((device.values.get("pci.bus_id"), device.values.get("pci.device_id")) for device in devices)
    return {"nvlink.peers": peers, "nvlink.most_threshold": linkids.most_threshold(version)}


def _links(values: Values) -> tuple[Link, ...] | None:
    return schema_links.links(values)


def _active(values: Values) -> int:
    return sum(link.active for link in _links(values) or ())


def _packed(values: Values, _: States) -> FieldValue:
    found = _links(values)
    return _ABSENT if found is None else FieldValue(tuple(number for link in found for number in link.words))


def _of_links(value: Callable[[Values], int | None]) -> Callable[[Values, States], FieldValue]:
    """A field of a board that has NVLinks, up or down."""

    def made(values: Values, _: States) -> FieldValue:
        number = value(values) if _links(values) else None
        return _ABSENT if number is None else FieldValue(number)

    return made


def _of_active(value: Callable[[Values], int | None]) -> Callable[[Values, States], FieldValue]:
    """A field of a board of which a link is up."""
    return _of_links(lambda values: value(values) if _active(values) else None)


def _number(key: str) -> Callable[[Values], int | None]:
    return lambda values: None if values.get(key) is None else int(values[key])


def _default(key: str, unset: float) -> Callable[[Values], float]:
    def found(values: Values) -> float:
        given = values.get(f"nvlink.defaults.{key}")
        return unset if given is None else float(given)

    return found


def _rate(values: Values) -> int | None:
    """Bytes a second of an active link: its bandwidth for a share of the time (ledger S13)."""
    speed = values.get("nvlink.bandwidth_per_link_mbps")
    return None if speed is None else round(int(speed) * MEGABYTE * _default("duty_cycle", DUTY_CYCLE)(values))


def _millionths(rate: float) -> int:
    return round(rate * RATE_UNIT)


def _error_links(values: Values) -> int:
    """The links that errors are injected into: those of the list, else all (ledger S28)."""
    listed = values.get("nvlink_error.links")
    numbers = range(len(_links(values) or ())) if listed is None else (int(number) for number in listed)
    return sum(1 << number for number in set(numbers))


def _cleared(values: Values, _: States) -> FieldValue:
    """When each link's errors were last cleared: two numbers a link, zeros for never, so that a setter finds room."""
    found = _links(values)
    if not found:
        return _ABSENT
    given = values.get("nvlink_error.cleared") or ()
    instants = [int(given[number]) if number < len(given) else 0 for number in range(len(found))]
    return FieldValue(tuple(word for instant in instants for word in (instant & 0xFFFFFFFF, instant >> 32)))


def newer(values: Values) -> bool:
    """Whether the board counts packets and symbols (NVLink 5) in place of data link errors: Blackwell and newer (nvml.h)."""
    return compile_defaults.at_least(values, "blackwell")


def _low_power(value: Callable[[Values], int | None]) -> Callable[[Values, States], FieldValue]:
    """A field of the low power states: Hopper and newer (nvml.h), with a link that is up (ledger S16)."""
    return _of_active(lambda values: value(values) if compile_defaults.at_least(values, "hopper") else None)


def _threshold(values: Values) -> int:
    given = values.get("nvlink.low_power_threshold")
    return THRESHOLD if given is None else int(given)


def _firmware(values: Values, _: States) -> FieldValue:
    """The microcontrollers that the profile names, in nvml.h's order; a board with links and none named has an empty list (ledger S19)."""
    if not _links(values):
        return _ABSENT
    return FieldValue(tuple(number for entry in schema_links.firmware(values) for number in entry))


def _bw(value: Callable[[Reduced], Any]) -> Callable[[Values, States], FieldValue]:
    def made(values: Values, _: States) -> FieldValue:
        found = schema_links.reduced(values)
        return FieldValue(value(found)) if found is not None and found.scope == "device" else _ABSENT

    return made


def node_fields(devices: Iterable[Device]) -> dict[str, FieldValue]:
    """The node's fields: the modes that all of its GPUs share, where the scope of ``nvlink.bw_mode`` is the system."""
    found = next((made for device in devices if (made := schema_links.reduced(device.values)) is not None), None)
    if found is None or found.scope != "system":
        return {"nvlink.node_bw_mode.mode": _ABSENT, "nvlink.node_bw_mode.supported": _ABSENT}
    return {"nvlink.node_bw_mode.mode": FieldValue(found.mode), "nvlink.node_bw_mode.supported": FieldValue(found.supported)}


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "nvlink_links": _packed,
    "nvlink_version": _of_links(_number("nvlink.version")),
    "nvlink_speed": _of_links(_number("nvlink.bandwidth_per_link_mbps")),
    "nvlink_common_speed": _of_active(_number("nvlink.bandwidth_per_link_mbps")),
    "nvlink_count": lambda values, _: _ABSENT if _links(values) is None else FieldValue(len(_links(values) or ())),
    "nvlink_switch_links": _of_links(lambda values: sum(link.active and link.switch for link in _links(values) or ())),
    "nvlink_rate": _of_links(_rate),
    "nvlink_seed": _of_links(lambda values: int(values.get("nvlink.defaults.counter_seed") or 0)),
    "nvlink_packet": _of_links(lambda values: PACKET_BYTES if newer(values) else None),
    "nvlink_dl_counters": _of_links(lambda values: None if newer(values) else 1),
    "nvlink_error_rate": _of_links(lambda values: _millionths(_default("error_rate", 0)(values))),
    "nvlink_injected": _of_links(lambda values: _millionths(float(values.get("nvlink_error.rate") or 0))),
    "nvlink_error_links": _of_links(_error_links),
    "nvlink_cleared": _cleared,
    "nvlink_lanes": _of_links(lambda values: LANES.get(str(values.get("architecture")))),
    "nvlink_nvle": _of_links(lambda values: int(bool(values.get("nvlink.nvle_enabled")))),
    "nvlink_firmware": _firmware,
    "nvlink_bw_mode": _bw(lambda found: found.mode),
    "nvlink_bw_best": _bw(lambda found: found.best),
    "nvlink_bw_modes": _bw(lambda found: found.supported),
    "nvlink_low_power": _low_power(_threshold),
    "nvlink_low_power_default": _low_power(lambda _: THRESHOLD),
    "nvlink_low_power_least": _low_power(lambda _: LEAST),
    "nvlink_low_power_most": _low_power(_number("nvlink.most_threshold")),
    "nvlink_low_power_unit": _low_power(lambda _: UNIT_50_US),
    "nvlink_low_power_supported": _low_power(lambda _: 1),
    "nvlink_low_power_state": _low_power(lambda _: 0),
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
