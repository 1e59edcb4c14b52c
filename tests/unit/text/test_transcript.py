"""Transcripts: one reading a line, common values once, lossless, and clear about what is wrong."""

from __future__ import annotations

import difflib
import re

import pytest

from harness.text import document, transcript
from harness.text.model import Node, leaf
from harness.words.errors import InputError
from tests.unit.text import samples


def dumped(text: str) -> str:
    found = document.read(text.encode())
    written = transcript.dump(found)
    again = transcript.load(written, "t.txt")
    assert again == found
    assert again.to_bytes() == text.encode()
    assert transcript.dump(again) == written
    return written


def changed(one: str, other: str) -> list[str]:
    return [line for line in difflib.unified_diff(one.split("\n"), other.split("\n"), n=0, lineterm="") if re.match(r"[-+](?![-+])", line)]


def refusal(text: str) -> str:
    with pytest.raises(InputError) as raised:
        transcript.load(text, "t.txt")
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_the_whole_format_on_one_page():
    assert dumped(samples.query(2)) == (
        "format: 1\nview: q-x\nkind: own\nlayout: own\ndoctype: nvsmi_device_v12.dtd\n\n"
        "timestamp: Fri Aug 21 10:21:36 2026\ndriver_version: 570.148.08\nattached_gpus: 2\n"
        "gpu 0-1\n  @id: 00000000:01:00.0 | 00000000:02:00.0\n  product_name: NVIDIA A100-SXM4-40GB\n  mig_devices: [None]\n"
        "  serial: 1739402683821 | 1739402683822\n"
        "  uuid: GPU-11223344-5566-7788-99aa-bbccddeeff04 | GPU-11223344-5566-7788-99aa-bbccddeeff03\n"
        '  platformInfo\n    chassis_serial_number: ""\n    slot_number: N/A\n  temperature\n    gpu_temp: 31 C | 32 C\n'
        "  supported_clocks\n    supported_mem_clock: {1215 MHz: 255..210/-15}\n  processes: []\n"
    )


@pytest.mark.parametrize("gpus", [1, 2])
def test_one_changed_reading_changes_one_line(gpus):
    text = samples.query(gpus)
    before = transcript.dump(document.read(text.encode()))
    places = list(re.finditer(r">([^<>\n]+)</", text))
    assert len(places) >= 11 * gpus
    for place in places:
        after = transcript.dump(document.read((text[: place.start(1)] + "changed 1" + text[place.end(1) :]).encode()))
        lines = [line for line in changed(before, after) if not line[1:].startswith("kind:")]
        assert [line[0] for line in lines] == ["-", "+"], place.group()


def test_gpus_of_other_shape_show_what_they_lack():
    text = samples.query(2)
    at = text.index("\t\t<temperature>", text.index(samples.UUIDS[1]))
    end = text.index("\t\t<supported_clocks>", at)
    written = dumped(text[:at] + "\t\t<fan_speed>30 %</fan_speed>\n" + text[end:])
    assert "  fan_speed: ~ | 30 %\n" in written
    assert "    gpu_temp: 31 C | ~\n" in written


def test_gpus_whose_elements_change_places_stand_apart():
    text = samples.query(2)
    serial = re.findall(r"\t\t<serial>.*\n", text)[1]
    uuid = re.findall(r"\t\t<uuid>.*\n", text)[1]
    written = dumped(text.replace(serial + uuid, uuid + serial))
    assert re.findall(r"^gpu .*", written, re.MULTILINE) == ["gpu 0", "gpu 1"]


def test_readings_before_between_and_after_gpus_keep_their_places():
    text = (
        samples.query(2)
        .replace("\n\n\t<gpu", "\n\n\t<between>1</between>\n\t<gpu", 1)
        .replace("</nvidia_smi_log>", "\t<after>2</after>\n</nvidia_smi_log>")
    )
    written = dumped(text)
    assert re.findall(r"^(?:gpu|between|after)\b.*", written, re.MULTILINE) == ["gpu 0", "between: 1", "gpu 1", "after: 2"]


