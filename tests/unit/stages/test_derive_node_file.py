"""The file of a driver node that gains something keeps what somebody wrote into it."""

from __future__ import annotations

import pytest

from harness.stages import derive_node_file
from harness.tables import strictyaml

TEXT = """\
# As the parent.
format: 1
version: "595.91.07"
parent: "580.105.08"
seen: ["595.91.07"]
# Where the layout differs.
changes:
  # found in a capture
  - {add: gpu, after: power_profiles, element: {edpp_multiplier: power.edpp_multiplier_percent}}
  - {remove: gpu/x}

# Ids of the header.
field_ids:
    NVML_FI_DEV_EDPP_MULTIPLIER: 274  # new in 595
functions: [nvmlDeviceGetA]
"""


def spec(**more):
    found = dict(strictyaml.load(TEXT, "x").value)
    for key, value in more.items():
        old = found.get(key)
        found[key] = [*old, *value] if isinstance(old, list) else {**old, **value} if isinstance(old, dict) else value
    return found


def rewritten(**more):
    made = derive_node_file.rewrite(TEXT, spec(**more))
    assert strictyaml.load(made, "x").value == spec(**more)
    return made


def test_nothing_new_is_the_same_text():
    assert rewritten() == TEXT


def test_changes_and_ids_stand_behind_those_that_are_there():
    made = rewritten(changes=[{"add": "gpu", "after": None, "element": {"a": {"elements": [{"b": "c"}]}}}], field_ids={"B": 2})
    lines = made.splitlines()
    assert [line for line in lines if line in TEXT.splitlines()] == TEXT.splitlines()
    assert lines.index("  - add: gpu") > lines.index("  - {remove: gpu/x}")
    assert "    B: 2" in lines


def test_a_key_that_is_new_stands_at_the_end():
    assert rewritten(dtd="x.dtd") == f"{TEXT}dtd: x.dtd\n"


def test_a_list_on_one_line_is_written_anew_and_the_comments_stay():
    made = rewritten(functions=["nvmlDeviceGetB"])
    assert made.startswith(TEXT[: TEXT.index("functions")])


@pytest.mark.parametrize("text", ["format: 1\nversion: '1.2'\nchanges: []\n", "# only\nformat: 1\nversion: '1.2'\n"])
def test_a_node_without_changes_gets_them(text: str):
    wanted = {**strictyaml.load(text, "x").value, "changes": [{"remove": "gpu/a"}]}
    made = derive_node_file.rewrite(text, wanted)
    assert strictyaml.load(made, "x").value == wanted
    assert made.startswith(text[:8])
