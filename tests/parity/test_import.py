"""Import: a stranger's file becomes a board at parity, or one line says why not; never half a board."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import types
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.compare import check, judge
from harness.stages.importing import pipeline, source
from harness.stages.render import serving
from harness.stores import captures
from harness.stores.workspace import Workspace
from harness.text.listing import Listing
from harness.words.errors import InputError

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[2]


def listed(path: Path, *rows: str) -> Path:
    path.write_text("".join(f"GPU {number}: {row}\n" for number, row in enumerate(rows)))
    return path


T4 = "Tesla T4 (UUID: GPU-00000000-0000-0000-0000-000000000000)"


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}


def test_a_query_becomes_capture_profile_golden_and_baseline(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(query), "--root", str(space.root), "--source", "repository=o/r licence=MIT mine"]) == 0
    assert files(space.root) == {
        "captures/SOURCES.md",
        "captures/t4-x1_595.91.07/sidecar.yaml",
        "captures/t4-x1_595.91.07/transcript.txt",
        "golden/baselines/t4-x1_595.91.07.yaml",
        "golden/t4-x1_595.91.07.yaml",
        "profiles/t4-x1_595.91.07.yaml",
    }
    said = capsys.readouterr().out
    assert "modelled 309, unmodelled 0" in said
    assert "parity: rendered from the mock library, bytes equal, 309 elements exact" in said
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_the_json_says_what_was_read_scrubbed_and_proven(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", "Mine_1.a-b", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["id"], made["kind"], made["driver"], made["node"]) == ("Mine_1.a-b", "own", "595.91.07", None)
    assert made["readings"]["elements"] == sum(count for kind, count in made["readings"].items() if kind != "elements")
    assert made["check"]["totals"]["findings"] == 0


def test_an_import_is_proven_under_the_rules_of_the_workspace(
    space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """The proof and the check that follows it say the same."""
    held: list[list[str]] = []

    def compare(*given):
        held.append([rule.path for rule in given[3]])
        return judge.compare(*given)

    monkeypatch.setattr(check, "compare", compare)
    space.golden.mkdir(exist_ok=True)
    (space.golden / "rules.yaml").write_text("format: 1\nrules: [{path: gpu/uuid, kind: volatile, reason: x}]\n")
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 0
    assert held == [["gpu/uuid"]]
    (space.golden / "rules.yaml").write_text("format: 1\nrules: [{path: gpu/uuid, kind: volatil, reason: x}]\n")
    assert guard.run(["import", str(query), "--id", "other", "--root", str(space.root)]) == 3
    assert "rules.yaml:2: rules[0]: kind 'volatil'" in capsys.readouterr().err


def test_an_existing_id_is_refused_and_nothing_changes(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", "a"]) == 0
    before = {name: (space.root / name).read_bytes() for name in files(space.root)}
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", "a"]) == 3
    assert "exists" in capsys.readouterr().err
    assert {name: (space.root / name).read_bytes() for name in files(space.root)} == before


def test_the_proposed_id_is_a_free_one(space: Workspace, query: Path):
    later = query.with_name("later.xml")
    later.write_bytes(query.read_bytes().replace(b"<gpu_temp>33 C</gpu_temp>", b"<gpu_temp>34 C</gpu_temp>"))
    assert [pipeline.run(space, [file]).id for file in (query, later)] == ["t4-x1_595.91.07", "t4-x1_595.91.07_2"]


def test_the_same_file_is_imported_once_unless_an_id_is_given(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 0
    before = files(space.root)
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 3
    assert "already imported as t4-x1_595.91.07" in capsys.readouterr().err
    assert files(space.root) == before
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", "again"]) == 0


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "empty"),
        (b"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n", "not an nvidia-smi capture"),
        (b"hello\n", "not"),
        (b"\x00\xff" * 300, "not"),
    ],
)
def test_what_is_no_capture_is_status_3_one_line_nothing_written(data, part, space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "bad.xml"
    path.write_bytes(data)
    assert guard.run(["import", str(path), "--root", str(space.root)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "bad.xml" in line
    assert part in line.lower().replace("nvidia-smi capture", "nvidia-smi capture")
    assert files(space.root) == set()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_a_truncated_query_says_where_it_ends(share, space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    data = query.read_bytes()
    query.write_bytes(data[: int(len(data) * share)])
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 3
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert files(space.root) == set()


def test_a_query_and_a_list_of_one_node_are_one_capture_with_two_goldens(space: Workspace, query: Path, tmp_path: Path):
    made = pipeline.run(space, [listed(tmp_path / "list.txt", T4), query])
    assert made.parity
    assert [case.bytes for case in made.cases] == ["equal", "equal"]
    assert set(captures.load(space.captures, made.id).texts) == {"q-x", "L"}


def test_views_that_disagree_are_refused_with_both_sides(space: Workspace, query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    other = listed(tmp_path / "list.txt", T4.replace("Tesla", "Other"))
    assert guard.run(["import", str(query), str(other), "--root", str(space.root)]) == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "Tesla T4" in line
    assert "Other T4" in line


def test_two_files_of_one_view_are_a_usage_error(space: Workspace, query: Path):
    assert guard.run(["import", str(query), str(query), "--root", str(space.root)]) == 2
    assert files(space.root) == set()


@pytest.mark.parametrize("name", ["../x", ".x", "a b", ""])
def test_an_id_that_is_none_is_a_usage_error(name, space: Workspace, query: Path):
    assert guard.run(["import", str(query), "--root", str(space.root), "--id", name]) == 2


def test_an_unknown_version_gets_a_node_in_the_workspace_and_is_printed_for_review(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    text = query.read_text().replace("595.91.07", "596.10").replace("\t\t<fan_speed>", "\t\t<fan_noise>7 dB</fan_noise>\n\t\t<fan_speed>")
    query.write_text(text)
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 0
    said = capsys.readouterr().out
    assert "new driver node 596.10" in said
    assert "gained gpu/fan_noise" in said
    assert "unmodelled: gpu[0]/fan_noise: '7 dB'" in said
    assert "1 printed verbatim" in said
    assert "profiles/drivers/596.10.yaml" in files(space.root)
    assert guard.run(["check", "--root", str(space.root), "--json", "-"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert (case["unmodelled"], case["exact"], case["bytes"], case["layout"]) == (1, 309, "equal", "596.10")


def test_a_shipped_node_that_gains_keeps_its_comments(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    query.write_text(query.read_text().replace("\t\t<fan_speed>", "\t\t<fan_noise>7 dB</fan_noise>\n\t\t<fan_speed>"))
    assert guard.run(["import", str(query), "--root", str(space.root)]) == 0
    said = capsys.readouterr().out
    assert "driver node 595.91.07 gains 1 change (review profiles/drivers/595.91.07.yaml)" in said
    assert "new driver node" not in said
    before = (ROOT / "profiles" / "drivers" / "595.91.07.yaml").read_text().splitlines()
    now = (space.profiles / "drivers" / "595.91.07.yaml").read_text().splitlines()
    assert [line for line in now if line in before] == before
    assert guard.run(["check", "--root", str(space.root)]) == 0


@pytest.mark.parametrize("lacking_first", [True, False])
def test_boards_of_one_driver_that_print_other_elements_share_a_node(lacking_first: bool, space: Workspace, query: Path):
    whole = query.read_text().replace("595.91.07", "596.10")
    lacking = re.sub("\t\t<gpu_part_number>.*</gpu_part_number>\n", "", whole)
    assert lacking != whole
    for number, text in enumerate((lacking, whole) if lacking_first else (whole, lacking)):
        query.write_text(text)
        made = pipeline.run(space, [query])
        assert [(made.parity, case.bytes) for case in made.cases] == [(True, "equal")]
        assert made.learnt is not None
        assert made.learnt.gains == bool(number)
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_an_edited_capture_is_kept_and_not_compared(space: Workspace, query: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(query), "--root", str(space.root), "--kind", "edited"]) == 0
    assert "edited: kept, not compared" in capsys.readouterr().out
    assert guard.run(["check", "--root", str(space.root), "--json", "-"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert (case["elements"], case["kind"]) == (0, "edited")


def own_lists(folder: Path) -> list[Path]:
    """The real lists in nvidia-smi's own layout that hide nothing."""
    found = []
    with (folder / "MANIFEST.tsv").open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.DictReader(stream, delimiter="\t") if row["kind"] == "L" and row["real_or_edited"].startswith("real")]
    for row in rows:
        path = folder / row["file"]
        text = source.read(path.read_bytes(), path.name)
        if isinstance(text, Listing) and text.kind == "own" and not source.redacted(source.leaves(text)):
            found.append(path)
    return found


