"""Both views of a node become one, or both sides are shown."""

from __future__ import annotations

import pytest

from harness.text import document, joining, listing
from harness.words.errors import InputError
from tests.unit.text import samples

MIG = """\
		<mig_devices>
			<mig_device>
				<index>0</index>
				<gpu_instance_id>2</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
			</mig_device>
			<mig_device>
				<index>1</index>
				<gpu_instance_id>9</gpu_instance_id>
				<compute_instance_id>0</compute_instance_id>
			</mig_device>
		</mig_devices>
"""
NONE = "\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n"
QUERY = samples.query(2).replace(NONE, MIG, 1)


def join(query: str, listed: str) -> list[joining.JoinedGpu]:
    return joining.join(document.read(query.encode()), listing.read(listed.encode()), ("q.xml", "l.txt"))


def test_gpus_and_mig_devices_are_paired():
    found = join(QUERY, samples.LIST)
    assert [gpu.row.uuid for gpu in found] == [gpu.node.get("uuid") for gpu in found] == list(samples.UUIDS)
    assert [(mig.node.get("gpu_instance_id"), mig.row.profile) for mig in found[0].migs] == [("2", "3g.20gb"), ("9", "1g.5gb")]
    assert found[1].migs == ()


def test_a_masked_uuid_is_not_compared():
    assert len(join(QUERY, samples.LIST.replace(samples.UUIDS[1], "GPU-..."))) == 2


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (samples.UUIDS[1], "GPU-00000000-0000-0000-0000-000000000001", ["q.xml has 2 GPUs", samples.UUIDS[1], "l.txt has 2 GPUs", "000000000001)"]),
        ("GPU 1: NVIDIA A100", "GPU 1: NVIDIA A30", ["1: NVIDIA A100-SXM4-40GB", "1: NVIDIA A30-SXM4-40GB"]),
        ("GPU 1:", "GPU 2:", ["q.xml has 2 GPUs", "2: NVIDIA A100"]),
        (f"GPU 1: NVIDIA A100-SXM4-40GB (UUID: {samples.UUIDS[1]})\n", "", ["l.txt has 1 GPU ("]),
        ("  MIG 1g.5gb      Device  1: (UUID: MIG-11223344-5566-7788-99aa-bbccddeeff01)\n", "", ["GPU 0: MIG devices: q.xml has 0, 1; l.txt has 0;"]),
        ("Device  1", "Device  3", ["GPU 0: MIG devices: q.xml has 0, 1; l.txt has 0, 3;"]),
        (
            "MIG-11223344-5566-7788-99aa-bbccddeeff01",
            f"MIG-{samples.UUIDS[0]}/9/1",
            ["GPU 0: instances of MIG device 1: q.xml has 9, 0; l.txt has 9, 1;"],
        ),
        ("MIG-11223344-5566-7788-99aa-bbccddeeff01", f"MIG-{samples.UUIDS[1]}/9/0", ["GPU 0: parent of MIG device 1"]),
    ],
)
def test_a_disagreement_shows_both_sides(old, new, said):
    assert old in samples.LIST
    with pytest.raises(InputError) as raised:
        join(QUERY, samples.LIST.replace(old, new))
    message = str(raised.value)
    assert "\n" not in message
    assert all(part in message for part in said), message


def test_a_gpu_in_error_shifts_no_index():
    listed = samples.LIST.replace("GPU 1:", "Unable to determine the device handle for GPU 0000:04:00.0: Unknown Error\nGPU 2:")
    assert len(join(QUERY, listed)) == 2


def test_a_query_without_gpus_joins_a_list_of_none():
    assert join(samples.query(0), "No devices were found\n") == []
