"""The tracer by the real nvidia-smi: every element it prints is what the tables say and what builtin prints."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from harness.stages import smi
from harness.tables import drivers
from harness.tables.drivers import Driver
from mocklib import image
from mocklib.spec import ImageSpec
from tests.parity import tracer_values
from tests.parity.expect_calls import Board
from tests.parity.expect_model import Model
from tests.parity.mutations_board import ROOT
from tests.parity.mutations_library import Served, clock, differences, leaves
from tests.parity.tracer_values import Variant
from tests.smi import drawn

VERSIONS = {470: "470.256.02", 525: "525.147.05", 535: "535.274.02", 550: "550.163.01"}
OLDER = {340: "340.108", 390: "390.157", 418: "418.226.00", 450: "450.248.02", 460: "460.106.00"}
"""Of these every field answers one code, not each: `tests/smi/test_drawn.py` has the others."""
ALWAYS = (470, 550)
"""Branches whose binary NVPARITY_SMI must have; the others are traced where it has them."""
BATCH = 32
"""GPUs a run; nvidia-smi takes as many."""
STOPS = ("pci.domain", "pci.bus", "pci.device", "pci.function", "pci.device_id", "pci.subsystem_id", "pci.bus_id", "pci.bus_id_legacy",
         "pci.base_class", "pci.sub_class")  # fmt: skip
"""Fields of nvmlDeviceGetPciInfo: refused, the real nvidia-smi prints an error in place of the whole log; no layout says so."""
HOST_VGPU = ("virtualization.mode", 3)
"""In this mode nvidia-smi prints blocks of vGPU capabilities (vgpu_device_capability) that no capture shows; no layout has them."""

STALE = {
    390: ("processes.graphics_listed",),
    **dict.fromkeys(drawn.STALE, ("architecture",)),
}
"""Branch -> fields left out when refused: 390 ends with an internal error; the others print an ECC family that hangs on what memory held."""


@pytest.fixture(scope="module")
def served(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(library_path, tmp_path_factory.mktemp("served"))


@pytest.fixture(params=sorted({**OLDER, **VERSIONS}))
def printed(
    request: pytest.FixtureRequest, smi_binaries: dict[int, Path], smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path
) -> tuple[Driver, Callable[[ImageSpec], bytes]]:
    """A driver, and what its binary prints of an image."""
    if request.param not in (*ALWAYS, *smi_binaries):
        pytest.skip(f"NVPARITY_SMI has no nvidia-smi of branch {request.param}")
    binary = smi_binary(request.param)

    def run(spec: ImageSpec) -> bytes:
        path = tmp_path / "tracer.img"
        image.write(path, image.pack(spec))
        variables = {"NVPARITY_IMAGE": str(path), "MOCK_NVML_STATE": str(tmp_path / "state")}
        done = smi.run_smi(binary, ["-q", "-x"], library=library_path, variables=variables)
        assert (done.status, done.stderr) == (0, b"")
        return done.stdout

    return drivers.load(ROOT).resolve({**OLDER, **VERSIONS}[request.param]), run


def test_every_value_stands_where_the_tables_say_and_every_byte_is_builtins(
    printed: tuple[Driver, Callable[[ImageSpec], bytes]], served: Served
):
    driver, run = printed
    spec = tracer_values.spec_of(driver)
    real = run(spec)
    wanted = worked_out(spec, driver)
    assert timeless(leaves(real)) == timeless(wanted), differences(timeless(wanted), timeless(leaves(real)))
    assert without_clock(real) == without_clock(served.render(spec, driver))


def test_every_field_takes_its_other_values_and_answers_every_code(printed: tuple[Driver, Callable[[ImageSpec], bytes]]):
    driver, run = printed
    spec = tracer_values.spec_of(driver)
    older = driver.version.branch in OLDER
    codes = (999,) if older else tracer_values.CODES
    variants = [*tracer_values.value_variants(driver, spec), *tracer_values.code_variants(spec, codes)]
    stale = STALE.get(driver.version.branch, ())
    variants = [variant for variant in variants if not left_out(variant) and not (variant.field in stale and variant.held.status)]
    assert len(variants) > (1200 if older else 3500)
    for batch in tracer_values.batches(variants, BATCH):
        many = tracer_values.image_of(spec, batch, apart=True)
        wanted, got = timeless(worked_out(many, driver)), timeless(leaves(run(many)))
        assert got == wanted, f"{named(batch, wanted, got)}\n{differences(wanted, got)}"


def left_out(variant: Variant) -> bool:
    return (variant.field in STOPS and variant.held.status != 0) or (variant.field, variant.held.value) == HOST_VGPU


def worked_out(spec: ImageSpec, driver: Driver) -> list[tuple[str, str]]:
    """The leaves that must be printed."""
    return [(leaf.path, leaf.text) for leaf in Model(driver, Board(spec), clock(spec)).leaves()]


def timeless(found: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Without the one leaf that is the host's clock."""
    return [(path, text) for path, text in found if path != "timestamp"]


def without_clock(data: bytes) -> list[bytes]:
    """The lines but that of the host's clock."""
    return [line for line in data.splitlines(keepends=True) if b"<timestamp>" not in line]


def named(batch: list[Variant], wanted: list[tuple[str, str]], got: list[tuple[str, str]]) -> list[str]:
    """The variants whose GPUs differ."""
    paths = {path for path, _ in set(wanted) ^ set(got) if path.startswith("gpu[")}
    return [str(batch[number]) for number in sorted({int(path[4 : path.index("]")]) for path in paths})]
