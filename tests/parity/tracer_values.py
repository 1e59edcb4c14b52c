"""The tracer's fields one by one: the other values of those with few, and every code instead of a value; many variants as many GPUs of one image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from harness.stages.compile import compile_profile
from harness.stores import profiles
from harness.tables.drivers import Driver
from mocklib import fields as tables
from mocklib.spec import FieldValue, ImageSpec
from tests.parity import tracer_profile
from tests.parity.expect_sources import printed_rows, shown

CODES = (3, 4, 15, 26, 999)


@dataclass(frozen=True)
class Variant:
    """GPU ``gpu`` of the tracer with ``field`` holding something else."""

    gpu: int
    field: str
    held: FieldValue

    def __str__(self) -> str:
        what = f"code {self.held.status}" if self.held.status else f"value {self.held.value!r}"
        return f"GPU {self.gpu}, {self.field}: {what}"


def spec_of(driver: Driver) -> ImageSpec:
    """The tracer's image for a driver, by way of its profile."""
    text = profiles.dump(tracer_profile.document(driver.version.text))
    return compile_profile(profiles.parse(text.encode(), "tracer"), driver)


def few(driver: Driver) -> dict[str, tuple[int, ...]]:
    """Field -> all its values, for the fields that have a handful on this driver."""
    found: dict[str, set[int]] = {}
    for row in printed_rows(driver):
        values = driver.form(row).few if row in _direct(driver) else ()
        for field in shown(driver, row) if values else ():
            found.setdefault(field, set()).update(values)
    for name, definition in tables.device_fields().items():
        if definition.words is not None:
            found.setdefault(name, set()).update(definition.words.values())
    return {name: tuple(sorted(values)) for name, values in found.items()}


def _direct(driver: Driver) -> frozenset[str]:
    """Rows that show a field as it is: no bits of it, no list."""
    return frozenset(row for row in printed_rows(driver) if (route := driver.routes.get(row)) is not None and route.bits is None)


def flags(driver: Driver) -> dict[str, tuple[int, ...]]:
    """Field -> values that set each of its bits alone, and none: the masks whose bits are rows."""
    found: dict[str, set[int]] = {}
    for row in printed_rows(driver):
        route = driver.routes.get(row)
        if route is not None and route.bits is not None:
            low, width = route.bits
            for field in shown(driver, row):
                found.setdefault(field, {0}).update(value << low for value in range(1, 1 << width))
    return {name: tuple(sorted(values)) for name, values in found.items()}


def choices(driver: Driver) -> dict[str, tuple[int, ...]]:
    """Field -> the values it takes in turn."""
    return {**few(driver), **flags(driver)}


def value_variants(driver: Driver, spec: ImageSpec) -> Iterator[Variant]:
    """Every GPU with every other value of each field that has few, one at a time."""
    turns = choices(driver)
    for gpu, held in enumerate(spec.devices):
        for field, values in turns.items():
            for value in values:
                if field in held and held[field].value != value:
                    yield Variant(gpu, field, FieldValue(value))


def code_variants(spec: ImageSpec, codes: Iterable[int] = CODES) -> Iterator[Variant]:
    """Every GPU with every field answering each code, one at a time."""
    codes = tuple(codes)
    for gpu, held in enumerate(spec.devices):
        for field in held:
            for code in codes:
                if held[field].status != code:
                    yield Variant(gpu, field, FieldValue(status=code))


def image_of(spec: ImageSpec, variants: list[Variant], apart: bool = False) -> ImageSpec:
    """An image with one GPU a variant; ``apart`` gives each a UUID and a bus address of its own, as a real nvidia-smi wants."""
    devices, modes = [], []
    for number, variant in enumerate(variants):
        own: dict[str, Any] = dict(_identity(number)) if apart else {}
        devices.append({**spec.devices[variant.gpu], **own, variant.field: variant.held})
        modes.append(spec.modes[variant.gpu])
    return replace(spec, devices=devices, modes=modes)


def _identity(number: int) -> dict[str, FieldValue]:
    domain = 0x100 + number
    return {
        "uuid": FieldValue(f"GPU-{number:08x}-2222-4222-8222-222222222222"),
        "pci.domain": FieldValue(domain),
        "pci.bus_id": FieldValue(f"{domain:08X}:B1:11.0"),
        "pci.bus_id_legacy": FieldValue(f"{domain:04X}:B1:11.0"),
    }


def batches(variants: Iterable[Variant], size: int) -> Iterator[list[Variant]]:
    """``variants`` in lists of ``size``."""
    batch: list[Variant] = []
    for variant in variants:
        batch.append(variant)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
