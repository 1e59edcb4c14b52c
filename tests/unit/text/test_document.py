"""A `-q -x` text becomes a tree with its layout, and the same bytes again."""

from __future__ import annotations

import pytest

from harness.text import document
from tests.unit.text import samples


def read(text: str | bytes, **options: bool) -> document.Document:
    data = text.encode() if isinstance(text, str) else text
    found = document.read(data, "q.xml", **options)
    assert found.to_bytes() == data
    return found


def test_own_layout_needs_no_verbatim_line_and_no_exception():
    found = read(samples.query(2))
    assert found.kind == document.OWN
    assert (found.verbatim, found.notes, found.layout) == ([], [], document.Layout())
    assert found.doctype == "nvsmi_device_v12.dtd"


def test_paths_index_gpus_and_repeated_tags_only():
    found = dict(read(samples.query(2)).root.leaves())
    assert found["driver_version"] == "570.148.08"
    assert found["gpu[1]/temperature/gpu_temp"] == "32 C"
    assert found["gpu[0]/supported_clocks/supported_mem_clock[0]/supported_graphics_clock[3]"] == "210 MHz"
    assert found["gpu[0]/mig_devices"] == "None"
    assert found["gpu[0]/processes"] == found["gpu[0]/platformInfo/chassis_serial_number"] == ""


def test_forms_of_elements_are_told_apart():
    gpu = read(samples.query()).gpus[0]
    forms = {path: node.form for path, node in gpu.walk()}
    assert forms["mig_devices"] == document.BLOCK
    assert forms["processes"] == document.EMPTY
    assert forms["platformInfo/chassis_serial_number"] == document.LINE
    assert forms["platformInfo"] == document.TREE


def test_get_gives_the_text_of_a_leaf_and_nothing_for_a_tree_or_a_stranger():
    found = read(samples.query())
    assert found.get("gpu[0]/serial") == found.get("gpu/serial") == "1739402683821"
    assert found.get("gpu[0]/platformInfo") is None
    assert found.get("gpu[1]/serial") is None


def test_a_built_tree_is_written_in_own_layout():
    root = document.tree(
        "nvidia_smi_log",
        [
            document.leaf("attached_gpus", "1"),
            document.tree(
                "gpu",
                [document.leaf("name", "A & B"), document.block("mig_devices", "None"), document.empty("processes")],
                {"id": "0:1"},
            ),
        ],
    )
    text = document.Document(root, doctype="x.dtd").to_bytes()
    assert text == (
        b'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "x.dtd">\n<nvidia_smi_log>\n\t<attached_gpus>1</attached_gpus>\n'
        b'\t<gpu id="0:1">\n\t\t<name>A &amp; B</name>\n\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n\t\t<processes>\n\t\t</processes>\n'
        b"\t</gpu>\n\n</nvidia_smi_log>\n"
    )
    assert read(text).root == root


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda text: text.replace("\t", "    "), {"unit": "    "}),
        (lambda text: text.replace("\n\n", "\n"), {"gap": False}),
        (lambda text: text.split("\n", 2)[2], {"declaration": None}),
        (lambda text: text.replace('version="1.0" ', 'version="1.0" encoding="UTF-8"'), {"declaration": '<?xml version="1.0" encoding="UTF-8"?>'}),
        (lambda text: "\ufeff" + text, {"bom": True}),
        (lambda text: text + "\n", {"end": 2}),
        (lambda text: text.replace("<processes>\n\t\t</processes>", "<processes/>"), {"closing": "/>"}),
        (lambda text: text.replace("\n\t", "\n"), {"indents": ("", "", "\t", "\t\t", "\t\t\t")}),
    ],
)
def test_other_layouts_are_one_line_of_facts(change, what):
    found = read(change(samples.query(2)))
    assert {name: getattr(found.layout, name) for name in what} == what
    assert found.kind == document.REINDENTED
    assert found.verbatim == []


@pytest.mark.parametrize("change", [lambda text: text.rstrip("\n"), lambda text: text.replace("\n", "\r\n")])
def test_a_cut_off_last_line_end_and_windows_line_ends_are_still_own(change):
    assert read(change(samples.query(2))).kind == document.OWN


def test_fewer_blocks_than_attached_gpus_is_trimmed():
    assert read(samples.query(1, attached=4)).kind == document.TRIMMED


def test_a_gpu_that_could_not_be_opened_is_not_trimmed_away():
    text = "Unable to determine the device handle for GPU 0000:04:00.0: Unknown Error\n" + samples.query(1, attached=2)
    found = read(text)
    assert found.kind == document.REINDENTED
    assert [note.line for note in found.notes] == [1]


def test_no_gpu_at_all_is_a_capture():
    assert read(samples.query(0)).kind == document.OWN


