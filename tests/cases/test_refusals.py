"""What is no capture is said to be none, in one line that names what it is; nothing is written for it."""

from __future__ import annotations

import pytest

from tests.cases.boards import H100, T4, swap, text_of
from tests.cases.conftest import Take
from tests.cases.taken import Taken

INIT = "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n"


def refused(taken: Taken, *words: str, status: int = 3) -> None:
    """One line that holds all words, this exit status, an empty workspace."""
    assert taken.status == status, taken.out
    assert all(word in taken.err for word in words), taken.err
    assert taken.err.count("\n") == 1
    assert not list(taken.space.root.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (INIT, ["not an nvidia-smi capture: NVML init failed (driver/library version mismatch)"]),
        ("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that ...\n", ["no running driver"]),
        ("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure ...\n", ["did not find libnvidia-ml.so library"]),
        ("bash: nvidia-smi: command not found\n", ["not installed"]),
        ("", ["empty"]),
        ("\n\n", ["empty"]),
        ("==============NVSMI LOG==============\n\nTimestamp : x\n", ["Driver Version", "cannot be told"]),
        ("+---------------+\n| NVIDIA-SMI 535 |\n", ["table"]),
        ("<html><body>404</body></html>", ["XML or HTML with <html>"]),
        ("# Notes\n\nsee <id>\n", ["it starts '# Notes'", "capture with `nvidia-smi -q -x`"]),
    ],
)
def test_a_message_in_place_of_a_capture_is_named(text: str, words: list[str], take: Take):
    """BL-043: a mismatch, a driver that is down, a library that is missing, a timeout's empty file."""
    refused(take(text), "given.xml", *words)


def test_a_file_that_was_cut_off_is_told_from_one_that_is_empty(take: Take):
    """BL-043: the GPU it ends in and the line."""
    given = text_of(H100)
    cut = given[: given.index("<fan_speed>", given.index("00000000:75:00.0"))]
    line = cut.count("\n") + 1
    refused(take(cut), f'given.xml:{line}: truncated: ends inside <gpu id="00000000:75:00.0">', f"line {line}")


@pytest.mark.parametrize("end", ["</nvidia_smi_log", "</nvidia_smi_", "\n</", "\t</gpu>"])
def test_a_file_cut_off_in_its_last_tags_is_cut_off(end: str, take: Take):
    given = text_of(T4)
    refused(take(given[: given.rindex(end) + len(end) - 1]), "given.xml:", "truncated: ends inside")


def test_a_query_whose_driver_is_not_said_is_refused(take: Take):
    """Nothing is assumed about what printed it."""
    given = text_of(T4)
    refused(take(swap(given, ("\t<driver_version>595.91.07</driver_version>\n", ""))), "given.xml: the capture has no driver_version")


def test_several_captures_in_one_file_are_refused_by_the_line_of_the_second(take: Take):
    """`nvidia-smi -l` writes one after the other: which of them is meant is the giver's to say."""
    given = text_of(T4)
    refused(take(given * 3), f"given.xml:{given.count(chr(10)) + 1}:", "two files in one")


@pytest.mark.parametrize("listing", ["", "\n", "Failed to initialize NVML: Unknown Error\n"])
def test_an_empty_or_failed_half_of_a_recording_is_named(listing: str, take: Take):
    """BL-071: a query whose list failed is no half import; the file that is empty is the one that is named."""
    refused(take(text_of(T4), listing), "given.txt")


@pytest.mark.parametrize("name", ["driver_version", "pci", "nvidia_smi_log"])
def test_a_tag_that_closes_nothing_or_too_early_is_refused_by_its_line(name: str, take: Take):
    given = swap(text_of(T4), ("\t\t<fan_speed>", f"</{name}>\n\t\t<fan_speed>"))
    line = given[: given.index("\t\t<fan_speed>")].count("\n")
    refused(take(given), f"given.xml:{line}:")
