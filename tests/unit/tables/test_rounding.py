"""How nvidia-smi rounds, as measured with the binaries: each was served the value and printed the text.

470.256.02, 525.147.05 and 535.274.02 cut framebuffer figures to whole MiB, 550.163.01 counts a begun MiB; all cut BAR1 figures.  Watts are single
precision with two places, and a draw below 1 W is printed as 1.00 W.
"""

from __future__ import annotations

import pytest

from harness.tables import drivers, formats

MIB = 1 << 20
CUT = [(1, "0 MiB"), (MIB - 1, "0 MiB"), (MIB, "1 MiB"), (MIB + 1, "1 MiB"), (2 * MIB - 1, "1 MiB"), (81559 * MIB - 1, "81558 MiB")]
BEGUN = [(0, "0 MiB"), (1, "1 MiB"), (MIB, "1 MiB"), (MIB + 1, "2 MiB"), (81559 * MIB - 1, "81559 MiB"), ((1 << 40) + MIB // 2, "1048577 MiB")]
WATTS = [
    (0, "0.00 W"), (400, "0.40 W"), (999, "1.00 W"), (68574, "68.57 W"), (68575, "68.57 W"), (68576, "68.58 W"), (68565, "68.57 W"),
    (68555, "68.56 W"), (49685, "49.69 W"), (1005, "1.00 W"), (1015, "1.01 W"), (1025, "1.02 W"), (999995, "999.99 W"), (4294967295, "4294967.50 W"),
]  # fmt: skip


@pytest.mark.parametrize("version", ["470.74", "525.147.05", "535.274.02"])
@pytest.mark.parametrize(("raw", "text"), CUT)
def test_framebuffer_is_cut_to_whole_mib_up_to_535(version, raw, text):
    driver = drivers.load().resolve(version)
    assert driver.form("memory.total_bytes").text(raw) == text
    assert driver.form("memory.used_bytes").text(raw) == text


@pytest.mark.parametrize(
    "row", ["memory.total_bytes", "memory.reserved_bytes", "memory.used_bytes", "memory.free_bytes", "protected_memory.total_bytes"]
)
@pytest.mark.parametrize(("raw", "text"), BEGUN)
def test_framebuffer_counts_a_begun_mib_from_550_on(row, raw, text):
    assert drivers.load().resolve("550.163.01").form(row).text(raw) == text


@pytest.mark.parametrize("version", ["470.74", "550.163.01"])
@pytest.mark.parametrize(("raw", "text"), CUT)
def test_bar1_is_cut_on_every_driver(version, raw, text):
    assert drivers.load().resolve(version).form("bar1_memory.used_bytes").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), WATTS)
def test_watts_are_single_precision(raw, text):
    assert formats.get("watts").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), [(0, "1.00 W"), (1, "1.00 W"), (999, "1.00 W"), (1001, "1.00 W"), (25500, "25.50 W")])
def test_a_draw_is_never_below_one_watt(raw, text):
    assert formats.get("draw_watts").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), [(1234, "1 MHz"), (1999, "1 MHz"), (999, "0 MHz")])
def test_khz_are_cut_to_mhz(raw, text):
    assert formats.get("khz_mhz").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), [(0, "0.000 mV"), (1, "0.001 mV"), (1999, "1.999 mV"), (123456, "123.456 mV")])
def test_microvolts_keep_three_places(raw, text):
    assert formats.get("millivolts").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), [(1234567, "1970/01/01 00:00:01.234"), (1787237943740999, "2026/08/20 14:59:03.740")])
def test_black_box_time_counts_microseconds(raw, text):
    assert formats.get("bbx_time").text(raw) == text


@pytest.mark.parametrize(("raw", "text"), [(4294967295, "-1 KB/s"), (1001, "1001 KB/s")])
def test_throughput_is_printed_signed(raw, text):
    assert formats.get("kbps").text(raw) == text


@pytest.mark.parametrize(
    ("raw", "text"), [(0, "N/A"), (1, "FETCHADD_32 "), (128, ""), (127, "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64 CAS_128 ")]
)
def test_atomics_without_any_are_not_available(raw, text):
    assert formats.get("atomics").text(raw) == text
