"""Drift: whatever is changed by hand in one of a capture's files, or left without its partner, is named (BL-077)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.compare import drift, rules
from harness.stores import captures, goldens
from harness.stores.workspace import Workspace
from harness.words.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
ID = "t4-x1_595.91.07"
OTHER = "a100-sxm4-40gb-x1_570.148.08"
SIDECAR, TRANSCRIPT = f"captures/{ID}/sidecar.yaml", f"captures/{ID}/transcript.txt"
GOLDEN, BASELINE, PROFILE = f"golden/{ID}.yaml", f"golden/baselines/{ID}.yaml", f"profiles/{ID}.yaml"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A workspace of its own with the T4 in it."""
    shutil.copytree(ROOT / "captures" / ID, tmp_path / "captures" / ID)
    for part in (GOLDEN, BASELINE, PROFILE):
        (tmp_path / part).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / part, tmp_path / part)
    return Workspace(tmp_path)


def told(space: Workspace) -> list[str]:
    capture = captures.load(space.captures, ID)
    return [*drift.of_capture(space, capture, goldens.load(space.golden / f"{ID}.yaml")), *drift.of_workspace(space)]


def change(path: Path, pattern: str, new: str) -> None:
    text = path.read_bytes().decode()
    changed, count = re.subn(pattern, new, text, count=1, flags=re.MULTILINE)
    assert count == 1
    assert changed != text
    path.write_bytes(changed.encode())


def test_what_was_imported_has_not_drifted(space: Workspace):
    assert told(space) == []


@pytest.mark.parametrize(
    ("file", "pattern", "new", "said"),
    [
        (TRANSCRIPT, "^kind: own", "kind: edited", "kind is 'edited' in the transcript, 'own' in the sidecar, 'own' in the golden"),
        (TRANSCRIPT, "^kind: own", "kind: trimmed", "its bytes are of kind 'own'"),
        (TRANSCRIPT, "^kind: own", "kind: re-indented", "its bytes are of kind 'own'"),
        (TRANSCRIPT, "gpu_temp: 33 C", "gpu_temp: 34 C", "no longer what the capture derives into"),
        (SIDECAR, "^kind: own", "kind: edited", "kind is"),
        (SIDECAR, "^driver: .*", "driver: 595.91.70", "the sidecar's driver is '595.91.70', the transcript's '595.91.07'"),
        (SIDECAR, "^    raw: ....", "    raw: ffff", "different hashes"),
        (SIDECAR, "^    scrubbed: ....", "    scrubbed: ffff", "different hashes"),
        (SIDECAR, "^    bytes: .*", "    bytes: 5", "5 in the sidecar"),
        (GOLDEN, "^kind: own", "kind: edited", "kind is"),
        (GOLDEN, "^    raw: ....", "    raw: ffff", "different hashes"),
        (GOLDEN, "^      whole: ....", "      whole: ffff", "the readings stand in another order"),
        (GOLDEN, "^      - ....", "      - ffff", "readings of GPU 0 differ"),
        (GOLDEN, "bar1_memory_usage: ....", "bar1_memory_usage: ffff", "readings of section bar1_memory_usage differ"),
        (GOLDEN, "^(        bar1_memory_usage: )", f"        more: '{'0' * 64}'\n\\1", "readings of section more differ"),
        (GOLDEN, "count: .*", "count: 1", "readings, the golden 1"),
        (BASELINE, "^views:\n.*", "views: {}", "view L has neither a golden nor a baseline"),
        (BASELINE, "^  L: (.*)", "  L: \\1\n  q-x: \\1", "view q-x has a baseline although the capture covers it"),
        (PROFILE, "^device_defaults:\n", "device_defaults:\n  num_gpu_cores: 2560\n", "no longer what the capture derives into"),
        (PROFILE, "^  capture: .*", "  capture: other", "no longer what the capture derives into"),
        (PROFILE, "^format: 1\n", "format: 1\r\n", f"profiles/{ID}.yaml:1: no longer"),
    ],
)
def test_a_change_by_hand_is_named(file: str, pattern: str, new: str, said: str, space: Workspace):
    change(space.root / file, pattern, new)
    assert [line for line in told(space) if said in line]