def test_own_layout_lists_are_imported_alone_and_rendered_byte_equal(space: Workspace, raw_captures: Path):
    found = own_lists(raw_captures)
    exact = 0
    for path in found:
        made = pipeline.run(space, [path])
        assert [case.bytes for case in made.cases] == ["equal"], path.name
        assert made.parity, path.name
        exact += made.cases[0].counts.exact == made.cases[0].counts.elements
    assert exact >= 5


def test_lines_of_mig_devices_in_a_list_are_kept_and_counted_deferred(space: Workspace, tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text("GPU 0: A (UUID: GPU-1)\n  MIG 3g.40gb     Device  0: (UUID: MIG-2)\nGPU 1: A (UUID: GPU-3)\n")
    made = pipeline.run(space, [path])
    assert made.parity
    (case,) = made.cases
    assert (case.bytes, case.counts.elements, case.counts.exact, case.counts.unmodelled, case.deferrals) == ("equal", 6, 4, 0, {"mig": 2})


def test_a_list_alone_gives_a_profile_of_names_and_uuids_and_nothing_else(space: Workspace, tmp_path: Path):
    made = pipeline.run(space, [listed(tmp_path / "list.txt", "A & <B> (C) (UUID: GPU-1)", "D (UUID: GPU-2)")])
    assert made.parity
    assert made.id == "a-b-c-and-d-x2_nodrv"
    rendered = serving.render(space.profile_path(made.id), space, "q-x").data.decode()
    assert "<product_name>A & <B> (C)</product_name>" in rendered
    assert "<serial>N/A</serial>" in rendered


def test_a_list_says_no_driver_and_the_check_calls_its_layout_assumed(space: Workspace, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["import", str(listed(tmp_path / "list.txt", T4)), "--root", str(space.root)]) == 0
    assert "driver not said" in capsys.readouterr().out
    assert guard.run(["check", "--root", str(space.root), "--json", "-"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert (case["driver"], case["layout"]) == ("550.163.01", "550.163.01 (assumed)")


def test_rows_of_mig_devices_behind_a_comment_sign_are_kept_too(space: Workspace, tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text("  # GPU 0: A (UUID: GPU-1)\n  #   MIG 1g.24gb     Device  0: (UUID: MIG-2)\n")
    made = pipeline.run(space, [path])
    assert (made.parity, made.kind, made.deferrals) == (True, "re-indented", {"mig": 2})


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("GPU 0: A (UUID: GPU-1)\n\t Link 0: 25 GB/s\n", "it is `nvidia-smi nvlink` text"),
        ("GPU 0: A (UUID: GPU-1)\nDevice does not have or support Nvlink\n", "it is `nvidia-smi nvlink` text"),
        ("GPU 0: A (UUID: GPU-1)\n" + "line\n" * 17, "17 lines that are no rows of `nvidia-smi -L` around 1 that are"),
    ],
)
def test_another_view_that_holds_rows_of_a_list_is_no_list(text: str, part: str, space: Workspace, tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=part):
        pipeline.run(space, [path])
    assert files(space.root) == set()


def test_a_list_in_a_log_is_a_list():
    assert isinstance(source.read(b"GPU 0: A (UUID: GPU-1)\n" + b"line\n" * 16, "list.txt"), Listing)


def test_standard_input_is_a_capture(space: Workspace, query: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for data in (query.read_bytes(), gzip.compress(query.read_bytes())):
        monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(data)))
        assert guard.run(["import", "-", "--root", str(space.root)]) == (0 if data.startswith(b"<") else 3)
    assert "already imported as t4-x1_595.91.07" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(buffer=io.BytesIO(b"hello\n")))
    assert guard.run(["import", "-", "--root", str(space.root)]) == 3
    assert capsys.readouterr().err.startswith("nvparity: <stdin>: not an nvidia-smi capture")


