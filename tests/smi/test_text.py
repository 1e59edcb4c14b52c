"""`nvidia-smi -q` and `-q -d SECTION,...`: every byte that a real binary prints of every profile is builtin's.

The binary prints the host's clock: the line of the timestamp is put aside, and nothing else is.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from harness.stages import compile as compiling
from harness.stages import retargeting
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers, sections
from harness.tables.drivers import Driver
from mocklib.spec import ImageSpec
from tests.parity import tracer_values
from tests.parity.expect_sources import asked, printed_rows
from tests.parity.test_tracer_smi import left_out
from tests.parity.tracer_values import CODES, Variant
from tests.smi.drawn import STALE
from tests.smi.side_by_side import ROOT, Difference, Pairs

TREE = drivers.load(ROOT)
BRANCHES = sorted(branch for branch in TREE.binaries() if branch >= 470)
PARTS = 4
"""Tests that a branch's profiles are dealt out to, so that workers share them."""
BOARDS = ("h100-sxm5-x8_580.105.08", "geforce-gtx-1070-x2_384.66", "a100-sxm4-40gb-x1_570.148.08", "v100-pcie-32gb-x1_460.39")
"""Profiles on which each section is printed alone: a GPU that is lost, one that was left out, processes, counters of either family."""
BATCH = 32
"""GPUs a run; nvidia-smi takes as many."""
NOT_SUPPORTED = 3
NAMELESS_SINCE, HEADING = 535, re.compile(rb"(?m)^GPU [^\n]*$")
"""From this branch on a GPU whose address is NOT_SUPPORTED is printed, under whatever memory held."""
FAMILY_UNTOLD, COUNTERS = {525, 535}.intersection(STALE), re.compile(rb"(?m)^    ECC Errors\n(?:        .*\n)*")
"""Such a binary prints counters of either family, which is not the same on every machine, of a GPU that says no architecture."""

UNCAPTURED = re.compile(rb"(?m)^Unable to determine the PCI bus id for the target device: Not Found\n\n")
"""What a binary prints of a GPU that the capture left out: builtin shows none of which nothing is known."""


def driver_of(pairs: Pairs, branch: int) -> Driver:
    """The driver of a branch's binary; skips where that binary is not at hand."""
    if branch not in pairs.binaries:
        pytest.skip(f"NVPARITY_SMI has no nvidia-smi of branch {branch}")
    return TREE.resolve(pairs.versions[branch])


def served(path: Path, driver: Driver) -> ImageSpec:
    """The image of a profile that is re-targeted to a driver."""
    return compiling.compile_profile(retargeting.retarget(profiles.load(path), Workspace(ROOT), driver.version.text).profile, driver)


def every(driver: Driver) -> str:
    """The view of all sections at once, in an order that is not that of the text."""
    return "q:" + ",".join(sorted(sections.names(driver.text), reverse=True))


def differing(pairs: Pairs, branch: int, spec: ImageSpec, wanted: tuple[str, ...]) -> list[Difference]:
    """The views in which the binary of a branch and builtin differ, but in what the binary reads where nothing was written."""
    loose = [HEADING] if branch >= NAMELESS_SINCE and any(held["pci.bus_id"].status == NOT_SUPPORTED for held in spec.devices) else []
    loose += [COUNTERS] if branch in FAMILY_UNTOLD and any(held["architecture"].status for held in spec.devices) else []
    loose += [UNCAPTURED] if any("present" not in modes for modes in spec.modes) else []
    return [one for one in pairs.of(branch, spec, wanted) if one.status < 0 or without(one.real, loose) != without(one.builtin, loose)]


def without(text: bytes, loose: list[re.Pattern[bytes]]) -> bytes:
    for pattern in loose:
        text = pattern.sub(b"", text)
    return text


