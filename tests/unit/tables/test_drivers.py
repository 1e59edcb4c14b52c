"""The driver tree: shipped nodes, resolution, a workspace's nodes."""

from __future__ import annotations

import pytest

from harness.tables import drivers, rows, serving
from harness.words.errors import InputError
from harness.words.state import State
from mocklib import fields
from mocklib.spec import FIELDLESS

VERSIONS = [version.text for version in drivers.load().versions()]
WRITTEN = ["375.66", "470.74", "525.147.05", "535.274.02", "550.163.01", "555.58.02", "570.148.08", "580.105.08", "595.91.07"]
"""Nodes written by hand; the others are those that imports made."""


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


def node(tmp_path, version, text):
    folder = tmp_path / "profiles" / "drivers"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{version}.yaml").write_text(f'format: 1\nversion: "{version}"\n{text}')
    return tmp_path


def test_the_nodes_written_by_hand_are_there(tree):
    assert set(WRITTEN) <= set(VERSIONS)


@pytest.mark.parametrize(
    ("asked", "node", "assumed"),
    [("580.105.08", "580.105.08", False), ("470.256.02", "470.74", False), ("580.65.06", "570.148.08", True), ("590.47", "590.44.01", True),
     ("375.66", "375.66", False), ("590.44.01", "590.44.01", False), ("470.9", "460.106.00", True),
     ("375.82", "384.66", True), ("384.111", "384.66", True), ("352.39", "384.66", True), ("700.1", "595.91.07", True),
     ("610.57.04", "610.57.04", True)],
)  # fmt: skip
def test_a_version_takes_its_own_node_else_the_nearest_older_else_the_oldest(tree, asked, node, assumed):
    driver = tree.resolve(asked)
    assert (driver.version.text, driver.node.text, driver.assumed) == (asked, node, assumed)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_row_a_layout_needs_has_a_route_that_the_driver_can_ask(tree, version):
    driver = tree.resolve(version)
    for row in drivers.needed_rows(driver.layout):
        route = driver.routes[row]
        if route.kind == "slot":
            assert route.target in driver.slots, row
        if route.kind == "fieldvalue":
            assert route.target in driver.field_ids, row
        for operand in route.operands:
            assert operand in rows.load(), row
        driver.form(row)


@pytest.mark.parametrize("version", VERSIONS)
def test_what_answers_a_field_id_or_slot_is_a_field_of_the_image(tree, version):
    driver = tree.resolve(version)
    for name in driver.field_ids:
        assert all(field in fields.device_fields() for _, field in serving.fieldvalues()[name].scopes), name
    for name, slot in driver.slots.items():
        if slot.shape not in FIELDLESS:
            assert serving.slot_fields()[name] in fields.device_fields(), name


@pytest.mark.parametrize("version", VERSIONS)
def test_no_two_slots_of_a_driver_share_a_number_and_id(tree, version):
    numbers = [(slot.number, slot.key) for slot in tree.resolve(version).slots.values()]
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize(
    ("version", "way"),
    [
        ("460.73.01", "in_step"),
        ("460.106.00", "in_step"),
        ("535.274.02", "in_step"),
        ("550.163.01", "by_pid"),
        ("595.91.07", "by_pid"),
    ],
)
def test_what_the_mps_list_marks_is_the_drivers(tree, version, way):
    assert tree.resolve(version).lists == {"processes": way}


def test_slots_that_no_binary_of_the_branch_confirmed_are_assumed(tree):
    for version in ("570.148.08", "580.105.08", "595.91.07"):
        driver = tree.resolve(version)
        bases = {driver.routes[row].basis for row in drivers.needed_rows(driver.layout) if driver.routes[row].kind == "slot"}
        assert bases <= {"assumed"}
    assert not [row for row, route in tree.resolve("550.163.01").routes.items() if route.basis == "assumed"]


@pytest.mark.parametrize(
    ("version", "basis"), [("470.9", "slot"), ("515.48.07", "assumed"), ("535.100", "slot"), ("550.40.07", "assumed"), ("560.35.03", "assumed")]
)
def test_the_private_table_is_assumed_where_no_binary_of_the_branch_showed_it(tree, version, basis):
    """535.100 stands under 535.54.03, which has its branch's own table; 550.40.07 under 536.40, whose table no binary of 550 showed."""
    assert {route.basis for route in tree.resolve(version).routes.values() if route.kind == "slot"} == {basis}


def test_a_literal_has_its_evidence_beside_it(tree):
    for version in VERSIONS:
        for row, route in tree.resolve(version).routes.items():
            assert route.kind != "literal" or route.why, row


