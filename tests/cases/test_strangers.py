"""Field reports rebuilt on the boards at hand: changed as reported, imported into an empty workspace, rendered again."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.stages.importing import pipeline
from harness.stores.workspace import Workspace
from tests.cases.boards import A100, T4, text_of
from tests.cases.conftest import Take


def test_an_address_that_the_block_itself_contradicts_is_refused(take: Take):
    """BL-017."""
    taken = take(text_of(A100).replace('<gpu id="00000000:06:00.0">', '<gpu id="00000000:07:00.0">'))
    assert taken.status == 3
    assert "00000000:07:00.0 by its attribute and at 00000000:06:00.0" in taken.err


def test_an_unknown_doctype_is_one_note_and_printed_again(take: Take):
    """BL-012."""
    given = text_of(T4).replace("595.91.07", "610.10").replace("nvsmi_device_v13", "nvsmi_device_v14")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert taken.out.count("nvsmi_device_v14.dtd") == 1


@pytest.mark.parametrize(
    ("element", "kept"),
    [
        ("pci_device_id", {"pci_device_id", "pci_sub_system_id", "pci_bus", "pci_device", "pci_domain", "pci_bus_id"}),
        ("gpu_util", {"gpu_util", "memory_util"}),
    ],
)
def test_members_of_a_struct_that_lacks_one_are_kept_and_not_turned_into_another_reading(element: str, kept: set[str], take: Take):
    taken = take(re.sub(rf"<{element}>.*?<", f"<{element}>odd<", text_of(A100), count=1))
    assert taken.status == 0
    assert kept <= {path.rpartition("/")[2] for path in taken.unmodelled}


@pytest.mark.parametrize("name", ["tesla-p100-pcie-12gb_375.66_linkedin-tony_1", "geforce-gt-730_384.111_microsoft-pai_1",
                                  "geforce-gtx-1070_384.66_microsoft-pai_6"])  # fmt: skip
def test_what_no_call_answers_is_kept_and_counted(name: str, raw_capture, library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    made = pipeline.run(Workspace(tmp_path), [raw_capture(f"qx/{name}.xml")])
    assert [finding for case in made.cases for finding in case.findings] == []
    assert made.unmodelled
