"""Which GPU of a node each block is, and what is known of the others."""

from __future__ import annotations

import pytest

from harness.stages import derive_gpus
from harness.stages.derive_gpus import Absent, Gpus
from harness.tables import drivers
from harness.text import document, listing
from harness.words.errors import InputError
from harness.words.state import State

UNCAPTURED = Absent(State.UNCAPTURED)


@pytest.fixture(scope="module")
def driver():
    return drivers.load().resolve("570.148.08")


def query(attached: str, *blocks: tuple[str, str | None], lines: str = "") -> document.Document:
    """A query of blocks (bus, minor number)."""
    gpus = "".join(
        f'\t<gpu id="00000000:{bus}:00.0">\n' + (f"\t\t<minor_number>{minor}</minor_number>\n" if minor else "")
        + f"\t\t<pci>\n\t\t\t<pci_bus_id>00000000:{bus}:00.0</pci_bus_id>\n\t\t</pci>\n\t</gpu>\n\n"
        for bus, minor in blocks
    )  # fmt: skip
    head = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n'
    return document.read((f"{lines}{head}\t<attached_gpus>{attached}</attached_gpus>\n{gpus}</nvidia_smi_log>\n").encode())


def lost(bus: str, reason: str = "Unknown Error", word: str = "GPU ") -> str:
    return f"Unable to determine the device handle for {word}0000:{bus}:00.0: {reason}\n"


@pytest.mark.parametrize(
    ("attached", "minors", "indices", "told"),
    [
        ("2", ("0", "1"), (0, 1), None),
        ("4", ("1", "3"), (1, 3), "GPUs 0, 2 are uncaptured (as the minor numbers"),
        ("4", ("0", "0"), (0, 1), "GPUs 2, 3 are uncaptured (the last ones"),
        ("4", ("3", "1"), (0, 1), "GPUs 2, 3 are uncaptured (the last ones"),
        ("4", ("1", "4"), (0, 1), "GPUs 2, 3 are uncaptured (the last ones"),
        ("4", ("1", None), (0, 1), "GPUs 2, 3 are uncaptured (the last ones"),
        ("4", (None, None), (0, 1), "GPUs 2, 3 are uncaptured (the last ones"),
        ("1", ("0", "1"), (0, 1), None),
        ("256", ("0", "1"), (0, 1), None),
        ("many", ("0", "1"), (0, 1), None),
    ],
)
def test_an_index_is_the_minor_number_where_those_can_all_be_indices(driver, attached, minors, indices, told):
    found = derive_gpus.of_query(query(attached, *zip(("10", "20"), minors, strict=True)), driver)
    assert found.indices == indices
    assert set(found.others.values()) <= {UNCAPTURED}
    assert [told in note for note in found.notes] == ([True] if told else [])


@pytest.mark.parametrize(("bus", "index"), [("08", 0), ("18", 1), ("30", 2)])
def test_a_lost_gpu_takes_its_place_on_the_bus(driver, bus, index):
    found = derive_gpus.of_query(query("3", ("10", None), ("20", None), lines=lost(bus)), driver)
    assert found.others == {index: Absent(State.UNKNOWN_ERROR, f"0000:{bus}:00.0")}
    assert (found.count, found.indices) == (3, tuple(number for number in range(3) if number != index))


def test_a_lost_gpu_and_uncaptured_ones_are_told_apart(driver):
    found = derive_gpus.of_query(
        query("5", ("10", "0"), ("30", "3"), lines=lost("20", "GPU is lost.  Reboot the system to recover this GPU", "GPU")), driver
    )
    assert found == Gpus((0, 3), {1: Absent(State.GPU_LOST, "0000:20:00.0"), 2: UNCAPTURED, 4: UNCAPTURED}, found.notes)
    assert len(found.notes) == 2


def test_a_reason_that_no_code_has_is_said(driver):
    found = derive_gpus.of_query(query("2", ("10", "0"), lines=lost("20", "Gone fishing")), driver)
    assert found.others[1].state is State.UNKNOWN_ERROR
    assert "the reason is no text of a code" in found.notes[0]


def rows(*gpus: int, lines: dict[int, str] | None = None) -> listing.Listing:
    texts = [f"GPU {number}: A30 (UUID: GPU-{number})\n" for number in gpus]
    for place, line in (lines or {}).items():
        texts.insert(place, line)
    return listing.read("".join(texts).encode())


def test_a_list_leaves_a_number_for_each_lost_gpu(driver):
    found = derive_gpus.of_list(rows(0, 2, lines={1: lost("04", "GPU is lost", "gpu ")}), driver)
    assert found.others == {1: Absent(State.GPU_LOST, "0000:04:00.0")}
    after = derive_gpus.of_list(rows(0, 1, lines={2: lost("04", "Unknown Error", "gpu ")}), driver)
    assert (after.indices, after.others) == ((0, 1), {2: Absent(State.UNKNOWN_ERROR, "0000:04:00.0")})


def test_other_numbers_that_a_list_skips_are_uncaptured(driver):
    found = derive_gpus.of_list(rows(1, 3), driver)
    assert (found.indices, found.others) == ((1, 3), {0: UNCAPTURED, 2: UNCAPTURED})
    assert found.notes == ("the list skips GPUs 0, 2: they are uncaptured",)


@pytest.mark.parametrize("numbers", [(1, 0), (0, 0), (0, 255)])
def test_numbers_that_cannot_be_served_are_refused(driver, numbers):
    with pytest.raises(InputError):
        derive_gpus.of_list(rows(*numbers), driver)
