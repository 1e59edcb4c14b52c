"""Parity without C: capture, profile, spec, tables' routes on a library in Python, render: the bytes of the capture again."""

from __future__ import annotations

import csv

import pytest

from harness.stages import compile as compiling
from harness.stages import derive, derive_node
from harness.stages.importing import source
from harness.stages.render.source import NvmlSource
from harness.stages.render.views import query
from harness.stores import profiles
from harness.tables import drivers
from harness.text import document, transcript
from tests.unit.stages.pure_library import PureLibrary, functions

BOARDS = ["a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07"]


def rendered(captured: document.Document, driver: drivers.Driver) -> bytes:
    made = derive.derive(captured, driver)
    spec = compiling.compile_profile(profiles.parse(made.text.encode()), driver)
    verbatim = {path: (text, "line") for path, text in made.verbatim.items()}
    return query(driver, NvmlSource(PureLibrary(spec), driver, spec.clock.at_ns // 10**9), verbatim).data


@pytest.mark.parametrize("name", BOARDS)
def test_the_four_boards_come_back_byte_for_byte(name, repository):
    captured = transcript.load((repository / "captures" / name / "transcript.txt").read_text())
    assert isinstance(captured, document.Document)
    driver = drivers.load().resolve(captured.get("driver_version") or "")
    assert rendered(captured, driver) == captured.to_bytes()


def test_a_changed_reading_of_the_profile_changes_its_rows_and_no_other(repository):
    text = (repository / "profiles" / "t4-x1_595.91.07.yaml").read_text()
    captured = transcript.load((repository / "captures" / "t4-x1_595.91.07" / "transcript.txt").read_text())
    assert isinstance(captured, document.Document)
    driver = drivers.load().resolve("595.91.07")
    changed = text.replace("mode: passthrough", "mode: none").replace("    slowdown_threshold_c: 93", "    slowdown_threshold_c: 94")
    spec = compiling.compile_profile(profiles.parse(changed.encode()), driver)
    again = document.read(query(driver, NvmlSource(PureLibrary(spec), driver, spec.clock.at_ns // 10**9)).data)
    before, after = dict(captured.root.leaves()), dict(again.root.leaves())
    assert {path: after[path] for path in before if before[path] != after[path]} == {
        "gpu[0]/gpu_virtualization_mode/virtualization_mode": "None",
        "gpu[0]/temperature/gpu_temp_slow_threshold": "94 C",
    }


@pytest.mark.parametrize("version", ["470.74", "550.163.01", "595.91.07"])
def test_every_called_function_has_a_handler(version):
    driver = drivers.load().resolve(version)
    asked = {route.target for row in drivers.needed_rows(driver.layout) if (route := driver.routes[row]).kind == "call"}
    assert asked <= set(functions()), asked - set(functions())


def test_whole_captures_of_the_corpus_come_back_leaf_for_leaf(raw_captures, tmp_path):
    """Captures in nvidia-smi's own layout, whole, not edited, of 550 and newer: what the tables reach with no shipped file changed."""
    tree = drivers.load()
    done = 0
    with (raw_captures / "MANIFEST.tsv").open(newline="") as manifest:
        entries = [entry for entry in csv.DictReader(manifest, delimiter="\t") if entry["kind"] == "qx"]
    for number, entry in enumerate(entries):
        captured = document.read((raw_captures / entry["file"]).read_bytes(), entry["file"])
        version = captured.get("driver_version")
        if captured.kind != document.OWN or "EDITED" in entry["real_or_edited"] or version is None or int(version.split(".")[0]) < 550:
            continue
        driver = tree.resolve(version)
        learnt = derive_node.learn(captured, driver, tree)
        if learnt is not None:
            folder = tmp_path / str(number) / "profiles" / "drivers"
            folder.mkdir(parents=True)
            (folder / f"{learnt.version}.yaml").write_text(learnt.text)
            driver = drivers.load(tmp_path / str(number)).resolve(version)
        again, given = dict(document.read(rendered(captured, driver)).root.leaves()), dict(captured.root.leaves())
        hidden = source.redacted(list(given.items()))
        printed, known = ({path: text for path, text in one.items() if path not in hidden} for one in (again, given))
        assert printed == known
        done += 1
    assert done >= 8
