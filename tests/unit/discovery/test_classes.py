"""Classes of devices, and what profiles say."""

from __future__ import annotations

import pytest

from harness.discovery import classes

BOTH = pytest.mark.parametrize("compatible", [False, True])


@pytest.mark.parametrize(
    ("name", "memory", "made"),
    [
        ("NVIDIA A100-SXM4-80GB", 81920, "a100-80g"),
        ("A100-PCIE-40GB", 40536, "a100-40g"),
        ("NVIDIA H100 80GB HBM3", 81559, "h100-80g"),
        ("NVIDIA H200", 143771, "h200-141g"),
        ("NVIDIA B200", 183359, "b200-180g"),
        ("NVIDIA GB200", 189471, "gb200-186g"),
        ("NVIDIA GeForce RTX 3090", 24576, "rtx-3090-24g"),
        ("Tesla T4", 15360, "t4-15g"),
        ("NVIDIA A30", None, "a30"),
        ("Graphics Device", 5912, "graphics-device-6g"),
        ("", None, ""),
    ],
)
def test_a_cards_class_is_its_name_and_its_memory(name: str, memory: int | None, made: str) -> None:
    assert classes.card_class(name, memory) == made


@pytest.mark.spec("DM08")
@BOTH
def test_an_instances_class_is_the_cards_and_the_profile(compatible: bool) -> None:
    assert classes.instance_class("a100-80g", "3g.40gb", compatible=compatible) == "a100-80g-mig-3g.40gb"


@pytest.mark.spec("DM09")
@pytest.mark.parametrize(
    ("profile", "clean"),
    [
        (" 3G.40GB ", "3g.40gb"),
        ("1g.10gb+me", "1g.10gb-me"),
        ("1g.24gb+me.all", "1g.24gb-me.all"),
        ("2g.20gb+gfx", "2g.20gb-gfx"),
        ("+_1g!!5gb_+", "1g-5gb"),
    ],
)
def test_compatible_cleaning_makes_a_hyphen_of_each_run_of_other_characters(profile: str, clean: str) -> None:
    assert classes.instance_class("c", profile, compatible=True) == f"c-mig-{clean}"


def test_a_profile_that_adds_and_one_that_leaves_out_are_two_classes() -> None:
    made = [classes.instance_class("c", profile) for profile in ("1g.24gb+me", "1g.24gb-me", "1g.24gb+me.all", "1g.24gb+gfx")]
    assert made == ["c-mig-1g.24gb.me", "c-mig-1g.24gb-me", "c-mig-1g.24gb.me.all", "c-mig-1g.24gb.gfx"]


def test_compatible_classes_of_a_profile_that_adds_and_one_that_leaves_out_are_one() -> None:
    assert len({classes.instance_class("c", profile, compatible=True) for profile in ("1g.24gb+me", "1g.24gb-me")}) == 1


@pytest.mark.spec("DM10")
def test_the_cards_class_is_taken_as_it_is_and_compatible_mode_ends_in_the_marker_without_a_profile() -> None:
    assert classes.instance_class("My Card+", "1g.5gb") == classes.instance_class("My Card+", "1g.5gb", compatible=True) == "My Card+-mig-1g.5gb"
    assert classes.instance_class("c", "", compatible=True) == "c-mig-"


def test_no_profile_gives_no_class() -> None:
    assert classes.instance_class("c", " ") == ""


@pytest.mark.spec("DM11")
def test_a_class_is_of_instances_exactly_where_it_holds_the_marker() -> None:
    assert [classes.is_instance_class(text) for text in ("a100-80g-mig-3g.40gb", "-mig-", "a100-mig", "mig-3g", "")] == [
        True,
        True,
        False,
        False,
        False,
    ]


@pytest.mark.spec("DM12")
def test_boards_that_share_a_profiles_name_have_classes_of_their_own() -> None:
    cards = [classes.card_class(f"NVIDIA A100-SXM4-{size}GB", None) for size in (40, 80)]
    assert len({classes.instance_class(card, "1g.10gb") for card in cards}) == 2


@pytest.mark.spec("DM13")
@BOTH
@pytest.mark.parametrize(
    ("text", "size"),
    [("3g.40gb", 40), ("a100-80g-mig-3g.40gb", 40), ("1g.10gb+me", 10), ("1G.10GB", 10), ("x-mig-9g.9gb-mig-2g.20gb", 20), ("7g.141gb", 141)],
)
def test_a_profile_says_its_memory_behind_the_last_marker(text: str, size: int, compatible: bool) -> None:
    assert classes.profile_memory_gb(text, compatible=compatible) == size


@pytest.mark.spec("DM14")
@BOTH
@pytest.mark.parametrize("text", ["", "a100-80g", "40gb", "3g.40", "x3g.40gb", "3g.40gb-mig-"])
def test_other_texts_say_no_memory(text: str, compatible: bool) -> None:
    assert classes.profile_memory_gb(text, compatible=compatible) == 0


@BOTH
@pytest.mark.parametrize("digits", [10, 5000])
def test_a_number_that_no_memory_has_is_none(digits: int, compatible: bool) -> None:
    assert classes.profile_memory_gb(f"1g.{'9' * digits}gb", compatible=compatible) == 0
    assert classes.card_class(f"A {'9' * digits}GB", 1024) == f"a-{'9' * digits}gb-1g"


def test_a_compute_instances_profile_says_the_memory_that_it_shares() -> None:
    assert classes.profile_memory_gb("1c.3g.20gb") == 20


@pytest.mark.spec("DM14")
def test_compatible_mode_reads_no_memory_of_a_compute_instances_profile() -> None:
    assert classes.profile_memory_gb("1c.3g.20gb", compatible=True) == 0


@pytest.mark.spec("DM69")
@pytest.mark.parametrize(("slices", "memory", "name"), [(3, 40192, "3g.39gb"), (1, 9856, "1g.10gb"), (1, 4608, "1g.5gb"), (2, 10751, "2g.10gb")])
def test_compatible_names_round_the_memory_itself_half_up(slices: int, memory: int, name: str) -> None:
    assert classes.profile_of(slices, memory, 81920, compatible=True) == name


@pytest.mark.parametrize(
    ("card", "rows"),
    [
        (40960, {(1, 4864): "1g.5gb", (2, 9856): "2g.10gb", (3, 19968): "3g.20gb", (7, 40192): "7g.40gb"}),
        (81920, {(1, 9728): "1g.10gb", (1, 19968): "1g.20gb", (3, 40192): "3g.40gb"}),
        (81559, {(1, 9984): "1g.10gb", (2, 20096): "2g.20gb", (3, 40448): "3g.40gb"}),
        (143771, {(1, 16384): "1g.18gb", (2, 33280): "2g.35gb", (3, 71424): "3g.71gb"}),
        (24576, {(1, 5952): "1g.6gb", (2, 11968): "2g.12gb"}),
        (97887, {(1, 24192): "1g.24gb"}),
    ],
)
def test_names_are_made_as_nvidia_makes_them(card: int, rows: dict[tuple[int, int], str]) -> None:
    """Memory of live devices and names of A100, H100, H200, A30 and RTX PRO 6000, from the facts on MIG tables."""
    assert {asked: classes.profile_of(*asked, card) for asked in rows} == rows


def test_a_card_of_unknown_memory_has_the_memorys_own_name() -> None:
    assert classes.profile_of(3, 40192) == classes.profile_of(3, 40192, 0) == "3g.39gb"
