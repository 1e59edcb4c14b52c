"""The inverses of the NVLink fields: the keys that a GPU's links are made from.

Most are keys of the node, which all of its GPUs share; ``node_keys`` brings together what each GPU says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.stores.schema import keys, links

if TYPE_CHECKING:
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.told import Told

Telling = Mapping[str, "Told"]
Inverse = Callable[["Keys", "Told", Telling], None]

LISTS = "nvlink.device_links"
BANDWIDTH = "nvlink.bandwidth_per_link_mbps"
_WORDS, _PARTS = 6, 4
_MOST_LINK = 17
"""The last link that a profile can name (configuration reference, ``nvlink.links[].link``)."""
_KINDS = {links.GPU: "GPU", links.PROCESSOR: "CPU", links.SWITCH: "NVSwitch"}
_OTHERWISE = ("nvlink.links", "nvlink.links_per_gpu", "nvlink.defaults.state")
"""Keys that say of links what the list of a GPU says, too."""


def _links(made: Keys, said: Told, _: Telling) -> None:
    """Each link as an entry of the GPU's own list; more links than a profile can name leave the keys as they were."""
    listed = [_entry(number, words) for number, words in enumerate(_groups(said.value, _WORDS))]
    if len(listed) > _MOST_LINK + 1:
        return
    for key in _OTHERWISE:
        made.drop(key)
    made.put(LISTS, [{"index": made.values["index"], "links": listed}], said)


def _groups(numbers: tuple[int, ...], each: int) -> Iterator[tuple[int, ...]]:
    return (numbers[place : place + each] for place in range(0, len(numbers), each))


def _entry(number: int, words: tuple[int, ...]) -> dict[str, Any]:
    """One link of the words of ``struct nvp_link``; what is not known of it is left out."""
    active, kind, domain, place, remote_link, _ = words
    entry: dict[str, Any] = {"link": number, "state": "active" if active else "inactive"}
    if kind in _KINDS:
        entry["remote_device_type"] = _KINDS[kind]
    if (domain, place) != (links.NO_DOMAIN, links.NO_ADDRESS):
        entry["remote_pci_bus_id"] = f"{domain:04X}:{place >> 8:02X}:{place >> 3 & 31:02X}.{place & 7:X}"
    if 0 < remote_link <= _MOST_LINK:
        entry["remote_link"] = remote_link
    return entry


def _number(key: str, least: int = 0, most: int = 2**32 - 1) -> Inverse:
    def inverse(made: Keys, said: Told, _: Telling) -> None:
        if least <= said.value <= most:
            made.put(key, said.value, said)

    return inverse


def _common_speed(made: Keys, said: Told, told: Telling) -> None:
    """The bandwidth that all links have, where no link's own was asked."""
    if BANDWIDTH not in told:
        made.put(BANDWIDTH, said.value, said)


def _encrypted(made: Keys, said: Told, _: Telling) -> None:
    if said.value in (0, 1):
        made.put("nvlink.nvle_enabled", bool(said.value), said)


def _firmware(made: Keys, said: Told, _: Telling) -> None:
    """The version of each microcontroller that a profile has a name for."""
    for name in keys.UCODES:
        made.drop(f"nvlink.firmware.{name}")
    for kind, *version in _groups(said.value, _PARTS):
        if 1 <= kind <= len(keys.UCODES):
            made.put(f"nvlink.firmware.{keys.UCODES[kind - 1]}", ":".join(map(str, version)), said)


def _modes(made: Keys, said: Told, _: Telling) -> None:
    """The bandwidth modes of a GPU; none at all is no list that a profile can say."""
    if said.value:
        made.put("nvlink.bw_mode.scope", "device", said)
        made.put("nvlink.bw_mode.supported", list(said.value), said)


def _mode(made: Keys, said: Told, _: Telling) -> None:
    """The mode in force; the GPU says it, so that it is no mode of the system."""
    if "nvlink.bw_mode.scope" not in made.values:
        made.put("nvlink.bw_mode.scope", "device", said)
    made.put("nvlink.bw_mode.mode", said.value, said)


def _cleared(made: Keys, said: Told, _: Telling) -> None:
    """When the errors of each link were cleared, of two halves each; trailing links that never were are left out."""
    instants = [low | high << 32 for low, high in zip(said.value[::2], said.value[1::2], strict=False)]
    while instants and not instants[-1]:
        instants.pop()
    made.put("nvlink_error.cleared", instants, said)


INVERSES: tuple[tuple[str, Inverse], ...] = (
    ("nvlink.links", _links), ("nvlink.version", _number("nvlink.version")),
    (BANDWIDTH, _number(BANDWIDTH)), ("nvlink.common_speed_mbps", _common_speed),
    ("nvlink.counter_seed", _number("nvlink.defaults.counter_seed", 0, 2**64 - 1)),
    ("nvlink.nvle_enabled", _encrypted), ("nvlink.firmware", _firmware),
    ("nvlink.bw_mode.supported", _modes), ("nvlink.bw_mode.mode", _mode),
    ("nvlink.low_power_threshold", _number("nvlink.low_power_threshold", 1, 8191)), ("nvlink_error.cleared", _cleared),
)  # fmt: skip
"""Field -> its inverse; the links first, since all else is there on a board with links alone."""