@pytest.mark.parametrize(
    "value",
    [
        *("a | b", "|", "~", "[]", "[None]", "&lt;/>", "{1 MHz: 1}", " leading", "trailing ", 'quo"te', "back\\slash", "tab\there", "grün ✔"),
        *("plain &quot;x&quot;", "\u2028", "x: y", "&lt;", "\u00a0", "%", "#"),
    ],
)  # fmt: skip
def test_any_value_survives(value):
    dumped(samples.query(2).replace("31 C", value))
    dumped(samples.query(1).replace("None", value).replace("31 C", f"{value}{value}"))


def test_bytes_that_are_no_text_are_spelled_out():
    data = samples.query().encode().replace(b"31 C", b"\xff\x00\r\xef\x9e\x80")
    found = document.read(data)
    written = transcript.dump(found)
    assert 'gpu_temp: "\\xff\\x00\\x0d\\xef\\x9e\\x80"' in written
    assert transcript.load(written).to_bytes() == data


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\t", "  ").rstrip("\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.split("\n", 2)[2].replace("\n\t", "\n"),
        lambda text: "warning: x\n" + text + "WARNING: infoROM is corrupted\n",
        lambda text: text.replace("\t<timestamp>", "<!-- GPU -->\n\n\t<timestamp>"),
        lambda text: text.replace("<gpu_temp>31 C</gpu_temp>", "<gpu_temp unit='C'>31</gpu_temp>"),
        lambda text: text.replace("\t\t\t<gpu_temp>", "  <gpu_temp>"),
        lambda text: text.replace("NVIDIA A100", "R&D <x> A100"),
        lambda text: text.replace("<processes>\n\t\t</processes>", '<processes count="0" />'),
        lambda text: text.replace("<serial>", "<a/><a/><serial>"),
    ],
)
def test_every_layout_survives(change):
    dumped(change(samples.query(2)))


def test_attributes_of_any_element_survive():
    written = dumped(
        samples.query(2).replace("<gpu_temp>31 C", '<gpu_temp unit="C" from="a | b">31').replace("<temperature>", '<temperature of="gpu">', 1)
    )
    assert '      @unit: C | ~\n      @from: "a | b" | ~\n' in written
    assert "    @of: gpu | ~\n" in written


def test_a_changed_line_of_a_transcript_changes_that_reading():
    written = dumped(samples.query(2)).replace("31 C | 32 C", "31 C | 99 C")
    assert transcript.load(written).to_bytes() == samples.query(2).replace("32 C", "99 C").encode()


