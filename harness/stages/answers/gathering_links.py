"""What a recording's answers say of a GPU's NVLinks: each link's state and remote end, what they have in common, encryption, bandwidth modes.

One field holds all links, so several calls make it.  A count of errors says no field: it is that of an instant, and a profile says rates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stages.answers.told import Refusal, Told, holds
from harness.stores.schema import codec
from harness.stores.schema.links import SWITCH, UNKNOWN, Link
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from harness.stages.answers.gathering_lists import Answers
    from mocklib.answers import Asked
    from mocklib.binding import Answer
    from mocklib.spec import FieldId, LinkId

Said = Iterator[Told | Refusal]
Found = tuple["Asked", "Answer"]
One = tuple["Asked", "Answer", Any]
"""A call, its answer, and what that has under the name that was looked at."""

FIELD_VALUES, STATE = "nvmlDeviceGetFieldValues", "nvmlDeviceGetNvLinkState"
NODE_MODE = "nvmlSystemGetNvlinkBwMode"
COUNTED = "nvlink.link_count"
MOST = 64
"""Links that are looked at, more than any header knows: answers may come from a hostile library."""
U32 = 0xFFFFFFFF
INVALID = 2
"""What a counter that there is not answers, whatever the link."""


@dataclass(frozen=True)
class Ids:
    """Field ids of a driver: ``plain`` are those whose field is the value, ``links`` those of one link or of all."""

    plain: tuple[FieldId, ...]
    links: tuple[LinkId, ...]


def told(answers: Answers, ids: Ids) -> Said:
    """The link fields of one GPU, or of the node."""
    if answers.gpu is None:
        yield from _mode(answers.of(NODE_MODE), "nvlinkBwMode", "nvlink.node_bw_mode.mode")
        return
    yield from _modes(answers)
    yield from _info(answers)
    first = answers.of(STATE, link=0)
    if first is None:
        return
    if first[1].code:
        yield from _code("nvlink.links", first)
        return
    states = _states(answers)
    count = _count(answers, ids, states)
    if count:
        links = [_link(number, active, answers, ids) for number, active in enumerate(states[:count])]
        yield Told("nvlink.links", first[0], tuple(word for link in links for word in link.words))
        yield from _in_common(links, answers, ids)


def _code(name: str, found: Found) -> Iterator[Told]:
    if State.of_code(found[1].code) is not None:
        yield Told(name, found[0], code=found[1].code)


def _number(value: Any, most: int = U32) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _states(answers: Answers) -> list[bool]:
    """Whether each link is up, from the first on; the first that is refused ends them."""
    found: list[bool] = []
    while len(found) < MOST:
        state = answers.of(STATE, link=len(found))
        if state is None or state[1].code or not _number(state[1].out.get("isActive")):
            break
        found.append(bool(state[1].out["isActive"]))
    return found


def _count(answers: Answers, ids: Ids, states: list[bool]) -> int:
    """How many links the board has: as many as it says, else to the last that is up.

    A driver calls each link down that its header knows and the board has not (ledger S33), so that the states alone do not tell.
    """
    least = max((number + 1 for number, active in enumerate(states) if active), default=0)
    counted = next((entry.id for entry in ids.plain if entry.field == COUNTED), None)
    said = None if counted is None else answers.of(FIELD_VALUES, fieldId=counted, scopeId=0)
    number = said[1].out.get("value") if said is not None and not said[1].code else None
    if isinstance(number, int) and least <= number <= len(states):
        return number
    return least or len(states)


def _link(number: int, active: bool, answers: Answers, ids: Ids) -> Link:
    """One link; nothing tells where one leads that is down."""
    kind, address, device_id = UNKNOWN, None, 0
    named = answers.of("nvmlDeviceGetNvLinkRemoteDeviceType", link=number)
    if named is not None and not named[1].code and _number(named[1].out.get("pNvLinkDeviceType"), UNKNOWN):
        kind = named[1].out["pNvLinkDeviceType"]
    for function, text in (("nvmlDeviceGetNvLinkRemotePciInfo_v2", "pci.busId"), ("nvmlDeviceGetNvLinkRemotePciInfo", "pci.busIdLegacy")):
        found = answers.of(function, link=number)
        if found is not None and not found[1].code and kind != SWITCH:
            address = _address(found[1].out.get(text))
            device_id = found[1].out["pci.pciDeviceId"] if _number(found[1].out.get("pci.pciDeviceId")) else 0
            break
    far = next((value for _, answer, value in _of_ids("remote_link", answers, ids, [number]) if not answer.code), 0)
    return Link(active, kind, address, far if _number(far) else 0, device_id)


def _address(text: Any) -> tuple[int, int, int, int] | None:
    """The address that a text is; None for none, and for that of an end which has none (ledger S09)."""
    try:
        found = codec.bus_id(str(text))
    except InputError:
        return None
    return found if found[1:3] != (0xFF, 0xFF) and found[2] < 32 and found[3] < 8 else None


def _of_ids(reading: str, answers: Answers, ids: Ids, numbers: Sequence[int]) -> Iterator[One]:
    """What field ids of a reading answer of the links ``numbers``, each asked by its own id or as the scope of one for all."""
    for entry in ids.links:
        if entry.reading == reading and entry.link is None:
            yield from _each(answers, [{"fieldId": entry.id, "scopeId": number} for number in numbers], FIELD_VALUES, "value")
        elif entry.reading == reading and entry.link in numbers:
            yield from _each(answers, [{"fieldId": entry.id, "scopeId": 0}], FIELD_VALUES, "value")


def _each(answers: Answers, arguments: Iterable[dict[str, int]], function: str, *outs: str) -> Iterator[One]:
    """What ``function`` answered under each of ``outs``, for each of these arguments."""
    for given in arguments:
        found = answers.of(function, **given)
        if found is not None:
            yield from ((*found, found[1].out.get(out)) for out in outs)


def _in_common(links: list[Link], answers: Answers, ids: Ids) -> Iterator[Told]:
    """What a profile says once for all links, as they say it: version, bandwidth and what went over each; the code where all have one."""
    numbers = range(len(links))
    up = [number for number in numbers if links[number].active]
    versions = _each(answers, ({"link": number} for number in numbers), "nvmlDeviceGetNvLinkVersion", "version")
    yield from _first("nvlink.version", [*versions, *_of_ids("version", answers, ids, numbers)])
    speeds = [*_of_ids("speed", answers, ids, up), *_of_ids("speed_or_zero", answers, ids, up or numbers)]  # 0 where all are down
    yield from _first("nvlink.bandwidth_per_link_mbps", speeds)
    pairs = [{"link": number, "counter": counter} for number in up for counter in range(4)]
    counters = [*_of_ids("kib", answers, ids, up), *_each(answers, pairs, "nvmlDeviceGetNvLinkUtilizationCounter", "rxcounter", "txcounter")]
    counters = [one for one in counters if one[1].code != INVALID]
    if len({repr(value) for _, answer, value in counters if not answer.code}) < 2:  # one key stands for the counters of all links
        yield from _first("nvlink.counter_seed", counters, "nvlink.bytes_per_second")
    errors = list(_each(answers, pairs, "nvmlDeviceGetNvLinkErrorCounter", "counterValue"))
    if all(answer.code for _, answer, _ in errors):
        yield from _first("nvlink.error_rate", errors)


def _first(name: str, found: list[One], refused: str = "") -> Iterator[Told]:
    """The first value; where there is none the code that all of them answered, of the field ``refused``."""
    for asked, answer, value in found:
        if not answer.code and holds(name, value):
            yield Told(name, asked, value)
            return
    if found and len({answer.code for _, answer, _ in found}) == 1:
        yield from _code(refused or name, found[0][:2])


def _modes(answers: Answers) -> Said:
    """The reduced bandwidth of a GPU: the modes there are, as bytes, and the mode in force."""
    found = answers.of("nvmlDeviceGetNvlinkSupportedBwModes", **{"supportedBwMode.version": 1})
    if found is not None and found[1].code:
        yield from _code("nvlink.bw_mode.supported", found)
    elif found is not None:
        listed, count = found[1].out.get("supportedBwMode.bwModes"), found[1].out.get("supportedBwMode.totalBwModes")
        if isinstance(listed, bytes) and isinstance(count, int) and 0 <= count <= len(listed):
            yield Told("nvlink.bw_mode.supported", found[0], tuple(listed[:count]))
    yield from _mode(answers.of("nvmlDeviceGetNvlinkBwMode", **{"getBwMode.version": 1}), "getBwMode.bwMode", "nvlink.bw_mode.mode")


def _mode(found: Found | None, out: str, name: str) -> Iterator[Told]:
    if found is not None and found[1].code:
        yield from _code(name, found)
    elif found is not None and holds(name, found[1].out.get(out)):
        yield Told(name, found[0], found[1].out[out])


def _info(answers: Answers) -> Said:
    """Encryption, which the first version of the struct has alone, and the microcontrollers' versions behind it."""
    newer = answers.of("nvmlDeviceGetNvLinkInfo", **{"info.version": 2})
    older = answers.of("nvmlDeviceGetNvLinkInfo", **{"info.version": 1})
    if older is not None:
        yield from _mode(older, "info.isNvleEnabled", "nvlink.nvle_enabled")
    if newer is None:
        return
    if newer[1].code and older is not None:
        yield from () if older[1].code else _code("nvlink.firmware", newer)
    elif newer[1].code:
        yield Refusal(newer[0], newer[1].code, ("nvlink.nvle_enabled", "nvlink.firmware"))
    else:
        if older is None:
            yield from _mode(newer, "info.isNvleEnabled", "nvlink.nvle_enabled")
        listed, count = newer[1].out.get("info.firmwareInfo.firmwareVersion"), newer[1].out.get("info.firmwareInfo.numValidEntries")
        if isinstance(listed, list) and isinstance(count, int) and 0 <= count <= len(listed):
            entries = [entry.get(member) for entry in listed[:count] if isinstance(entry, dict) for member in _FIRMWARE]
            if all(_number(number) for number in entries):
                yield Told("nvlink.firmware", newer[0], tuple(entries))


_FIRMWARE = ("ucodeType", "major", "minor", "subMinor")
"""Members of one entry in the order of the field."""
