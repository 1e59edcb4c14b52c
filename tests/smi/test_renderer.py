"""Renderer smi: captures of a branch printed by its binary, and what the rules of kind binary claim held against all that the binaries print."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.stages import binaries, smi
from harness.stages.binaries import Binaries, Binary
from harness.stages.compare import binary_rules, by_binary, check, rules, ruling
from harness.stages.compare.case import Case, Printed
from harness.stages.compare.rules import BinaryRule
from harness.stages.importing import source
from harness.stages.render import real
from harness.stores import captures
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.text import outline
from mocklib import image
from mocklib.spec import ImageSpec
from tests.parity import tracer_values
from tests.parity.expect_sources import shown

ROOT = Path(__file__).resolve().parents[2]
SPACE = Workspace(ROOT)
RULES = rules.of(SPACE)
PAIRS = binary_rules.pairs(RULES)
BATCH = 32
"""GPUs a run of the tracer."""


@pytest.fixture(scope="module")
def at_hand(smi_binaries: dict[int, Path], library_path: Path) -> Binaries:
    return Binaries(smi_binaries, library_path)


@pytest.fixture(scope="module")
def cases(at_hand: Binaries) -> list[Case]:
    return by_binary.cases(SPACE, SPACE.ids(), at_hand, RULES)


@pytest.fixture(scope="module", params=sorted(PAIRS))
def binary(request: pytest.FixtureRequest, at_hand: Binaries) -> Binary:
    """The binary of one release that rules are of."""
    found = at_hand.of(int(request.param.partition(".")[0]))
    if found is None or found.version != request.param:
        pytest.skip(f"NVPARITY_SMI has no nvidia-smi {request.param}")
    return found


def test_every_capture_of_a_branch_with_a_binary_is_printed_by_it_without_a_finding(cases: list[Case], at_hand: Binaries):
    compared = [case for case in cases if case.compared]
    assert [(case.id, case.findings[:3], case.drift) for case in compared if not case.parity] == []
    of_branch = [name for name in SPACE.ids() if (driver := driver_of(name)) and int(driver[:3]) in at_hand]
    assert {case.id for case in cases if not case.skipped} == set(of_branch)
    assert {case.printed.status for case in compared if case.printed is not None} <= {0, 6}
    assert sum(case.bytes == "equal" for case in compared) >= 1


def test_what_is_set_aside_is_the_clock_and_the_binarys_own_version_and_no_more(cases: list[Case]):
    for case in cases:
        if case.compared and case.printed is not None and case.view in ("q-x", "q"):
            assert case.counts.aside == 1 + case.printed.retargeted, case.id


def test_every_rule_of_kind_binary_does_work_and_is_true(cases: list[Case]):
    uses = [use for use in ruling.uses(RULES, cases, SPACE.ids(), check.VERSION) if isinstance(use.rule, BinaryRule)]
    there = {(case.printed.origin, case.printed.version) for case in cases if case.printed is not None}
    assert [use.line for use in uses if use.problem or (use.rule.versions in there and not use.covers)] == []  # type: ignore[attr-defined]
    assert sum(sum(case.ruled.values()) for case in cases) == sum(use.covers for use in uses)


def test_what_a_rule_claims_holds_of_every_profile(binary: Binary):
    checked: Counter[str] = Counter()
    for name in filter(queried, SPACE.ids()):  # a list, or sections of a text, tell little of a board
        for view in views_of(binary):
            printed = real.render(SPACE.profile_path(name), SPACE, view, binary)
            assert printed.wrong == {}, name
            facts = by_binary.facts_of(printed, "-", leaves(view, printed.run.stdout))
            assert list(contrary(binary.version, facts)) == [], name
            checked.update(str(number) for number in facts.architectures)
    assert len(checked) > 3


def test_what_a_rule_claims_holds_of_the_tracer_whatever_its_readings_answer(binary: Binary, library_path: Path, tmp_path: Path):
    driver = drivers.load(ROOT).resolve(binary.version)
    spec = tracer_values.spec_of(driver)
    of_rules = {path.rpartition("/")[2] for rule in PAIRS[binary.version] for path in (rule.path, rule.of or rule.path)}
    elements = [element for tree in (driver.layout, driver.text) for _, element in tree.walk() if element.name in of_rules]
    rows = {row for element in elements for row in element.rows()}
    fields = {"architecture", *(field for row in rows for field in shown(driver, row))}
    variants = [*tracer_values.value_variants(driver, spec), *tracer_values.code_variants(spec, (3, 15, 999))]
    chosen = [variant for variant in variants if variant.field in fields]
    assert len(chosen) >= 3 * len(spec.devices)
    for batch in tracer_values.batches(chosen, BATCH):
        for view in views_of(binary):
            facts = traced(tracer_values.image_of(spec, batch, apart=True), view, binary, library_path, tmp_path / "tracer.img")
            assert list(contrary(binary.version, facts)) == [], batch


def driver_of(name: str) -> str | None:
    """The driver that a capture names; None of a list."""
    return captures.load(SPACE.captures, name).sidecar.driver


def queried(name: str) -> bool:
    """Whether a capture is of `-q -x`."""
    return "q-x" in captures.load(SPACE.captures, name).texts


def views_of(binary: Binary) -> list[str]:
    """The views that rules of the binary's release are of."""
    return sorted({rule.view for rule in PAIRS[binary.version]})


def leaves(view: str, data: bytes) -> list[tuple[str, str]]:
    """Path and text of every leaf of a `-q -x` text or a `-q` text."""
    return source.leaves(source.read(data, "render")) if view == "q-x" else list(outline.read(data, "render").root.leaves())


def traced(spec: ImageSpec, view: str, binary: Binary, library: Path, path: Path) -> Printed:
    """What the binary prints of an image."""
    image.write(path, image.pack(spec))
    ran = smi.run_smi(binary.path, binaries.arguments_of(view), library=library, variables={"NVPARITY_IMAGE": str(path)})
    assert (ran.status, ran.stderr) == (0, b"")
    numbers = tuple(number if isinstance(number := device["architecture"].value, int) else None for device in spec.devices)
    return Printed(binary.version, "-", leaves=dict(leaves(view, ran.stdout)), architectures=numbers, view=view)


def contrary(version: str, facts: Printed) -> Iterator[str]:
    """What is printed otherwise than a rule of that release says."""
    for rule in PAIRS[version]:
        if not binary_rules.of_view(rule, facts):
            continue
        yield from (f"{rule.place} {against}" for against in binary_rules.contrary(rule, facts))