def test_a_verbatim_line_may_not_say_another_reading():
    written = dumped(samples.query().replace("31 C</gpu_temp>", "31 C</gpu_temp >"))
    assert 'verbatim 18+1:\n  "\\t\\t\\t<gpu_temp>31 C</gpu_temp >"' in written
    message = refusal(written.replace("gpu_temp: 31 C", "gpu_temp: 32 C"))
    assert "gpu[0]/temperature/gpu_temp is '32 C', but a verbatim line says" in message


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("format: 1\n", "", "t.txt:1: no `format:`"),
        ("format: 1\n", "format: 2\n", "t.txt:1: format 2 needs a newer nvparity"),
        ("format: 1\n", "format: 0\n", "t.txt:1: format 0 is no format number|t.txt:1: format 0"),
        ("format: 1\n", "format: x\n", "t.txt:1: format 'x' is no format number"),
        ("view: q-x", "view: z", "t.txt:2: 'z' is no view"),
        ("view: q-x\n", "", "t.txt:1: no `view:`"),
        ("kind: own", "kind: onw", "t.txt:3: 'onw' is no kind .did you mean 'own'"),
        ("layout: own", "layout: unti=4", "t.txt:4: 'unti' is no key of a layout .did you mean 'unit'"),
        ("layout: own", "layout: end=99", "t.txt:4: end=99"),
        ("layout: own", "layout: eol=cr", "t.txt:4: 'cr' is neither"),
        ("layout: own", 'layout: unit="x"', "t.txt:4: .* no white space"),
        ("doctype: nvsmi_device_v12.dtd", 'doctype: x"><!ENTITY', "t.txt:5: .* no file name of a DTD"),
        ("doctype: ", "dcotype: ", "t.txt:5: 'dcotype' is no key .* .did you mean 'doctype'"),
        ("kind: own\n", "kind: own\nkind: own\n", "t.txt:4: 'kind' stands twice"),
        ("gpu 0-1", "gpu 0-2", r"t.txt:11: id: 2 values for 3 GPUs"),
        ("gpu 0-1", "gpu 1-2", r"t.txt:\d+: .*GPU 0 is due next"),
        ("gpu 0-1", "gpu 0-9999", r"t.txt:10: gpu: '0-9999' is no range"),
        ("gpu 0-1", "gpu 1-0", r"t.txt:10: gpu: '1-0' is no range"),
        ("31 C | 32 C", "31 C | 32 C | 33 C", r"t.txt:20: gpu_temp: 3 values for 2 GPUs"),
        ("    gpu_temp:", "      gpu_temp:", r"t.txt:20: gpu_temp: indented deeper"),
        ("    gpu_temp:", "   gpu_temp:", r"t.txt:20: 'gpu_temp: 31 C . 32 C' is no line of a transcript"),
        ("    gpu_temp: 31", "    gpu temp: 31", r"t.txt:20: .* is no line of a transcript"),
        ("gpu_temp: 31 C", 'gpu_temp: "31 C', r"t.txt:20: "),
        ("gpu_temp: 31 C | 32 C", 'gpu_temp: "\\x3"', r"t.txt:20: gpu_temp: .* is no escape"),
        ("gpu_temp: 31 C | 32 C", 'gpu_temp: "\\ud800"', r"t.txt:20: gpu_temp: .* is no character"),
        ("gpu_temp: 31 C | 32 C", "gpu_temp: {1215 MHz: 255..210/-15}", r"t.txt:20: gpu_temp: a clock list stands in"),
        ("255..210/-15", "255..211/-15", r"t.txt:22: supported_mem_clock: '255..211/-15' never comes to 211"),
        ("gpu 0-1\n", "  gpu 0-1\n", r"t.txt:10: "),
        ("\n\ntimestamp", '\nindent gpu[7]/x: "  "\n\ntimestamp', r"t.txt:6: no element gpu.7./x"),
        ("\n\ntimestamp", '\n  "x"\n\ntimestamp', r"t.txt:6: a quoted line without"),
        ("\n\ntimestamp", "\nverbatim 9+2:\nverbatim 10+1:\n\ntimestamp", r"t.txt:7: it overlaps"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(old, new, said):
    text = transcript.dump(document.read(samples.query(2).encode()))
    assert old in text
    assert re.search(said, refusal(text.replace(old, new, 1)))


def test_a_transcript_does_not_unfold_beyond_all_sense():
    head = "format: 1\nview: q-x\nkind: own\nlayout: own\n\ngpu 0-1023\n"
    assert "unfolds to more than" in refusal(head + "  a: 1\n" * 4000)
    assert "unfolds to more than" in refusal(head + "  supported_clocks\n" + "    supported_mem_clock: {1 MHz: 1..4000/+1}\n" * 2)


def test_nesting_in_a_transcript_is_bounded():
    body = "".join(f"{'  ' * depth}a\n" for depth in range(100))
    assert "levels deep" in refusal(f"format: 1\nview: q-x\nkind: own\nlayout: own\n\n{body}")


def test_a_transcript_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr(transcript, "MAX_CHARS", 10)
    assert "too large" in refusal("format: 1\nview: q-x\n")


def test_a_built_document_is_transcribed_too():
    root = Node("nvidia_smi_log", children=[leaf("driver_version", "1.2")], form=document.TREE)
    built = document.Document(root)
    assert transcript.load(transcript.dump(built)) == built


def test_many_gpus_whose_elements_change_places_are_numbered_in_ranges():
    pairs = [("a", "b"), ("b", "a"), ("a", "b"), ("a", "b"), ("b", "a"), ("a", "b")] * 60
    blocks = "".join(f"\t<gpu>\n\t\t<{one}>1</{one}>\n\t\t<{two}>2</{two}>\n\t</gpu>\n\n" for one, two in pairs)
    written = dumped(samples.query(0).replace("</nvidia_smi_log>", blocks + "</nvidia_smi_log>"))
    lines = re.findall(r"^gpu (.*)", written, re.MULTILINE)
    assert len(lines) == 2
    assert lines[0].startswith("0,2-3,5-6,8-9,")
