"""A live check: what moved is set aside by that evidence only, what is not asked is counted, everything else that differs is found."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.reports import live as report
from harness.stages.live import Node, check
from harness.stages.live.running import Live
from harness.words.errors import GateError, InputError, MissingError
from tests.unit.stages.live.conftest import GT1030, T4, program

Made = Callable[..., Node]


def swapped(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """An edit of one place."""

    def edit(text: bytes) -> bytes:
        assert text.count(old) == 1
        return text.replace(old, new)

    return edit


def found(live: Live, view: str = "q-x") -> list[tuple[str, str]]:
    return [(finding.kind, finding.path) for verdict in live.verdicts if verdict.case.view == view for finding in verdict.case.findings]


def test_a_node_whose_nvidia_smi_prints_what_we_do_reaches_parity(node: Made) -> None:
    live = check(node(GT1030))
    assert live.parity
    assert (live.driver, live.layout, live.assumed, live.not_asked) == ("470.74", "470.74", False, ())
    assert Path(live.library).name == "libnvidia-ml.so.1"
    query, listing = live.verdicts
    assert (query.case.bytes, query.moved, query.case.counts.exact) == ("equal", (), query.case.counts.elements)
    assert (listing.case.bytes, listing.case.counts.elements) == ("equal", 2)


def test_what_differs_is_found_with_its_row_its_call_and_the_answer(node: Made) -> None:
    live = check(node(GT1030, swapped(b"<gpu_temp>36 C</gpu_temp>", b"<gpu_temp>40 C</gpu_temp>")))
    assert found(live) == [("changed", "gpu[0]/temperature/gpu_temp")]
    finding, asked = live.verdicts[0].case.findings[0], live.verdicts[0].asked["gpu[0]/temperature/gpu_temp"]
    assert (finding.expected, finding.actual) == ("40 C", "36 C")
    assert (asked.row, asked.route) == ("thermal.temperature_gpu_c", "call nvmlDeviceGetTemperature(sensorType=0) temp")
    assert (asked.code, asked.answer) == (0, 36)
    said = list(report.lines(live))
    assert "  changed gpu[0]/temperature/gpu_temp: nvidia-smi prints '40 C', we print '36 C'" in said
    assert "    row thermal.temperature_gpu_c, call nvmlDeviceGetTemperature(sensorType=0) temp -> SUCCESS 36" in said


def test_what_moved_between_two_runs_is_set_aside_and_nothing_else(node: Made) -> None:
    first = swapped(b"<gpu_temp>36 C</gpu_temp>", b"<gpu_temp>41 C</gpu_temp>")
    live = check(node(GT1030, first, lambda text: first(text).replace(b"<gpu_temp>41 C", b"<gpu_temp>42 C")))
    assert live.parity
    assert live.verdicts[0].moved == ("gpu[0]/temperature/gpu_temp",)
    assert live.verdicts[0].case.counts.volatile == 1
    assert live.verdicts[0].case.bytes == "equal"


def test_a_reading_that_did_not_move_is_found_beside_one_that_did(node: Made) -> None:
    def first(text: bytes) -> bytes:
        return text.replace(b"<gpu_temp>36 C", b"<gpu_temp>41 C").replace(b"<fan_speed>35 %", b"<fan_speed>36 %")

    live = check(node(GT1030, first, lambda text: first(text).replace(b"<gpu_temp>41 C", b"<gpu_temp>42 C")))
    assert found(live) == [("changed", "gpu[0]/fan_speed")]
    assert live.verdicts[0].moved == ("gpu[0]/temperature/gpu_temp",)


def test_an_element_that_the_layout_lacks_is_found_with_a_hint_at_import(node: Made) -> None:
    live = check(node(GT1030, swapped(b"\t\t<fan_speed>", b"\t\t<pump_speed>7 %</pump_speed>\n\t\t<fan_speed>")))
    assert found(live) == [("missing", "gpu[0]/pump_speed")]
    assert live.verdicts[0].asked["gpu[0]/pump_speed"].why == "the layout of 470.74 has no such element"
    assert any("nvparity import" in line for line in report.lines(live))


def test_bytes_that_belong_to_no_element_are_found(node: Made) -> None:
    live = check(node(GT1030, swapped(b'<?xml version="1.0" ?>', b'<?xml version="1.1" ?>')))
    assert found(live) == [("invented", "line 1")]


def test_a_wrong_line_of_the_list_is_found(node: Made) -> None:
    live = check(node(GT1030, listed=swapped(b"GeForce GT 1030", b"GeForce GT 1031")))
    assert found(live) == []
    assert found(live, "L") == [("changed", "gpu[0]/name")]


@pytest.fixture
def workspace(tmp_path: Path) -> Callable[[str], Path]:
    """``workspace(node file)``: a workspace with a driver node of its own."""

    def make(text: str) -> Path:
        root = tmp_path / "workspace"
        (root / "profiles" / "drivers").mkdir(parents=True)
        version = next(line.split('"')[1] for line in text.splitlines() if line.startswith("version: "))
        (root / "profiles" / "drivers" / f"{version}.yaml").write_text(text, "utf-8")
        return root

    return make


def test_a_wrong_row_of_a_node_is_found_exactly(node: Made, workspace: Callable[[str], Path], repository: Path) -> None:
    right = (repository / "profiles" / "drivers" / "470.74.yaml").read_text("utf-8")
    wrong = right.replace("\nroutes:\n", "\nroutes:\n  fan.speed_percent: {call: nvmlDeviceGetTemperature, args: {sensorType: 0}, out: temp}\n")
    assert wrong != right
    live = check(node(GT1030, root=workspace(wrong)))
    assert found(live) == [("changed", "gpu[0]/fan_speed")]
    assert live.verdicts[0].asked["gpu[0]/fan_speed"].route == "call nvmlDeviceGetTemperature(sensorType=0) temp"


def test_a_wrong_layout_of_a_node_is_found_exactly(node: Made, workspace: Callable[[str], Path], repository: Path) -> None:
    right = (repository / "profiles" / "drivers" / "470.74.yaml").read_text("utf-8")
    live = check(node(GT1030, root=workspace(right.replace("- fan_speed:", "- fan_rate:"))))
    assert found(live) == [("missing", "gpu[0]/fan_speed"), ("invented", "gpu[0]/fan_rate")]
    assert live.layout_differs


def test_a_version_nobody_has_seen_is_held_against_the_assumed_node_and_that_is_said(node: Made, nvml_stub: Callable[..., Path]) -> None:
    made = replace(node(GT1030), library=nvml_stub(driver="470.99.01"))
    live = check(made)
    assert (live.layout, live.assumed) == ("470.74", True)
    assert next(report.lines(live)).startswith("live: driver 470.99.01, layout 470.74 (assumed), ")


def test_rows_of_a_private_table_that_no_binary_of_the_branch_showed_are_not_asked_and_counted(
    node: Made, nvml_stub: Callable[..., Path], tmp_path: Path
) -> None:
    live = check(node(T4))
    assert live.parity
    assert {"gpu_part_number", "processes.compute"} <= set(live.not_asked)
    case = live.verdicts[0].case
    assert case.deferrals["not asked"] == case.counts.deferred > 0
    assert any(line.startswith("not asked, no binary of this branch showed its private table: ") for line in report.lines(live))
    for version, calls in (("595.91.07", False), ("550.163.01", True)):
        log = tmp_path / version
        check(replace(node(T4), library=nvml_stub(seed=2, driver=version, log=log)))
        assert ("slot" in log.read_text("ascii").split()) == calls
        assert ("nvmlInternalGetExportTable" in log.read_text("ascii").split()) == calls


def test_identifiers_are_scrubbed_and_stay_findings(node: Made) -> None:
    uuid = b"GPU-0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
    edit = swapped(b"GPU-00000001-0000-0000-0000-000000000001", uuid)
    scrubbed, raw = check(node(GT1030, edit)), check(node(GT1030, edit), raw=True)
    assert found(scrubbed) == found(raw) == [("changed", "gpu[0]/uuid")]
    told, whole = (json.dumps(report.document_of(live)) + "\n".join(report.lines(live)) for live in (scrubbed, raw))
    assert uuid.decode() not in told
    assert uuid.decode() in whole


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("#!/bin/sh\nexit 0\n", MissingError, "exit status 0 and no whole text"),
        ("#!/bin/sh\necho no driver; exit 9\n", MissingError, "exit status 9 and no whole text of that view: no driver; is the driver loaded"),
        ("#!/bin/sh\nkill -SEGV $$\n", GateError, "ended by SIGSEGV"),
        ("#!/bin/sh\nexec sleep 60\n", GateError, "still running after 2 s"),
        ("#!/bin/sh\necho '<nvidia_smi_log><gpu></nvidia_smi_log>'\n", InputError, "nvidia-smi -q -x"),
    ],
)
def test_an_nvidia_smi_that_gives_no_text_is_told(node: Made, tmp_path: Path, script: str, kind: type[Exception], message: str) -> None:
    made = replace(node(GT1030), limit_s=2)
    program(tmp_path, script)
    with pytest.raises(kind, match=message):
        check(made)


def test_a_driver_library_or_nvidia_smi_that_is_missing_is_an_environment_that_lacks_something(node: Made, tmp_path: Path) -> None:
    made = node(GT1030)
    with pytest.raises(MissingError, match=r"none\.so\.1: no such library"):
        check(replace(made, library=tmp_path / "none.so.1"))
    with pytest.raises(MissingError, match="no nvidia-smi on PATH"):
        check(replace(made, smi=None, variables={"PATH": "/nonexistent"}))


def test_a_library_that_hangs_or_dies_is_told_with_the_call(node: Made, nvml_stub: Callable[..., Path]) -> None:
    limit = 60 if "NVPARITY_SANITIZED" in os.environ else 5  # a sanitizer's runtime makes the start of a child long
    made = replace(node(GT1030), limit_s=limit)
    with pytest.raises(GateError, match=rf"did not end within {limit} s, in nvmlDeviceGetFanSpeed"):
        check(replace(made, library=nvml_stub(seed=2, driver="470.74", hangs="nvmlDeviceGetFanSpeed")))
    with pytest.raises(GateError, match="ended by SIGSEGV, in nvmlDeviceGetFanSpeed"):
        check(replace(made, library=nvml_stub(seed=2, driver="470.74", crashes="nvmlDeviceGetFanSpeed")))
