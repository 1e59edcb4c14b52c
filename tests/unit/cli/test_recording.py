"""``nvparity record --root``: the folder is made where it is not there, and nothing is left of it where nothing was recorded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard, recording
from harness.words.errors import MissingError


def test_a_folder_that_is_not_there_is_made_and_kept_with_what_is_in_it(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "node"
    with recording._folder(str(root)):
        (root / "captures").mkdir()
    assert (root / "captures").is_dir()


def test_a_folder_in_which_nothing_was_recorded_goes_again_but_not_one_that_was_there(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("node", "mine"):
        with pytest.raises(RuntimeError), recording._folder(str(tmp_path / name)):
            raise RuntimeError
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(MissingError, match=r"file/node: cannot be made: "), recording._folder(str(tmp_path / "file" / "node")):
        pass


@pytest.mark.usefixtures("served_library")
def test_a_node_without_a_driver_leaves_no_folder(tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVPARITY_IMAGE", str(tmp_path / "none.nvpimg"))
    status = guard.run(["record", "--views", "none", "--library", str(library_path), "--root", str(tmp_path / "node"), "--no-ci"])
    assert status == 4
    assert not (tmp_path / "node").exists()


def test_a_library_named_from_here_is_asked_and_sampled(tmp_path: Path, nvml_stub: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    library = nvml_stub(seed=5)
    monkeypatch.chdir(library.parent)
    words = ["record", "--views", "none", "--library", library.name, "--interval", "0.001", "--count", "2", "--id", "x", "--no-ci"]
    assert guard.run([*words, "--root", str(tmp_path / "node")]) == 0
    assert (tmp_path / "node" / "captures" / "x" / "timeline.txt").is_file()


def test_in_ci_the_mode_that_writes_nothing_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guard.run(["record", "--views", "none", "--root", str(tmp_path / "node"), "--ci"]) == 1
    assert "run nvparity record elsewhere, with --no-ci, or with --mode none, which reports alone\n" in capsys.readouterr().err
