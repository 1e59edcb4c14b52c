"""The golden's reader: path and text of each leaf, hashed; it knows nothing of the other reader."""

from __future__ import annotations

import ast
import hashlib

import pytest

from harness.stores import golden_reader
from harness.text import document, rawbytes
from tests.unit.text import samples


def test_it_imports_nothing_of_the_project(repository):
    tree = ast.parse((repository / "harness/stores/golden_reader.py").read_text())
    named = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    named += [str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert sorted(named) == ["__future__", "dataclasses", "hashlib", "re"]


def test_leaves_of_a_query():
    found = golden_reader.leaves(samples.query(2).encode())
    assert found[:5] == [
        ("timestamp[0]", "Fri Aug 21 10:21:36 2026"),
        ("driver_version[0]", "570.148.08"),
        ("attached_gpus[0]", "2"),
        ("gpu[0]/@id", "00000000:01:00.0"),
        ("gpu[0]/product_name[0]", "NVIDIA A100-SXM4-40GB"),
    ]
    by_path = dict(found)
    assert by_path["gpu[1]/mig_devices[0]"] == "None"
    assert by_path["gpu[1]/processes[0]"] == by_path["gpu[0]/platformInfo[0]/chassis_serial_number[0]"] == ""
    assert by_path["gpu[0]/supported_clocks[0]/supported_mem_clock[0]/supported_graphics_clock[3]"] == "210 MHz"


def test_leaves_of_a_list():
    listed = b"GPU 0: TITAN X (Pascal) (UUID: GPU-1)\n  MIG 1g.5gb      Device  3: (UUID: MIG-2)\n\nNo devices were found\nno row\n"
    assert golden_reader.leaves(listed) == [
        ("gpu[0]/index", "0"),
        ("gpu[0]/name", "TITAN X (Pascal)"),
        ("gpu[0]/uuid", "GPU-1"),
        ("gpu[0]/mig[0]/index", "3"),
        ("gpu[0]/mig[0]/profile", "1g.5gb"),
        ("gpu[0]/mig[0]/uuid", "MIG-2"),
        ("line[0]", "No devices were found"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text,
        lambda text: text.replace("\t", "   "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("<processes>\n\t\t</processes>", "<processes />"),
        lambda text: text.replace("\t<timestamp>", "<!-- <serial>1</serial> -->\n\t<timestamp>"),
        lambda text: "".join(line.strip() for line in text.split("\n")),
        lambda text: text.replace("\n\n", "\n").rstrip("\n"),
    ],
)
def test_layout_is_no_reading(change):
    text = samples.query(2)
    assert golden_reader.read(change(text).encode()) == golden_reader.read(text.encode())


@pytest.mark.parametrize("name", ["A & B", "A <b> C", "&lt;&amp;&quot;", "x < y", "grün"])
def test_both_readers_read_the_same_text(name):
    data = samples.query(2).replace("NVIDIA A100-SXM4-40GB", name).encode()
    ours = [text.encode("latin-1") for path, text in golden_reader.leaves(data) if "@" not in path]
    assert ours == [rawbytes.encode(text) for _, text in document.read(data).root.leaves()]


def test_hashes_are_of_path_and_text():
    data = b'<nvidia_smi_log>\n<a>1</a>\n<gpu id="x">\n<b>2</b>\n<c>\n<d>3</d>\n</c>\n</gpu>\n</nvidia_smi_log>\n'
    found = golden_reader.read(data)
    lines = [b"a[0]\x001\n", b"gpu[0]/@id\0x\n", b"gpu[0]/b[0]\x002\n", b"gpu[0]/c[0]/d[0]\x003\n"]
    assert found.count == 4
    assert found.whole == hashlib.sha256(b"".join(lines)).hexdigest()
    assert found.gpus == (hashlib.sha256(b"".join(lines[1:])).hexdigest(),)
    assert found.sections == {
        "c": hashlib.sha256(lines[3]).hexdigest(),
        "gpu": hashlib.sha256(lines[1] + lines[2]).hexdigest(),
        "node": hashlib.sha256(lines[0]).hexdigest(),
    }


def test_a_changed_reading_changes_whole_gpu_and_section_and_no_other():
    one, other = (golden_reader.read(text.encode()) for text in (samples.query(2), samples.query(2).replace("32 C", "33 C")))
    assert one.whole != other.whole
    assert [old == new for old, new in zip(one.gpus, other.gpus, strict=True)] == [True, False]
    assert {name for name in one.sections if one.sections[name] != other.sections[name]} == {"temperature"}


def test_elements_that_change_places_change_the_hash():
    text = samples.query()
    serial, uuid = "\t\t<serial>1739402683821</serial>\n", f"\t\t<uuid>{samples.UUIDS[0]}</uuid>\n"
    assert golden_reader.read(text.encode()).whole != golden_reader.read(text.replace(serial + uuid, uuid + serial).encode()).whole
