"""The reader of `mig -lgi` and `mig -lci`."""

from __future__ import annotations

import pytest

from harness.discovery import rows
from harness.discovery.rows import Row

BOTH = pytest.mark.parametrize("compatible", [False, True])

LGI_450 = """+----------------------------------------------------+
| GPU instances:                                     |
| GPU   Name          Profile  Instance   Placement  |
|                       ID       ID       Start:Size |
|====================================================|
|   0  MIG 2g.10gb       14        3          4:2    |
+----------------------------------------------------+
"""
LGI_470 = """+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   1  MIG 2g.10gb          14        3          4:2    |
+-------------------------------------------------------+
|   1  MIG 1g.24gb+me...    65       11          0:1    |
+-------------------------------------------------------+
"""
LGI_580 = """+---------------------------------------------------------+
| GPU instances:                                          |
| GPU   Name               Profile  Instance   Placement  |
|                            ID       ID       Start:Size |
|=========================================================|
|   0  MIG 1g.24gb+me.all    65       11          0:1    |
+---------------------------------------------------------+
"""
LCI = """+--------------------------------------------------------------------+
| Compute instances:                                                 |
| GPU     GPU       Name             Profile   Instance   Placement  |
|       Instance                       ID        ID       Start:Size |
|         ID                                                         |
|====================================================================|
|   0      2       MIG 1c.3g.20gb       0         0          0:1     |
+--------------------------------------------------------------------+
|   0      2       MIG 2c.3g.20gb       1         1          1:2     |
+--------------------------------------------------------------------+
"""
LCI_FIRST = """+-------------------------------------------------------+
| Compute instances:                                    |
| GPU     GPU       Name             Profile   Instance |
|       Instance                       ID        ID     |
|         ID                                            |
|=======================================================|
|   0      2       MIG 1c.3g.20gb       0         4     |
+-------------------------------------------------------+
"""


@BOTH
@pytest.mark.spec("DM80", "DM83", "DF4")
@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("|   1  MIG 2g.20gb  14   3   2:2   |", [Row(1, "2g.20gb", 14, 3, -1, "2:2")]),
        (LGI_450, [Row(0, "2g.10gb", 14, 3, -1, "4:2")]),
        (LGI_470, [Row(1, "2g.10gb", 14, 3, -1, "4:2"), Row(1, "1g.24gb+me...", 65, 11, -1, "0:1")]),
        (LGI_580, [Row(0, "1g.24gb+me.all", 65, 11, -1, "0:1")]),
    ],
)
def test_rows_of_gpu_instances_are_read_in_every_layout(text: str, made: list[Row], compatible: bool) -> None:
    assert list(rows.read(text, compatible=compatible).rows) == made


@BOTH
@pytest.mark.spec("DM81", "DM83", "DF4")
@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("| 2 5 MIG 1g.10gb 0 1 0:1 |", [Row(2, "1g.10gb", 0, 5, 1, "0:1")]),
        (LCI, [Row(0, "1c.3g.20gb", 0, 2, 0, "0:1"), Row(0, "2c.3g.20gb", 1, 2, 1, "1:2")]),
    ],
)
def test_rows_of_compute_instances_are_read(text: str, made: list[Row], compatible: bool) -> None:
    assert list(rows.read(text, compatible=compatible).rows) == made


@pytest.mark.spec("DM86")
def test_the_first_table_of_compute_instances_has_no_placement() -> None:
    assert rows.read(LCI_FIRST).rows == (Row(0, "1c.3g.20gb", 0, 2, 4, ""),)
    assert rows.read(LCI_FIRST, compatible=True).rows == ()


@BOTH
@pytest.mark.spec("DM82", "DM85")
def test_one_reader_takes_both_tables_and_sorts_nothing(compatible: bool) -> None:
    text = "   | 2 5 MIG b 0 1 0:1 |  \n|0 MIG a 19 7 0:1|\n| 0 MIG a 19 3 0:1 |"
    assert [(row.gpu, row.gpu_instance, row.compute_instance) for row in rows.read(text, compatible=compatible).rows] == [
        (2, 5, 1),
        (0, 7, -1),
        (0, 3, -1),
    ]


@BOTH
@pytest.mark.spec("DM84")
@pytest.mark.parametrize("text", ["No GPU instances found: Not Found\n", "No compute instances found: Not Found", "No MIG-enabled devices found."])
def test_a_sentence_is_no_row(text: str, compatible: bool) -> None:
    made = rows.read(text, compatible=compatible)
    assert (made.rows, made.said) == ((), (text.strip(),))


@BOTH
@pytest.mark.spec("DM83")
def test_an_empty_text_and_a_bare_frame_have_no_rows(compatible: bool) -> None:
    assert rows.read("", compatible=compatible).rows == rows.read("+---+\n|   |\n|===|\n", compatible=compatible).rows == ()


