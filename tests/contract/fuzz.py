"""Images and states with random words in them: ``python -m tests.contract.fuzz LIBRARY FOLDER SEED ROUNDS``.

Checksums are made right, so that the loader's own bounds are what is tried.  Whatever is served is read through every kind of variable data; a
crash or a sanitizer's report ends the program.  So are the tables of recorded answers, each of which is then asked for.  Prints how many images
were served and refused.
"""

from __future__ import annotations

import os
import random
import sys
from dataclasses import replace
from pathlib import Path

from mocklib import binding, image, packing, state, statefile
from mocklib import fields as tables
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer, Nvml
from mocklib.image import FieldValue, ImageSpec, Recorded, Track
from mocklib.structs import structs
from tests.contract import answering, boards

MOVING = {"power.total_energy_consumption_mj": FieldValue(1, kind=1, rate=5), "utilization.gpu": FieldValue(0, kind=2, rate=0)}
STEPS = [
    {"check": "list", "argument": 0, "field": "topology.cpus", "code": 2, "when": {"argument": 0, "value": 6}},
    {"check": "index", "argument": 0, "field": "topology.cpus", "code": 2, "when": {"argument": 0, "value": 7}},
    {"set": "power.requested_limit_mw", "argument": 0},
    {"clamp": "power.requested_limit_mw", "low": "power.min_limit_mw", "high": "power.max_limit_mw"},
    {"rebase": "power.total_energy_consumption_mj"},
    {"restore": "power.total_energy_consumption_mj"},
    {"restore": "utilization.gpu"},
    {"restore": "name"},
    {"restore": "topology.cpus"},
    {"set_item": "topology.cpus", "index": 0, "argument": 0},
    {"set_mark": "draining", "value": 0},
]
"""Every step that a program of one number can have."""
PLAIN = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetPlatformInfo",
    "nvmlDeviceGetGpuFabricInfoV",
    "nvmlDeviceGetSupportedMemoryClocks",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetAccountingPids",
    "nvmlDeviceGetTotalEnergyConsumption",
    "nvmlDeviceGetUtilizationRates",
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",
)


def read_everything(nvml: Nvml, handle: int) -> None:
    """Calls that follow every kind of variable data, and a setter."""
    for name in PLAIN:
        nvml.call(name, handle)
    nvml.call("nvmlDeviceGetRetiredPages", handle, {"cause": 0})
    nvml.call("nvmlDeviceGetRetiredPages_v2", handle, {"cause": 1})
    nvml.call("nvmlDeviceGetAccountingStats", handle, {"pid": 1})
    nvml.call("nvmlDeviceGetSupportedGraphicsClocks", handle, {"memoryClockMHz": 5})
    nvml.call("nvmlDeviceSetPowerManagementLimit", handle, {"limit": 5})
    nvml.call("nvmlSystemGetProcessName", None, {"pid": 1})
    nvml.field_values(handle, [(82, 0), (185, 0), (193, 0)])
    nvml.slot(handle, 213, "processes")
    nvml.slot(handle, 231, "string")


def visit(nvml: Nvml) -> bool:
    """Init and read both devices; False where the image is refused."""
    if nvml.init() != 0:
        return False
    for index in range(2):
        read_everything(nvml, int(nvml.slot(None, 81, "handle", index).out.get("value", 0)))
    nvml.shutdown()
    return True


def spoiled(data: bytes, chosen: random.Random, start: int = 0) -> bytes:
    """``data`` with one to three random 32-bit words, small ones as likely as any."""
    made = bytearray(data)
    for _ in range(chosen.randrange(1, 4)):
        place = chosen.randrange(start, len(data) - 4, 4)
        made[place : place + 4] = (chosen.randrange(1 << chosen.choice((4, 12, 31, 32)))).to_bytes(4, "little")
    return bytes(made)


RECORDED = (
    "nvmlDeviceGetName",
    "nvmlDeviceGetGspFirmwareVersion",
    "nvmlDeviceGetPgpuMetadataString",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetPciInfo_v3",
    "nvmlDeviceGetPlatformInfo",
    "nvmlDeviceGetRunningProcessDetailList",
    "nvmlDeviceGetTopologyNearestGpus",
    "nvmlDeviceGetRetiredPages_v2",
    "nvmlDeviceGetVgpuMetadata",
    "nvmlDeviceGetMemoryAffinity",
    "nvmlDeviceGetSupportedPerformanceStates",
    "nvmlDeviceGetP2PStatus",
    "nvmlDeviceGetDriverModel",
    "nvmlDeviceGetDramEncryptionMode",
    "nvmlDeviceGetHandleByUUID",
    "nvmlDeviceGetHandleByUUIDV",
    "nvmlSystemGetDriverBranch",
    "nvmlUnitGetDevices",
)
"""Functions with every kind of key and output."""


