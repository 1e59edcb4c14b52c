"""Nodes of which a capture has not every GPU, none at all, or MIG devices: lost GPUs, uncaptured ones, both views of one node."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.cases import boards
from tests.cases.boards import A100, H100, T4

if TYPE_CHECKING:
    from tests.cases.conftest import Ask, Take

LOST, UNKNOWN, NOT_FOUND, INVALID = 15, 999, 6, 2
BLOCK = re.compile(r"(?s)\t<gpu id=.*?</gpu>\n\n")
METRICS = ("nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetIndex", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetMemoryInfo")


def without(text: str, *left_out: int) -> str:
    """``text`` without the blocks of some GPUs."""
    blocks = BLOCK.findall(text)
    for number in left_out:
        text = boards.swap(text, (blocks[number], ""))
    return text


def addresses(text: str) -> list[str]:
    return re.findall(r'<gpu id="0000(.*?)">', text)


@pytest.mark.spec("Z20")
@pytest.mark.parametrize(
    ("place", "reason", "code"), [(7, "Unknown Error", UNKNOWN), (3, "GPU is lost.  Reboot the system to recover this GPU", LOST)]
)
def test_a_gpu_without_a_handle_is_kept_and_the_other_seven_are_served(place: int, reason: str, code: int, take: Take, ask: Ask):
    """BL-044."""
    given = boards.text_of(H100)
    address = addresses(given)[place]
    taken = take(f"Unable to determine the device handle for GPU {address}: {reason}\n" + without(given, place))
    assert taken.status == 0
    assert f"GPU {place} ({address}) is not there: {reason!r}" in taken.out
    nvml, _ = ask(taken)
    by_index = [nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}) for index in range(8)]
    assert [answer.code for answer in by_index] == [code if index == place else 0 for index in range(8)]
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": address}).code == code
    assert nvml.count() == 8
    assert nvml.slot(None, 81, "pci_address", place).out["value"] == address
    served = [answer.out["device"] for answer in by_index if not answer.code]
    assert [nvml.call("nvmlDeviceGetIndex", device).out["index"] for device in served] == [index for index in range(8) if index != place]
    assert taken.rendered() == without(given, place)


def test_a_gpu_whose_leaves_say_that_it_is_lost_answers_so_and_keeps_its_block(take: Take, ask: Ask):
    """BL-044: the block was printed, so its handle was given."""
    given = boards.swap(boards.text_of(T4), ("<gpu_temp>", "<gpu_temp>GPU is lost<"), ("<fan_speed>", "<fan_speed>GPU is lost<"))
    given = re.sub(r"GPU is lost<[^<]*<", "GPU is lost<", given)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, gpu = ask(taken)
    assert nvml.call("nvmlDeviceGetTemperature", gpu, {"sensorType": 0}).code == LOST
    assert nvml.call("nvmlDeviceGetName", gpu).code == 0


def test_a_list_shows_a_lost_gpu_in_its_place(take: Take, ask: Ask):
    """As binaries 470 to 555 print it: the line stands where the row would, and the row's number is not given again."""
    rows = [f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: {boards.UUID.format(index)})\n" for index in (0, 2)]
    given = f"{rows[0]}Unable to determine the device handle for gpu 0000:04:00.0: GPU is lost.  Reboot the system to recover this GPU\n{rows[1]}"
    taken = take(given)
    assert (taken.status, taken.rendered("L")) == (0, re.sub(r"GPU-[-0-9a-f]*", lambda match: match[0], taken.rendered("L")))
    assert [line.partition("(")[0] for line in taken.rendered("L").splitlines()] == [line.partition("(")[0] for line in given.splitlines()]
    nvml, _ = ask(taken)
    assert [nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}).code for index in range(4)] == [0, LOST, 0, INVALID]


def test_gpus_that_a_capture_left_out_have_a_handle_and_nothing_else(take: Take, ask: Ask):
    given = without(boards.text_of(H100), 2, 5, 7)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert "x: trimmed" in taken.out
    assert "attached_gpus says 8, the capture holds 5: GPUs 2, 5, 7 are uncaptured (as the minor numbers of the others tell)" in taken.out
    nvml, _ = ask(taken)
    assert nvml.count() == 8
    for index in range(8):
        expected = NOT_FOUND if index in (2, 5, 7) else 0
        handle = nvml.device(index)
        assert {nvml.call(name, handle).code for name in METRICS} == {expected}
        assert nvml.field_values(handle, [(82, 0)])[0].code == expected
    assert nvml.call("nvmlDeviceSetPowerManagementLimit", nvml.device(2), {"limit": 300_000}).code == NOT_FOUND
    assert [line.split(":")[0] for line in taken.rendered("L").splitlines()] == [f"GPU {index}" for index in (0, 1, 3, 4, 6)]


def test_where_nothing_tells_which_gpus_were_left_out_it_is_the_last(take: Take):
    given = re.sub(r"<minor_number>\d+", "<minor_number>N/A", without(boards.text_of(H100), 0, 1, 2, 3, 4, 5))
    taken = take(given)
    assert "GPUs 2, 3, 4, 5, 6, 7 are uncaptured (the last ones, for nothing tells which)" in taken.out


