"""A node from its four texts, whichever of them there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.discovery import problems, texts
from harness.discovery.model import Node
from harness.discovery.texts import Texts
from tests.unit.discovery.nodes import card, devices, memory, mig, modes, named, report

BOTH = pytest.mark.parametrize("compatible", [False, True])
LIST = b"""GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-0)
  MIG 3g.40gb     Device  0: (UUID: MIG-a)
  MIG 1g.10gb     Device  1: (UUID: MIG-b)
GPU 1: Tesla T4 (UUID: GPU-1)
"""
REPORT = report(
    card(named("NVIDIA A100-SXM4-80GB", "GPU-0"), memory("81920 MiB", "50 MiB"), modes("Enabled"), devices(mig(0, 1, 0, "40192 MiB"), mig(1, 9, 0))),
    card(named("Tesla T4", "GPU-1"), memory("15360 MiB", "0 MiB"), modes("N/A"), devices(), identity="00000000:02:00.0"),
)
WHOLE = Texts(LIST, REPORT)


def seen(node: Node) -> list[tuple[str, str, int | None, int]]:
    return [(gpu.label, gpu.gpu_class, gpu.memory_total_mb, gpu.mig.gpu_instance if gpu.mig else -9) for gpu in node.gpus]


@BOTH
def test_a_mixed_node_is_its_instances_and_its_other_cards(compatible: bool) -> None:
    node = texts.discover(WHOLE, compatible=compatible)
    assert seen(node) == [
        ("0/mig0", "a100-80g-mig-3g.40gb", 40192, 1), ("0/mig1", "a100-80g-mig-1g.10gb", 9856, 9), ("1", "t4-15g", 15360, -9),
    ]  # fmt: skip
    assert node.problems == ()
    assert (node.gpus[2].driver_version, node.gpus[2].cuda_version, node.gpus[2].pci_bus_id) == ("550.163.01", "12.4", "00000000:02:00.0")


@BOTH
@pytest.mark.spec("DM64", "DF10")
def test_the_list_alone_names_the_instances(compatible: bool) -> None:
    node = texts.discover(Texts(LIST, missing=(("-q -x", "it failed"),)), compatible=compatible)
    assert seen(node) == [("0/mig0", "a100-80g-mig-3g.40gb", 40960, -1), ("0/mig1", "a100-80g-mig-1g.10gb", 10240, -1), ("1", "t4", None, -9)]
    assert node.problems == (() if compatible else (problems.NO_REPORT.format(reason="it failed"),))


@BOTH
@pytest.mark.spec("DM64", "DF10")
def test_the_report_alone_keeps_the_card_out(compatible: bool) -> None:
    node = texts.discover(Texts(report=REPORT), compatible=compatible)
    assert [(gpu.label, gpu.health.problems) for gpu in node.gpus] == [("0", (problems.UNNAMED,)), ("1", ())]
    assert node.problems == (() if compatible else (problems.NO_LIST.format(reason="it was not given"),))


@pytest.mark.spec("DM65")
def test_compatible_mode_takes_an_unreadable_report_for_none_without_a_word() -> None:
    torn = replace(WHOLE, report=REPORT[: len(REPORT) // 2])
    assert texts.discover(torn, compatible=True) == texts.discover(Texts(LIST), compatible=True)


def test_an_unreadable_report_is_told() -> None:
    node = texts.discover(replace(WHOLE, report=REPORT[: len(REPORT) // 2]))
    assert seen(node) == seen(texts.discover(Texts(LIST)))
    (problem,) = node.problems
    assert "could not be read" in problem
    assert "-q -x" in problem


def test_no_text_at_all_is_no_device() -> None:
    node = texts.discover(Texts())
    assert node.gpus == ()
    assert len(node.problems) == 2
    assert texts.discover(Texts(), compatible=True) == Node()


@pytest.mark.spec("DM42")
def test_a_reports_cards_are_numbered_by_their_place() -> None:
    assert [gpu.index for gpu in texts.discover(Texts(report=REPORT), compatible=True).gpus] == [0, 1]


def test_a_report_of_one_card_is_that_cards() -> None:
    second = report(card(named("Tesla T4", "GPU-1"), memory("15360 MiB", "0 MiB"), modes("N/A"), identity="00000000:02:00.0"))
    node = texts.discover(Texts(LIST, second))
    assert seen(node)[2] == ("1", "t4-15g", 15360, -9)
    assert node.gpus[0].pci_bus_id == ""


def test_cards_whose_uuids_are_hidden_meet_by_place() -> None:
    hidden = Texts(
        LIST.replace(b"GPU-0", b"GPU-x").replace(b"GPU-1", b"GPU-x"), REPORT.replace(b">GPU-0<", b">GPU-x<").replace(b">GPU-1<", b">GPU-x<")
    )
    assert seen(texts.discover(hidden)) == seen(texts.discover(WHOLE))


@pytest.mark.parametrize("reason", ["GPU is lost", "GPU requires reset"])
def test_a_card_on_which_nothing_can_run_is_kept_out_and_its_instances_too(reason: str) -> None:
    lost = REPORT.replace(b"81920 MiB", reason.encode()).replace(b"15360 MiB", reason.encode())
    node = texts.discover(Texts(LIST, lost))
    assert [(gpu.label, gpu.health.problems) for gpu in node.gpus] == [("0/mig0", (reason,)), ("0/mig1", (reason,)), ("1", (reason,))]
    assert {gpu.health.problems for gpu in texts.discover(Texts(LIST, lost), compatible=True).gpus} == {()}


def test_a_report_of_another_card_is_not_put_in_a_listed_ones_place() -> None:
    other = report(card(named("NVIDIA H200", "GPU-9"), memory("143771 MiB", "0 MiB"), modes("Enabled"), devices(mig(0, 7, 7, "1 MiB"))))
    node = texts.discover(Texts(LIST, other))
    assert seen(node) == seen(texts.discover(Texts(LIST)))
    assert node.problems == (problems.STRANGERS.format(count=1, card="00000000:01:00.0"),)
    assert texts.discover(Texts(LIST, other), compatible=True).gpus[0].memory_total_mb == 1


def test_a_place_that_another_card_of_the_report_has_by_its_uuid_is_not_free() -> None:
    nameless = card(named("NVIDIA H200"), memory("143771 MiB", "0 MiB"), modes("N/A"), identity="00000000:09:00.0")
    first = REPORT.decode().partition("<gpu id=")[2].partition("</gpu>\n")[0]
    node = texts.discover(Texts(LIST, report(nameless, f"<gpu id={first}</gpu>\n")))
    assert seen(node)[:2] == seen(texts.discover(WHOLE))[:2]
    assert node.problems == (problems.STRANGERS.format(count=1, card="00000000:09:00.0"),)


@pytest.mark.parametrize("hidden", ["", "GPU-xxxxxxxx", "[REDACTED]"])
def test_a_uuid_that_says_nothing_keeps_its_card_in_its_place(hidden: str) -> None:
    assert seen(texts.discover(replace(WHOLE, report=REPORT.replace(b"GPU-1", hidden.encode())))) == seen(texts.discover(WHOLE))


def test_cards_without_a_number_of_their_own_are_a_problem_of_the_node() -> None:
    many = b"GPU 999: a (UUID: g)\n  MIG 1g.5gb Device 0: (UUID: MIG-a)\nGPU 1000: a (UUID: h)\n  MIG 1g.5gb Device 0: (UUID: MIG-b)\n"
    node = texts.discover(Texts(many, report()))
    assert [gpu.uuid for gpu in node.gpus] == ["MIG-a"]
    assert node.problems == (problems.NO_CARD_NUMBER.format(count=1, first=1000),)
    assert [gpu.index for gpu in texts.discover(Texts(many), compatible=True).gpus] == [100900, 101000]


@pytest.mark.parametrize(
    ("listing", "reason"),
    [
        (b"hello\n", "it starts 'hello'"),
        ("GPU 0: a\n".encode("utf-16"), "UTF-16 text"),
        (b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "no running driver"),
    ],
)
def test_a_list_without_rows_is_told(listing: bytes, reason: str) -> None:
    (problem,) = texts.discover(Texts(listing, REPORT)).problems
    assert problem.startswith("nvidia-smi -L gave no list: nvidia-smi -L: ")
    assert reason in problem


@pytest.mark.parametrize("listing", [b"", b"\n", b"No devices were found\n", b"No devices found.\n"])
def test_a_list_that_says_that_there_is_nothing_is_none_the_less_a_list(listing: bytes) -> None:
    assert texts.discover(Texts(listing, report())) == Node()


def test_a_card_without_a_handle_is_told() -> None:
    node = texts.discover(Texts(LIST + b"Unable to determine the device handle for gpu 0000:04:00.0: GPU is lost.  Reboot\n", REPORT))
    assert node.problems == (problems.LOST.format(address="0000:04:00.0", reason="GPU is lost.  Reboot"),)


@pytest.mark.spec("DM19")
def test_devices_that_can_be_placed_are_counted_by_class() -> None:
    two = LIST.replace(b"1g.10gb ", b"3g.40gb ")
    assert texts.discover(Texts(two, REPORT)).by_class() == {"a100-80g-mig-3g.40gb": 2, "t4-15g": 1}
    assert texts.discover(Texts(report=REPORT)).by_class() == {"t4-15g": 1}


@pytest.mark.spec("DM20")
def test_nothing_that_discovery_asks_of_nvidia_smi_changes_anything() -> None:
    from harness.discovery import gathering

    assert set(gathering.COMMANDS.values()) == {("-L",), ("-q", "-x"), ("mig", "-lgi"), ("mig", "-lci")}
