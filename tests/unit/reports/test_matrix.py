"""The matrix as text, JSON and page: profiles that give the same share a line, and the page is read back as it was written."""

from __future__ import annotations

from harness.reports import matrix
from harness.stages.matrix.cells import EMPTY, FAULT, REFUSED, UNKNOWN, VALUES, Cell
from harness.tables.views import View

VIEWS = (View("topo-m", ("topo", "-m"), ends={255: "no topology is known"}), View("query-gpu", ("--query-gpu={fields}",), ("--help-query-gpu",)))


def cell(profile: str, branch: int, view: str, outcome: str, status: int = 0, **rest: object) -> Cell:
    return Cell(profile, branch, view, outcome, status, **rest)  # type: ignore[arg-type] # the record's own names and types


CELLS = [
    *(cell(name, 340, "topo-m", UNKNOWN, 2) for name in ("a", "b", "c")),
    *(cell(name, 550, "topo-m", REFUSED, 255, said="Failed") for name in ("a", "c")),
    cell("b", 550, "topo-m", VALUES),
    *(cell(name, branch, "query-gpu", VALUES, given=(3, 4)) for name in ("a", "b", "c") for branch in (340, 550)),
]


def test_profiles_that_give_the_same_share_a_line_and_the_most_come_first():
    assert matrix.lines(CELLS) == [
        matrix.Line("topo-m", ("-", "255"), ("a", "c")),
        matrix.Line("topo-m", ("-", "values"), ("b",)),
        matrix.Line("query-gpu", ("values", "values"), ("a", "b", "c")),
    ]


def test_fields_with_a_value_are_counted_where_one_profile_is_shown():
    text = matrix.text([one for one in CELLS if one.profile == "b"], [340, 550], VIEWS)
    assert "query-gpu  3/4  3/4" in text
    assert "3/4" not in matrix.text(CELLS, [340, 550], VIEWS)


def test_what_is_said_instead_of_readings_stands_with_its_reason():
    text = matrix.text(CELLS, [340, 550], VIEWS)
    assert "topo-m: 255: Failed (550): no topology is known\n" in text
    assert "2 views x 2 binaries x 3 profiles = 12 cells, each run twice: 7 values, 2 refused, 3 unknown; 0 with faults" in text


def test_a_fault_is_told_with_its_place():
    faulty = [*CELLS, cell("d", 340, "topo-m", UNKNOWN, 2), cell("d", 550, "topo-m", FAULT, -11, faults=("ends by SIGSEGV",))]
    text = matrix.text(faulty, [340, 550], VIEWS)
    assert "d 550 topo-m: ends by SIGSEGV\n" in text
    assert text.endswith("1 with faults\n")


def test_the_page_is_read_back_as_it_was_written():
    page = matrix.page(CELLS, [340, 550], VIEWS)
    assert matrix.read_page(page) == {
        "topo-m": [(("-", "255"), ()), (("-", "values"), ("b",))],
        "query-gpu": [(("values", "values"), ())],
    }
    assert "| - | 255 | all others: 2 |" in page


def test_json_has_every_cell():
    document = matrix.document([cell("a", 340, "topo-m", EMPTY)], {340: "340.108"})
    assert document["binaries"] == {"340": "340.108"}
    assert [(one["profile"], one["branch"], one["view"], one["outcome"]) for one in document["cells"]] == [("a", 340, "topo-m", "empty")]
