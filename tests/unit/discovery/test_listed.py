"""The reader of `nvidia-smi -L`."""

from __future__ import annotations

import pytest

from harness.discovery import listed
from harness.discovery.listed import ListedMig

UUID = "MIG-00000000-0000-0000-0000-00000000000{}"
TEXT = f"""GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
  MIG 3g.40gb     Device  0: (UUID: {UUID.format(1)})
  MIG 1g.10gb+me  Device  1: (UUID: {UUID.format(2)})
GPU 1: NVIDIA T4 (UUID: GPU-1)
GPU 3: NVIDIA A100-SXM4-80GB (UUID: GPU-3)
  MIG 1c.3g.40gb  Device 10: (UUID: {UUID.format(3)})
"""


def instances(text: str) -> dict[int, list[tuple[int, str, str]]]:
    return {card: [(one.device, one.profile, one.uuid) for one in found] for card, found in listed.read(text).instances.items()}


@pytest.mark.spec("DM21", "DM22", "DM28", "DM30", "DM31", "DM32")
def test_instances_stand_below_their_card() -> None:
    assert instances(TEXT) == {
        0: [(0, "3g.40gb", UUID.format(1)), (1, "1g.10gb+me", UUID.format(2))],
        3: [(10, "1c.3g.40gb", UUID.format(3))],
    }


def test_cards_have_names_and_uuids() -> None:
    assert {index: (card.name, card.uuid) for index, card in listed.read(TEXT).cards.items()} == {
        0: ("NVIDIA A100-SXM4-80GB", "GPU-0"), 1: ("NVIDIA T4", "GPU-1"), 3: ("NVIDIA A100-SXM4-80GB", "GPU-3"),
    }  # fmt: skip


@pytest.mark.spec("DM21")
@pytest.mark.parametrize("row", [" GPU 2: x", "GPU  2: x", "GPU x: x", "GPU 2 x", "gpu 2: x"])
def test_a_line_that_is_no_cards_row_leaves_the_card(row: str) -> None:
    assert instances(f"GPU 0: a\n{row}\n MIG p Device 0: (UUID: u)\n") == {0: [(0, "p", "u")]}


@pytest.mark.spec("DM21")
@pytest.mark.parametrize("compatible", [False, True])
@pytest.mark.parametrize("row", ["GPU 2:", "GPU 2:x", "GPU 2: x y (UUID: g)", "GPU 02: ", "GPU 2:\r"])
def test_a_cards_row_needs_its_number_alone(row: str, compatible: bool) -> None:
    assert list(listed.read(f"GPU 0: a\n{row}\n MIG p Device 0: (UUID: u)\n", compatible=compatible).instances) == [2]


@pytest.mark.parametrize("compatible", [False, True])
def test_instances_of_a_card_whose_number_is_none_are_not_given_to_another(compatible: bool) -> None:
    made = listed.read("GPU 0: a\nGPU 1234567890: b\n MIG p Device 0: (UUID: u)\n", compatible=compatible)
    assert (list(made.cards), made.instances) == ([0], {})


@pytest.mark.spec("DM22", "DM23")
@pytest.mark.parametrize(
    ("row", "made", "old"),
    [
        (b"\xc2\xa0MIG p Device 0: (UUID: u)", ("p", "u"), None),
        (b" MIG\xe2\x80\xafp\xc2\xa0Device 0: (UUID: u)", ("p", "u"), None),
        (b" MIG p\xc2\xa0q Device 0: (UUID: u)", None, ("p\xa0q", "u")),
        (b" MIG p Device 0: (UUID: u\xc2\xa0v)", None, ("p", "u\xa0v")),
        (b"\x0cMIG p\x0cDevice 0: (UUID: u)", None, ("p", "u")),
        (b" MIG p Device 0: (UUID:\ru)", ("p", "\uf70du"), ("p", "u")),
        (b" MIG p\x0bq Device 0: (UUID: u)", ("p\uf70bq", "u"), ("p\uf70bq", "u")),
    ],
)
def test_white_space_is_any_that_is_text_and_in_compatible_mode_that_of_the_source(
    row: bytes, made: tuple[str, str] | None, old: tuple[str, str] | None
) -> None:
    read = [listed.read(b"GPU 0: a\n" + row + b"\n", compatible=compatible).instances for compatible in (False, True)]
    assert read == [{} if one is None else {0: [ListedMig(0, *one)]} for one in (made, old)]


