"""What the binaries print of field values with ids of the private table (slot 165), and what they make of their codes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.stages import binaries, smi
from mocklib import image
from mocklib.spec import FieldValue
from tests.contract import tuned
from tests.smi.test_writes_clocks import BOARD

RELAXED, REQUIRED, DRAIN = "relaxed_ordering_mode", "reset_status.reset_required", "reset_status.drain_and_reset_recommended"
LINES = {"Relaxed Ordering Mode": RELAXED, "Reset Required": REQUIRED, "Drain and Reset Recommended": DRAIN}


def printed(binary: Path, library: Path, folder: Path, fields: Mapping[str, FieldValue]) -> dict[str, str]:
    """Field -> what a binary prints of it, of a board that answers ``fields``."""
    spec = tuned.spec(BOARD, driver=binaries.version_of(binary, library))
    made = folder / "served.nvpimg"
    image.write(made, image.pack(replace(spec, devices=[{**spec.devices[0], **fields}])))
    ran = smi.run_smi(binary, ["-q"], library=library, variables={"NVPARITY_IMAGE": str(made)})
    assert ran.status == 0
    found: dict[str, Any] = dict(re.findall(r"(?m)^ +([\w ]+?) +: (.*)$", ran.stdout.decode()))
    return {field: found[label] for label, field in LINES.items() if label in found}


def test_relaxed_ordering_and_the_reset_status_are_printed_as_they_are(smi_binaries: dict[int, Path], library_path: Path, tmp_path: Path) -> None:
    for branch, binary in smi_binaries.items():
        said = [printed(binary, library_path, tmp_path, dict.fromkeys((RELAXED, REQUIRED, DRAIN), FieldValue(value))) for value in (0, 1)]
        has = {340: [], 390: []}.get(branch, [RELAXED]) + ([REQUIRED, DRAIN] if branch >= 535 else [])
        assert sorted(said[0]) == sorted(said[1]) == sorted(has), branch
        for value, texts in zip((("Disabled", "No"), ("Enabled", "Yes")), said, strict=True):
            assert texts == {field: value[field != RELAXED] for field in has}, branch


@pytest.mark.parametrize(("code", "said"), [(3, "N/A"), (4, "Insufficient Permissions"), (999, "Unknown Error")])
def test_the_code_of_the_reset_status_is_printed_and_that_of_relaxed_ordering_is_not(
    smi_binaries: dict[int, Path], library_path: Path, tmp_path: Path, code: int, said: str
) -> None:
    fields = {RELAXED: FieldValue(status=code), REQUIRED: FieldValue(status=code), DRAIN: FieldValue(1)}
    for branch in (418, 470, 555):
        wanted = {RELAXED: "N/A", **({REQUIRED: said, DRAIN: "Yes"} if branch == 555 else {})}
        assert printed(smi_binaries[branch], library_path, tmp_path, fields) == wanted, branch
