"""Workspaces: found upward, asked for ids, short names and profiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stores.workspace import Workspace, check_id
from harness.words.errors import InputError, MissingError, UsageError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("captures/t4-x1_1.2", "golden", "profiles", "deep/er"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "captures/t4-x1_1.2/sidecar.yaml").write_text("format: 1\n")
    (tmp_path / "captures/half").mkdir()
    (tmp_path / "profiles/t4-x1_1.2.yaml").write_text("version: '1.0'\n")
    (tmp_path / "profiles/boards.yaml").write_text("format: 1\nboards: {t4: t4-x1_1.2}\n")
    return tmp_path


def test_the_nearest_folder_upward_with_captures_and_golden_is_found(root: Path):
    assert Workspace.find(start=root / "deep/er").root == root.resolve()


def test_without_such_a_folder_the_option_is_named(tmp_path: Path):
    with pytest.raises(MissingError, match="--root DIR"):
        Workspace.find(start=tmp_path)


def test_a_root_that_is_no_folder_is_bad_input(tmp_path: Path):
    with pytest.raises(InputError, match="not a folder"):
        Workspace.find(tmp_path / "nowhere")


def test_ids_are_the_folders_with_a_sidecar(root: Path):
    assert Workspace(root).ids() == ["t4-x1_1.2"]


def test_a_short_name_selects_its_capture_once(root: Path):
    assert Workspace(root).select(("t4", "t4-x1_1.2")) == ["t4-x1_1.2"]


def test_an_unknown_name_is_a_usage_error_with_the_nearest(root: Path):
    with pytest.raises(UsageError, match=r"did you mean 't4-x1_1\.2'"):
        Workspace(root).select(("t4-x1_1.3",))


@pytest.mark.parametrize("reference", ["t4", "t4-x1_1.2"])
def test_a_profile_is_found_by_id_and_short_name(root: Path, reference: str):
    assert Workspace(root).locate_profile(reference) == root / "profiles/t4-x1_1.2.yaml"


def test_a_profile_is_found_by_path(root: Path):
    path = root / "profiles/t4-x1_1.2.yaml"
    assert Workspace(root / "deep").locate_profile(str(path)) == path.resolve()


def test_a_missing_profile_path_says_so(root: Path):
    with pytest.raises(InputError, match="no such profile file"):
        Workspace(root).locate_profile("./x.yaml")


def test_boards_of_another_shape_are_refused(root: Path):
    (root / "profiles/boards.yaml").write_text("format: 1\nboards: [t4]\n")
    with pytest.raises(InputError, match="boards:"):
        Workspace(root).short_names()


def test_a_folder_is_called_one(root: Path):
    with pytest.raises(InputError, match="profiles: is a folder; give a profile file, an id or a short name"):
        Workspace(root).locate_profile(str(root / "profiles"))


@pytest.mark.parametrize("name", ["a", "GT-1030.x_1", "9", "h100-sxm5-x8_580.105.08"])
def test_ids_may_be_any_letters_digits_dots_dashes(name: str):
    assert check_id(name) == name


@pytest.mark.parametrize("name", ["", ".hidden", "..", "a/b", "a b", "é", "x" * 129, "a\n", "boards", "rules", "SOURCES.md", "README.md", "Boards"])
def test_other_ids_are_usage_errors(name: str):
    with pytest.raises(UsageError):
        check_id(name)
