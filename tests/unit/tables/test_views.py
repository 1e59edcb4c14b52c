"""The views of nvidia-smi: none can change a device, and those with every field ask the binary which it has."""

from __future__ import annotations

import pytest

from harness.tables import views
from harness.words.errors import InputError, UsageError

QUERIES = ("gpu", "compute-apps", "accounted-apps", "retired-pages", "remapped-rows", "supported-clocks")
READING = {
    "": {
        *("-q", "-x", "-L", "-B", "-u", "-d", "--dtd", "--help", "--format", "--version"),
        *(f"--{what}-{name}" for name in QUERIES for what in ("query", "help-query")),
    },
    "topo": {"-m", "-mp", "-c", "-n", "-p", "-p2p", "-C", "-M", "-i"},
    "nvlink": {"-s", "-c", "-e", "-p", "-R", "-gt", "-i", "--info"},
    "mig": {"-lgip", "-lgi", "-lci", "-lcip"},
    "dmon": {"-c"},
    "pmon": {"-c"},
    "conf-compute": {"-f"},
    "vgpu": {"-q"},
    "compute-policy": {"-l"},
    "boost-slider": {"-l"},
    "power-hint": {"-l"},
    "gpm": {"-g"},
    "pci": {"-gCnt"},
    "base-clocks": set(),
}
"""Subcommand -> the options of nvidia-smi that only read (its manual); every other one may write."""
VALUES = {"SUPPORTED_CLOCKS", "0", "1", "2", "0,1", "r", "d"}


def options(arguments: tuple[str, ...]) -> tuple[str, list[str]]:
    """The subcommand of a command line, and its options."""
    first = arguments[0] if arguments and not arguments[0].startswith("-") else ""
    rest = arguments[1:] if first else arguments
    return first, [argument.partition("=")[0] for argument in rest if argument not in VALUES]


@pytest.mark.parametrize("view", views.table().views, ids=lambda view: view.name)
def test_no_view_holds_an_option_that_writes(view):
    for arguments in (view.arguments, view.fields):
        subcommand, given = options(arguments)
        assert subcommand in READING
        assert set(given) <= READING[subcommand], f"{view.name}: {' '.join(arguments)} has an option that is not known to read only"


WRITING = [("-pm", "1"), ("-e", "0"), ("-c", "3"), ("mig", "-cgi", "19"), ("nvlink", "-r", "0"), ("drain", "-m", "1"), ("-r",)]


@pytest.mark.parametrize("written", WRITING)
def test_an_option_that_writes_would_be_seen(written):
    subcommand, given = options(written)
    assert subcommand not in READING or not set(given) <= READING[subcommand]


def test_query_and_list_must_be_whole_and_the_query_comes_first():
    assert [view.name for view in views.load() if view.must_be_whole] == ["q-x", "L"]
    assert views.load()[0].name == "q-x"


def test_every_field_that_the_binary_lists_is_asked():
    text = b"""List of valid properties:

"timestamp"
The "time" of the query.

"name" or "gpu_name"
Its name. "0: Default" means nothing.
"2: Prohibited" means no field.

"pci.bus_id" or "gpu_bus_id"
"""
    assert views.fields_of(text) == ["timestamp", "name", "pci.bus_id"]
    query = next(view for view in views.load() if view.name == "query-gpu")
    assert query.command(views.fields_of(text)) == ("--query-gpu=timestamp,name,pci.bus_id", "--format=csv")


def test_views_are_chosen_by_name():
    assert views.select("none") == ()
    assert views.select("all") == views.load()
    assert [view.name for view in views.select("topo-m, q")] == ["q-x", "L", "q", "topo-m"]
    for words, said in (("topo", "no view 'topo' .did you mean 'topo-m'"), ("", "names no view"), ("none,q", "'none' stands alone")):
        with pytest.raises(UsageError, match=said):
            views.select(words)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{arguments: -q}", "`arguments` and `fields` are lists"),
        ("{arguments: [-q], must_be_whole: often}", "true or false"),
        ("{arguments: ['--query-gpu={fields}']}", "stands in the arguments of a view that says how"),
        ("{argument: [-q]}", "a view has arguments, ends, fields, matrix_only, must_be_whole, none, since"),
        ("{arguments: [-q], since: new}", "`since` is a branch"),
        ("{arguments: [-q], ends: {0: fine}}", "exit status, 1 to 255, to the reason"),
        ("{arguments: [-q], ends: {6: }}", "exit status, 1 to 255, to the reason"),
    ],
)
def test_a_table_that_is_off_is_refused_with_its_line(tmp_path, entry, said):
    path = tmp_path / "views.yaml"
    path.write_text(f"format: 1\nviews:\n  x: {entry}\n")
    with pytest.raises(InputError, match=rf"views\.yaml:3: .*{said}"):
        views.load(path)


def test_a_recording_takes_what_is_not_for_the_matrix_alone():
    alone = {view.name for view in views.table().views if view.matrix_only}
    assert {"help", "dmon", "pmon"} <= alone
    assert alone.isdisjoint(view.name for view in views.load())
    assert [view.name for view in views.choose("dmon,q")] == ["q", "dmon"]
    assert views.choose("all") == views.table().views
    with pytest.raises(UsageError, match=r"no view 'dmom' .did you mean 'dmon'"):
        views.choose("dmom")
    with pytest.raises(UsageError, match="no view 'dmon'"):
        views.select("dmon")


def test_a_status_that_means_the_view_is_unknown_is_no_view_s_own_on_a_branch_that_answers_so():
    table = views.table()
    assert set(table.unknown) == {2, 255}
    assert all(why for view in table.views for why in view.ends.values())
