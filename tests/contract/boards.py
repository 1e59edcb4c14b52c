"""Images for the ABI tests: a device in which every field has a value of its own."""

from __future__ import annotations

from typing import Any

from mocklib import fields as tables
from mocklib.fields import FieldDef
from mocklib.image import Accounted, Clock, FieldId, FieldValue, ImageSpec, Pages, Process, Slot

AT_NS = 1_700_000_000_000_000_000
"""The instant at which these images stand still."""
UUID = "GPU-11111111-2222-3333-4444-5555555555{:02x}"


def value_of(definition: FieldDef, device: int = 0) -> Any:
    """A value that no other field of the device has, by the field's type."""
    number = definition.index * 3 + device + 1
    return {
        "u64": number,
        "i64": -number,
        "string": f"{definition.name[-8:]}-{number}",
        "bytes": bytes([number % 256] * 16),
        "u32list": (number, number + 1),
        "accounted": (Accounted(number, 1, 2, 3 << 20, 4), Accounted(number + 1, 5, 6, 7 << 20, running=True)),
        "pages": Pages(2, (number, number + 1), (number + 2, number + 3)),
        "clocktable": ((2000 + number, (1000, 900, 800)), (1000 + number, (500,)), (5, ())),
        "processes": (Process(number, number << 20, name=f"/bin/{number}"), Process(number + 1, 0xFFFFFFFFFFFFFFFF, 1, 2, 3, "b\udcff<&>")),
    }[definition.type]


def device(number: int = 0, **given: FieldValue) -> dict[str, FieldValue]:
    """Every device field with its own value; ``given`` replaces some (dots as double underscores)."""
    values = {name: FieldValue(value_of(definition, number)) for name, definition in tables.device_fields().items()}
    values["uuid"] = FieldValue(UUID.format(number))
    bus = f"{number + 1:02X}:00.0"
    values |= {"pci.bus_id": FieldValue(f"00000000:{bus}"), "pci.bus_id_legacy": FieldValue(f"0000:{bus}"), "pci.bus": FieldValue(number + 1)}
    values |= {"pci.domain": FieldValue(0), "pci.device": FieldValue(0), "pci.function": FieldValue(0), "fan.count": FieldValue(2)}
    values |= {"fan.policies": FieldValue((0, 0)), "fan.duties": FieldValue((0xFFFFFFFF, 0xFFFFFFFF))}
    values |= {"power.workload_profiles.offered": FieldValue(b"")}
    values |= {name.replace("__", "."): value for name, value in given.items()}
    return values


def spec(count: int = 1, /, **given: Any) -> ImageSpec:
    """A node of ``count`` whole devices; ``given`` replaces parts of the spec."""
    parts: dict[str, Any] = {
        "system": {
            "system.driver_version": FieldValue("570.148.08"),
            "system.nvml_version": FieldValue("12.570.148.08"),
            "system.cuda_version": FieldValue(12080),
            "system.driver_branch": FieldValue("r570_00"),
        },
        "devices": [device(number) for number in range(count)],
        "modes": [frozenset({"present", "ecc"})] * count,
        "clock": Clock("frozen", AT_NS),
        "field_ids": [
            FieldId(82, None, "thermal.temperature_memory_c", 1),
            FieldId(185, 0, "power.average_draw_mw", 1),
            FieldId(185, 1, "power.module.average_draw_mw", 1),
            FieldId(83, None, "power.total_energy_consumption_mj", 3),
            FieldId(193, None, "thermal.tlimit.shutdown_c", 5),
        ],
        "slots": [
            Slot(26, "ok"),
            Slot(81, "handle"),
            Slot(165, "field_values", "relaxed_ordering_mode", 1),
            Slot(230, "u32", "pcie.host_max_link_gen"),
            Slot(231, "string", "gpu_part_number"),
            Slot(240, "i32", "thermal.tlimit.margin_c"),
            Slot(213, "processes", "processes.compute"),
        ],
    }
    return ImageSpec(**(parts | given))