@BOTH
@pytest.mark.spec("DM86")
@pytest.mark.parametrize("placement", ["2", "2:", ":2", "a:b", "2-2", "{0,2}:2"])
def test_a_row_whose_placement_is_not_start_and_size_is_passed_over(placement: str, compatible: bool) -> None:
    text = f"| GPU Placement |\n| 1 MIG 2g.20gb 14 3 {placement} |\n| 2 5 MIG 1g.10gb 0 1 {placement} |"
    assert rows.read(text, compatible=compatible).rows == ()


@BOTH
@pytest.mark.spec("DM82")
def test_white_space_around_a_row_does_not_matter(compatible: bool) -> None:
    text = b"\r\x0c | 0 MIG a 19 7 0:1 | \x0b\r\n\r| 1 MIG b 19 7 0:1 |\r\r\n"
    assert [row.gpu for row in rows.read(text, compatible=compatible).rows] == [0, 1]


@pytest.mark.spec("DM80", "DM81")
def test_compatible_columns_stand_apart_by_the_white_space_of_the_source() -> None:
    text = "|\xa00\xa0MIG a 19 7 0:1 |\n| 0 MIG a\xa0b 19 7 0:1 |\n\xa0| 2 5 MIG c\xa00 1 0:1 |\u2003"
    assert [row.profile for row in rows.read(text).rows] == ["a", "c"]
    assert [row.profile for row in rows.read(text, compatible=True).rows] == ["a\xa0b"]


LGI_BARE = "\n".join(line for line in LGI_470.replace("1g.24gb+me...", "1g.10gb").split("\n") if "---" not in line)


def test_rows_without_rulers_between_them_are_read() -> None:
    assert [row.profile for row in rows.read(LGI_BARE).rows] == ["2g.10gb", "1g.10gb"]
    assert [row.compute_instance for row in rows.read(LCI_FIRST.replace("-", "").replace("+", "")).rows] == [4]


@pytest.mark.parametrize(
    ("row", "names", "whole"),
    [
        (Row(0, "1g.24gb+me...", 65, 3), [], "1g.24gb+me.all"),
        (Row(0, "2g.48gb+me...", 64, 1), [], "2g.48gb+me.all"),
        (Row(0, "1g.24gb+me...", 99, 3), ["1g.24gb+me.all", "1g.24gb", "1g.24gb+me"], "1g.24gb+me.all"),
        (Row(0, "1g.24gb+me...", 99, 3), ["1g.24gb+me.all", "1g.24gb+me.odd"], "1g.24gb+me..."),
        (Row(0, "1g.24gb+me...", 99, 3), ["1g.24gb+me", "2g.48gb+me.all", "1g.24gb+me.a..."], "1g.24gb+me..."),
        (Row(1, "1g.24gb+me...", 99, 3), ["1g.24gb+me.all"], "1g.24gb+me..."),
        (Row(0, "1g.24gb+gf...", 65, 3), [], "1g.24gb+gf..."),
        (Row(0, "1g.24gb-me", 67, 3), ["1g.24gb-me.x"], "1g.24gb-me"),
    ],
)
def test_a_name_that_the_table_cut_is_whole_again_where_one_alone_fits(row: Row, names: list[str], whole: str) -> None:
    (made,) = rows.completed([row], {0: names})
    assert (made.profile, made.profile_id, made.gpu) == (whole, row.profile_id, row.gpu)


@pytest.mark.parametrize(
    ("cut", "of", "whole"),
    [
        ("1c.2g.48gb+...", "2g.48gb+me.all", "1c.2g.48gb+me.all"), ("1c.2g.48gb+...", "2g.48gb+gfx", "1c.2g.48gb+gfx"),
        ("2g.148gb+me...", "2g.148gb+me.all", "2g.148gb+me.all"), ("1c.2g.48gb+...", "2g.48gb+me...", "1c.2g.48gb+..."),
        ("1c.2g.48gb+...", "4g.96gb+gfx", "1c.2g.48gb+..."),
    ],
)  # fmt: skip
def test_a_compute_instance_goes_on_as_its_gpu_instance_does(cut: str, of: str, whole: str) -> None:
    (made,) = rows.completed([Row(0, cut, 0, 3, 0, "0:1")], {}, [Row(0, of, 64, 3), Row(0, "2g.48gb+odd", 1, 4), Row(1, "2g.48gb+odd", 1, 3)])
    assert made.profile == whole


@pytest.mark.spec("DM94")
def test_a_row_as_json_leaves_out_an_empty_placement() -> None:
    assert Row(0, "1g.5gb", 19, 7, -1, "0:1").to_dict() == {
        "gpu": 0, "profile": "1g.5gb", "profile_id": 19, "gpu_instance": 7, "compute_instance": -1, "placement": "0:1",
    }  # fmt: skip
    assert "placement" not in Row(0, "1g.5gb", 19, 7).to_dict()