def test_a_second_view_in_the_golden_alone_is_named(space: Workspace):
    path = space.root / GOLDEN
    text = path.read_text()
    view = text[text.index("  q-x:\n") : text.index("accepted:")]
    path.write_text(text.replace(view, view + view.replace("q-x", "L")))
    assert f"{ID}: L: in the golden, not in the capture" in told(space)


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        (GOLDEN, "golden/x.yaml", "golden/x.yaml: no capture of that id"),
        (BASELINE, "golden/baselines/x.yaml", "golden/baselines/x.yaml: no capture of that id"),
        (PROFILE, "profiles/x.yaml", "profiles/x.yaml: no capture of that id"),
        (TRANSCRIPT, f"captures/{ID}/listing.txt", f"captures/{ID}/listing.txt: no file of a capture"),
    ],
)
def test_a_file_without_its_partner_is_named(source: str, target: str, said: str, space: Workspace):
    shutil.copy2(space.root / source, space.root / target)
    assert [line for line in told(space) if said in line]


def test_what_a_removed_capture_leaves_behind_is_named(space: Workspace):
    shutil.rmtree(space.captures / ID)
    named = [line.partition(":")[0] for line in drift.of_workspace(space)]
    assert named == [PROFILE, GOLDEN, BASELINE]


def test_a_short_name_of_nothing_is_named(space: Workspace):
    (space.profiles / "boards.yaml").write_text("format: 1\nboards:\n  mine: t4-x1_595.91.70\n  theirs: t4-x1_595.91.07\n")
    assert drift.of_workspace(space) == ["profiles/boards.yaml: mine stands for t4-x1_595.91.70, which is no profile"]


def test_a_baseline_that_was_removed_is_named(space: Workspace):
    (space.root / BASELINE).unlink()
    assert [line for line in told(space) if "neither a golden nor a baseline" in line]


@pytest.mark.parametrize("make", [lambda root: (root / "captures/x").mkdir(), lambda root: (root / SIDECAR).unlink()])
def test_a_folder_that_is_no_capture_is_refused(make: Callable[[Path], None], space: Workspace):
    make(space.root)
    with pytest.raises(InputError, match=r"no sidecar\.yaml in it"):
        drift.of_workspace(space)


@pytest.mark.parametrize(
    ("file", "pattern", "new", "said"),
    [
        (SIDECAR, "^scrubbed:.*(\n  .*)*", "scrubbed: {uuid: x}", "how many values"),
        (SIDECAR, "^scrubbed:.*(\n  .*)*", "scrubbed: [uuid]", "how many values"),
        (SIDECAR, "^notes:.*", "notes: 5", "list of sentences"),
        (SIDECAR, "^notes:.*", "notes: a b", "list of sentences"),
        (SIDECAR, "^source:.*(\n  .*)*", "source: {repository: 5}", "are text"),
        (SIDECAR, "^  q-x:", "  L:", "transcript.txt:2: not the transcript of view L"),
        (TRANSCRIPT, "^view: q-x", "view: L", "no row"),
        (GOLDEN, "^kind: own", "kind: mine", "'mine' is no kind"),
        (GOLDEN, "^  q-x:", "  q-y:", "'q-y' is no view"),
        (GOLDEN, f"^id: {ID}", f"id: {OTHER}", "in a file called"),
    ],
)
def test_a_file_of_another_shape_is_refused_with_its_place(file: str, pattern: str, new: str, said: str, space: Workspace):
    change(space.root / file, pattern, new)
    with pytest.raises(InputError, match=re.escape(said)) as refused:
        told(space)
    assert str((space.root / file).parent) in str(refused.value)


@pytest.mark.parametrize("text", ["format: 1\nrulez: []\nrules: []\n", "format: 2\nrules: []\n", "rules: []\n"])
def test_rules_of_another_shape_are_refused(text: str, tmp_path: Path):
    (tmp_path / "rules.yaml").write_text(text)
    with pytest.raises(InputError, match=r"rules\.yaml:"):
        rules.load(tmp_path / "rules.yaml")
