"""Each card in MIG mode becomes its instances."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.discovery import combining, problems
from harness.discovery.combining import Halves
from harness.discovery.listed import ListedMig
from harness.discovery.model import Gpu, Health, MigRecord, Process
from harness.discovery.reported import Reported, ReportedMig
from harness.discovery.rows import Row

BOTH = pytest.mark.parametrize("compatible", [False, True])
CARD = Gpu(
    0, "GPU-0", "NVIDIA A100-SXM4-80GB", "a100-80g", 81920, 55, "00000000:01:00.0", "550.163.01", "12.4", "8.0", 1, ("mlx5_0",), "clique 1", 12, 97,
    300.5, Health(2, 44, ("old",)),
)  # fmt: skip
OTHER = Gpu(1, "GPU-1", "NVIDIA A100-SXM4-80GB", "a100-80g", 81920, 5, "00000000:02:00.0")


def state(
    *instances: ReportedMig, current: str = "Enabled", bus: str = "00000000:01:00.0", uuid: str = "GPU-0", processes: tuple[Process, ...] = ()
) -> Reported:
    return Reported(bus, uuid, "", current, current, 81920, 55, None, None, None, None, instances, processes)


def named(*devices: int, profile: str = "3g.40gb") -> list[ListedMig]:
    return [ListedMig(device, profile, f"MIG-{device}") for device in devices]


def expanded(
    cards: list[Gpu], listed: dict[int, list[ListedMig]], *report: Reported, compatible: bool = False, rows: tuple[Row, ...] = ()
) -> list[Gpu]:
    return list(combining.expand(cards, Halves(listed, report, rows), compatible=compatible).gpus)


@BOTH
@pytest.mark.spec("DM46")
def test_without_instances_and_modes_the_cards_are_what_they_were(compatible: bool) -> None:
    cards = [CARD, OTHER]
    assert expanded(cards, {}, state(current="Disabled"), state(current="N/A", bus="x"), compatible=compatible) == cards
    assert expanded(cards, {0: []}, compatible=compatible) == cards


@BOTH
@pytest.mark.spec("DM47")
@pytest.mark.parametrize("bus", ["0000:01:00.0", "00000000:01:00.0", " 0000:01:00.0"])
def test_a_card_meets_its_report_by_the_bus_id_however_it_is_spelled(bus: str, compatible: bool) -> None:
    card = replace(CARD, pci_bus_id="00000000:01:00.0".upper())
    elsewhere = state(ReportedMig(0, 9, 9, 1, 1), bus="00000000:99:00.0", uuid="GPU-9")
    made = expanded([card], {0: named(0)}, elsewhere, state(ReportedMig(0, 2, 1, 40192, 7), bus=bus), compatible=compatible)
    assert made[0].mig is not None
    assert (made[0].mig.gpu_instance, made[0].memory_used_mb) == (2, 7)


@pytest.mark.spec("DM47")
def test_compatible_mode_takes_the_report_in_the_cards_place_even_of_another_card() -> None:
    other = state(ReportedMig(0, 9, 4, 111, 1), bus="00000000:99:00.0", uuid="GPU-9")
    (made,) = expanded([CARD], {0: named(0)}, other, compatible=True)
    assert (made.memory_total_mb, made.mig and made.mig.gpu_instance) == (111, 9)


@pytest.mark.spec("DM47")
def test_compatible_mode_takes_the_last_of_two_reports_with_a_cards_bus_id_and_the_default_neither() -> None:
    twice = [state(ReportedMig(0, number, 0, 40192, 7)) for number in (1, 2)]
    old, new = (expanded([CARD], {0: named(0)}, *twice, compatible=compatible)[0] for compatible in (True, False))
    assert [made.mig and made.mig.gpu_instance for made in (old, new)] == [2, -1]


@BOTH
@pytest.mark.spec("DM62")
def test_a_name_is_trimmed_on_both_sides(compatible: bool) -> None:
    made = [combining.instance_of(replace(CARD, name=name), 0, profile, "u", compatible=compatible).name for name, profile in (("", "p"), ("N", ""))]
    assert made == ["MIG p", "N MIG"]


def test_another_cards_report_in_the_cards_place_is_not_taken() -> None:
    other = state(ReportedMig(0, 9, 4, 111, 1), bus="00000000:99:00.0", uuid="GPU-9")
    (made,) = expanded([CARD], {0: named(0)}, other)
    assert (made.memory_total_mb, made.mig and made.mig.gpu_instance) == (40960, -1)


def test_a_card_without_a_bus_id_meets_its_report_by_uuid() -> None:
    card = replace(CARD, pci_bus_id="")
    (made,) = expanded([card], {0: named(0)}, state(bus="x:y", uuid="GPU-9"), state(ReportedMig(0, 2, 1, 40192, 7), bus="p:q"))
    assert made.mig is not None
    assert made.mig.gpu_instance == 2


@BOTH
@pytest.mark.spec("DM47")
def test_cards_that_nothing_names_meet_their_reports_by_place(compatible: bool) -> None:
    cards = [replace(card, pci_bus_id="", uuid="") for card in (CARD, OTHER)]
    made = expanded(cards, {1: named(0)}, state(current="Disabled"), state(ReportedMig(0, 5, 0, 40192, 7), bus="x:y"), compatible=compatible)
    assert made[1].mig is not None
    assert made[1].mig.gpu_instance == 5


@BOTH
@pytest.mark.spec("DM48", "DM59")
def test_a_mixed_node_keeps_its_order(compatible: bool) -> None:
    third = replace(OTHER, index=2, uuid="GPU-2", pci_bus_id="00000000:03:00.0")
    reports = (state(current="Disabled"), state(bus=OTHER.pci_bus_id, uuid="GPU-1"), state(current="N/A", bus=third.pci_bus_id, uuid="GPU-2"))
    made = expanded([CARD, OTHER, third], {1: named(0, 3)}, *reports, compatible=compatible)
    assert [gpu.index for gpu in made] == [0, 1100, 1103, 2]
    assert (made[0], made[3]) == (CARD, third)


@BOTH
@pytest.mark.spec("DM49")
def test_a_listed_instance_wins_over_a_report_that_says_off(compatible: bool) -> None:
    assert [gpu.index for gpu in expanded([CARD], {0: named(1)}, state(current="Disabled"), compatible=compatible)] == [1001]


@pytest.mark.spec("DM50", "DM55", "DM57")
def test_an_instance_that_only_the_list_has_is_known_by_its_profile() -> None:
    for report in ([], [state(ReportedMig(5, 1, 1, 1, 1))]):
        old, new = (expanded([CARD], {0: named(0)}, *report, compatible=compatible)[0] for compatible in (True, False))
        assert old.mig is not None
        assert (old.mig.gpu_instance, old.mig.compute_instance) == (-1, -1)
        assert (old.memory_total_mb, old.memory_used_mb) == (40960, 0)
        assert (new.memory_total_mb, new.memory_used_mb) == (40960, None)


@BOTH
@pytest.mark.spec("DM51", "DM53")
def test_reported_instances_that_nothing_names_keep_the_card_with_the_reason(compatible: bool) -> None:
    (made,) = expanded([CARD], {}, state(ReportedMig(0, 1, 0, 1, 1)), compatible=compatible)
    assert made.health.problems == ("old", problems.UNNAMED)
    assert made.index == 0
    assert not made.placeable


@BOTH
@pytest.mark.spec("DM52", "DM53", "DF10")
def test_a_card_on_which_nothing_is_created_is_kept_with_both_remedies(compatible: bool) -> None:
    (made,) = expanded([CARD], {}, state(), compatible=compatible)
    assert made.health.problems == ("old", problems.NO_INSTANCES)
    assert "-cgi" in problems.NO_INSTANCES
    assert "-C" in problems.NO_INSTANCES
    assert "turn MIG off" in problems.NO_INSTANCES
    assert problems.NO_INSTANCES != problems.UNNAMED


def test_gpu_instances_that_hold_nothing_are_told_from_none() -> None:
    row = Row(0, "3g.40gb", 9, 2, -1, "0:4")
    (made,) = expanded([CARD], {}, state(), rows=(row, Row(1, "3g.40gb", 9, 5)))
    assert made.health.problems[-1] == problems.NO_COMPUTE_INSTANCE.format(ids="2")
    assert expanded([CARD], {}, state(), rows=(row,), compatible=True)[0].health.problems[-1] == problems.NO_INSTANCES


@BOTH
@pytest.mark.spec("DM54")
def test_both_halves_are_joined_by_device_number(compatible: bool) -> None:
    report = state(
        ReportedMig(0, 1, 2, 40192, 7), ReportedMig(2, 5, 0, 9856, 0), processes=(Process(11, 3, 5, 0), Process(12, 4, 1, 2), Process(13, 4))
    )
    made = expanded([CARD], {0: named(0, 2)}, report, compatible=compatible)
    assert [(gpu.mig.gpu_instance, gpu.mig.compute_instance, gpu.memory_total_mb, gpu.memory_used_mb) for gpu in made if gpu.mig] == [
        (1, 2, 40192, 7), (5, 0, 9856, 0),
    ]  # fmt: skip
    assert [[one.pid for one in gpu.processes] for gpu in made] == [[12], [11]]


@BOTH
@pytest.mark.spec("DM56")
def test_a_reported_instance_that_is_not_listed_is_left_out(compatible: bool) -> None:
    assert [
        gpu.index for gpu in expanded([CARD], {0: named(1)}, state(ReportedMig(0, 1, 0, 1, 1), ReportedMig(1, 2, 0, 1, 1)), compatible=compatible)
    ] == [1001]


@pytest.mark.spec("DM57", "DM38")
@pytest.mark.parametrize("total", [0, None])
@pytest.mark.parametrize(("profile", "old", "new"), [("3g.40gb", 40960, 40960), ("1c.3g.40gb", 0, 40960), ("odd", 0, None)])
def test_a_total_that_is_not_said_is_the_profiles(total: int | None, profile: str, old: int, new: int | None) -> None:
    made = [
        expanded([CARD], {0: named(0, profile=profile)}, state(ReportedMig(0, 1, 0, total, None)), compatible=compatible)[0]
        for compatible in (True, False)
    ]
    assert [(gpu.memory_total_mb, gpu.memory_used_mb) for gpu in made] == [(old, 0), (new, None)]


@BOTH
@pytest.mark.spec("DM58")
def test_of_two_reports_of_a_device_the_last_holds(compatible: bool) -> None:
    (made,) = expanded([CARD], {0: named(0)}, state(ReportedMig(0, 1, 0, 1, 1), ReportedMig(0, 2, 0, 40192, 8)), compatible=compatible)
    assert made.mig is not None
    assert (made.mig.gpu_instance, made.memory_used_mb) == (2, 8)


@BOTH
@pytest.mark.spec("DM60", "DM61", "DM62", "DM18")
def test_an_instance_has_of_the_card_what_they_share_and_nothing_else(compatible: bool) -> None:
    (made,) = expanded([CARD], {0: named(2)}, state(ReportedMig(2, 5, 0, 40192, 7)), compatible=compatible)
    assert made == Gpu(
        1002, "MIG-2", "NVIDIA A100-SXM4-80GB MIG 3g.40gb", "a100-80g-mig-3g.40gb", 40192, 7, "00000000:01:00.0", "550.163.01", "12.4", "8.0", 1,
        ("mlx5_0",), "clique 1", None, None, None, Health(2, 44), (), MigRecord(0, "GPU-0", 81920, 2, "3g.40gb", 5, 0),
    )  # fmt: skip


@BOTH
@pytest.mark.spec("DM63")
def test_health_is_looked_at_once_the_memory_is_set(compatible: bool) -> None:
    seen: list[tuple[int, int | None]] = []

    def look(gpu: Gpu) -> Gpu:
        seen.append((gpu.index, gpu.memory_total_mb))
        return combining.with_problem(gpu, "hot")

    halves = Halves({0: named(0, 1)}, [state(ReportedMig(0, 1, 0, 40192, 7))])
    made = combining.expand([CARD, OTHER], halves, compatible=compatible, assessed=look).gpus
    assert seen == [(1000, 40192), (1001, 40960)]
    assert [gpu.health.problems for gpu in made] == [("hot",), ("hot",), ()]


def test_a_row_that_repeats_is_one_device_and_another_in_its_place_is_a_problem_of_the_node() -> None:
    twice = [*named(0, 1), *named(1)]
    node = combining.expand([CARD], Halves({0: twice}))
    assert ([gpu.index for gpu in node.gpus], node.problems) == ([1000, 1001], ())
    node = combining.expand([CARD], Halves({0: [*named(0), ListedMig(0, "1g.10gb", "MIG-other")]}))
    assert [gpu.uuid for gpu in node.gpus] == ["MIG-0"]
    assert node.problems[0].startswith("1 MIG devices have no number of their own: card 0 lists another")
    assert [gpu.index for gpu in combining.expand([CARD], Halves({0: twice}), compatible=True).gpus] == [1000, 1001, 1001]


def test_devices_without_a_number_of_their_own_are_a_problem_of_the_node() -> None:
    node = combining.expand([CARD], Halves({0: named(0, 100)}))
    assert [gpu.index for gpu in node.gpus] == [1000]
    assert "card 0" in node.problems[0]
    assert node.problems[0].startswith("1 MIG devices")
    both = combining.expand([CARD], Halves({0: named(0, 100)}), compatible=True)
    assert ([gpu.index for gpu in both.gpus], both.problems) == ([1000, 1100], ())
