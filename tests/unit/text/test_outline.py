"""`-q` text as an outline: paths, layouts, kinds, lines that are none of it, and refusals."""

from __future__ import annotations

import re

import pytest

from harness.text import outline, transcript
from harness.text.outline_writer import OutlineLayout
from harness.words.errors import InputError
from tests.unit.text import samples


def read(text: str) -> outline.Outline:
    """The outline of ``text``, which survives its transcript."""
    found = outline.read(text.encode(), "q.txt")
    written = transcript.dump(found)
    again = transcript.load(written, "t.txt")
    assert again == found
    assert found.to_bytes() == again.to_bytes() == text.encode()
    assert transcript.dump(again) == written
    return found


def test_readings_have_the_labels_above_them_for_a_path():
    found = read(samples.text(2))
    assert found.kind == "own"
    assert found.verbatim_lines == 0
    leaves = dict(found.root.leaves())
    assert leaves["Driver Version"] == found.get("Driver Version") == "570.148.08"
    assert leaves["gpu[1]/Clocks Event Reasons/HW Slowdown"] == "Not Active"
    assert leaves["gpu[1]/Clocks Event Reasons/HW Slowdown/HW Thermal Slowdown"] == "Not Active"
    assert leaves["gpu[0]/GPU Memory Power Readings /Power Draw"] == "N/A"
    assert leaves["gpu[0]/Atomic Caps Outbound"] == "CAS_32 CAS_64 "
    assert leaves["gpu[0]/Processes/Process ID[1]"] == "9"
    assert leaves["gpu[0]/Processes/Process ID[0]/Name"] == "/home/somebody/train: fast"
    assert [gpu.attributes for gpu in found.gpus] == [{"GPU": "00000000:01:00.0"}, {"GPU": "00000000:02:00.0"}]


def test_what_all_gpus_share_is_one_line_of_the_transcript():
    written = transcript.dump(read(samples.text(2)))
    assert "gpu 0-1\n  @GPU: 00000000:01:00.0 | 00000000:02:00.0\n  Product Name: NVIDIA A100-SXM4-40GB\n" in written
    assert '    HW Slowdown: Not Active\n      HW Thermal Slowdown: Not Active\n  "GPU Memory Power Readings "\n' in written


def sliced(prefix: str, text: str) -> str:
    """``text`` as a document has it, ``prefix`` before each line."""
    return "".join(f"{prefix}{line}\n" if line else "\n" for line in text.split("\n")[:-2])


