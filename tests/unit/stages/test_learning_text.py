"""What a `-q` text teaches of its driver: labels by the rows of `-q -x`, entries without a line, columns, the parent it needs fewest changes from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.stages import derive_node, derive_node_labels, derive_node_view, seen
from harness.stages.derive_walk import VALUE, Walker
from harness.stages.importing import selecting
from harness.tables import drivers
from harness.tables.layout import Element
from harness.text import outline
from harness.text.model import BARE, Node
from harness.words.version import DriverVersion
from tests.unit.text import samples

TREE = drivers.load()


def outlined(text: str) -> outline.Outline:
    return outline.read(text.encode(), "q.txt")


def test_entries_without_a_line_are_grouped_where_a_label_comes_again():
    entry = Element("Process", bare=True, repeat="processes", children=(Element("GPU instance ID"), Element("Process ID")))
    labels = ["GPU instance ID", "Process ID", "GPU instance ID", "Process ID"]
    node = derive_node_view.grouped(Node("Processes", children=[Node(label, "1") for label in labels]), Element("Processes", children=(entry,)))
    assert [(child.tag, child.form, [inner.tag for inner in child.children]) for child in node.children] == [("Process", BARE, labels[:2])] * 2
    assert [step for step, _ in node.steps()] == ["GPU instance ID[0]", "Process ID[0]", "GPU instance ID[1]", "Process ID[1]"]


def test_members_of_entries_are_read_with_the_number_of_their_entry():
    found = outlined(samples.text(1))
    driver = seen.by(found, TREE.resolve("555.58.02"))
    read = {(one.row, one.entry): one.raw for one in Walker(found, driver).readings() if one.kind == VALUE and one.entry}
    assert read["process.pid", (0,)] == 7
    assert read["process.pid", (1,)] == 9
    assert read["process.name", (1,)] == "x"


def test_a_line_with_lines_below_it_is_a_reading_and_so_are_they():
    found = outlined(samples.text(1))
    rows = {one.row for one in Walker(found, seen.by(found, TREE.resolve("555.58.02"))).readings()}
    assert {"clocks_throttle_reasons.hw_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown"} <= rows


def test_a_label_that_no_text_has_is_the_row_of_that_name_with_its_predicate():
    driver = TREE.resolve("595.91.07").in_text()
    gpu = driver.layout.child("gpu")
    assert gpu is not None
    told = ("Unheard Of", "gpu pdi", "Unrepairable Memory")
    root = Element("nvsmi_log", children=(replace(gpu, children=(*gpu.children, *(Element(label) for label in told))),))
    named, donors = derive_node_labels.named(root, driver, TREE)
    made = {child.name: (child.row, str(child.when)) for child in named.children[0].children if child.name in told}
    assert made["Unheard Of"] == (None, "None")
    assert made["gpu pdi"] == ("pdi", "None")
    assert made["Unrepairable Memory"] == ("repair.unrepairable_memory", "arch>=ampere")
    assert {"pdi", "repair.unrepairable_memory"} <= donors.keys()


def test_a_label_that_several_rows_have_names_none():
    driver = TREE.resolve("595.91.07").in_text()
    root = Element("nvsmi_log", children=(Element("gpu", children=(Element("Current"), Element("Total"))),))
    assert [child.row for child in derive_node_labels.named(root, driver, TREE)[0].children[0].children] == [None, None]


@pytest.mark.parametrize(("version", "column"), [("550.99", 42), ("550.99", 55)])
def test_a_version_of_a_measured_branch_is_a_child_of_that_branch(version: str, column: int):
    text = samples.text(1).replace("570.148.08", version).replace(" : ", f"{' ' * (column - 42)} : ")
    learnt = derive_node.learn(outlined(text), TREE.resolve(version), TREE)
    assert learnt is not None
    parent = DriverVersion(str(learnt.spec["parent"]))
    assert parent.branch == 550
    assert not TREE.resolve(parent).in_text().assumed
    assert ("text_column" in learnt.spec) == (column != 42)
    assert "changes" not in learnt.spec


def test_a_text_with_something_cut_out_teaches_nothing():
    assert derive_node.learn(outlined(samples.text(1) + "...\n"), TREE.resolve("550.99"), TREE) is None


def test_a_node_of_text_alone_has_assumed_elements_and_one_of_queries_alone_an_assumed_text():
    assert (TREE.resolve("610.57.04").assumed, TREE.resolve("610.57.04").in_text().assumed) == (True, False)
    assert (TREE.resolve("595.91.07").assumed, TREE.resolve("595.91.07").in_text().assumed) == (False, True)
    assert (TREE.resolve("470.256.02").assumed, TREE.resolve("470.256.02").in_text().assumed) == (False, False)
    assert (TREE.resolve("999.1").assumed, TREE.resolve("999.1").inherited, TREE.resolve("610.57.04").inherited) == (True, True, False)


@pytest.mark.parametrize(
    ("labels", "sections"),
    [
        (["FB Memory Usage", "BAR1 Memory Usage", "Conf Compute Protected Memory Usage"], ("MEMORY",)),
        (["Retired Pages"], ("PAGE_RETIREMENT",)),
        (["Utilization", "Retired Pages"], ()),
        (["Product Name", "FB Memory Usage"], ()),
    ],
)
def test_sections_are_told_by_the_labels_they_print(labels: list[str], sections: tuple[str, ...]):
    found = outlined(samples.text(1))
    found.gpus[0].children = [Node(label, children=[Node("Total", "1 MiB")]) for label in labels]
    told = selecting.told(found, TREE.resolve("550.163.01").in_text())
    assert told == sections
