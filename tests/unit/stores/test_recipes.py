"""Recipes: read strictly, found in the workspace before the shipped ones, all of them named after their file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stores import recipes
from harness.stores.recipes import Event, Of
from harness.stores.workspace import Workspace
from harness.words.errors import InputError, UsageError

SHIPPED = ["driver-mismatch", "ecc-storm", "fabric-stuck", "fallen-off-bus", "lost", "power-throttle", "reset-required", "row-remap-failed",
           "row-remap-pending", "thermal-throttle", "xid-48", "xid-79", "xid-94", "zero-gpus"]  # fmt: skip
HEAD = "format: 1\nname: one\nshows: something\nsource: somewhere\nmoves: all\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "one.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_recipe_is_read_and_says_where_it_is_known_from(repository: Path) -> None:
    space = Workspace(repository)
    assert recipes.names(space) == SHIPPED
    for name in SHIPPED:
        found = recipes.find(space, name)
        assert found.name == name
        assert found.keys or found.node


def test_a_value_may_be_taken_from_another_key(tmp_path: Path) -> None:
    text = HEAD + "keys:\n  clocks.sm_current: {of: clocks.sm_max, percent: 25, add: 3}\n"
    text += "  thermal.temperature_gpu_c: {of: thermal.temperature_gpu_c, add: thermal.tlimit.margin_c, else: {of: thermal.slowdown_threshold_c,"
    text += " else: 90}}\n"
    found = recipes.load(written(tmp_path, text + "  utilization.gpu: 100\nevents: [{type: xid, data: 79}]\neverywhere: true\n"))
    inner = Of("thermal.slowdown_threshold_c", otherwise=90)
    hot = Of("thermal.temperature_gpu_c", add="thermal.tlimit.margin_c", otherwise=inner)
    assert found.keys == {"clocks.sm_current": Of("clocks.sm_max", 25, 3), "thermal.temperature_gpu_c": hot, "utilization.gpu": 100}
    assert (found.events, found.everywhere) == ((Event("xid", 79),), True)


def test_a_recipe_of_the_workspace_wins(tmp_path: Path) -> None:
    folder = tmp_path / "profiles" / "recipes"
    folder.mkdir(parents=True)
    (folder / "lost.yaml").write_text(HEAD.replace("one", "lost") + "keys: {failure.mode: lost}\n", encoding="utf-8")
    space = Workspace(tmp_path)
    assert recipes.find(space, "lost").shows == "something"
    assert recipes.names(space) == SHIPPED


def test_a_name_that_is_none_is_told_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no recipe 'xid-78' \(did you mean 'xid-79'\?\); there are driver-mismatch, "):
        recipes.find(Workspace(tmp_path), "xid-78")


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("- 1\n", 1, "a recipe is a mapping with format, name"),
        (HEAD.replace("format: 1", "format: 9"), 1, "format 9"),
        (HEAD + "key: {}\n", 6, "unknown key 'key' (did you mean 'keys'?)"),
        (HEAD.replace("shows: something\n", ""), 1, "'shows' is missing or no text"),
        (HEAD.replace("somewhere", "[a]") + "keys: {failure.mode: lost}\n", 4, "'source' is missing or no text"),
        (HEAD.replace("name: one", "name: two"), 2, "name 'two' in a file called one.yaml"),
        (HEAD, 1, "a recipe has keys, node or events"),
        (HEAD + "everywhere: 1\n", 6, "'everywhere' is true or false"),
        (HEAD + "keys: [a]\n", 6, "'keys' is a mapping of dotted keys"),
        (HEAD + "keys:\n  failure.mod: lost\n", 7, "unknown key 'failure.mod' (did you mean 'failure.mode'?)"),
        (HEAD + "node:\n  system.init: 9\n", 7, "unknown key 'system.init' (did you mean 'system.init_status'?)"),
        (HEAD + "keys:\n  clocks.sm_current: {of: clocks.sm_mux}\n", 7, "unknown key 'clocks.sm_mux' (did you mean 'clocks.sm_max'?)"),
        (HEAD + "keys:\n  clocks.sm_current: {of: clocks.sm_max, add: clocks.sm_mux}\n", 7, "unknown key 'clocks.sm_mux'"),
        (HEAD + "keys:\n  clocks.sm_current: {of: [clocks.sm_max]}\n", 7, "unknown key"),
        (HEAD + "keys:\n  clocks.sm_current: {of: clocks.sm_max, percent: 1.5}\n", 7, "'percent' is a whole number of 32 bits"),
        (HEAD + "keys:\n  clocks.sm_current: {of: clocks.sm_max, parts: 1}\n", 7, "unknown key 'parts'"),
        (HEAD + "events: {}\nkeys: {failure.mode: lost}\n", 1, None),
        (HEAD + "events: 5\n", 6, "'events' is a list of {type, data}"),
        (HEAD + "events: [{type: xid}]\n", 6, "an event is {type: xid, data: a number above 0}"),
        (HEAD + "events: [{type: ecc, data: 3}]\n", 6, "an event is {type: xid"),
        (HEAD + "events: [{type: [], data: 3}]\n", 6, "an event is {type: xid"),
        (HEAD.replace("moves: all", "moves: []") + "keys: {failure.mode: lost}\n", 5, "'moves' is all, none or a list of row ids"),
        (HEAD.replace("moves: all", "moves: [recovery_actoin]") + "keys: {failure.mode: lost}\n", 5, "(did you mean 'recovery_action'?)"),
        (HEAD.replace("moves: all", "moves: [[]]") + "keys: {failure.mode: lost}\n", 5, "no row"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_line(text: str, line: int, said: str | None, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    if said is None:
        assert recipes.load(path).events == ()
        return
    with pytest.raises(InputError) as raised:
        recipes.load(path)
    assert str(raised.value).startswith(f"{path}:{line}: ")
    assert said in str(raised.value)
