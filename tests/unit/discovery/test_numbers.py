"""Numbers and labels of devices."""

from __future__ import annotations

import pytest

from harness.discovery import numbers
from harness.discovery.model import Gpu, MigRecord

RECORD = MigRecord(3, "", None, 0, "1g.10gb")


@pytest.mark.spec("DM01")
@pytest.mark.parametrize("compatible", [False, True])
@pytest.mark.parametrize(("card", "device", "index"), [(0, 0, 1000), (0, 2, 1002), (3, 0, 1300), (12, 6, 2206)])
def test_an_instance_is_numbered_from_its_card_and_device(card: int, device: int, index: int, compatible: bool) -> None:
    assert numbers.instance_index(card, device, compatible=compatible) == index


@pytest.mark.parametrize(("card", "device"), [(0, 100), (1, -1), (-1, 3)])
def test_a_device_without_a_number_of_its_own_is_refused(card: int, device: int) -> None:
    with pytest.raises(ValueError, match="numbered from 0 to 99"):
        numbers.instance_index(card, device)


def test_compatible_numbers_collide_as_the_sources_do() -> None:
    assert numbers.instance_index(0, 100, compatible=True) == numbers.instance_index(1, 0, compatible=True) == 1100


@pytest.mark.spec("DM02")
def test_a_number_is_an_instances_from_1000_on() -> None:
    assert [numbers.is_instance(index) for index in (0, 999, 1000, 1300)] == [False, False, True, True]


@pytest.mark.spec("DM03")
def test_a_label_is_the_number_of_a_card_and_card_and_device_of_an_instance() -> None:
    assert [numbers.label(index) for index in (3, 999, 1000, 1002, 1300, 2206)] == ["3", "999", "0/mig0", "0/mig2", "3/mig0", "12/mig6"]


@pytest.mark.spec("DM04")
def test_labels_are_made_one_by_one() -> None:
    assert numbers.labels([1002, 3, 1002]) == ["0/mig2", "3", "0/mig2"]
    assert numbers.labels([]) == []


@pytest.mark.spec("DM05")
def test_a_devices_card_is_itself_or_its_parent() -> None:
    assert Gpu(7).card_index == 7
    assert Gpu(1300, mig=RECORD).card_index == 3


@pytest.mark.spec("DM06")
def test_only_the_record_makes_an_instance() -> None:
    assert not Gpu(1300, name="NVIDIA A100 MIG 1g.5gb").is_mig
    assert Gpu(3, name="NVIDIA A100", mig=RECORD).is_mig


@pytest.mark.spec("DM07")
def test_a_record_as_json_writes_zeros_and_unknown_ids_and_leaves_out_an_empty_uuid() -> None:
    assert MigRecord(0, "", 0, 0, "1g.5gb").to_dict() == {
        "parent_index": 0, "parent_memory_total_mb": 0, "device": 0, "profile": "1g.5gb", "gpu_instance": -1, "compute_instance": -1,
    }  # fmt: skip
    assert MigRecord(1, "GPU-1", 81920, 2, "3g.40gb", 0, 0).to_dict() == {
        "parent_index": 1, "parent_uuid": "GPU-1", "parent_memory_total_mb": 81920, "device": 2, "profile": "3g.40gb", "gpu_instance": 0,
        "compute_instance": 0,
    }  # fmt: skip