@pytest.mark.spec("DM22", "DM23", "DM24", "DM30")
@pytest.mark.parametrize(
    ("row", "made"),
    [
        ("  MIG 1g.5gb Device 0: (UUID: MIG-GPU-0000-11/7/0)", (0, "1g.5gb", "MIG-GPU-0000-11/7/0")),
        ("\tMIG\t1g.5gb \t Device   12:(UUID:\tu) and more (UUID: v)\r", (12, "1g.5gb", "u")),
        ("  MIG a!+b Device 00: (UUID: Not-A-UUID!)", (0, "a!+b", "Not-A-UUID!")),
    ],
)
def test_blanks_between_words_and_text_behind_the_bracket_do_not_matter(row: str, made: tuple[int, str, str]) -> None:
    assert instances(f"GPU 0: a\n{row}\n") == {0: [made]}


@pytest.mark.spec("DM25")
def test_a_row_without_white_space_before_it_is_no_instance() -> None:
    assert instances("GPU 0: a\nMIG 1g.5gb Device 0: (UUID: u)\n") == {}


@pytest.mark.spec("DM22")
@pytest.mark.parametrize(
    "row", [" MIG Device 0: (UUID: u)", " MIG a b Device 0: (UUID: u)", " MIG a Device x: (UUID: u)", " MIG a Device 0: UUID: u"]
)
def test_a_torn_row_is_no_instance(row: str) -> None:
    assert instances(f"GPU 0: a\n{row}\n") == {}


@pytest.mark.spec("DM26")
def test_an_instance_before_any_card_is_dropped() -> None:
    assert instances(" MIG p Device 0: (UUID: u)\nGPU 0: a\n") == {}


@pytest.mark.spec("DM27")
def test_other_lines_do_not_end_a_card() -> None:
    gone = "Unable to determine the device handle for gpu 0000:04:00.0: GPU is lost."
    text = f"WARNING: x\nGPU 0: a\n\n  note\n MIG p Device 0: (UUID: u)\n{gone}\n MIG p Device 1: (UUID: v)\n"
    assert instances(text) == {0: [(0, "p", "u"), (1, "p", "v")]}
    assert [one.address for one in listed.read(text).lost] == ["0000:04:00.0"]


@pytest.mark.spec("DM29")
def test_instances_are_sorted_and_gaps_stay() -> None:
    rows = "".join(f" MIG p Device {number}: (UUID: u{number})\n" for number in (5, 0, 2))
    assert [device for device, _, _ in instances(f"GPU 0: a\n{rows}")[0]] == [0, 2, 5]


@pytest.mark.spec("DM31")
def test_a_card_whose_row_repeats_goes_on() -> None:
    text = "GPU 0: a\n MIG p Device 1: (UUID: u)\nGPU 1: b\n MIG p Device 0: (UUID: v)\nGPU 0: a\n MIG p Device 0: (UUID: w)\n"
    assert instances(text) == {0: [(0, "p", "w"), (1, "p", "u")], 1: [(0, "p", "v")]}


@pytest.mark.spec("DM33")
@pytest.mark.parametrize("text", ["", "\n\n", "No devices were found\n"])
def test_a_text_without_rows_is_an_empty_map(text: str) -> None:
    assert instances(text) == {}


@pytest.mark.spec("DM23")
def test_bytes_that_are_no_text_are_read_over_and_an_id_is_kept() -> None:
    assert listed.read(b"\xef\xbb\xbfGPU 0: a\n MIG p Device 0: (UUID: u)\n", compatible=True).instances == {}
    assert listed.read(b"\xef\xbb\xbfGPU 0: \xff\xfe (UUID: g)\r\n  MIG p Device 0: (UUID: MIG-A)\r\n").instances == {0: [ListedMig(0, "p", "MIG-A")]}
