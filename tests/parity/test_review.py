"""Review: a second import proposes, derive proposes, accept and reject decide, CI writes nothing, and a kill leaves nothing half done."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from harness.cli import guard, reviewing
from harness.stages.importing import pipeline, staging
from harness.stages.review import deciding
from harness.stores import captures, goldens, pending
from harness.stores.workspace import Workspace
from harness.words.errors import GateError
from tests.parity.killing import KILLED

ROOT = Path(__file__).resolve().parents[2]
ID, OTHER = "t4-x1_595.91.07", "a100-sxm4-40gb-x1_570.148.08"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def library(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))


def built(root: Path) -> Path:
    (root / "profiles").mkdir(parents=True)
    shutil.copy2(ROOT / "profiles" / "boards.yaml", root / "profiles")
    for name in (ID, OTHER):
        shutil.copytree(ROOT / "captures" / name, root / "captures" / name)
        for part in (f"golden/{name}.yaml", f"golden/baselines/{name}.yaml", f"profiles/{name}.yaml"):
            (root / part).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / part, root / part)
    return root


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A workspace with the T4 and the A100 in it."""
    return Workspace(built(tmp_path / "work"))


@pytest.fixture(scope="session")
def waiting(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Such a workspace in which a second import of the T4 is pending."""
    folder = tmp_path_factory.mktemp("waiting")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("NVPARITY_LIBRARY", str(library_path))
        pipeline.run(Workspace(built(folder / "work")), [another_day(folder / "later.xml")], ID)
    return folder / "work"


@pytest.fixture
def again(space: Workspace, waiting: Path) -> None:
    """The second import is pending in ``space``."""
    shutil.copytree(waiting / pending.FOLDER, space.root / pending.FOLDER)


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """The T4's query of another day."""
    return another_day(tmp_path / "later.xml")


def another_day(path: Path) -> Path:
    """The T4's query as it might be another day: warmer, and without persistence mode."""
    data = captures.load(ROOT / "captures", ID).texts["q-x"].to_bytes()
    changed = data.replace(b"<gpu_temp>33 C<", b"<gpu_temp>41 C<").replace(b"<persistence_mode>Enabled<", b"<persistence_mode>Disabled<")
    assert changed != data
    path.write_bytes(changed)
    return path


@pytest.fixture
def run(space: Workspace) -> Callable[..., int]:
    """A command on the workspace."""
    return lambda *arguments: guard.run([*arguments, "--root", str(space.root)])


def state(root: Path, *, but: str = "\0") -> dict[str, bytes]:
    return {name: path.read_bytes() for path in root.rglob("*") if path.is_file() and not (name := str(path.relative_to(root))).startswith(but)}


def proposed(space: Workspace) -> dict[str, str]:
    return {change.file: change.kind for change in pending.load(space, ID).changes}


def test_a_second_import_of_an_id_proposes_and_replaces_nothing(space: Workspace, later: Path, run, capsys: Capsys):
    before = state(space.root)
    assert run("import", str(later), "--id", ID) == 0
    assert f"proposed .pending/{ID}" in capsys.readouterr().out
    assert state(space.root, but=".pending") == before
    assert proposed(space) == {
        f"captures/{ID}/sidecar.yaml": "changed",
        f"captures/{ID}/transcript.txt": "changed",
        f"golden/{ID}.yaml": "changed",
        f"profiles/{ID}.yaml": "changed",
    }
    assert captures.load_sidecar(space.root / pending.place(ID) / "captures" / ID / "sidecar.yaml").source.licence == "Apache-2.0"


def test_what_is_pending_is_counted_and_never_compared(space: Workspace, again: None, run, capsys: Capsys):
    capsys.readouterr()
    assert run("check") == 0
    assert f"1 pending, not compared (nvparity review): {ID}\n" in capsys.readouterr().out
    assert run("check", "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["pending"], document["totals"]["cases"], document["totals"]["findings"]) == ([ID], 2, 0)


def test_pending_says_what_appears_vanishes_and_changes(space: Workspace, later: Path, run, capsys: Capsys):
    later.write_bytes(later.read_bytes().replace(b"\t\t<fan_speed>N/A</fan_speed>\n", b""))
    run("import", str(later), "--id", ID)
    capsys.readouterr()
    assert run("pending") == 0
    assert f"  changed  captures/{ID}/transcript.txt  readings: 1 vanish, 2 change\n" in capsys.readouterr().out
    assert run("pending", "t4", "--json", "-") == 0
    (entry,) = json.loads(capsys.readouterr().out)["pending"]
    assert entry["files"][0]["differences"] == [
        {"path": "gpu/persistence_mode", "gpus": [0], "old": "Enabled", "new": "Disabled"},
        {"path": "gpu/temperature/gpu_temp", "gpus": [0], "old": "33 C", "new": "41 C"},
        {"path": "gpu/fan_speed", "gpus": [0], "old": "N/A", "new": None},
    ]


def test_accept_puts_all_files_in_place_and_the_golden_says_by_whom_and_why(space: Workspace, again: None, run):
    assert run("accept", "t4", "--by", "ann", "--reason", "new fan") == 0
    assert pending.ids(space) == []
    assert b"gpu_temp: 41 C" in (space.captures / ID / "transcript.txt").read_bytes()
    golden = goldens.load(space.golden / f"{ID}.yaml")
    assert (golden.by, golden.why, golden.rejected) == ("ann", "new fan", ())
    assert run("check") == 0
    assert f"| {ID} | 595.91.07 |" in (space.captures / "SOURCES.md").read_text()


def test_reject_leaves_the_files_and_the_golden_keeps_the_reason(space: Workspace, later: Path, again: None, run, capsys: Capsys):
    before = state(space.root)
    assert run("reject", ID) == 2
    assert run("reject", ID, "--by", "ann", "--reason", "fan was off") == 0
    changed = {name for name, data in state(space.root).items() if before.get(name) != data}
    assert changed == {f"golden/{ID}.yaml"}
    (kept,) = goldens.load(space.golden / f"{ID}.yaml").rejected
    assert (kept.by, kept.why) == ("ann", "fan was off")
    assert run("show", ID) == 0
    assert "  rejected by ann: fan was off (captures/" in capsys.readouterr().out
    assert run("check") == 0
    run("import", str(later), "--id", ID)
    capsys.readouterr()
    assert run("pending") == 0
    assert "rejected before by ann: fan was off" in capsys.readouterr().out
    assert run("accept", "--all", "--by", "bob") == 0
    assert goldens.load(space.golden / f"{ID}.yaml").rejected == ()


def test_a_first_import_is_pending_when_asked_and_a_second_view_replaces_the_baseline(space: Workspace, later: Path, run, tmp_path: Path):
    assert run("import", str(later), "--id", "mine", "--pending") == 0
    assert "mine" not in space.ids()
    assert pending.load(space, "mine").why == "first import"
    assert run("accept", "mine") == 0
    listing = tmp_path / "list.txt"
    listing.write_text("GPU 0: Tesla T4 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n")
    assert run("import", str(later), str(listing), "--id", "mine") == 0
    kinds = {change.file: change.kind for change in pending.load(space, "mine").changes}
    assert (kinds["captures/mine/listing.txt"], kinds["golden/baselines/mine.yaml"]) == ("new", "removed")
    assert run("accept", "mine") == 0
    assert not (space.golden / "baselines" / "mine.yaml").exists()
    assert run("check") == 0


def test_derive_proposes_profile_and_missing_baseline_and_forgets_what_is_no_longer_needed(space: Workspace, run, capsys: Capsys):
    profile, baseline = space.profile_path(ID), space.golden / "baselines" / f"{ID}.yaml"
    good = profile.read_bytes()
    profile.write_bytes(good.replace(b"name: Tesla T4", b"name: Tesla T5"))
    baseline.unlink()
    assert run("derive") == 0
    assert f"pending {ID}: golden/baselines/{ID}.yaml, profiles/{ID}.yaml\n" in capsys.readouterr().out
    assert b"Tesla T5" in profile.read_bytes()
    assert run("accept", ID) == 0
    assert profile.read_bytes() == good
    assert run("check") == 0
    profile.write_bytes(good + b"# mine\n")
    run("derive")
    profile.write_bytes(good)
    assert run("derive") == 0
    assert pending.ids(space) == []


def test_derive_leaves_a_pending_import_alone(space: Workspace, again: None, run, capsys: Capsys):
    space.profile_path(ID).write_bytes(space.profile_path(ID).read_bytes() + b"# mine\n")
    capsys.readouterr()
    assert run("derive", ID) == 0
    assert capsys.readouterr().out.startswith(f"waits   {ID}: profiles/{ID}.yaml; another proposal")
    assert pending.load(space, ID).by == "import"


def test_a_proposal_whose_files_changed_since_is_refused_whole(space: Workspace, again: None, run, capsys: Capsys):
    space.profile_path(OTHER).write_bytes(space.profile_path(OTHER).read_bytes() + b"# mine\n")
    run("derive", OTHER)
    space.profile_path(OTHER).write_bytes(space.profile_path(OTHER).read_bytes() + b"# again\n")
    before = state(space.root)
    assert run("accept", "--all") == 1
    assert f"profiles/{OTHER}.yaml: changed since {OTHER} was proposed" in capsys.readouterr().err
    assert state(space.root) == before


@pytest.mark.parametrize("first", ["accept", "reject"])
@pytest.mark.parametrize("second", ["accept", "reject"])
def test_of_two_decisions_at_once_the_first_stands(first: str, second: str, space: Workspace, again: None, monkeypatch: pytest.MonkeyPatch):
    decide = {"accept": lambda: deciding.accept(space, [ID], "Ada", "good"), "reject": lambda: deciding.reject(space, [ID], "Bob", "bad")}
    stood: list[goldens.Golden] = []
    settle = staging.settle

    def overtaken(*arguments: object) -> object:
        monkeypatch.setattr(staging, "settle", settle)
        decide[first]()
        stood.append(goldens.load(space.golden / f"{ID}.yaml"))
        return settle(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(staging, "settle", overtaken)
    with pytest.raises(GateError, match=f"pending/{ID}: another command decided or changed it meanwhile; nothing was written"):
        decide[second]()
    assert [goldens.load(space.golden / f"{ID}.yaml")] == stood
    assert guard.run(["check", "--root", str(space.root)]) == 0


def test_a_proposed_file_that_was_edited_is_not_accepted_and_can_be_rejected(space: Workspace, again: None, run, capsys: Capsys):
    path = space.root / pending.place(ID) / "profiles" / f"{ID}.yaml"
    path.write_bytes(path.read_bytes() + b"# mine\n")
    assert run("accept", ID) == 3
    assert "not the file that was proposed" in capsys.readouterr().err
    assert run("reject", ID, "--reason", "edited") == 0


@pytest.mark.parametrize("how", ["variable", "option"])
@pytest.mark.parametrize("command", [["import", "x.xml"], ["derive"], ["accept", "--all"], ["reject", ID, "--reason", "x"], ["review"]])
def test_ci_writes_nothing_and_names_what_is_pending(command, how, space: Workspace, again: None, run, capsys: Capsys, monkeypatch):
    before = state(space.root)
    capsys.readouterr()
    if how == "variable":
        monkeypatch.setenv("CI", "true")
    assert run(*command, *(["--ci"] if how == "option" else [])) == 1
    assert f"in CI nothing is written: run nvparity {command[0]} elsewhere, or with --no-ci; pending: {ID}\n" in capsys.readouterr().err
    assert state(space.root) == before


def test_ci_fails_on_what_is_pending_and_on_missing_and_unused_baselines_by_name(space: Workspace, later: Path, run, capsys: Capsys, monkeypatch):
    """BL-077."""
    monkeypatch.setenv("CI", "1")
    assert run("check") == 0
    monkeypatch.delenv("CI")
    run("import", str(later), "--id", ID)
    monkeypatch.setenv("CI", "1")
    (space.golden / "baselines" / f"{OTHER}.yaml").replace(space.golden / "baselines" / "gone.yaml")
    capsys.readouterr()
    before = state(space.root)
    assert run("check") == 1
    said = capsys.readouterr().out
    assert f"drift: .pending/{ID}: pending; accept or reject it" in said
    assert f"drift: {OTHER}: view L has neither a golden nor a baseline" in said
    assert "drift: golden/baselines/gone.yaml: no capture of that id" in said
    assert state(space.root) == before
    assert run("check", OTHER, "--no-ci") == 1  # a missing baseline fails anywhere


def test_unreferenced_files_are_listed_and_removed_only_when_asked(space: Workspace, run, capsys: Capsys):
    strays = ["golden/baselines/gone.yaml", "golden/gone.yaml", f"captures/{ID}/note.txt"]
    for stray in strays:
        (space.root / stray).write_text("x\n")
    before = state(space.root)
    assert run("pending") == 0
    said = capsys.readouterr().out
    assert all(f"unreferenced: {stray} belongs to no capture" in said for stray in strays)
    assert run("accept", "--all") == 5
    assert state(space.root) == before
    assert run("accept", "--unreferenced") == 0
    assert set(before) - set(state(space.root)) == set(strays)
    assert run("check") == 0


def walked(space: Workspace, *answers: str) -> tuple[dict[str, int], str]:
    """A review with these answers: what was done, and what was shown."""
    stream, given = io.StringIO(), iter(answers)

    def ask(prompt: str) -> str:
        assert prompt
        try:
            return next(given)
        except StopIteration:
            raise EOFError from None

    return reviewing.walk(space, pending.ids(space), "ann", Console(file=stream, width=200), ask), stream.getvalue()


def test_a_review_shows_each_difference_and_does_what_is_answered(space: Workspace, later: Path, again: None, run):
    done, shown = walked(space, "?", "s")
    assert done == {"accepted": 0, "rejected": 0, "skipped": 1}
    assert f"1/1 {ID}: import again: other bytes, another profile; rendered from the mock library: 0 findings\n" in shown
    assert "    ~ gpu/temperature/gpu_temp (GPU 0): '33 C' -> '41 C'\n" in shown
    assert walked(space, "q")[0]["skipped"] == walked(space)[0]["skipped"] == walked(space, "r", "")[0]["skipped"] == 1
    assert walked(space, "r", "fan was off")[0]["rejected"] == 1
    assert goldens.load(space.golden / f"{ID}.yaml").rejected[0].why == "fan was off"
    run("import", str(later), "--id", ID)
    done, shown = walked(space, "A")
    assert done["accepted"] == 1
    assert "rejected before by ann: fan was off" in shown
    assert goldens.load(space.golden / f"{ID}.yaml").by == "ann"


def test_a_review_without_a_terminal_says_the_commands_to_use(space: Workspace, later: Path, run, capsys: Capsys):
    assert run("review") == 5
    run("import", str(later), "--id", ID)
    assert run("review") == 4
    assert f"needs a terminal; without one: nvparity accept {ID}, or nvparity reject {ID} --reason TEXT" in capsys.readouterr().err


def test_two_proposals_that_change_one_file_are_not_accepted_together(space: Workspace, later: Path, run, capsys: Capsys):
    text = later.read_text().replace("595.91.07", "596.10").replace("\t\t<fan_speed>", "\t\t<fan_noise>7 dB</fan_noise>\n\t\t<fan_speed>")
    later.write_text(text)
    for name in ("one", "two"):
        assert run("import", str(later), "--id", name, "--pending") == 0
    before = state(space.root)
    assert run("accept", "--all") == 1
    assert "one and two both change profiles/drivers/596.10.yaml" in capsys.readouterr().err
    assert state(space.root) == before
    assert run("accept", "one") == 0
    assert run("check") == 0


def test_a_proposed_driver_node_that_would_not_print_a_capture_imported_since_is_refused(space: Workspace, later: Path, run, capsys: Capsys):
    text = later.read_text().replace("595.91.07", "596.10")
    later.write_text(text.replace("\t\t<fan_speed>N/A</fan_speed>\n", ""))
    assert run("import", str(later), "--id", "one", "--pending") == 0
    (space.root / pending.FOLDER).rename(space.root / "aside")  # the node is not there when the next one comes, and is another's afterwards
    later.write_text(text)
    assert run("import", str(later), "--id", "two") == 0
    (space.root / "aside").rename(space.root / pending.FOLDER)
    before = state(space.root)
    assert run("accept", "one") == 1
    assert "no longer print two" in capsys.readouterr().err
    assert state(space.root) == before


def test_an_import_says_what_became_of_the_elements_of_another_capture(space: Workspace, later: Path, run, capsys: Capsys):
    later.write_bytes(later.read_bytes().replace(b"<fan_speed>N/A<", b"<fan_speed>30 %<"))
    assert run("import", str(later), "--id", "b", "--compare", "t4") == 0
    said = capsys.readouterr().out
    assert "compared with t4: driver 595.91.07 -> 595.91.07, GPUs 1 -> 1\n" in said
    assert "  state (value or not): 1\n    gpu/fan_speed: 'N/A' -> a value\n" in said
    assert run("import", str(later), "--id", "c", "--compare", "b", "--json") == 0
    assert json.loads(capsys.readouterr().out)["compared"]["steps"] == []
    before = state(space.root)
    assert run("import", str(later), "--id", "d", "--compare", "nothing") == 3
    assert state(space.root) == before


@pytest.mark.hostile
@pytest.mark.parametrize("command", ["accept", "reject"])
def test_a_decision_killed_at_any_step_is_taken_back_or_done(command: str, space: Workspace, again: None, run, capsys: Capsys):
    before = state(space.root)
    arguments = [command, ID, *(["--reason", "x"] if command == "reject" else [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for steps in range(12):
        call = [sys.executable, "-c", KILLED, str(steps), *arguments, "--by", "ann", "--root", str(space.root)]
        done = subprocess.run(call, env=environment, check=False, capture_output=True)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL
        capsys.readouterr()
        if pending.ids(space) and deciding.stale(space, pending.load(space, ID)):  # files of both are in place
            assert run("check") == 1
            assert "half done by a command that was killed; nvparity pending takes it back" in capsys.readouterr().err
        assert run("pending") == 0
        if pending.ids(space):
            assert state(space.root) == before
        else:
            assert run("check") == 0
            break
    assert steps >= 2
    assert pending.ids(space) == []
    assert not list(space.root.glob(".import-*"))
    assert run("check") == 0
