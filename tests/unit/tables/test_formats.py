"""Formats: text to NVML's unit and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tables import formats, rows

ROUND = [
    ("mib", "480 MiB", 503316480), ("mib_up", "480 MiB", 503316480), ("watts", "68.57 W", 68570), ("celsius", "-8 C", -8), ("mhz", "2619 MHz", 2619),
    ("percent", "35 %", 35), ("kbps", "53000 KB/s", 53000), ("yesno", "Yes", 1), ("enabled", "Disabled", 0), ("active", "Not Active", 0),
    ("hex", "0x5300", 0x5300), ("hex32", "1D0110DE", 0x1D0110DE), ("hex8", "2D", 0x2D), ("hex16", "0000", 0), ("hex64", "0x000000000000000b", 11),
    ("width", "16x", 16), ("count", "4000", 4000), ("microseconds", "93088 us", 93088), ("ns_us", "7015662857 us", 7015662857000),
    ("banks", "640 bank(s)", 640), ("pstate", "P8", 8), ("brand", "GeForce", 5), ("architecture", "Ada Lovelace", 8), ("addressing_mode", "HMM", 1),
    ("virtualization", "Pass-Through", 1), ("peer_type", "Switch Connected", 1), ("recovery_action", "None", 0), ("fabric_state", "Completed", 3),
    ("fabric_status", "Success", 0), ("fabric_bandwidth", "Full", 2), ("cuda_version", "12.8", 12080), ("millivolts", "693.750 mV", 693750),
    ("timestamp", "Thu Sep  1 15:20:22 2022", 1662045622), ("bbx_time", "2026/08/20 14:59:03.740", 1787237943740000),
    ("uuid_bytes", "00000001-0002-0003-0004-000000000005", "00000001000200030004000000000005"),
    ("guid", "0x0000000000000002", "0000000000000002" + "0" * 16),
    ("atomics", "FETCHADD_32 CAS_64 ", 33), ("process_type", "M+C+G", 7), ("instance_id", "N/A", 0xFFFFFFFF), ("instance_id", "3", 3),
    ("process_mib", "N/A", 0xFFFFFFFFFFFFFFFF), ("byte", "14", 14), ("int32", "-1", 0xFFFFFFFF), ("capability", "disabled", 0), ("on_off", "On", 1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "raw"), ROUND)
def test_text_and_raw_value_are_each_others_inverse(name, text, raw):
    assert formats.get(name).parse(text) == raw
    assert formats.get(name).text(raw) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [("mib", "480 MB"), ("mib", "0480 MiB"), ("watts", "68.5 W"), ("watts", "nan W"), ("celsius", "33"), ("hex", "0x05"), ("hex8", "2d"),
     ("timestamp", "Mon Sep  1 15:20:22 2022"), ("timestamp", "Thu Feb 30 15:20:22 2023"), ("brand", "geforce"), ("cuda_version", "12"),
     ("atomics", "CAS_64"), ("count", "1 "), ("count", ""), ("uuid_bytes", "0"), ("bus_id", "0000:01:00.0"), ("draw_watts", "0.40 W")],
)  # fmt: skip
def test_a_text_the_format_would_not_print_is_refused(name, text):
    with pytest.raises(formats.FormatError, match=name):
        formats.get(name).parse(text)


def test_an_unknown_format_is_refused_with_the_names_there_are():
    with pytest.raises(Exception, match="watts"):
        formats.get("wats")


def test_every_row_names_a_format_that_exists():
    assert {row.format for row in rows.load().values()} <= formats.names()


@given(st.sampled_from(sorted(formats.names())), st.integers(0, 2**64 - 1))
def test_what_a_format_prints_for_a_number_it_reads_back_to_the_same_text(name, number):
    form = formats.get(name)
    if form.kind != "int" or name in ("timestamp", "bbx_time"):
        return
    try:
        text = form.text(form.few[number % len(form.few)] if form.few else number)
    except formats.FormatError:
        return
    if name in ("watts", "draw_watts") and float(text[:-2]) > 20_000:
        return  # single precision has no hundredths left up there
    try:
        again = form.parse(text)
    except formats.FormatError:
        return
    assert form.text(again) == text


@given(st.text(max_size=40))
def test_any_text_is_read_exactly_or_refused(text):
    for name in formats.names():
        try:
            raw = formats.get(name).parse(text)
        except formats.FormatError:
            continue
        assert formats.get(name).text(raw) == text
