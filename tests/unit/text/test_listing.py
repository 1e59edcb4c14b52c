"""`-L` texts become rows with their layout, and the same bytes again."""

from __future__ import annotations

import pytest

from harness.text import document, listing, transcript
from harness.words.errors import InputError
from tests.unit.text import samples


def read(text: str | bytes, **options: bool) -> listing.Listing:
    data = text.encode() if isinstance(text, str) else text
    found = listing.read(data, "l.txt", **options)
    assert found.to_bytes() == data
    assert transcript.load(transcript.dump(found)) == found
    return found


def test_rows_of_drivers_from_470():
    found = read(samples.LIST)
    assert (found.kind, found.verbatim) == (document.OWN, [])
    assert [(gpu.index, gpu.name, len(gpu.migs)) for gpu in found.gpus] == [(0, "NVIDIA A100-SXM4-40GB", 2), (1, "NVIDIA A100-SXM4-40GB", 0)]
    mig = found.gpus[0].migs[1]
    assert (mig.index, mig.profile, mig.uuid, mig.instances) == (1, "1g.5gb", "MIG-11223344-5566-7788-99aa-bbccddeeff01", None)


def test_rows_of_driver_450_spell_instances_and_pad_nothing():
    text = "GPU 0: A100 (UUID: GPU-1)\n  MIG 3g.20gb Device 0: (UUID: MIG-GPU-1/2/0)\n  MIG Device 11: (UUID: MIG-GPU-1/13/1)\n"
    found = read(text)
    assert (found.kind, found.verbatim) == (document.OWN, [])
    assert [(mig.profile, mig.index, mig.instances) for mig in found.gpus[0].migs] == [("3g.20gb", 0, (2, 0)), (None, 11, (13, 1))]


def test_a_name_may_hold_parentheses():
    found = read("GPU 0: TITAN X (Pascal) (UUID: GPU-1)\nGPU 1: A (UUID: x) B (UUID: GPU-2)\n")
    assert [gpu.name for gpu in found.gpus] == ["TITAN X (Pascal)", "A"]
    assert found.notes[0].what.startswith("text after the row")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda text: "".join(f"    {line}\n" for line in text.splitlines()), {"gpu": "    ", "mig": "      "}),
        (lambda text: "".join(f"# {line}\n" for line in text.splitlines()), {"gpu": "# ", "mig": "#   "}),
        (lambda text: text.replace("  MIG", "MIG"), {"mig": ""}),
        (lambda text: text.replace("     Device", "    Device").replace("g.5gb     ", "g.5gb     "), {"width": 14}),
        (lambda text: text + "\n\n", {"end": 3}),
        (lambda text: "\ufeff" + text, {"bom": True}),
    ],
)
def test_other_layouts_are_one_line_of_facts(change, what):
    found = read(change(samples.LIST))
    assert {name: getattr(found.layout, name) for name in what} == what
    assert (found.kind, found.verbatim) == (document.REINDENTED, [])


@pytest.mark.parametrize("change", [lambda text: text.rstrip("\n"), lambda text: text.replace("\n", "\r\n")])
def test_a_cut_off_last_line_end_and_windows_line_ends_are_still_own(change):
    assert read(change(samples.LIST)).kind == document.OWN


def test_torn_rows_are_kept_and_reported():
    found = read("GPU 1: NVIDIA RTX PRO 6000 (UUID: GPU-1)\n  MIG 1g.24gb+gfx\nGPU 2: NVIDIA\n")
    assert [note.what for note in found.notes] == ["unreadable MIG row: 'MIG 1g.24gb+gfx'", "unreadable GPU row: 'GPU 2: NVIDIA'"]
    assert [note.line for note in found.notes] == [2, 3]
    assert found.verbatim_lines == 2


