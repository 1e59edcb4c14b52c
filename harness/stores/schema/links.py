"""Links by number: what the profile's lists say of each, and where it leads (ledger S06 to S09, S11, S31)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.stores.schema import codec, keys
from harness.words.errors import InputError

Values = Mapping[str, Any]
Entry = Mapping[str, Any]

UP = ("", "active", "up", "enabled")
"""How a profile spells that a link is up; whatever else is down (ledger S08)."""
GPU, PROCESSOR, SWITCH, UNKNOWN = 0, 1, 2, 0xFF
_KINDS = {"gpu": GPU, "switch": SWITCH, "nvswitch": SWITCH, "cpu": PROCESSOR, "c2c": PROCESSOR, "ibmnpu": PROCESSOR}
"""nvmlIntNvLinkDeviceType_t by the words of a profile; nvml.h has one number for processors."""
SCOPES = ("system", "device")
"""Which family of calls answers the bandwidth mode (ledger S20)."""
NAMED = (0, 1, 2, 3, 4)
"""The modes that nvidia-smi has a name for: FULL, OFF, MIN, HALF, 3QUARTER."""
NO_DOMAIN, NO_ADDRESS = 0xFFFFFFFF, 0xFFFF


@dataclass(frozen=True)
class Link:
    """One link: whether it is up, what is at its other end, and the address of that."""

    active: bool
    kind: int = UNKNOWN
    address: tuple[int, int, int, int] | None = None
    remote_link: int = 0
    device_id: int = 0

    @property
    def switch(self) -> bool:
        """Whether it leads to an NVSwitch."""
        return self.kind == SWITCH

    @property
    def words(self) -> tuple[int, int, int, int, int, int]:
        """The members of ``struct nvp_link``."""
        domain, place = NO_DOMAIN, NO_ADDRESS
        if self.address is not None:
            domain, bus, device, function = self.address
            place = bus << 8 | device << 3 | function
        return int(self.active), self.kind, domain, place, self.remote_link, self.device_id


def given(values: Values) -> bool:
    """Whether the profile says anything of NVLinks that a link could be made of."""
    return any(values.get(f"nvlink.{key}") is not None for key in ("links_per_gpu", "links", "device_links"))


def links(values: Values) -> tuple[Link, ...] | None:
    """The links of a device by number; None where the profile says nothing of any.

    A device's own list says of its links what it says; links that a board has beside (``links_per_gpu``) are as ``defaults.state`` says, else down
    where lists are given and up where none is.  Without a list they lead to the switches of the node in turn.  A GPU in MIG mode has
    none that could be asked for (capture of an H100 by 590.48.01).
    """
    if not given(values) or values.get("mig.mode_current") == "enabled":
        return None
    entries = {int(entry["link"]): entry for entry in listed(values)}
    count = max([int(values.get("nvlink.links_per_gpu") or 0), *(number + 1 for number in entries)])
    state = values.get("nvlink.defaults.state")
    explicit = values.get("nvlink.links") is not None or values.get("nvlink.device_links") is not None
    up = not explicit if state is None else is_up(state)
    return tuple(_listed(values, entries[number]) if number in entries else _plain(values, up, explicit) for number in range(count))


def is_up(state: Any) -> bool:
    """Whether a link in this state is up."""
    return str(state or "").strip().lower() in UP


def listed(values: Values) -> Sequence[Entry]:
    """The entries of the device's own list: of ``device_links`` by its index, else the flat list, which is that of device 0."""
    index = int(values.get("index") or 0)
    by_device = values.get("nvlink.device_links")
    for place, item in enumerate(by_device or ()):
        number, entries = (int(item["index"]), item.get("links") or ()) if isinstance(item, Mapping) else (place, item)
        if number == index:
            return list(entries)
    return list(values.get("nvlink.links") or ()) if index == 0 and not by_device else []


def _plain(values: Values, up: bool, explicit: bool) -> Link:
    """A link that no list names: to a switch where the node has some, the links of a GPU going round them."""
    switches = values.get("nvlink.switches") or ()
    return Link(up, SWITCH) if switches and not explicit else Link(up)


def _listed(values: Values, entry: Entry) -> Link:
    address, peer = _end(values, entry)
    kind = _KINDS.get(str(entry.get("remote_device_type") or "").strip().lower())
    if kind is None:
        kind = GPU if peer is not None else SWITCH if address in _switches(values) else UNKNOWN
    device_id = 0 if peer is None else int(peer[1] or 0)
    return Link(is_up(entry.get("state")), kind, None if kind == SWITCH else address, int(entry.get("remote_link") or 0), device_id)


