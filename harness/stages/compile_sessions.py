"""Sessions of the encoder and of frame buffer capture (ledger K07): entries of a profile <-> the numbers of a field, a run of them each session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.words.state import State
from mocklib.image import FieldValue

MEMBERS: Mapping[str, tuple[str, ...]] = {
    "encoder_stats": ("id", "pid", "codec", "width", "height", "average_fps", "average_latency_us"),
    "fbc_stats": ("id", "pid", "display", "type", "flags", "max_width", "max_height", "width", "height", "average_fps", "average_latency_us"),
}
"""Block -> the members of one of its sessions, in the order of the field."""
_WORDS: Mapping[str, tuple[str, ...]] = {"codec": ("h264", "hevc", "av1"), "type": ("unknown", "tosys", "cuda", "vid", "hwenc")}
"""Member -> its words by number: nvml.h, nvmlEncoderType_t and nvmlFBCSessionType_t."""


def field(block: str, values: Mapping[str, Any], states: Mapping[str, State]) -> FieldValue:
    """The sessions that ``block`` of a GPU's keys lists; one that counts sessions and lists none does not say which they are.

    One whose count is a state answers that.
    """
    listed = values.get(f"{block}.sessions")
    if listed is not None:
        return FieldValue(tuple(_number(member, entry) for entry in listed for member in MEMBERS[block]))
    state = states.get(f"{block}.session_count")
    if state is not None:
        return FieldValue(status=state.code or 3)
    given = any(key.startswith(f"{block}.") and value is not None for key, value in values.items())
    return FieldValue(()) if given and not values.get(f"{block}.session_count") else FieldValue(status=3)


def _number(member: str, entry: Mapping[str, Any]) -> int:
    words = _WORDS.get(member)
    return int(entry.get(member, 0)) if words is None else words.index(entry.get(member, words[0]))


def entries(block: str, numbers: Sequence[int]) -> list[dict[str, Any]] | None:
    """The entries that make a field these ``numbers``; None where one has no word for a number."""
    members = MEMBERS[block]
    found = []
    for start in range(0, len(numbers), len(members)):
        entry: dict[str, Any] = dict(zip(members, numbers[start : start + len(members)], strict=True))
        for member, words in _WORDS.items():
            if entry.get(member, 0) >= len(words):
                return None
            if member in entry:
                entry[member] = words[entry[member]]
        found.append(entry)
    return found