def test_a_list_that_skips_numbers_skips_them_again(take: Take, ask: Ask):
    given = "".join(f"GPU {index}: NVIDIA A30 (UUID: {boards.UUID.format(index)})\n" for index in (1, 3))
    taken = take(given)
    assert (taken.status, [line[:5] for line in taken.rendered("L").splitlines()]) == (0, ["GPU 1", "GPU 3"])
    nvml, _ = ask(taken)
    assert nvml.count() == 4
    assert [nvml.call("nvmlDeviceGetName", nvml.device(index)).code for index in range(4)] == [NOT_FOUND, 0, NOT_FOUND, 0]


def test_a_number_of_gpus_that_no_node_has_invents_none(take: Take, ask: Ask):
    for said in ("999999999", "256", "-1", "0"):
        taken = take(boards.swap(boards.text_of(T4), ("<attached_gpus>1<", f"<attached_gpus>{said}<")))
        assert taken.status == 0, taken.out
        assert taken.unmodelled == {"attached_gpus": said}
        assert ask(taken)[0].count() == 1


def test_a_node_without_gpus_serves_none(take: Take, ask: Ask):
    """BL-046."""
    given = without(boards.text_of(T4), 0).replace("<attached_gpus>1<", "<attached_gpus>0<")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.rendered("L")) == (0, given, "No devices were found\n")
    nvml, _ = ask(taken)
    assert (nvml.count(), nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": 0}).code) == (0, INVALID)
    listed = take("No devices were found\n")
    assert (listed.status, listed.rendered("L")) == (0, "No devices were found\n")


# ---------------------------------------------------------------- MIG: two views of one node


def mig(*instances: tuple[int, int]) -> str:
    """The A100 with MIG devices of these GPU and compute instances."""
    memory: boards.Content = {"total": "19968 MiB"}
    devices: list[tuple[str, boards.Content]] = [
        ("mig_device", {"index": str(index), "gpu_instance_id": str(gpu), "compute_instance_id": str(compute), "fb_memory_usage": memory})
        for index, (gpu, compute) in enumerate(instances)
    ]
    return boards.put(boards.text_of(A100), "mig_devices", devices)


def listed(*uuids: str, padded: bool = True) -> str:
    """The list of that node; driver 450 pads nothing."""
    uuid = re.search(r"<uuid>(.*)</uuid>", boards.text_of(A100))
    name = re.search(r"<product_name>(.*)</product_name>", boards.text_of(A100))
    assert uuid is not None
    assert name is not None
    form = "  MIG 3g.20gb     Device {:>2}: (UUID: {})\n" if padded else "  MIG 3g.20gb Device {}: (UUID: {})\n"
    return f"GPU 0: {name[1]} (UUID: {uuid[1]})\n" + "".join(form.format(index, mig_uuid) for index, mig_uuid in enumerate(uuids))


OPAQUE = "MIG-bbbbbbbb-0000-0000-0000-00000000000{}"
UUID_OF_A100 = re.findall(r"<uuid>(.*)</uuid>", boards.text_of(A100))[0]


def test_mig_devices_without_a_list_are_kept_with_a_note_that_names_what_is_missing(take: Take):
    """BL-005."""
    taken = take(mig((1, 0), (2, 0)))
    assert (taken.status, taken.rendered()) == (0, mig((1, 0), (2, 0)))
    assert "2 MIG devices without profile name and UUID, which only `nvidia-smi -L` prints" in taken.out
    assert "unmodelled 0, redacted 0, deferred 8 (mig: 8)" in taken.out


@pytest.mark.parametrize(("padded", "spelled"), [(True, OPAQUE.format(1)), (False, f"MIG-{UUID_OF_A100}/1/0")])
def test_both_spellings_of_a_mig_uuid_join_and_stay_as_they_are(padded: bool, spelled: str, take: Take, ask: Ask):
    """BL-005, BL-021."""
    taken = take(mig((1, 0)), listed(spelled, padded=padded))
    assert taken.status == 0, taken.err
    assert "without profile name" not in taken.out
    shown = (taken.space.captures / "x" / "listing.txt").read_text()
    assert "3g.20gb" in shown
    assert ("/1/0" in shown) is not padded
    nvml, _ = ask(taken)
    assert nvml.call("nvmlDeviceGetHandleByUUID", None, {"uuid": "MIG-00000000-1111-2222-3333-444444444444"}).code == NOT_FOUND


@pytest.mark.parametrize(
    ("list_text", "said"),
    [
        (listed(OPAQUE.format(1)), ["GPU 0: MIG devices", "given.xml has 0, 1", "given.txt has 0;"]),
        (listed(OPAQUE.format(1), f"MIG-{UUID_OF_A100}/2/5"), ["GPU 0: instances of MIG device 1", "given.xml has 2, 0", "given.txt has 2, 5"]),
        (listed().replace("GPU 0", "GPU 1"), ["number of GPU 0 differ", "given.xml has 1 GPU (0: ", "given.txt has 1 GPU (1: "]),
        (listed().replace("A100-SXM4-40GB", "A30"), ["name of GPU 0 differ", "given.xml has 1 GPU (0: ", "given.txt has 1 GPU (0: NVIDIA A30 "]),
        (listed() + listed().replace("GPU 0", "GPU 1"), ["the number of GPUs differ", "given.xml has 1 GPU (", "given.txt has 2 GPUs ("]),
    ],
)
def test_views_of_different_nodes_are_refused_with_both_sides_and_what_differs(list_text: str, said: list[str], take: Take):
    """BL-005, BL-021."""
    taken = take(mig((1, 0), (2, 0)), list_text)
    assert taken.status == 3
    assert taken.err.count("\n") == 1
    assert all(part in taken.err for part in said), taken.err
    assert not taken.path.exists()