def test_texts_stand_for_states_and_a_value_for_none(tree):
    driver = tree.resolve("595.91.07")
    assert driver.state_of("N/A") is State.NOT_SUPPORTED
    assert driver.state_of("Requested functionality has been deprecated") is State.DEPRECATED
    assert driver.state_of("Insufficient Permissions") is State.NO_PERMISSION
    assert driver.state_of("GPU is lost") is State.GPU_LOST
    assert driver.state_of("0") is None
    assert driver.text_of(4711) == ""


def test_a_row_is_printed_in_the_drivers_own_format(tree):
    assert tree.resolve("470.74").form("brand").text(11) == "NVIDIA vGaming"
    assert tree.resolve("550.163.01").form("brand").text(11) == "NVIDIA Cloud Gaming"
    assert tree.resolve("550.163.01").form("architecture").text(10) == "Unknown"
    assert tree.resolve("570.148.08").form("architecture").text(10) == "Blackwell"


def test_a_workspaces_node_wins_over_the_shipped_one(tmp_path):
    root = node(tmp_path, "580.105.08", 'parent: "570.148.08"\nseen: ["580.105.08"]\nchanges: [{remove: gpu/voltage}]\n')
    driver = drivers.load(root).resolve("580.105.08")
    paths = [path for path, _ in driver.layout.walk()]
    assert "nvidia_smi_log/gpu/voltage" not in paths
    assert "nvidia_smi_log/gpu/display_attached" not in paths


def test_a_workspaces_node_does_not_stand_under_the_shipped_children_of_its_version(tmp_path, tree):
    root = node(tmp_path, "580.105.08", 'parent: "570.148.08"\nchanges: [{remove: gpu/ecc_errors}]\n')
    assert drivers.load(root).resolve("595.91.07").layout == tree.resolve("595.91.07").layout


def test_null_takes_an_entry_of_the_parent_away(tmp_path):
    root = node(tmp_path, "600.1", 'parent: "595.91.07"\nslots: {gpu_part_number: null}\ntexts: {26: null}\n')
    driver = drivers.load(root).resolve("600.1")
    assert "gpu_part_number" not in driver.slots
    assert driver.text_of(26) == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('parent: "596.1"\n', "has no node"),
        ('parent: "600.1"\n', "own ancestor"),
        ('parent: "595.91.07"\nroutes: {nmae: {call: f}}\n', "did you mean 'name'"),
        ('parent: "595.91.07"\nroutes: {name: {call: f, slot: g}}\n', "exactly one"),
        ('parent: "595.91.07"\nchange: []\n', "did you mean 'changes'"),
        ('parent: "595.91.07"\nchanges: [{add: gpu, after: null, element: {x: nosuchrow}}]\n', "unknown row"),
        ('parent: "595.91.07"\nslots: {x: {number: 3, shape: u64}}\n', "shape"),
        ('parent: "595.91.07"\nlists: {processes: sometimes}\n', "processes by_pid, processes in_step"),
        ('parent: "595.91.07"\nlists: {clocks: by_pid}\n', "clocks"),
    ],
)
def test_a_node_that_does_not_hold_is_refused_with_its_file(tmp_path, text, said):
    root = node(tmp_path, "600.1", text)
    with pytest.raises(InputError, match=said) as caught:
        drivers.load(root).resolve("600.1")
    assert "600.1.yaml" in str(caught.value)


def test_a_format_of_the_future_is_refused(tmp_path):
    folder = tmp_path / "profiles" / "drivers"
    folder.mkdir(parents=True)
    (folder / "x.yaml").write_text('format: 3\nversion: "600.1"\n')
    with pytest.raises(InputError, match="format 3"):
        drivers.load(tmp_path)


def test_every_rows_field_is_a_key_or_an_image_field():
    from harness.stores.schema import keys

    known = (
        set(keys.device_keys()) | set(fields.device_fields()) | {"clock.at", "system.driver_version", "system.cuda_version", "system.num_devices", ""}
    )
    assert {row.field for row in rows.load().values()} <= known


def test_every_function_a_row_asks_is_one_the_library_has():
    functions = fields.function_index()
    for version in VERSIONS:
        for row, route in drivers.load().resolve(version).routes.items():
            if route.kind == "call":
                assert route.target in functions, (version, row)


def test_text_that_neither_a_binary_nor_a_text_showed_is_assumed():
    tree = drivers.load()
    shown = {version.text: not tree.resolve(version).in_text().assumed for version in tree.versions() if version.branch in (470, 535, 550, 580)}
    assert all(shown[version] for version in ("470.74", "535.274.02", "550.163.01"))
    assert not shown["535.54.03"], "its binary is that of another release, and no text of its own is there"
    assert tree.resolve("550.163.01").in_text().layout is tree.resolve("550.163.01").text
