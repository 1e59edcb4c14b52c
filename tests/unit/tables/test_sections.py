"""What -d of some sections leaves of a driver's `-q` text."""

from __future__ import annotations

import pytest

from harness.tables import drivers, sections
from harness.tables.layout import Element, parse_element
from harness.words.errors import UsageError

TREE = parse_element(
    {
        "nvsmi_log": {
            "elements": [
                {"Timestamp": "a"},
                {
                    "gpu": {
                        "attributes": {"GPU": "b"},
                        "elements": [
                            {"Name": "c"},
                            {"Power": {"display": ["POWER"], "elements": [{"Draw": "d"}]}},
                            {"Power Samples": {"display": ["POWER"], "on_request": True, "elements": [{"Max": "e"}]}},
                            {"Both": {"row": "f", "display": ["ECC", "POWER"]}},
                        ],
                    }
                },
            ]
        }
    },
    "test",
)


def names(root: Element) -> list[str]:
    gpu = root.child("gpu")
    assert gpu
    return [child.name for child in gpu.children]


def test_without_sections_everything_but_what_is_printed_on_request():
    assert names(sections.select(TREE, ())) == ["Name", "Power", "Both"]


def test_a_section_prints_what_names_it_with_all_below_and_the_head():
    selected = sections.select(TREE, ["POWER"])
    assert names(selected) == ["Power", "Power Samples", "Both"]
    assert [path for path, _ in selected.walk()][:2] == ["nvsmi_log", "nvsmi_log/Timestamp"]
    assert selected.child("gpu").child("Power").children[0].name == "Draw"


def test_sections_combine_in_the_order_of_the_text():
    assert names(sections.select(TREE, ["ECC"])) == ["Both"]
    assert names(sections.select(TREE, ["ECC", "POWER"])) == names(sections.select(TREE, ["POWER", "ECC"])) == ["Power", "Power Samples", "Both"]


def test_a_section_that_the_driver_has_not_is_refused_with_the_nearest():
    assert sections.parse("ECC,POWER", TREE, "1.2") == sections.parse("ecc,,Power,", TREE, "1.2") == ("ECC", "POWER")
    with pytest.raises(UsageError, match=r"driver 1\.2 has no section 'POWR' of -q \(did you mean 'POWER'\?\); it has POWER, ECC"):
        sections.parse("ECC,POWR", TREE, "1.2")
    for nothing in ("", ",", "ECC, POWER"):
        with pytest.raises(UsageError, match="has no section"):
            sections.parse(nothing, TREE, "1.2")


@pytest.mark.parametrize(
    ("version", "more"), [("470.256.02", set()), ("535.274.02", {"RESET_STATUS"}), ("550.163.01", {"RESET_STATUS", "GSP_FIRMWARE_VERSION"})]
)
def test_the_sections_are_those_that_the_binarys_help_names(version: str, more: set[str]):
    every = (
        "MEMORY UTILIZATION ECC TEMPERATURE POWER CLOCK COMPUTE PIDS PERFORMANCE SUPPORTED_CLOCKS PAGE_RETIREMENT ACCOUNTING ENCODER_STATS "
        "SUPPORTED_GPU_TARGET_TEMP VOLTAGE FBC_STATS ROW_REMAPPER"
    )
    assert set(sections.names(drivers.load().resolve(version).text)) == {*every.split(), *more}
