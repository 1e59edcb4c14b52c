"""Fields turned back into keys: whatever the fields of a GPU are, the keys derived from them compile into the same fields, state for state."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from harness.stages import compile_device
from harness.stages.answers import inverting
from harness.stages.answers.keys_made import Keys
from harness.stages.answers.told import Told
from harness.stores import profiles
from harness.stores.profiles import Device
from mocklib import fields
from mocklib.answers import Asked
from mocklib.spec import FieldValue
from tests.parity import tracer_profile

CODES = (3, 4, 15, 26, 999)
ASKED = Asked("nvmlDeviceGetName", 0)
IN_A_STRUCT = frozenset(("fabric.health_mask", "fabric.health_summary"))
"""Fields that no call answers a code for: the struct has a number for not supported."""
TAKEN_ALONG = {
    "accounting.mode": {"accounting.processes"},
    "pci.bus_id": {"pci.domain", "pci.bus", "pci.device", "pci.function", "pci.bus_id_legacy"},
    "fan.count": {"fan.min_speed_percent", "fan.max_speed_percent", "fan.duties", "fan.policies"},
    "fan.speed_percent": {"fan.speed_rpm", "fan.curve_percent"},
    "fan.max_speed_rpm": {"fan.speed_rpm"},
    "architecture": {"clocks.monitor_faults"},
    "power.enforced_limit_mw": {"power.smoothing.ceiling_mw", "power.smoothing.floor_mw"},
    "power.smoothing.enabled": {name for name in fields.device_fields() if name.startswith("power.smoothing.")},
    "power.workload_profiles.supported": {"power.workload_profiles.offered"},
    "clocks.graphics_current": {"clocks.locked_graphics.min_mhz", "clocks.locked_graphics.max_mhz", "clocks.unlocked.graphics_mhz"},
    "clocks.sm_current": {"clocks.unlocked.sm_mhz"},
    "clocks.memory_current": {"clocks.locked_memory.min_mhz", "clocks.locked_memory.max_mhz", "clocks.unlocked.memory_mhz"},
    "clocks.supported": {f"clocks.envelope.{name}_{end}_mhz" for name in ("graphics", "memory") for end in ("min", "max")},
    "memory.total_bytes": {"memory.v1_used_bytes"},
    "memory.reserved_bytes": {"memory.v1_used_bytes"},
    "memory.free_bytes": {"memory.v1_used_bytes"},
    **{f"clocks.offsets.{domain}.{end}_mhz": {f"clocks.offsets.{domain}.set_mhz"} for domain in ("graphics", "memory") for end in ("min", "max")},
    "processes.compute": {"accounting.processes", "processes.utilization"},
    "processes.graphics": {"processes.utilization"},
}
"""Field that answers a code -> fields computed from its key: no profile says the one and keeps the others, their answers are residual."""


def told_of(served: Mapping[str, FieldValue]) -> dict[str, Told]:
    return {name: Told(name, ASKED, code=value.status) if value.status else Told(name, ASKED, value.value) for name, value in served.items()}


def seen(served: Mapping[str, FieldValue]) -> dict[str, object]:
    return {name: value.status or ("value", value.value) for name, value in served.items()}


def differing(wanted: Mapping[str, FieldValue], made: Keys, index: int) -> set[str]:
    """Fields that the keys make otherwise; counters are refused while ECC is off, whatever they are."""
    got = seen(made.served(index))
    return {name for name, value in seen(wanted).items() if got[name] != value and not inverting.lacking(name, made.values)}


def devices_of(paths: Iterable[Path]) -> list[tuple[str, int, Device]]:
    found = []
    for path in paths:
        profile = profiles.load(path)
        found += [(path.stem, index, device) for index, device in enumerate(profile.devices) if device.state is None]
    return found


def tracers() -> list[Device]:
    return list(profiles.parse(profiles.dump(tracer_profile.document("595.91.07")).encode()).devices)


def test_the_fields_of_every_profile_come_back(repository: Path):
    listed = devices_of(path for path in sorted((repository / "profiles").glob("*.yaml")) if path.stem != "boards")
    assert len(listed) > 150
    for name, index, device in listed:
        served = compile_device.device_fields(device, index)
        made = inverting.settle(told_of(served), index)
        assert differing(served, made, index) == set(), name
        assert made.unheld == [], name


def test_the_fields_of_another_mocks_profiles_come_back(foreign_configs: list[Path]):
    """Those with links and root complexes, which are keys of the node: nothing but the fields is told."""
    listed = devices_of(foreign_configs)
    assert {"nvlink.links_per_gpu", "pcie_topology.root_complexes"} <= {key for _, _, device in listed for key in device.values}
    for name, index, device in listed:
        served = compile_device.device_fields(device, index)
        made = inverting.settle(told_of(served), index)
        assert differing(served, made, index) == set(), name
        assert made.unheld == [], name


def test_the_fields_of_the_tracer_come_back():
    """Every key has a value of its own there."""
    for index, device in enumerate(tracers()):
        served = compile_device.device_fields(device, index)
        made = inverting.settle(told_of(served), index)
        assert differing(served, made, index) == set()
        kept = {key for key in device.values if made.values.get(key) != device.values[key]} - {"index"}
        assert kept <= {"processes", "pci.bus_id", "retired_pages.single_bit", "fan.max_speed_rpm", "hostname", "fabric.health_summary",
                        "power.workload_power_profiles.requested"}, kept  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_each_code_on_each_field_comes_back_as_its_state(code: int):
    index = CODES.index(code) % 3
    served = compile_device.device_fields(tracers()[index], index)
    for name in fields.device_fields():
        if name in IN_A_STRUCT:
            continue
        wanted = {**served, name: dataclasses.replace(served[name], value=None, status=code)}
        made = inverting.settle(told_of(wanted), index)
        assert made.served(index)[name].status == code, name
        assert differing(wanted, made, index) <= TAKEN_ALONG.get(name, set()), name
