"""Cards in MIG mode through NVML, on fakes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from harness.discovery import combining, nvml, problems
from harness.discovery.model import Gpu, Health, MigRecord

BOTH = pytest.mark.parametrize("compatible", [False, True])
CARD = Gpu(
    3, "GPU-3", "NVIDIA A100-SXM4-80GB", "a100-80g", 81920, 55, "00000000:01:00.0", "550.163.01", "12.4", "8.0", 1, ("mlx5_0",), "clique 1", 12, 97,
    300.5, Health(2, 44, ("old",)),
)  # fmt: skip


@dataclass
class FakeInstance:
    """A MIG device that answers what it is given."""

    its_name: str = "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
    its_memory: tuple[int, int] | None = (40192, 7)
    its_attributes: tuple[int, int] | None = None
    ids: tuple[int, int] = (2, 0)
    its_uuid: str = "MIG-a"

    def uuid(self) -> str:
        return self.its_uuid

    def name(self) -> str:
        return self.its_name

    def memory(self) -> tuple[int, int] | None:
        return self.its_memory

    def instances(self) -> tuple[int, int]:
        return self.ids

    def attributes(self) -> tuple[int, int] | None:
        return self.its_attributes


@dataclass
class FakeCard:
    """A card that answers what it is given, and notes which indices were asked."""

    mode: tuple[bool, bool] | None = (True, True)
    most: int = 7
    devices: dict[int, FakeInstance] = field(default_factory=dict)
    asked: list[int] = field(default_factory=list)

    def mig_mode(self) -> tuple[bool, bool] | None:
        return self.mode

    def max_mig_devices(self) -> int:
        return self.most

    def mig_device(self, index: int) -> FakeInstance | None:
        self.asked.append(index)
        return self.devices.get(index)


def only(instance: FakeInstance, *, compatible: bool = False, card: Gpu = CARD) -> Gpu:
    (made,), _ = nvml.expand(card, FakeCard(devices={0: instance}), compatible=compatible)
    return made


@BOTH
@pytest.mark.spec("DM66")
@pytest.mark.parametrize("mode", [None, (False, False), (False, True)])
def test_a_card_that_is_not_in_mig_mode_is_itself(mode: tuple[bool, bool] | None, compatible: bool) -> None:
    device = FakeCard(mode, devices={0: FakeInstance()})
    assert nvml.expand(CARD, device, compatible=compatible) == ([CARD], False)
    assert device.asked == []


@BOTH
@pytest.mark.spec("DM67", "DM71", "DM78")
def test_holes_are_passed_over_and_a_device_is_numbered_by_its_index(compatible: bool) -> None:
    device = FakeCard(devices={0: FakeInstance(), 2: FakeInstance(its_uuid="MIG-b"), 6: FakeInstance(), 7: FakeInstance()})
    made, on = nvml.expand(CARD, device, compatible=compatible)
    assert (device.asked, on) == ([0, 1, 2, 3, 4, 5, 6], True)
    assert [(gpu.index, gpu.mig.device) for gpu in made if gpu.mig] == [(1300, 0), (1302, 2), (1306, 6)]


@BOTH
@pytest.mark.spec("DM68")
@pytest.mark.parametrize("name", ["NVIDIA A100-SXM4-80GB MIG 1g.10gb+me", "x MIG 2g.20gb MIG 1g.10gb+me  \t"])
def test_a_profile_ends_the_devices_name(name: str, compatible: bool) -> None:
    assert only(FakeInstance(name, its_attributes=(9, 9)), compatible=compatible).name.endswith(" MIG 1g.10gb+me")


@pytest.mark.spec("DM68")
def test_white_space_of_a_devices_name_is_any_and_in_compatible_mode_that_of_the_source() -> None:
    made = [only(FakeInstance("x MIG\xa01g.5gb\u2003", its_attributes=(3, 40960)), compatible=compatible).mig for compatible in (False, True)]
    assert [record and record.profile for record in made] == ["1g.5gb", "3g.40gb"]


@pytest.mark.spec("DM69")
def test_a_device_without_a_profile_in_its_name_is_named_by_its_attributes() -> None:
    found = FakeInstance("NVIDIA A100-SXM4-80GB", its_attributes=(3, 40192))
    profiles = [made.mig.profile for compatible in (True, False) if (made := only(found, compatible=compatible)).mig]
    assert profiles == ["3g.39gb", "3g.40gb"]


@pytest.mark.spec("DM70", "DM10")
def test_a_device_of_which_nothing_says_the_profile_has_none() -> None:
    old, new = (only(FakeInstance("NVIDIA A100 MIG ", its_attributes=None), compatible=compatible) for compatible in (True, False))
    assert old.mig is not None
    assert (old.mig.profile, old.gpu_class, old.health.problems) == ("", "a100-80g-mig-", ())
    assert (new.gpu_class, new.health.problems) == ("", (problems.NO_PROFILE,))


@BOTH
@pytest.mark.spec("DM72", "DM75")
def test_an_instance_has_its_handles_ids_and_of_the_card_what_they_share(compatible: bool) -> None:
    assert only(FakeInstance(ids=(5, 1)), compatible=compatible) == Gpu(
        1300, "MIG-a", "NVIDIA A100-SXM4-80GB MIG 3g.40gb", "a100-80g-mig-3g.40gb", 40192, 7, "00000000:01:00.0", "550.163.01", "12.4", "8.0", 1,
        ("mlx5_0",), "clique 1", None, None, None, Health(2, 44), (), MigRecord(3, "GPU-3", 81920, 0, "3g.40gb", 5, 1),
    )  # fmt: skip


@pytest.mark.spec("DM73")
def test_memory_that_a_device_does_not_answer_is_its_profiles() -> None:
    made = [only(FakeInstance(its_memory=None), compatible=compatible) for compatible in (True, False)]
    assert [(gpu.memory_total_mb, gpu.memory_used_mb) for gpu in made] == [(40960, 0), (40960, None)]


@pytest.mark.spec("DM74")
def test_compatible_mode_keeps_a_total_of_zero() -> None:
    assert only(FakeInstance(its_memory=(0, 0)), compatible=True).memory_total_mb == 0


def test_a_total_of_zero_is_the_profiles_as_it_is_in_text() -> None:
    assert only(FakeInstance(its_memory=(0, 0))).memory_total_mb == 40960


@BOTH
@pytest.mark.spec("DM75", "DM63")
def test_health_is_looked_at_once_the_memory_is_set(compatible: bool) -> None:
    seen: list[int | None] = []

    def look(gpu: Gpu) -> Gpu:
        seen.append(gpu.memory_total_mb)
        return combining.with_problem(gpu, "hot")

    made, _ = nvml.expand(CARD, FakeCard(devices={1: FakeInstance()}), compatible=compatible, assessed=look)
    assert (seen, made[0].health.problems) == ([40192], ("hot",))


@BOTH
@pytest.mark.spec("DM76", "DM77", "DM52")
@pytest.mark.parametrize("most", [7, 0, -1])
def test_a_card_in_mig_mode_without_instances_is_kept_with_the_reason(most: int, compatible: bool) -> None:
    made, on = nvml.expand(CARD, FakeCard(most=most), compatible=compatible)
    assert on
    assert made == [replace(CARD, health=Health(2, 44, ("old", problems.NO_INSTANCES)))]


def test_more_devices_than_there_are_numbers_are_not_asked_for() -> None:
    device = FakeCard(most=4_000_000_000)
    nvml.expand(CARD, device)
    assert len(device.asked) == 100
