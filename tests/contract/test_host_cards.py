"""Host interface cards of a node: the list that a profile names, and the empty one."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib.binding import Nvml
from mocklib.image import ImageSpec

Serve = Callable[..., tuple[Nvml, int]]
TOO_SMALL = 7
CARDS = [{"hwbcId": 3, "firmwareVersion": "1.2.3.4"}, {"hwbcId": 4294967295, "firmwareVersion": ""}, {"hwbcId": 0, "firmwareVersion": "v" * 31}]


def node(cards: str) -> ImageSpec:
    text = f"version: '1.0'\nsystem: {{driver_version: '580.105.08', hic: {cards}}}\ndevices: [{{index: 0}}]\n"
    return compiling.compile_profile(profiles.parse(text.encode()), drivers.load().resolve("580.105.08"))


def asked(nvml: Nvml, capacity: int) -> tuple[int, int, bytes]:
    """Code, count and bytes of the list for a caller with room for so many, the bytes 0xAA before the call."""
    count, entries = nvml.ffi.new("unsigned int *", capacity), nvml.ffi.new("nvmlHwbcEntry_t[]", max(capacity, 1))
    nvml.ffi.memmove(entries, b"\xaa" * nvml.ffi.sizeof(entries), nvml.ffi.sizeof(entries))
    code = nvml.library.nvmlSystemGetHicVersion(count, entries if capacity else nvml.ffi.NULL)
    return int(code), int(count[0]), bytes(nvml.ffi.buffer(entries))


@pytest.mark.spec("B07")
def test_cards_are_listed_in_the_order_of_the_profile_and_a_longer_version_is_cut(serve: Serve) -> None:
    nvml, _ = serve(node(f"[{{id: 3, firmware_version: '1.2.3.4'}}, {{id: 4294967295}}, {{id: 0, firmware_version: '{'v' * 40}'}}]"))
    assert nvml.call("nvmlSystemGetHicVersion").out == {"hwbcCount": 3, "hwbcEntries": CARDS}


@pytest.mark.spec("B07")
@pytest.mark.parametrize("cards", ["[]", "null"])
def test_a_node_without_cards_has_an_empty_list_and_never_none(serve: Serve, cards: str) -> None:
    nvml, _ = serve(node(cards))
    answer = nvml.call("nvmlSystemGetHicVersion")
    assert (answer.code, answer.out) == (0, {"hwbcCount": 0, "hwbcEntries": []})


@pytest.mark.spec("B07")
def test_too_short_a_list_of_cards_is_told_the_number_and_not_written(serve: Serve) -> None:
    nvml, _ = serve(node("[{id: 3}, {id: 4}]"))
    assert asked(nvml, 0)[:2] == (TOO_SMALL, 2)
    code, count, held = asked(nvml, 1)
    assert (code, count, held) == (TOO_SMALL, 2, b"\xaa" * 36)
    code, count, held = asked(nvml, 3)
    assert (code, count, held[72:]) == (0, 2, b"\xaa" * 36)


@pytest.mark.spec("B07")
def test_an_image_that_says_nothing_of_cards_has_an_empty_list(serve: Serve) -> None:
    nvml, _ = serve()
    assert nvml.call("nvmlSystemGetHicVersion").out == {"hwbcCount": 0, "hwbcEntries": []}


@pytest.mark.parametrize("cards", ["[{firmware_version: '1'}]", "[{id: -1}]", "[{id: 4294967296}]", "{id: 1}", "[{id: 1, name: x}]"])
def test_a_card_without_an_id_or_with_one_that_nvml_has_no_room_for_is_refused(cards: str) -> None:
    with pytest.raises(InputError, match="hic"):
        node(cards)
