"""The reader of `nvidia-smi -q -x`."""

from __future__ import annotations

import pytest

from harness.discovery import reported
from harness.discovery.model import Process
from harness.discovery.reported import ReportedMig
from harness.words.errors import InputError
from tests.unit.discovery.nodes import card, devices, memory, mig, named, process, report


def one(*inside: str, identity: str = "00000000:01:00.0") -> reported.Reported:
    return reported.read(report(card(*inside, identity=identity))).cards[0]


@pytest.mark.spec("DM34")
def test_a_card_has_its_bus_id_and_its_modes() -> None:
    made = one("<mig_mode><current_mig> Enabled </current_mig><pending_mig>Disabled</pending_mig></mig_mode>", identity="00000000:3B:00.0")
    assert (made.bus_id, made.current, made.pending) == ("00000000:3B:00.0", "Enabled", "Disabled")


@pytest.mark.spec("DM35")
@pytest.mark.parametrize(
    ("text", "on"),
    [("Enabled", True), (" eNABLED\n", True), ("Disabled", False), ("N/A", False), ("", False), ("Enabled*", False), ("Enable", False)],
)
def test_only_the_word_enabled_is_on(text: str, on: bool) -> None:
    made = one(f"<mig_mode><current_mig>{text}</current_mig><pending_mig>{text}</pending_mig></mig_mode>")
    assert (made.enabled, made.pending_enabled) == (on, on)


@pytest.mark.spec("DM35")
def test_an_absent_mode_is_off() -> None:
    assert not one("<uuid>x</uuid>").enabled


@pytest.mark.spec("DM36", "DM43")
def test_instances_are_read_and_sorted() -> None:
    made = one("<mig_devices>", mig(2, 5, 0, "9856 MiB", "12 MiB"), mig(0, 1, 3, "19968 MiB", "0 MiB"), "</mig_devices>")
    assert made.instances == (ReportedMig(0, 1, 3, 19968, 0), ReportedMig(2, 5, 0, 9856, 12))


@pytest.mark.spec("DM37")
@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), (" 7 ", 7), ("N/A", -1), ("", -1), ("7a", -1), ("0x7", -1), ("1.0", -1), ("9" * 30, -1), (None, -1), ("+3", 3)]
)
def test_what_is_no_integer_is_unknown(text: str | None, number: int) -> None:
    assert reported.integer(text) == number


@pytest.mark.spec("DM38")
@pytest.mark.parametrize(
    ("text", "size"),
    [("40192 MiB", 40192), (" 0 MiB ", 0), ("N/A", None), ("", None), ("40192", None), ("40 GiB", None), ("-1 MiB", None), (None, None)],
)
def test_memory_that_is_not_said_is_not_known(text: str | None, size: int | None) -> None:
    assert reported.mebibytes(text) == size


@pytest.mark.spec("DM39", "DF2")
@pytest.mark.parametrize("block", ["<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>", "<mig_devices>None</mig_devices>", "<mig_devices/>", ""])
def test_a_card_with_nothing_created_has_no_instances(block: str) -> None:
    assert one(block).instances == ()


@pytest.mark.spec("DM40", "DF3")
def test_processes_have_the_instances_that_they_run_in() -> None:
    made = one("<processes>", process("1", "0", "4711", "100 MiB"), process("N/A", "N/A", "4712", "N/A"), "</processes>")
    assert made.processes == (Process(4711, 100, 1, 0), Process(4712, None, -1, -1))


@pytest.mark.spec("DM41")
def test_the_cards_own_memory_is_read() -> None:
    made = one(
        "<fb_memory_usage><total>81920 MiB</total><used>3 MiB</used></fb_memory_usage>",
        "<mig_devices>",
        mig(0, 1, 0, "9 MiB", "7 MiB"),
        "</mig_devices>",
    )
    assert (made.total_mb, made.used_mb) == (81920, 3)


@pytest.mark.spec("DM42")
def test_cards_stand_in_the_reports_order() -> None:
    made = reported.read(report(card(identity="00000000:81:00.0"), card(identity="00000000:01:00.0")))
    assert [entry.bus_id for entry in made.cards] == ["00000000:81:00.0", "00000000:01:00.0"]


@pytest.mark.spec("DM44")
def test_other_elements_and_document_types_do_not_matter() -> None:
    text = report(card("<new_block><index>9</index></new_block>", "<uuid>GPU-1</uuid>"), doctype="nvsmi_device_v99.dtd")
    assert reported.read(text).cards[0].uuid == "GPU-1"
    assert reported.read(b"Warning: x\n" + text + b"trailing\n").cards[0].uuid == "GPU-1"


@pytest.mark.spec("DM45")
@pytest.mark.parametrize("text", [b"", b"no xml", b"<nvidia_smi_log><gpu>", b"<nvidia_smi_log></gpu></nvidia_smi_log>"])
def test_a_report_that_cannot_be_read_says_so_and_why(text: bytes) -> None:
    with pytest.raises(InputError, match=r"nvidia-smi's report could not be read: .+") as raised:
        reported.read(text)
    assert isinstance(raised.value.__cause__, InputError)


def test_entities_are_not_expanded() -> None:
    bomb = b'<?xml version="1.0"?><!DOCTYPE nvidia_smi_log [<!ENTITY a "aaaa">]><nvidia_smi_log><gpu id="x"><uuid>&a;</uuid></gpu></nvidia_smi_log>'
    with pytest.raises(InputError):
        reported.read(bomb)


@pytest.mark.spec("DM45")
@pytest.mark.parametrize("name", [b"A & B", b"A \x01 B", b"A \xff B"])
def test_a_name_that_is_no_xml_as_it_stands_is_repaired_and_in_compatible_mode_refused(name: bytes) -> None:
    text = report(card("<product_name>A ? B</product_name>\n")).replace(b"A ? B", name)
    assert reported.read(text).cards[0].name[::4] == "AB"
    with pytest.raises(InputError, match="nvidia-smi's report could not be read"):
        reported.read(text, compatible=True)


@pytest.mark.parametrize("compatible", [False, True])
def test_a_number_of_many_digits_is_not_known(compatible: bool) -> None:
    inside = (named(f"A {'9' * 5000}GB"), memory(f"{'9' * 5000} MiB", "0 MiB"), devices(mig("9" * 5000, 1, 1)))
    made = reported.read(report(card(*inside)), compatible=compatible).cards[0]
    assert (made.total_mb, made.used_mb, made.instances[0].device) == (None, 0, -1)


@pytest.mark.parametrize(
    ("block", "count"),
    [
        ("<double_bit><total>3</total></double_bit><single_bit><total>9</total></single_bit>", 3),
        ("<sram_uncorrectable>1</sram_uncorrectable><dram_uncorrectable>2</dram_uncorrectable>", 3),
        ("<sram_uncorrectable_parity>1</sram_uncorrectable_parity><sram_uncorrectable_secded>4</sram_uncorrectable_secded>", 5),
        ("<sram_uncorrectable>N/A</sram_uncorrectable>", None),
    ],
)
def test_uncorrected_errors_are_those_since_the_driver_was_loaded(block: str, count: int | None) -> None:
    assert (
        one(f"<ecc_errors><volatile>{block}</volatile><aggregate><dram_uncorrectable>8</dram_uncorrectable></aggregate></ecc_errors>").ecc_errors
        == count
    )
