"""What holds between the keys of a profile: states, indices, minor numbers and PCI addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.stores.schema import answers, codec, keys, within
from harness.tables.strictyaml import Document
from harness.words.errors import InputError, did_you_mean
from harness.words.state import State

MOST_MINOR = 254
"""The last minor number of a GPU; 255 is nvidiactl."""
Path_ = tuple["str | int", ...]
Error = tuple[int, str]


def errors(document: Document) -> Iterator[Error]:
    """(line, message) of everything that does not hold; what is of the wrong type is left to the schema."""
    value = document.value
    if not isinstance(value, dict):
        return
    yield from _cuda(document, value.get("system"))
    yield from _states(document)
    yield from within.errors(document)
    yield from answers.errors(document)
    devices = _devices(value)
    yield from _indices(document, devices)
    yield from _absent(document, devices)
    yield from _minors(document, devices)
    yield from _addresses(document, devices)


def _devices(value: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """(place in the list, entry) of the devices that are mappings."""
    listed = value.get("devices")
    return [(place, entry) for place, entry in enumerate(listed) if isinstance(entry, dict)] if isinstance(listed, list) else []


def _defaults(document: Document) -> Mapping[str, Any]:
    found = document.value.get("device_defaults")
    return found if isinstance(found, dict) else {}


def _whole(value: Any) -> int | None:
    """``value`` where it is a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _cuda(document: Document, system: Any) -> Iterator[Error]:
    """The CUDA version as text and as numbers is one version (ledger B04, B05)."""
    text = system.get("cuda_version") if isinstance(system, dict) else None
    major = _whole(system.get("cuda_version_major")) if isinstance(text, str) else None
    if major:
        numbers = f"{major}.{_whole(system.get('cuda_version_minor')) or 0}"
        if text != numbers:
            line = document.line(("system", "cuda_version"))
            yield line, f"system.cuda_version: {text!r} is not the {numbers} of cuda_version_major and cuda_version_minor"


def _states(document: Document) -> Iterator[Error]:
    """``states`` names keys or image fields, and states that a call can answer; a state stands before a value of the same key."""
    blocks: list[tuple[Path_, Any]] = [(("device_defaults",), _defaults(document))]
    blocks += [(("devices", place), device) for place, device in _devices(document.value)]
    for path, block in blocks:
        states = block.get("states")
        for key, state in states.items() if isinstance(states, dict) else ():
            yield from _state(document, (*path, "states", key), key, state)


def _state(document: Document, path: Path_, key: Any, state: Any) -> Iterator[Error]:
    names = {state.value for state in State if state.in_profile}
    line = document.line(path)
    if key not in keys.state_keys():
        yield line, f"states: unknown key {key!r}{did_you_mean(str(key), keys.state_keys())}"
    if isinstance(state, str) and state not in names:
        yield line, f"states.{key}: {state!r} is no state{did_you_mean(state, names)}; a state is one of {', '.join(sorted(names))}"


def _indices(document: Document, devices: list[tuple[int, Mapping[str, Any]]]) -> Iterator[Error]:
    seen: dict[int, int] = {}
    for place, device in devices:
        index = _whole(device.get("index"))
        if index is not None and seen.setdefault(index, place) != place:
            yield document.line(("devices", place, "index")), f"devices.{place}.index: {index} is that of devices.{seen[index]} too"


def _absent(document: Document, devices: list[tuple[int, Mapping[str, Any]]]) -> Iterator[Error]:
    """A GPU with a state of its own has no readings: of an uncaptured one nothing is known, of any other what it is known by."""
    for place, device in devices:
        state = device.get("state")
        if not isinstance(state, str):
            continue
        known = frozenset() if state == State.UNCAPTURED.value else keys.IDENTITY
        given = keys.flatten({name: value for name, value in device.items() if name not in ("index", "state", "states", answers.KEY)})
        if device.get("states"):
            given["states"] = device["states"]
        for key in sorted(key for key, value in given.items() if value is not None and key not in known):
            line = document.line(("devices", place, *key.split(".")))
            allowed = f"; it may have {', '.join(sorted(known))}" if known else ""
            yield line, f"devices.{place}.{key}: GPU {device.get('index')} is {state}: it has no readings{allowed}"


def _minors(document: Document, devices: list[tuple[int, Mapping[str, Any]]]) -> Iterator[Error]:
    """Each GPU has a minor number of its own: its key, else that of the defaults, else its index; devices that are not listed count, too."""
    inherited = _whole(_defaults(document).get("minor_number"))
    seen: dict[int, str] = {}
    for place, device in devices:
        own = device.get("minor_number")
        if own is None and device.get("state") is not None:
            continue
        minor = _whole(own if own is not None else device.get("index") if inherited is None else inherited)
        line = document.line(("devices", place, "minor_number"))
        if minor is None:
            continue
        if not 0 <= minor <= MOST_MINOR:
            yield line, f"devices.{place}.minor_number: {minor} is outside 0 to {MOST_MINOR} (255 is nvidiactl)"
        if minor in seen:
            yield line, f"devices.{place}.minor_number: {minor} is that of {seen[minor]} too (the default is the index)"
        seen.setdefault(minor, f"devices.{place}")
    system = document.value.get("system")
    count = _whole(system.get("num_devices")) if isinstance(system, dict) else None
    listed = {_whole(device.get("index")) for _, device in devices}
    for index in range(min(count or 0, MOST_MINOR + 1)):
        minor = index if inherited is None else inherited
        if index not in listed and minor in seen:
            line = document.line(("system", "num_devices"))
            yield line, f"system.num_devices: device {index} is not listed, and its minor number {minor} is that of {seen[minor]} too"
        if index not in listed:
            seen.setdefault(minor, f"device {index}")


def _addresses(document: Document, devices: list[tuple[int, Mapping[str, Any]]]) -> Iterator[Error]:
    """One PCI address is that of one device, in whatever spelling."""
    shared = _bus_id(_defaults(document))
    seen: dict[tuple[int, ...], int] = {}
    for place, device in devices:
        text = _bus_id(device) or (shared if device.get("state") is None else None)
        try:
            address = codec.bus_id(text) if text is not None else None
        except InputError:
            address = None
        if address is not None and seen.setdefault(address, place) != place:
            line = document.line(("devices", place, "pci", "bus_id"))
            yield line, f"devices.{place}.pci.bus_id: {text} is the address of devices.{seen[address]} too"


def _bus_id(block: Mapping[str, Any]) -> str | None:
    pci = block.get("pci")
    text = pci.get("bus_id") if isinstance(pci, dict) else None
    return text if isinstance(text, str) else None