def test_a_mig_row_without_a_gpu_is_reported():
    found = read("  MIG 1g.5gb      Device  0: (UUID: MIG-1)\nGPU 0: A100 (UUID: GPU-1)\n")
    assert found.notes[0].what == "MIG row without a GPU row above it"
    assert found.gpus[0].migs == []


def test_a_gpu_in_error_keeps_its_line():
    line = "Unable to determine the device handle for gpu 0000:04:00.0: Unknown Error"
    found = read(f"GPU 0: T4 (UUID: GPU-1)\n{line}\nGPU 2: T4 (UUID: GPU-2)\n")
    assert [error.text for error in found.errors] == [line]
    assert (found.kind, found.verbatim) == (document.OWN, [])


def test_no_devices_is_a_list_of_none():
    found = read("No devices were found\n")
    assert (found.gpus, found.kind, len(found.errors)) == ([], document.OWN, 1)


def test_kinds_that_bytes_tell():
    assert read("GPU 6: T4 (UUID: GPU-1)\n").kind == document.TRIMMED
    assert read("GPU 0: T4 (UUID: GPU-1)\nGPU 0: T4 (UUID: GPU-1)\n").kind == document.EDITED
    assert read(samples.LIST, edited=True).kind == document.EDITED


@pytest.mark.parametrize(
    ("uuid", "masked"), [("GPU-...", True), ("GPU-xxxxxxxx-xxxx", True), ("[REDACTED]", True), ("GPU-00000000-0000-0000-0000-000000000000", False)]
)
def test_masked_values_are_told_from_zeros(uuid, masked):
    assert listing.is_masked(uuid) is masked


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "l.txt: empty"),
        (samples.query(), "it is `nvidia-smi -q -x` XML; give it as the query"),
        ("Failed to initialize NVML: Insufficient Permissions\n", r"NVML init failed \(insufficient permissions\)"),
        ("hello\n", "it starts 'hello'; capture with `nvidia-smi -L`"),
        ("GPU 0: Tesla T4\n", "it starts 'GPU 0: Tesla T4'"),
        ("+------------------------+\n", "table"),
    ],
)
def test_what_is_no_list_is_refused(text, said):
    with pytest.raises(InputError, match=said):
        listing.read(text.encode(), "l.txt")


def test_the_transcript_of_a_list():
    text = "GPU 0: A | B (UUID: GPU-1)\n  MIG Device 0: (UUID: MIG-GPU-1/2/0)\nUnable to determine the device handle for GPU 1: x\n"
    assert transcript.dump(read(text)) == (
        'format: 1\nview: L\nkind: own\nlayout: width=0 digits=1\n\ngpu 0: "A | B" | GPU-1\n  mig 0: ~ | MIG-GPU-1/2/0\n'
        "line: Unable to determine the device handle for GPU 1: x\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("gpu 0: A", "gup 0: A", "t.txt:6: 'gup 0: A . GPU-1' is no row"),
        ("A | GPU-1", "A | GPU-1 | x", "t.txt:6: 3 values where two are due"),
        ("  mig 0:", " mig 0:", "t.txt:7: .* is no row"),
        ("layout: own", "layout: widht=3", "t.txt:4: 'widht' is no key of a layout .did you mean 'width'"),
        ("layout: own", "layout: width=x", "t.txt:4: 'x' is no number of columns"),
    ],
)
def test_what_is_wrong_in_a_transcript_is_named_with_its_line(old, new, said):
    text = transcript.dump(listing.read(b"GPU 0: A (UUID: GPU-1)\n  MIG 1g.5gb      Device  0: (UUID: MIG-1)\n"))
    assert old in text
    with pytest.raises(InputError, match=said):
        transcript.load(text.replace(old, new), "t.txt")


def test_a_verbatim_line_may_not_say_another_row():
    text = transcript.dump(read("GPU 0: A (UUID: GPU-1) # mine\n"))
    with pytest.raises(InputError, match="a verbatim line says another row"):
        transcript.load(text.replace("gpu 0: A", "gpu 0: B"))
