"""The outline of `nvidia-smi -q`: indents, the column of the colons, headings, entries without a line, sentences, empty lines."""

from __future__ import annotations

from harness.text import outline_writer
from harness.text.model import BARE, SENTENCE, Node, leaf, tree
from harness.text.outline_writer import OutlineLayout

HEAD = "\n==============NVSMI LOG==============\n\n"


def written(*children: Node, column: int = 12) -> str:
    return outline_writer.write(tree("nvsmi_log", list(children)), OutlineLayout(column=column, end=1))


def test_texts_stand_in_one_column_whatever_their_depth():
    made = written(leaf("A", "1"), tree("B", [leaf("C", "2"), tree("D", [leaf("E", "")])]))
    assert made == HEAD + "A           : 1\nB\n    C       : 2\n    D\n        E   : \n"


def test_a_label_past_the_column_pushes_its_colon_only():
    assert written(leaf("A label of length", "x"), leaf("B", "y"), column=4) == HEAD + "A label of length: x\nB   : y\n"


def test_a_text_may_have_lines_below_it():
    node = leaf("HW", "Active")
    node.children = [leaf("Thermal", "No")]
    assert written(node) == HEAD + "HW          : Active\n    Thermal : No\n"


def test_an_attribute_is_a_heading_and_blank_an_empty_line():
    gpu = tree("gpu", [leaf("Name", "x")], {"GPU": "0000:01"})
    gpu.blank = True
    assert written(gpu, gpu) == HEAD + "GPU 0000:01\n    Name    : x\n\nGPU 0000:01\n    Name    : x\n"


def test_an_entry_without_a_line_leaves_its_children_where_it_stands():
    entry = Node("process_info", children=[leaf("PID", "7")], form=BARE)
    assert written(tree("Processes", [entry, entry])) == HEAD + "Processes\n" + 2 * "    PID     : 7\n"


def test_a_sentence_stands_alone():
    assert written(Node("gpu", "Unable: Not Found", form=SENTENCE, blank=True)) == HEAD + "Unable: Not Found\n"
