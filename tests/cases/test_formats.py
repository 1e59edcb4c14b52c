"""Ways of writing a capture: what tools, shells and newer drivers make of it costs no reading."""

from __future__ import annotations

import re

import pytest

from harness.stages.importing import source
from tests.cases.boards import A100, H100, T4, add, process, put, swap, text_of
from tests.cases.conftest import Ask, Take

NEW: dict[str, str] = {"x": "1"}


def leaves(text: str) -> list[tuple[str, str]]:
    return source.leaves(source.read(text.encode("utf-8", "surrogateescape"), "text"))


WRITTEN = {
    "line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "a byte order mark": lambda text: "\ufeff" + text,
    "both": lambda text: "\ufeff" + text.replace("\n", "\r\n"),
    "no line end at the end": lambda text: text.rstrip("\n"),
    "no doctype": lambda text: re.sub("<!DOCTYPE.*\n", "", text),
    "no declaration and no doctype": lambda text: text[text.index("<nvidia_smi_log>") :],
    "blanks for tabs": lambda text: re.sub(r"(?m)^\t+", lambda match: "  " * len(match.group()), text),
    "no white space before elements": lambda text: re.sub(r"(?m)^\t+", "", text),
    "comments": lambda text: "<!-- from node 7 -->\n" + swap(text, ("\t\t<fan_speed>", "<!-- a <b> & c -->\n\t\t<fan_speed>")),
    "a comment beside an element": lambda text: swap(text, ("<fan_speed>", "<!-- fan --><fan_speed>")),
    "an empty list as one tag": lambda text: re.sub(r"(?s)<processes>.*?</processes>", "<processes />", text),
    "an empty list as two tags": lambda text: re.sub(r"(?s)<processes>.*?</processes>", "<processes></processes>", text),
    "values on lines of their own": lambda text: swap(text, ("<gpu_temp>33 C</gpu_temp>", "<gpu_temp>\n\t\t\t\t33 C\n\t\t\t</gpu_temp>")),
    "a warning of the driver behind the end": lambda text: text + "WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n",
    "a warning before the start": lambda text: "Warning: persistence mode is disabled on device 00000000:00:1E.0\n" + text,
    "a prompt before, an exit status behind": lambda text: "$ nvidia-smi -q -x\n" + text + "exit status 0\n",
}  # fmt: skip


@pytest.mark.parametrize("way", WRITTEN)
def test_a_way_of_writing_costs_no_reading(way: str, take: Take):
    """CRLF, BOM, re-indented text, comments, a missing doctype, `<processes />`, wrapped values and text around the root: parity each time."""
    given = WRITTEN[way](text_of(T4))
    taken = take(given)
    assert (taken.status, taken.unmodelled) == (0, {})
    assert leaves(taken.rendered()) == leaves(text_of(T4))
    kind = "own" if way in ("line ends of Windows", "no line end at the end") else "re-indented"
    assert f"x: {kind}, driver 595.91.07" in taken.out
    assert ("note: line" in taken.out) == bool(re.search("comment|warning|prompt", way))


def test_blanks_around_a_value_on_its_own_line_are_text_and_told(take: Take):
    """nvidia-smi does end a value with a blank (a list of capabilities), so blanks between the tags are never cut off; what no row reads is kept."""
    given = swap(text_of(T4), ("<gpu_temp>33 C<", "<gpu_temp> 33 C <"))
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert taken.unmodelled == {"gpu[0]/temperature/gpu_temp": " 33 C "}


def test_an_unknown_element_under_a_newer_doctype_is_kept_at_its_place_and_counted(take: Take):
    """BL-012: one warning, the path verbatim, status 0, and no network for a DTD."""
    given = add(text_of(T4).replace("595.91.07", "610.10").replace("device_v13", "device_v14"), "fan_speed", "new_block", NEW)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert taken.unmodelled == {"gpu[0]/new_block/x": "1"}
    assert taken.out.count("nvsmi_device_v14.dtd") == 1
    assert "modelled 309, unmodelled 1" in taken.out


def test_an_unknown_element_on_one_gpu_of_eight_is_invented_on_no_other(take: Take):
    given = add(text_of(H100), "fan_speed", "new_block", NEW)
    taken = take(given)
    assert (taken.status, taken.rendered(), list(taken.unmodelled)) == (0, given, ["gpu[0]/new_block/x"])


@pytest.mark.parametrize("board", [T4, A100])
def test_a_renamed_element_is_named_with_the_one_it_took_the_place_of(board: str, take: Take):
    """BL-061: reading without an error is no proof; the leaf is kept raw, the key it should have fed is named as lost."""
    given = text_of(board).replace("gpu_temp>", "gpu_temperature>")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert list(taken.unmodelled) == ["gpu[0]/temperature/gpu_temperature"]
    assert taken.value("thermal.temperature_gpu_c") is None
    assert re.search(r"lost gpu/temperature/gpu_temp$", taken.out, re.MULTILINE)
    assert re.search(r"gained gpu/temperature/gpu_temperature$", taken.out, re.MULTILINE)
    elements = len(leaves(given))
    assert f"elements {elements}: modelled {elements - 1}, unmodelled 1" in taken.out


def test_names_that_are_no_xml_are_read_as_they_stand(take: Take, ask: Ask):
    """Unescaped names: the binary writes a product name as it is."""
    given = swap(text_of(T4), ("Tesla T4", 'Tesla <T4> & "Co"'))
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert "<product_name> is not escaped" in taken.out
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetName", device).out == {"name": 'Tesla <T4> & "Co"'}


def test_bytes_that_are_no_text_are_served_raw(take: Take, ask: Ask):
    """BL-070: our own binding hands them on as surrogates, in every name there is; what reads a render never raises for them."""
    given = put(swap(text_of(T4), ("Tesla T4", "Tesla \udcf8\x01")), "processes", [process(7, "/opt/\udcff\x02", "1 MiB")])
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetName", device).out == {"name": "Tesla \udcf8\x01"}


def test_a_nul_is_refused_by_its_line(take: Take):
    """BL-070: what the report shows as a last byte 00 ends a text of C; inside a file it is damage."""
    taken = take(swap(text_of(T4), ("Tesla T4", "Tesla \udcf8\x01\x00")))
    assert taken.status == 3
    assert "given.xml:9: a NUL byte" in taken.err
    assert not list(taken.space.root.iterdir())


def test_a_text_longer_than_any_of_nvml_is_refused_by_its_line(take: Take):
    taken = take(swap(text_of(T4), ("Tesla T4", "T" * 4097)))
    assert taken.status == 3
    assert "given.xml:9: <product_name> holds 4097 characters" in taken.err
    assert not list(taken.space.root.iterdir())


@pytest.mark.parametrize(
    ("element", "hidden"),
    [
        ("uuid", "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        ("uuid", "GPU-..."),
        ("serial", "[REDACTED]"),
        ("serial", "XXXXXXXXXXXXX"),
        ("pdi", "[hidden]"),
        ("gpu_temp", "(removed)"),
    ],
)
def test_what_the_giver_masked_is_no_value_and_is_not_compared(element: str, hidden: str, take: Take):
    """Masked ids: counted apart, and no driver learns anything from them."""
    taken = take(put(text_of(T4), element, hidden))
    assert (taken.status, taken.unmodelled) == (0, {})
    assert "redacted 1" in taken.out
    assert "308 elements exact" in taken.out
    assert taken.learnt is None
