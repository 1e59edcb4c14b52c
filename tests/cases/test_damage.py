"""Damaged captures: parity with what is kept told, or one line that names the place; nothing half-written."""

from __future__ import annotations

import re

import pytest

from tests.cases.boards import T4, UUID, put, swap, text_of
from tests.cases.conftest import Ask, Take

BLOCK = re.compile(r"(?s)\t<gpu id=.*?</gpu>\n\n")


def second(*changes: tuple[str, str]) -> str:
    """A node of two T4, the second one the first's copy but for ``changes``."""
    text = text_of(T4)
    match = BLOCK.search(text)
    assert match is not None
    block = swap(match.group(), (UUID.format(0), UUID.format(1)), *changes)
    return swap(text[: match.end()] + block + text[match.end() :], ("<attached_gpus>1<", "<attached_gpus>2<"))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ([], "GPU 1 has the PCI address of GPU 0"),
        ([("00:1E.0", "00:1F.0"), ("<pci_device>1E", "<pci_device>1F")], "GPU 1 has the minor number of GPU 0"),
    ],
)
def test_two_blocks_that_are_one_gpu_are_refused_by_the_line_of_the_second(changes: list[tuple[str, str]], told: str, take: Take):
    given = second(*changes)
    taken = take(given)
    line = given[: given.rindex("\t<gpu id=")].count("\n") + 1
    assert taken.status == 3
    assert f"given.xml:{line}: {told}" in taken.err
    assert taken.err.count("\n") == 1
    assert not list(taken.space.root.iterdir())


@pytest.mark.parametrize("version", ["N/A", "", "595", "595.91.07.01.02", "../../x", "9" * 400])
def test_a_driver_version_that_is_none_is_refused_by_its_line(version: str, take: Take):
    taken = take(swap(text_of(T4), ("<driver_version>595.91.07<", f"<driver_version>{version}<")))
    assert taken.status == 3
    assert "given.xml:5: driver version" in taken.err
    assert len(taken.err) < 300
    assert not list(taken.space.root.iterdir())


def test_numbers_that_nvml_has_no_room_for_are_kept_and_served_as_nothing(take: Take, ask: Ask):
    """Too large, negative, of another unit, without a unit, with a comma: no such text becomes a reading."""
    odd = {"gpu_temp": "4294967296 C", "performance_state": "P99", "sm_clock": "1.59 GHz", "instant_power_draw": "33,51 W", "encoder_util": "-3 %",
           "decoder_util": "0%", "jpeg_util": "300", "max_link_width": "x16", "replay_counter": "99999999999999999999"}  # fmt: skip
    given = text_of(T4)
    for element, text in odd.items():
        given = put(given, element, text)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert odd.items() <= {path.rpartition("/")[2]: text for path, text in taken.unmodelled.items()}.items()
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetTemperature", device, {"sensorType": 0}).code == 3
    assert nvml.call("nvmlDeviceGetEncoderUtilization", device).code == 3


def test_a_state_of_the_node_itself_is_kept_and_told(take: Take):
    """The CUDA version of a node without libcuda, a clock that was taken out, a count that is none."""
    given = swap(text_of(T4), ("<cuda_version>13.2<", "<cuda_version>N/A<"), ("<attached_gpus>1<", "<attached_gpus>N/A<"))
    given = put(given, "timestamp", "N/A")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert {"cuda_version", "attached_gpus", "timestamp"} <= set(taken.unmodelled)


def test_a_uuid_that_is_not_supported_is_not_made_up(take: Take, ask: Ask):
    given = put(text_of(T4), "uuid", "N/A")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert ask(taken)[0].call("nvmlDeviceGetUUID", ask(taken)[1]).code == 3


@pytest.mark.parametrize(
    "written",
    [lambda text: re.sub(r">\s+<", "><", text), lambda text: text.replace("Tesla T4", "<![CDATA[Tesla T4]]>")],
    ids=["without white space between elements", "CDATA"],
)
def test_a_text_that_went_through_an_xml_tool_has_every_reading(written, take: Take):
    taken = take(written(text_of(T4)))
    assert (taken.status, taken.unmodelled) == (0, {})
    assert taken.rendered() == text_of(T4)