@pytest.mark.spec("Z18")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("branch", BRANCHES)
def test_every_profile_is_printed_whole_and_in_every_section_as_the_binary_prints_it(pairs: Pairs, branch: int, part: int) -> None:
    driver = driver_of(pairs, branch)
    shipped = sorted(path for path in (ROOT / "profiles").glob("*.yaml") if path.stem != "boards")
    assert len(shipped) >= 74
    for path in shipped[part::PARTS]:
        assert [f"{path.stem}: {one}" for one in differing(pairs, branch, served(path, driver), ("q", every(driver)))] == []


@pytest.mark.parametrize("branch", BRANCHES)
def test_each_section_alone_and_some_together_print_what_the_binary_prints(pairs: Pairs, branch: int) -> None:
    driver = driver_of(pairs, branch)
    known = sections.names(driver.text)
    drawn = random.Random(branch)
    together = [f"q:{','.join(drawn.sample(known, number))}" for number in (2, 3, 5)]
    for number, board in enumerate(BOARDS):
        wanted = (*(f"q:{name}" for name in known[number::2]), *together)
        spec = served(ROOT / "profiles" / f"{board}.yaml", driver)
        assert [f"{board}: {one}" for one in differing(pairs, branch, spec, wanted)] == []


def in_turn(driver: Driver, spec: ImageSpec) -> list[Variant]:
    """Every other value of each field that has few, and for each field the code whose turn it is on this branch; each on one GPU.

    Of the fields that a row of the text hangs on.
    """
    texted = driver.in_text()
    hanging = {"architecture"}.union(*(asked(texted, row) for row in printed_rows(texted)))
    turn = BRANCHES.index(driver.version.branch)
    number = {name: place for place, name in enumerate(spec.devices[0])}
    codes = [one for one in tracer_values.code_variants(spec) if CODES[(number[one.field] + turn) % len(CODES)] == one.held.status]
    found: dict[tuple[str, int, str], list[Variant]] = {}
    for one in (*tracer_values.value_variants(driver, spec), *codes):
        if one.field in hanging and not left_out(one):
            found.setdefault((one.field, one.held.status, repr(one.held.value)), []).append(one)
    return [same[(turn + number[same[0].field]) % len(same)] for same in found.values()]


@pytest.mark.parametrize("branch", BRANCHES)
def test_every_value_and_every_fields_code_in_turn_is_printed_as_the_binary_prints_it(pairs: Pairs, branch: int) -> None:
    driver = driver_of(pairs, branch)
    spec = tracer_values.spec_of(driver)
    variants = in_turn(driver, spec)
    assert len(variants) > 200
    wanted = ("q", every(driver))
    assert differing(pairs, branch, spec, wanted) == []
    for batch in tracer_values.batches(variants, BATCH):
        found = differing(pairs, branch, tracer_values.image_of(spec, batch, apart=True), wanted)
        assert found == [], [str(variant) for variant in batch]


GONE = (("gpu_lost", "gpu_lost"), ("reset_required", "not_found"), ("not_found", "unknown_error"))
LOST = """
version: "1"
system: {{driver_version: "{version}"}}
device_defaults: {{name: Tesla T4, architecture: turing}}
devices:
- {{index: 0, uuid: GPU-0, pci: {{bus_id: "0000:01:00.0", device_id: 0x1EB810DE, subsystem_id: 0x12A210DE}}}}
- {{index: 1, uuid: GPU-1, state: {state}{address}}}
- {{index: 2, uuid: GPU-2, state: {later}, pci: {{bus_id: "0000:03:00.0"}}}}
"""


@pytest.mark.parametrize("address", ["", ', pci: {bus_id: "0000:02:00.0"}'], ids=["no address", "address"])
@pytest.mark.parametrize("branch", BRANCHES)
def test_a_gpu_whose_handle_is_not_given_ends_the_text_or_is_passed_over_as_the_binary_does(pairs: Pairs, branch: int, address: str) -> None:
    driver = driver_of(pairs, branch)
    for state, later in (*GONE, ("no_permission", "no_permission")):
        text = LOST.format(version=driver.version.text, state=state, later=later, address=address)
        spec = compiling.compile_profile(profiles.parse(text.encode(), "lost"), driver)
        assert [f"{state}: {one}" for one in pairs.of(branch, spec, ("q", "q:ECC"))] == []