def test_how_a_capture_was_packed_is_a_note_of_its_sidecar(space: Workspace, query: Path):
    query.write_bytes(gzip.compress(query.read_bytes()))
    made = pipeline.run(space, [query])
    assert captures.load(space.captures, made.id).sidecar.notes == ("unpacked from gzip",)


def test_a_list_whose_numbers_fall_cannot_be_served(space: Workspace, tmp_path: Path):
    path = tmp_path / "list.txt"
    path.write_text("GPU 6: A (UUID: GPU-1)\nGPU 2: A (UUID: GPU-2)\n")
    with pytest.raises(InputError, match="GPUs 6, 2"):
        pipeline.run(space, [path])


def test_a_render_of_the_profile_prints_what_no_row_explains(space: Workspace, query: Path):
    query.write_text(query.read_text().replace("595.91.07", "596.10").replace("\t\t<fan_speed>", "\t\t<fan_noise>7 dB</fan_noise>\n\t\t<fan_speed>"))
    made = pipeline.run(space, [query])
    assert b"\t\t<fan_noise>7 dB</fan_noise>\n\t\t<fan_speed>" in serving.render(space.profile_path(made.id), space).data


def test_a_source_that_is_no_text_is_a_usage_error(space: Workspace, query: Path):
    assert guard.run(["import", str(query), "--root", str(space.root), "--source", "a\udcffb"]) == 2
    assert files(space.root) == set()