def answered() -> tuple[bytes, list[Asked]]:
    """An image of recorded answers, some of which step, and the calls."""
    asked = [answering.asked(name, version) for name in RECORDED for version in answering.versions(name)]
    answers = [Recorded(call, answering.answer(call)) for call in asked]
    moving = [replace(item, steps=(item.answer, Answer(7), item.answer), period_ns=3, loop=True) for item in answers[::3]]
    kept = [item for item in answers if item.asked not in {other.asked for other in moving}]
    return image.pack(boards.spec(answering.DEVICES, answers=(*kept, *moving))), asked


def ask_all(nvml: Nvml, asked: list[Asked]) -> bool:
    """Init and ask for every recorded answer; False where the image is refused."""
    if nvml.init() != 0:
        return False
    handles = [int(nvml.slot(None, 81, "handle", index).out.get("value", 0)) for index in range(answering.DEVICES)]
    for call in asked:
        given = {name: handles[item.index] if isinstance(item, Gpu) else item for name, item in call.arguments}
        nvml.call(call.function, handles[0] if call.gpu is not None else None, given)
    nvml.field_values(handles[0], [(82, 0)])
    nvml.shutdown()
    return True


def table_words(data: bytes) -> tuple[int, int]:
    """Where the tables of recorded answers begin and end."""
    head = structs().from_buffer("struct nvp_image *", data)
    return head.forms.offset, head.answer_data.offset + head.answer_data.count


def with_steps(data: bytes, chosen: random.Random) -> bytes:
    """``data`` with steps of setter programs made of random numbers, each as likely small as a field's."""
    ffi, made = structs(), bytearray(data)
    head = ffi.from_buffer("struct nvp_image *", data)
    steps = ffi.cast("struct nvp_step *", ffi.from_buffer("unsigned char[]", made, require_writable=True) + head.steps.offset)
    fields = len(tables.device_fields())
    for number in range(head.steps.count):
        step = steps[number]
        step.op = chosen.randrange(len(packing.OPS))
        for name in ("field", "low", "high"):
            setattr(step, name, chosen.choice((0xFFFF, chosen.randrange(fields), fields - 1)))
        step.argument, step.index = chosen.choice((0, 0xFF, 3)), chosen.choice((0, 0xFF, 3))
        step.code, step.value = chosen.randrange(8), chosen.choice((0, 5, fields, (1 << 64) - 1))
    return bytes(made)


def narrow(path: Path, spec: ImageSpec, packed: bytes) -> bytes:
    """A state without holes, so that a random word of it is one that is used: halves no larger than the records with what a reset goes back to."""
    view = image.read(packed)
    capacity = statefile.rounded(3 * max(size for _, size in view.records), 64)
    head = statefile.lay_out(view.crc, view.size, len(view.records), capacity)
    statefile.write_new(path, head, b"", [(0, packed[start : start + size]) for start, size in view.records])
    for device in range(len(spec.devices)):
        state.publish(path, device, spec, spec, text=b"{}", all_text=b"{}")
    return path.read_bytes()


def main(arguments: list[str]) -> int:
    """Try random images, then random states of a sound image."""
    library, folder, seed, rounds = arguments[0], Path(arguments[1]), int(arguments[2]), int(arguments[3])
    chosen = random.Random(seed)
    nvml = binding.open_library(library)
    tracks = (Track((1, 2, 3), 10, loop=True),)
    spec = boards.spec(2, devices=[boards.device(number) | MOVING for number in range(2)], tracks=tracks, programs={"power_limit": STEPS})
    sound = image.pack(spec)
    path, kept = folder / "fuzzed.nvpimg", folder / "fuzzed.state"
    os.environ["NVPARITY_IMAGE"] = str(path)
    served = 0
    for _ in range(rounds):
        image.write(path, image.seal(spoiled(sound, chosen)))
        served += visit(nvml)
    recorded, asked = answered()
    start, end = table_words(recorded)
    for _ in range(rounds):
        image.write(path, image.seal(spoiled(recorded[:end], chosen, start) + recorded[end:]))
        served += ask_all(nvml, asked)
    os.environ["MOCK_NVML_STATE"] = str(kept)
    for _ in range(rounds):
        kept.unlink(missing_ok=True)
        image.write(path, image.seal(with_steps(sound, chosen)))
        visit(nvml)
    image.write(path, sound)
    fresh = narrow(kept, spec, sound)
    for _ in range(rounds):
        image.write(kept, spoiled(fresh, chosen, start=64))
        assert visit(nvml)
    sys.stdout.write(f"{served} served, {2 * rounds - served} refused\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