@pytest.mark.parametrize(
    ("change", "kind", "layout"),
    [
        (lambda text: text[1:-1], "own", OutlineLayout(before=0, end=1)),
        (lambda text: text.rstrip("\n"), "own", OutlineLayout(end=0)),
        (lambda text: text.replace("\n", "\r\n"), "own", OutlineLayout(eol="\r\n")),
        (lambda text: text.replace(" : ", f"{' ' * 13} : "), "own", OutlineLayout(column=55)),
        (lambda text: re.sub("^(?: {4})+", lambda found: "\t" * (len(found[0]) // 4), text, flags=re.MULTILINE), "re-indented", None),
        (lambda text: sliced("# ", text), "re-indented", OutlineLayout(prefix="# ", end=1)),
        (lambda text: sliced("      ", text), "re-indented", OutlineLayout(prefix="      ", end=1)),
        (lambda text: text + "\n\n", "re-indented", OutlineLayout(end=4)),
        (lambda text: "\ufeff" + text, "re-indented", OutlineLayout(bom=True)),
    ],
)
def test_layouts(change, kind, layout):
    found = read(change(samples.text(2)))
    assert found.kind == kind
    assert layout is None or found.layout == layout
    assert found.get("gpu[1]/GPU UUID") == samples.UUIDS[1]
    assert found.get("gpu[1]/Clocks Event Reasons/HW Slowdown/HW Thermal Slowdown") == "Not Active"


def test_colons_of_a_section_may_stand_elsewhere():
    text = samples.text(1)
    head, processes = text.split("    Processes\n")
    found = read(head.replace(" : ", f"{' ' * 13} : ") + "    Processes\n" + processes)
    assert (found.kind, found.verbatim_lines, found.layout) == ("own", 0, OutlineLayout(column=55, inner=(("Processes", 42),)))


def test_lines_that_are_no_labels_are_kept_and_told():
    text = samples.text(1)
    lost = "Unable to determine the device handle for GPU0000:02:00.0: GPU is lost\n"
    found = read(f'$ nvidia-smi -q\n{text}        "#;\n        assert!(it.is_ok());\n}}\n{lost}')
    assert found.kind == "re-indented"
    assert [note.line for note in found.notes] == [1, 29, 30, 31, 32]
    assert [(gpu.address, gpu.reason) for gpu in found.lost] == [("0000:02:00.0", "GPU is lost")]
    assert list(found.root.leaves()) == list(outline.read(text.encode()).root.leaves())


@pytest.mark.parametrize("line", ["    ...\n", "[...]\n", "<snip>\n", "--- truncated ---\n"])
def test_a_text_that_says_it_was_cut_is_trimmed(line):
    found = read(samples.text(1).rstrip("\n") + "\n" + line)
    assert found.kind == "trimmed"
    assert found.cut


def test_fewer_gpus_than_attached_are_a_trimmed_capture():
    assert read(samples.text(1, attached=2)).kind == "trimmed"
    assert not outline.read(samples.text(1, attached=2).encode()).cut
    assert outline.read(samples.text(1).encode(), edited=True).kind == "edited"


def test_a_label_deeper_than_its_place_is_no_reading():
    found = read(samples.text(1).replace("    Serial Number ", f"{' ' * 20}Serial Number "))
    assert found.get("gpu[0]/Serial Number") is None
    assert found.verbatim_lines == 1


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "q.txt: empty"),
        (b"hello\n", "q.txt: not an nvidia-smi capture: it starts 'hello'; capture with `nvidia-smi -q`"),
        (samples.text(1).encode() * 2, "q.txt:29: another output of `nvidia-smi -q` begins (the first at line 2, 2 in all); give each in a file"),
        (b"==============NVSMI LOG==============\n", "q.txt:1: no reading stands below the first line"),
        (b"\xff\xfe=\0=\0", "q.txt: UTF-16 text"),
        (b"=NVSMI LOG=\n" + b"GPU 00000000:01:00.0\n" * 1025, "q.txt:1026: more than 1024 GPUs"),
        (b"=NVSMI LOG=\nGPU 00000000:01:00.0\n" + b"".join(b"    " * n + b"A\n" for n in range(1, 20)), "q.txt:19: labels nested more than 16"),
        (b"x" * (8 << 20) + b"=NVSMI LOG=\n", "q.txt: too large"),
    ],
)
def test_refusals(data, what):
    with pytest.raises(InputError) as refused:
        outline.read(data, "q.txt")
    assert str(refused.value).startswith(what)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("layout: own", "layout: column=ten", "t.txt:4: 'ten' is no column"),
        ("layout: own", "layout: colum=10", "t.txt:4: 'colum' is no key of a layout (did you mean 'column'?)"),
        ("layout: own", 'layout: prefix="x"', 't.txt:4: "x" stands before no line'),
        ("view: q\n", "view: q:lower\n", "t.txt:2: 'q:lower' is no view"),
        ("layout: own", "layout: own\ndoctype: nvsmi_device_v12.dtd", "t.txt:5: the transcript of a `-q` text has neither doctype nor indent"),
        ("  Product Name: NVIDIA", "      Product Name: NVIDIA", "t.txt:12: Product Name: indented deeper than its place"),
        ('"GPU Memory Power Readings "', '"GPU Memory \\q"', "t.txt:19: \\q"),
    ],
)
def test_what_is_wrong_in_a_transcript_is_named_with_its_line(old, new, what):
    written = transcript.dump(outline.read(samples.text(1).encode()))
    assert old in written
    with pytest.raises(InputError) as refused:
        transcript.load(written.replace(old, new, 1), "t.txt")
    assert str(refused.value).startswith(what)


def test_a_verbatim_line_must_not_say_another_reading():
    written = transcript.dump(outline.read(samples.text(1).replace("Product Name    ", "Product Name").encode()))
    assert "verbatim 9+1:" in written
    with pytest.raises(InputError, match="a verbatim line says another reading"):
        transcript.load(written.replace("  Product Name: NVIDIA A100-SXM4-40GB\n", "  Product Name: NVIDIA A10\n"), "t.txt")


def test_views_of_sections_are_told_apart():
    found = outline.read(samples.text(1).encode())
    found.sections = ("MEMORY", "PAGE_RETIREMENT")
    again = transcript.load(transcript.dump(found))
    assert isinstance(again, outline.Outline)
    assert (again.view, again.sections) == ("q:MEMORY,PAGE_RETIREMENT", found.sections)
    assert [outline.is_view(name) for name in ("q", "q:ECC", "q-x", "q:", "q:ecc", "L")] == [True, True, False, False, False, False]


def test_a_line_of_many_blanks_is_read_in_one_pass():
    long = "    Serial" + " " * 1_000_000
    found = outline.read((samples.text(1).rstrip("\n") + f"\n{long}!\n{long}: 1\n").encode())
    assert found.get("gpu[0]/Serial") == "1"
    assert len(found.notes) == 1


def test_a_column_that_no_layout_has_is_not_taken_for_the_texts():
    wide = "".join(f"    Label{number}{' ' * 1500}: 1\n" for number in range(4)) + "    Other:1\n" * 20
    found = read("==============NVSMI LOG==============\n\nGPU 00000000:01:00.0\n" + wide)
    assert found.layout.column == OutlineLayout().column