def test_edited_is_told_by_the_giver():
    assert read(samples.query(), edited=True).kind == document.EDITED


def test_one_line_indented_otherwise_is_an_exception_of_its_element():
    found = read(samples.query().replace("\t\t\t<slot_number>", "        <slot_number>"))
    assert found.root.find("gpu[0]/platformInfo/slot_number").indent == "        "
    assert found.verbatim == []


@pytest.mark.parametrize(
    "addition",
    [
        "<!-- taken by hand\n  GPU-1\n-->\n",
        "\t<!-- one --><!-- two -->\n",
    ],
)
def test_comments_are_kept_and_noted_and_not_counted_as_verbatim(addition):
    found = read(samples.query().replace("\t<timestamp>", addition + "\t<timestamp>"))
    assert found.verbatim_lines == 0
    assert [part.comment for part in found.verbatim] == [True]
    assert found.kind == document.REINDENTED
    assert found.notes


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("<gpu_temp>31 C</gpu_temp>\n", "<gpu_temp>31 C</gpu_temp>  \n"),
        ("<gpu_temp>31 C</gpu_temp>\n", "<gpu_temp\n>31 C</gpu_temp >\n"),
        ("<gpu_temp>31 C</gpu_temp>\n", "<gpu_temp>31<!-- x --> C</gpu_temp>\n"),
        ("<gpu_temp>31 C</gpu_temp>\n", "<gpu_temp><![CDATA[31 C]]></gpu_temp>\n"),
        ("<gpu_temp>31 C</gpu_temp>\n", "<gpu_temp>3&#49; C</gpu_temp>\n"),
        ("\t\t<temperature>\n\t\t\t<gpu_temp>31 C</gpu_temp>\n", "\t\t<temperature><gpu_temp>31 C</gpu_temp>\n"),
    ],
)
def test_odd_writing_is_kept_verbatim_and_still_read(old, new):
    found = read(samples.query().replace(old, new))
    assert found.get("gpu[0]/temperature/gpu_temp") == "31 C"
    assert 0 < found.verbatim_lines <= 3


def test_several_elements_on_one_line_are_several_readings():
    text = samples.query().replace("</serial>\n\t\t<uuid>", "</serial><uuid>")
    found = read(text)
    assert found.get("gpu[0]/serial") == "1739402683821"
    assert found.get("gpu[0]/uuid") == samples.UUIDS[0]


def test_a_whole_capture_on_one_line_is_read():
    text = "".join(line.strip() for line in samples.query(2).split("\n"))
    found = read(text)
    assert dict(found.root.leaves()) == dict(read(samples.query(2)).root.leaves())


def test_text_between_elements_is_kept_and_noted():
    found = read(samples.query().replace("\t\t<uuid>", "\t\tGPU is lost\n\t\t<uuid>"))
    assert found.verbatim_lines == 1
    assert "GPU is lost" in found.notes[0].what


@pytest.mark.parametrize("name", ["A & B", 'say "1" & <b', "R&D <A100> & co", "5 < 6"])
def test_a_name_printed_without_escapes_is_read_and_reported(name):
    found = read(samples.query().replace("NVIDIA A100-SXM4-40GB", name))
    assert found.get("gpu[0]/product_name") == name
    assert found.root.find("gpu[0]/product_name").escape == document.PLAIN
    assert "not escaped" in found.notes[0].what
    assert found.verbatim == []


@pytest.mark.parametrize(
    ("written", "text", "escape"),
    [
        ("a &amp; b &lt;&gt; &quot;c&quot; &apos;", 'a & b <> "c" \'', document.FULL),
        ('a &amp; b &lt;&gt; "c" \'', 'a & b <> "c" \'', document.MINIMAL),
        ('it\'s > "5"', 'it\'s > "5"', document.PLAIN),
        ("&amp;amp;", "&amp;", document.FULL),
    ],
)
def test_each_way_of_escaping_is_kept(written, text, escape):
    found = read(samples.query().replace("NVIDIA A100-SXM4-40GB", written))
    node = found.root.find("gpu[0]/product_name")
    assert (node.text, node.escape, found.verbatim) == (text, escape, [])


def test_bytes_that_are_no_utf8_are_kept():
    data = samples.query().encode().replace(b"NVIDIA A100-SXM4-40GB", b"\xf8\x01\x00 A100")
    assert read(data).get("gpu[0]/product_name") == "\uf7f8\uf701\uf700 A100"


def test_a_process_name_over_two_lines_is_one_text():
    found = read(samples.query().replace("NVIDIA A100-SXM4-40GB", "two\nlines"))
    assert found.get("gpu[0]/product_name") == "two\nlines"
