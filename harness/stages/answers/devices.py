"""Which GPUs a recording has: those that answer, those whose handle is not given, and what must differ between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stores.profiles import Device
from harness.stores.schema import codec
from harness.words.errors import InputError
from harness.words.state import State
from mocklib.answers import Asked

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stores.profiles import Profile
    from mocklib.answers import Recording
    from mocklib.binding import Answer

MOST = 255
"""The most GPUs that a profile says a node has (configuration reference, num_devices)."""
MOST_MINOR = 254
SUCCESS = 0


@dataclass(frozen=True)
class Node:
    """The GPUs of a node: ``count`` of them; ``present``: indices of those with readings; ``entries``: profile entries of the others; ``bases``:
    what a text says of each; ``notes`` for a report.
    """

    count: int
    present: tuple[int, ...]
    entries: tuple[dict[str, Any], ...]
    bases: Mapping[int, Device]
    notes: tuple[str, ...]


def of_recording(recording: Recording, beside: Profile | None) -> Node:
    """The GPUs of a recording; ``beside``: the profile of the same node's text, which knows addresses of GPUs that do not answer.

    InputError for more GPUs than a profile can have.
    """
    asked = {call.gpu for call in recording if call.gpu is not None}
    count = max(_counted(recording), *(index + 1 for index in asked), 0)
    if count > MOST:
        raise InputError(f"the recording has {count} GPUs; a profile has at most {MOST}")
    listed = {int(device.values.get("index", place)): device for place, device in enumerate(beside.devices)} if beside is not None else {}
    entries: list[dict[str, Any]] = []
    notes: list[str] = []
    for index in range(count):
        state = _absence(recording, index)
        if state is not None:
            address = listed[index].values.get("pci.bus_id") if index in listed and state is not State.UNCAPTURED else None
            entries.append({"index": index, "state": state.value, **({"pci": {"bus_id": address}} if address else {})})
            notes.append(f"GPU {index} has no readings: {state.value}")
    gone = {entry["index"] for entry in entries}
    present = tuple(index for index in range(count) if index not in gone)
    bases = {index: device for index, device in listed.items() if index in present and device.state is None}
    left = [index for index in listed if index >= count]
    if left:
        notes.append(f"the text has GPUs {', '.join(map(str, left))}, the answers {count} GPUs: left out")
    return Node(count, present, tuple(entries), bases, tuple(notes))


def _counted(recording: Recording) -> int:
    for function in ("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"):
        answer = recording.get(Asked(function))
        number = answer.out.get("deviceCount") if answer is not None and not answer.code else None
        if isinstance(number, int) and number >= 0:
            return number
    return 0


def _absence(recording: Recording, index: int) -> State | None:
    """Why a GPU has no readings: its handle is not given, or with its handle nothing is found (a GPU that a capture left out)."""
    handle = _handle(recording, index)
    if handle is not None and handle.code and not handle.missing:
        return State.of_code(handle.code) or State.UNKNOWN_ERROR
    own = [answer for asked, answer in recording.items() if asked.gpu == index and not answer.missing]
    place = recording.get(Asked("nvmlDeviceGetIndex", index))
    found = any(answer.code == SUCCESS for answer in own) or (place is not None and place.code != State.NOT_FOUND.code)
    return None if own and found else State.UNCAPTURED


def _handle(recording: Recording, index: int) -> Answer | None:
    for function in ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"):
        answer = recording.get(Asked(function, None, (("index", index),)))
        if answer is not None:
            return answer
    return None


def apart(made: Mapping[int, Keys]) -> None:
    """Drop what only one GPU of a node can have where the answers give it to several: addresses of the later ones, all minor numbers."""
    seen: set[tuple[int, ...]] = set()
    for keys in made.values():
        if "pci.bus_id" in keys.values:
            address = codec.bus_id(str(keys.values["pci.bus_id"]))
            if address in seen:
                keys.drop("pci.bus_id")
            seen.add(address)
    minors = [keys.values.get("minor_number", index) for index, keys in made.items()]
    if len(set(minors)) < len(minors) or any(not 0 <= minor <= MOST_MINOR for minor in minors):
        for keys in made.values():
            keys.drop("minor_number")
