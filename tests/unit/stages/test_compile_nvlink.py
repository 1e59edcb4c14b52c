"""Links of a profile: what cannot be resolved is told and served all the same, what is passed over is told with what holds in its place."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from harness.stages import compile_nvlink
from harness.stages.answers import inverting
from harness.stages.answers.told import Told
from harness.stores import profiles
from harness.stores.schema import kept, links
from harness.tables import linkids
from mocklib.answers import Asked

PEERS: dict[str, Any] = {"devices": [{"index": 0, "pci": {"bus_id": "0000:01:00.0"}}, {"index": 1, "pci": {"bus_id": "0000:02:00.0"}}]}


def told(nvlink: dict[str, Any]) -> str:
    return str(kept.unserved({"nvlink": nvlink, **PEERS}))


@pytest.mark.spec("S20", "S21", "S22", "VL08")
def test_bandwidth_modes_that_are_passed_over_are_told() -> None:
    assert told({"bw_mode": {"scope": "rack"}}) == "nvlink.bw_mode: scope 'rack' is neither system nor device: no bandwidth mode is served"
    assert told({"bw_mode": {"mode": 1}}) == "nvlink.bw_mode: scope 'None' is neither system nor device: no bandwidth mode is served"
    assert told({"bw_mode": {"scope": "device", "supported": [2, 3], "mode": 0}}) == "nvlink.bw_mode.mode: 0 is none of 2, 3: 2 is served"
    assert told({"bw_mode": {"scope": "device", "supported": [0, 7]}}) == "nvlink.bw_mode.supported: 7 has no name to print"
    assert told({"bw_mode": {"scope": "system", "supported": [0, 4], "mode": 4}}) == ""


@pytest.mark.spec("S19", "VL08")
def test_firmware_that_is_no_version_is_told_and_left_out() -> None:
    said = told({"firmware": {"mse": "15:3:0", "netir": "36.2014"}})
    assert said == "nvlink.firmware.netir: '36.2014' is no version such as \"36:2014:4784\": left out"
    given = {"nvlink.firmware.mse": "15:3:0", "nvlink.firmware.netir": "36.2014", "nvlink.firmware.netir_dln": "0:10:0"}
    assert list(links.firmware(given)) == [(1, 15, 3, 0), (5, 0, 10, 0)]


@pytest.mark.spec("S06", "S31")
def test_ends_that_are_nowhere_on_the_node_are_told_and_block_nothing() -> None:
    listed = [
        {"link": 0, "remote_index": 9}, {"link": 1, "remote_device_type": "gpu", "remote_pci_bus_id": "0000:07:00.0"},
        {"link": 2, "remote_device_type": "switch", "remote_pci_bus_id": "0000:08:00.0"}, {"link": 3, "remote_device_type": "gpu", "remote_index": 1},
    ]  # fmt: skip
    assert told({"links": listed}).split("; ") == [
        "nvlink: link 0 of GPU 0: remote_index 9 is no GPU of the node",
        "nvlink: link 1 of GPU 0: no GPU of the node is at 0000:07:00.0",
        "nvlink: link 2 of GPU 0: nvlink.switches names none at 0000:08:00.0",
    ]
    peers = tuple((device["pci"]["bus_id"], None) for device in PEERS["devices"])
    made = links.links({"index": 0, "nvlink.links": listed, "nvlink.peers": peers})
    assert made is not None
    assert [link.active for link in made] == [True] * 4
    assert [link.address for link in made] == [None, (0, 7, 0, 0), None, (0, 2, 0, 0)]


NUMBERS = [((418, 226), (None, None)), ((550, 163), (None, None)), ((555, 58), (199, None)), ((560, 28), (199, 201)), ((570, 148), (200, 201))]


@pytest.mark.parametrize(("version", "numbers"), NUMBERS)
def test_field_ids_are_numbered_as_the_drivers_header_has_them(version: tuple[int, ...], numbers: tuple[int | None, int | None]) -> None:
    by_name = {answer.name: answer for answer in linkids.answers()}
    names = ("NVML_FI_DEV_NVLINK_GET_POWER_THRESHOLD_MAX", "NVML_FI_DEV_NVLINK_COUNT_XMIT_PACKETS")
    assert tuple(by_name[name].number(version) for name in names) == numbers


def test_no_driver_has_two_of_them_under_one_number() -> None:
    for version in ((390,), (450,), (520,), (555,), (560,), (570,), (610,)):
        numbers = [number for answer in linkids.answers() if (number := answer.number(version)) is not None]
        assert len(numbers) == len(set(numbers))


@pytest.mark.spec("Y14")
def test_what_a_setter_wrote_is_turned_back_into_keys() -> None:
    nvlink = {"links_per_gpu": 3, "bw_mode": {"scope": "device"}}
    document = {"version": "1.0", "system": {"driver_version": "590.48.01"}, "device_defaults": {"architecture": "blackwell"}, "nvlink": nvlink,
                "devices": [{"index": 0, "pci": {"bus_id": "0000:01:00.0"}}]}  # fmt: skip
    profile = profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
    [device] = compile_nvlink.of_node(profile.devices, (590, 48, 1))
    wrote = {"nvlink.bw_mode.mode": 3, "nvlink.low_power_threshold": 700, "nvlink_error.cleared": (0, 0, 7, 2, 0, 0)}
    told = {name: Told(name, Asked("setter", None, ()), value, 0) for name, value in wrote.items()}
    made = inverting.settle(told, 0, device)
    assert made.unheld == []
    assert made.values["nvlink.bw_mode.mode"] == 3
    assert made.values["nvlink.low_power_threshold"] == 700
    assert made.values["nvlink_error.cleared"] == [0, 7 | 2 << 32]
