"""The reader of `nvidia-smi -q`, for a node of which there is that text alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.discovery import doctor, outlined, reported, texts
from harness.discovery.model import Process
from harness.discovery.reported import ReportedMig
from harness.discovery.texts import Texts
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from harness.text.transcript import VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
TEXT = b"""
==============NVSMI LOG==============

Timestamp                                              : Tue Jul 14 09:00:27 2026
Driver Version                                         : 590.48.01
CUDA Version                                           : 13.1

Attached GPUs                                          : 1
GPU 00000000:00:09.0
    Product Name                                       : NVIDIA H100 80GB HBM3
    MIG Mode
        Current                                        : Enabled
        Pending                                        : Enabled
    MIG Device
        Index                                          : 1
        GPU Instance ID                                : 9
        Compute Instance ID                            : 0
        {}
            Total                                      : 9984 MiB
            Used                                       : 9 MiB
    MIG Device
        Index                                          : 0
        GPU Instance ID                                : 2
        Compute Instance ID                            : 0
        {}
            Total                                      : 40448 MiB
            Used                                       : N/A
    GPU UUID                                           : GPU-00000000-0000-0000-0000-000000000000
    FB Memory Usage
        Total                                          : 81559 MiB
        Used                                           : 55 MiB
    Processes
        GPU instance ID                                : 2
        Compute instance ID                            : 0
        Process ID                                     : 4711
            Type                                       : C
            Name                                       : x
            Used GPU Memory                            : 5 MiB
        GPU instance ID                                : N/A
        Compute instance ID                            : N/A
        Process ID                                     : 4712
            Type                                       : C
            Name                                       : y
            Used GPU Memory                            : N/A
"""


@pytest.mark.parametrize("label", [b"FB Memory Usage", b"Shared FB Memory Usage"])
def test_devices_and_processes_are_read(label: bytes) -> None:
    made = outlined.read(TEXT.replace(b"{}", label))
    (card,) = made.cards
    assert (made.driver_version, made.cuda_version, card.bus_id, card.enabled) == ("590.48.01", "13.1", "00000000:00:09.0", True)
    assert card.instances == (ReportedMig(0, 2, 0, 40448, None), ReportedMig(1, 9, 0, 9984, 9))
    assert card.processes == (Process(4711, 5, 2, 0), Process(4712, None))


def test_a_card_on_which_nothing_can_run_says_so() -> None:
    text = TEXT.replace(b"{}", b"FB Memory Usage").replace(b"81559 MiB", b"GPU is lost")
    assert [outlined.read(said).cards[0].dead for said in (text, TEXT.replace(b"{}", b"FB Memory Usage"))] == ["GPU is lost", ""]


def test_a_text_is_taken_for_the_report_that_there_is_not() -> None:
    text = TEXT.replace(b"{}", b"FB Memory Usage")
    listing = b"GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)\n  MIG 3g.40gb     Device  0: (UUID: MIG-a)\n"
    (made,) = texts.discover(Texts(listing, text)).gpus
    assert (made.memory_total_mb, made.mig and made.mig.gpu_instance, [one.pid for one in made.processes]) == (40448, 2, [4711])
    assert [card.unnamed for card in doctor.examine(Texts(report=text))] == [2]
    assert texts.discover(Texts(report=text), compatible=True).gpus == ()
    with pytest.raises(InputError):
        doctor.examine(Texts(report=text), compatible=True)


@pytest.mark.parametrize("name", ["h100-sxm5-x8_580.105.08", "v100s-pcie-32gb-x8_460.73.01"])
def test_it_says_what_the_xml_of_the_same_node_says(name: str, served_library: Path) -> None:
    space = Workspace.nearby(str(ROOT))
    by_text, by_xml = (
        reader.read(serving.render(space.locate_profile(name), space, view).data) for reader, view in ((outlined, VIEW_TEXT), (reported, VIEW_QUERY))
    )
    assert served_library.is_file()
    assert by_text == by_xml
