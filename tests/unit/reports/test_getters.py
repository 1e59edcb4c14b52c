"""docs/getters.md says what a recording asks, as the list has it."""

from __future__ import annotations

from pathlib import Path

from harness.reports import getters
from mocklib import getters as listed
from mocklib.binding import function_names

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_in_step_with_the_list() -> None:
    page = (ROOT / "docs" / "getters.md").read_text("utf-8")
    assert page[page.index("\n| function |") - len(getters.total()) :] == getters.page(), "nvparity schema getters --table prints what belongs there"


def test_every_query_of_the_header_stands_in_the_page() -> None:
    page = (ROOT / "docs" / "getters.md").read_text("utf-8")
    rows = {line.split("`")[1]: line.split("|") for line in page.splitlines() if line.startswith("| `nvml")}
    assert list(rows) == list(listed.getters())
    assert {name for name in function_names() if name.startswith(("nvmlDeviceGet", "nvmlSystemGet", "nvmlUnitGet", "nvmlGet"))} <= set(rows)
    for name, getter in listed.getters().items():
        _, _, asked, calls, special, _ = rows[name]
        if getter.why_not is None:
            assert int(calls.strip().rstrip("+")) >= (0 if "each of" in asked else 1)
        else:
            assert (asked.strip(), calls.strip(), special.strip()) == ("not asked", "0", getter.why_not)


def test_a_row_says_its_sets_and_marks() -> None:
    rows = {line.split("`")[1]: line for line in getters.table().splitlines()[2:]}
    assert "| `type`: 0-4 (enum) | 5 | of a moment |" in rows["nvmlDeviceGetClockInfo"]
    assert "`serial` is scrubbed (serial)" in rows["nvmlDeviceGetSerial"]
    assert "`violTime.referenceTime` is not kept" in rows["nvmlDeviceGetViolationStatus"]
    assert "slow: " in rows["nvmlDeviceGetPcieThroughput"]
    assert "each GPU" in rows["nvmlDeviceGetP2PStatus"]
    assert "`fieldId` 185-192 with `scopeId` 0-3" in rows["nvmlDeviceGetFieldValues"]