def _end(values: Values, entry: Entry) -> tuple[tuple[int, int, int, int] | None, Any]:
    """The address of a link's other end, and the GPU of the node that has it."""
    peers = values.get("nvlink.peers") or ()
    text, index = entry.get("remote_pci_bus_id"), entry.get("remote_index")
    if text is None and index is not None and int(index) < len(peers):
        text = peers[int(index)][0]
    if text is None:
        return None, None
    address = codec.bus_id(str(text))
    return address, next((peer for peer in peers if peer[0] is not None and codec.bus_id(str(peer[0])) == address), None)


def _switches(values: Values) -> frozenset[tuple[int, int, int, int]]:
    return frozenset(codec.bus_id(str(switch["bdf"])) for switch in values.get("nvlink.switches") or ())


def firmware(values: Values) -> Iterator[tuple[int, int, int, int]]:
    """(type, major, minor, sub) of each microcontroller whose version is three numbers."""
    for number, name in enumerate(keys.UCODES, start=1):
        parts = version(values.get(f"nvlink.firmware.{name}"))
        if parts is not None:
            yield (number, *parts)


def version(text: Any) -> tuple[int, int, int] | None:
    """``major:minor:subMinor``; None for what is none (ledger S19)."""
    parts = str(text).split(":") if text is not None else []
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and int(part) < 2**32 for part in parts):
        return None
    return int(parts[0]), int(parts[1]), int(parts[2])


@dataclass(frozen=True)
class Reduced:
    """Reduced bandwidth: which family of calls answers, the modes there are, the mode in force."""

    scope: str
    supported: tuple[int, ...]
    mode: int

    @property
    def best(self) -> int:
        """The best mode is the lowest (ledger S23)."""
        return min(self.supported)


def reduced(values: Values) -> Reduced | None:
    """The modes that ``nvlink.bw_mode`` describes; None for a board without, or whose scope is none of the two (ledger S20 to S22)."""
    scope, listed, mode = (values.get(f"nvlink.bw_mode.{key}") for key in ("scope", "supported", "mode"))
    if scope not in SCOPES:
        return None
    supported = NAMED if not listed else tuple(int(number) for number in listed)
    return Reduced(str(scope), supported, int(mode) if mode in supported else min(supported))


def ignored(values: Values) -> Iterator[str]:
    """What of the node's keys is passed over, each with what holds in its place (ledger S19 to S22)."""
    scope, supported, mode = (values.get(f"nvlink.bw_mode.{key}") for key in ("scope", "supported", "mode"))
    found = reduced(values)
    if found is None and (scope, supported, mode) != (None, None, None):
        yield f"nvlink.bw_mode: scope {str(scope)[:40]!r} is neither system nor device: no bandwidth mode is served"
    elif found is not None and mode is not None and mode != found.mode:
        yield f"nvlink.bw_mode.mode: {mode} is none of {', '.join(map(str, found.supported))}: {found.mode} is served"
    for number in supported or () if found is not None else ():
        if number not in NAMED:
            yield f"nvlink.bw_mode.supported: {number} has no name to print"
    for name in keys.UCODES:
        text = values.get(f"nvlink.firmware.{name}")
        if text is not None and version(text) is None:
            yield f'nvlink.firmware.{name}: {str(text)[:40]!r} is no version such as "36:2014:4784": left out'


def problems(values: Values) -> Iterator[str]:
    """What of the links cannot be resolved: such a link is served all the same (ledger S06, S31)."""
    for entry in listed(values):
        where = f"nvlink: link {entry['link']} of GPU {values.get('index', 0)}"
        try:
            address, peer = _end(values, entry)
        except InputError as error:
            yield f"{where}: {error}"
            continue
        kind = _KINDS.get(str(entry.get("remote_device_type") or "").strip().lower())
        if entry.get("remote_index") is not None and address is None:
            yield f"{where}: remote_index {entry['remote_index']} is no GPU of the node"
        elif kind == GPU and address is not None and peer is None:
            yield f"{where}: no GPU of the node is at {entry.get('remote_pci_bus_id')}"
        elif kind == SWITCH and address is not None and address not in _switches(values):
            yield f"{where}: nvlink.switches names none at {entry.get('remote_pci_bus_id')}"
