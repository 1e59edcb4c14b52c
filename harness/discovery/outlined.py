"""Cards, their MIG mode, instances and processes as `nvidia-smi -q` reports them, for a node of which there is that text alone.

Labels are those of the captures: up to 580 a MIG device's memory is ``FB Memory Usage``, 590 calls it ``Shared FB Memory Usage``.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import attrgetter

from harness.discovery.model import Process
from harness.discovery.reported import Report, Reported, ReportedMig, dead, integer, mebibytes, number, watts
from harness.text import outline
from harness.text.model import Node
from harness.text.outline import HEADING

VERSIONS = ("KMD Version", "Driver Version")
CUDA = ("CUDA UMD Version", "CUDA Version")
MEMORY = ("FB Memory Usage", "Shared FB Memory Usage")
POWER = tuple(f"{block}/{draw}" for block in ("GPU Power Readings", "Power Readings") for draw in ("Instantaneous Power Draw", "Power Draw"))
UNCORRECTED = (
    "Double Bit            /Total", "SRAM Uncorrectable", "SRAM Uncorrectable Parity", "SRAM Uncorrectable SEC-DED", "DRAM Uncorrectable",
)  # fmt: skip


def read(data: bytes, name: str = "nvidia-smi -q") -> Report:
    """The report that ``data`` is; ``name`` stands for it in messages.  Raises InputError for text that is none."""
    text = outline.read(data, name)
    return Report(_version(text.root, *VERSIONS), _version(text.root, *CUDA), tuple(map(_card, text.gpus)))


def _version(node: Node, *labels: str) -> str:
    """The first word of what is said, where it is a version (610 has more behind it, and a driver may say ``Function Not Found``)."""
    word = _first(node, *labels).partition(" ")[0]
    return word if word[:1].isdecimal() else ""


def _first(node: Node, *labels: str) -> str:
    """The text of the first label that is there."""
    return next((said.strip() for label in labels if (said := node.get(label)) is not None), "")


def _card(gpu: Node) -> Reported:
    counted = [count for label in UNCORRECTED if (count := number(gpu.get(f"ECC Errors/Volatile/{label}"))) is not None]
    return Reported(
        bus_id=gpu.attributes.get(HEADING, "").strip(),
        uuid=_first(gpu, "GPU UUID"),
        name=_first(gpu, "Product Name"),
        current=_first(gpu, "MIG Mode/Current"),
        pending=_first(gpu, "MIG Mode/Pending"),
        total_mb=mebibytes(gpu.get("FB Memory Usage/Total")),
        used_mb=mebibytes(gpu.get("FB Memory Usage/Used")),
        temperature_c=number(gpu.get("Temperature/GPU Current Temp")),
        ecc_errors=sum(counted) if counted else None,
        utilization_percent=number(_first(gpu, "Utilization/GPU", "Utilization/Gpu")),
        power_w=next((drawn for label in POWER if (drawn := watts(gpu.get(label))) is not None), None),
        instances=tuple(sorted(map(_instance, _blocks(gpu, "MIG Device")), key=attrgetter("device"))),
        processes=tuple(_processes(gpu)),
        dead=dead(gpu.get("FB Memory Usage/Total")),
    )


def _blocks(gpu: Node, label: str) -> Iterator[Node]:
    yield from (child for child in gpu.printed() if child.tag == label and child.children)


def _instance(device: Node) -> ReportedMig:
    total, used = (mebibytes(_first(device, *(f"{block}/{part}" for block in MEMORY))) for part in ("Total", "Used"))
    index, gpu_instance, compute_instance = (integer(device.get(label)) for label in ("Index", "GPU Instance ID", "Compute Instance ID"))
    return ReportedMig(index, gpu_instance, compute_instance, total, used)


def _processes(gpu: Node) -> Iterator[Process]:
    """The processes; their ids stand before each."""
    ids = {"GPU instance ID": "N/A", "Compute instance ID": "N/A"}
    listed = gpu.find("Processes")
    for line in listed.printed() if listed else ():
        if line.tag in ids:
            ids[line.tag] = line.text or ""
        elif line.tag == "Process ID":
            yield Process(integer(line.text), mebibytes(line.get("Used GPU Memory")), *map(integer, ids.values()))
