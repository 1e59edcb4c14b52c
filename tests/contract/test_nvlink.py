"""NVLinks: states, ends, capabilities and counters of each link, by function and by field id."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.stores.schema import blocks
from harness.tables import drivers
from mocklib import fields, image, state
from mocklib.image import Clock
from tests.contract import nvlinks
from tests.contract.nvlinks import BLACKWELL, SWITCHED

NOT_SUPPORTED, INVALID_ARGUMENT = 3, 2
GPU, PROCESSOR, SWITCH, UNKNOWN = 0, 1, 2, 0xFF
ALL_LINKS = 0xFFFFFFFF
S = 1_000_000_000
Serve = Callable[..., tuple[Any, int]]


def link(nvml: Any, handle: int, function: str, number: int, **more: int) -> Any:
    """``nvmlDeviceGetNvLink<function>`` of one link: its code, or what it wrote."""
    answer = nvml.call(f"nvmlDeviceGetNvLink{function}", handle, {"link": number, **more})
    return answer.out if answer.code == 0 else answer.code


def field(nvml: Any, handle: int, number: int, scope: int = 0) -> Any:
    """The value of a field id, or its code."""
    answer = nvml.field_values(handle, [(number, scope)])[0]
    return answer.value if answer.code == 0 else answer.code


@pytest.mark.spec("S02", "S08", "S33")
def test_links_of_the_board_are_up_and_those_beyond_are_down_until_the_driver_knows_no_more(serve: Serve) -> None:
    nvml, handle = serve(nvlinks.spec(SWITCHED))
    assert [link(nvml, handle, "State", number) for number in (0, 3, 4, 17)] == [{"isActive": 1}, {"isActive": 1}, {"isActive": 0}, {"isActive": 0}]
    assert [link(nvml, handle, "State", number) for number in (18, 0xFFFFFFFF)] == [INVALID_ARGUMENT] * 2
    assert link(nvml, handle, "RemotePciInfo_v2", 4) == NOT_SUPPORTED  # a code that `topo -m` goes on after


@pytest.mark.parametrize(("version", "most"), [("418.226.00", 6), ("470.256.02", 12), ("535.274.02", 18)])
@pytest.mark.spec("S33")
def test_how_many_links_there_may_be_is_the_drivers(serve: Serve, version: str, most: int) -> None:
    nvml, handle = serve(nvlinks.spec(SWITCHED, version=version))
    assert link(nvml, handle, "State", most - 1) == {"isActive": 0}
    assert link(nvml, handle, "State", most) == INVALID_ARGUMENT


@pytest.mark.spec("S08")
def test_a_link_is_up_by_four_spellings_and_down_by_any_other(serve: Serve) -> None:
    spellings = ["active", "UP", "enabled", "", "down", "inactive", "sleep"]
    nvml, handle = serve(nvlinks.spec({"links": [{"link": number, "state": given} for number, given in enumerate(spellings)]}))
    assert [link(nvml, handle, "State", number)["isActive"] for number in range(7)] == [1, 1, 1, 1, 0, 0, 0]
    assert [field(nvml, handle, 165, number) for number in range(7)] == [1, 1, 1, 1, 0, 0, 0]


def test_a_board_without_nvlink_supports_none_of_it(serve: Serve) -> None:
    for nvlink in ({}, {"links_per_gpu": 0}, {"version": 4}):
        nvml, handle = serve(nvlinks.spec(nvlink))
        assert link(nvml, handle, "State", 0) == NOT_SUPPORTED
        assert link(nvml, handle, "Version", 0) == NOT_SUPPORTED
        assert [field(nvml, handle, number) for number in (84, 90, 138, 165, 168)] == [NOT_SUPPORTED] * 5
    assert field(nvml, handle, 91) == NOT_SUPPORTED


def test_a_gpu_in_mig_mode_has_no_links_to_ask_for(serve: Serve) -> None:
    nvml, handle = serve(nvlinks.spec(SWITCHED, device={"mig": {"mode_current": "enabled"}}))
    assert link(nvml, handle, "State", 0) == NOT_SUPPORTED


@pytest.mark.spec("S01", "S03", "S37")
def test_version_and_speed_are_the_profiles_by_function_and_by_field_id(serve: Serve) -> None:
    spec = nvlinks.spec({**SWITCHED, "links_per_gpu": 12, "links": [{"link": 1, "state": "down"}], "defaults": {"state": "active"}})
    nvml, handle = serve(spec)
    assert link(nvml, handle, "Version", 0) == {"version": 6} == {"version": field(nvml, handle, 166, 0)}
    speeds = [field(nvml, handle, number) for number in (*range(84, 90), *range(132, 138))]
    assert speeds == [26562, 0, *[26562] * 10]
    assert [field(nvml, handle, 164, number) for number in (0, 1)] == [26562, NOT_SUPPORTED]
    assert field(nvml, handle, 90) == 26562


def test_the_count_of_links_is_of_those_the_board_has(serve: Serve) -> None:
    """Not of those that are up: nvidia-smi from 525 on, which asks as many for their state, says that all are down where none is up (capture)."""
    nvml, handle = serve(nvlinks.spec({**SWITCHED, "defaults": {"state": "down"}}))
    assert (field(nvml, handle, 91), field(nvml, handle, 147), field(nvml, handle, 90)) == (4, 0, NOT_SUPPORTED)


@pytest.mark.spec("S09", "S11")
def test_links_fan_out_to_switches_that_have_no_address_of_their_own(serve: Serve) -> None:
    nvml, handle = serve(nvlinks.spec(SWITCHED))
    assert [link(nvml, handle, "RemoteDeviceType", number) for number in range(4)] == [{"pNvLinkDeviceType": SWITCH}] * 4
    end = link(nvml, handle, "RemotePciInfo_v2", 3)
    assert (end["pci.busId"], end["pci.domain"], end["pci.bus"], end["pci.device"]) == ("FFFFFFFF:FF:FF.0", 0xFFFFFFFF, 0xFF, 0xFF)
    assert (field(nvml, handle, 146, 3), field(nvml, handle, 147)) == (0, 4)


@pytest.mark.spec("S29")
def test_nothing_speaks_of_the_health_of_a_switch() -> None:
    """No function of the header, no field id but the number of links to switches, and no key of a switch."""
    assert [name for name in fields.since() if re.search("switch|nscq|sxid", name, re.IGNORECASE)] == []
    tree = drivers.load()
    known = {name for version in tree.versions() for name in tree.resolve(version).field_ids if re.search("NVSWITCH|NSCQ|SXID", name)}
    assert known <= {"NVML_FI_DEV_NVSWITCH_CONNECTED_LINK_COUNT"}
    assert set(blocks.Switch.model_fields) == {"bdf", "uuid", "device_id"}


@pytest.mark.spec("S06", "S07", "S32")
def test_a_link_between_gpus_has_the_other_ones_address_and_link(serve: Serve) -> None:
    nvml, handle = serve(nvlinks.spec({"device_links": nvlinks.direct((3, "up"), (2, "down"))}))
    for device, far in ((handle, "00000000:02:00.0"), (nvml.device(1), "00000000:01:00.0")):
        end = link(nvml, device, "RemotePciInfo_v2", 0)
        assert (end["pci.busId"], end["pci.busIdLegacy"], end["pci.pciDeviceId"]) == (far, far[4:], 0x233010DE)
        assert link(nvml, device, "RemotePciInfo", 0)["pci.busIdLegacy"] == far[4:]
        assert link(nvml, device, "RemoteDeviceType", 0) == {"pNvLinkDeviceType": GPU}
        assert (field(nvml, device, 146, 0), field(nvml, device, 146, 1)) == (3, NOT_SUPPORTED)
        assert link(nvml, device, "RemotePciInfo_v2", 1) == NOT_SUPPORTED


@pytest.mark.spec("S06", "S07")
def test_the_flat_list_is_that_of_device_0_and_lists_by_index_win(serve: Serve) -> None:
    flat = [{"link": 0, "remote_device_type": "gpu", "remote_pci_bus_id": "0000:02:00.0"}]
    nvml, handle = serve(nvlinks.spec({"links": flat, "links_per_gpu": 2}))
    assert [link(nvml, device, "State", 0)["isActive"] for device in (handle, nvml.device(1))] == [1, 0]
    nvml, handle = serve(nvlinks.spec({"links": flat, "device_links": [{"index": 1, "links": [{"link": 1}]}], "links_per_gpu": 2}))
    assert [link(nvml, device, "State", number)["isActive"] for device in (handle, nvml.device(1)) for number in (0, 1)] == [0, 0, 0, 1]


@pytest.mark.spec("S10")
def test_a_link_can_do_all_there_is_one_to_a_processor_reaches_memory_and_one_that_is_down_nothing(serve: Serve) -> None:
    links = [{"link": 0, "remote_device_type": "nvswitch"}, {"link": 1, "remote_device_type": "CPU"}, {"link": 2, "state": "down"}]
    nvml, handle = serve(nvlinks.spec({"links": links}))
    able = [[link(nvml, handle, "Capability", number, capability=asked)["capResult"] for asked in range(6)] for number in range(3)]
    assert able == [[1, 1, 1, 1, 1, 1], [0, 1, 0, 0, 0, 1], [0, 0, 0, 0, 0, 1]]
    assert link(nvml, handle, "Capability", 0, capability=6) == INVALID_ARGUMENT


@pytest.mark.spec("D18")
def test_peers_reach_each_other_over_nvlink_or_not_at_all(serve: Serve) -> None:
    def statuses(nvlink: dict[str, Any]) -> list[Any]:
        nvml, handle = serve(nvlinks.spec(nvlink))
        answers = [nvml.call("nvmlDeviceGetP2PStatus", handle, {"device2": peer, "p2pIndex": 2}) for peer in (handle, nvml.device(1))]
        return [answer.out.get("p2pStatus", answer.code) for answer in answers]

    assert statuses(SWITCHED) == statuses({"device_links": nvlinks.direct((0, "up"))}) == [0, 0]
    assert statuses({"device_links": nvlinks.direct((0, "down"))}) == statuses({"links_per_gpu": 0}) == [0, 5]
    assert statuses({}) == [0, NOT_SUPPORTED]


# ---- counters


COUNTING: dict[str, Any] = {
    **SWITCHED, "links_per_gpu": 2, "bandwidth_per_link_mbps": 2048, "defaults": {"duty_cycle": 0.5, "counter_seed": 100, "error_rate": 0.25},
}  # fmt: skip


@pytest.fixture
def later(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, int]]:
    """``later(spec, 8)``: the library, eight seconds after the node's epoch."""

    def start(spec: Any, seconds: float) -> tuple[Any, int]:
        path = tmp_path / "node.state"
        path.unlink(missing_ok=True)
        state.create(path, image.pack(spec))
        state.set_clock(path, Clock("frozen", spec.clock.at_ns + int(seconds * S)))
        monkeypatch.setenv("MOCK_NVML_STATE", str(path))
        return serve(spec)

    return start


@pytest.mark.spec("S13", "S34")
def test_traffic_is_seed_and_a_share_of_the_bandwidth_since_the_epoch(serve: Serve, later: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = serve(nvlinks.spec(COUNTING))
    assert [field(nvml, handle, number, 0) for number in range(138, 142)] == [100] * 4  # a replay stands at its epoch
    nvml, handle = later(nvlinks.spec(COUNTING), 2)
    kib = 100 + 2 * 1024 * 1_000_000 // 1024
    assert [field(nvml, handle, number, scope) for number in range(138, 142) for scope in (0, 1)] == [kib] * 8
    assert field(nvml, handle, 138, ALL_LINKS) == 2 * kib
    assert link(nvml, handle, "UtilizationCounter", 1, counter=0) == {"rxcounter": kib, "txcounter": kib}
    assert link(nvml, handle, "UtilizationCounter", 1, counter=2) == INVALID_ARGUMENT
    assert field(nvml, handle, 138, 2) == NOT_SUPPORTED


@pytest.mark.spec("S13")
def test_a_link_is_used_for_a_twentieth_of_the_time_where_the_profile_does_not_say(later: Callable[..., tuple[Any, int]]) -> None:
    nvml, handle = later(nvlinks.spec({"links_per_gpu": 1, "bandwidth_per_link_mbps": 2048}), 10)
    assert field(nvml, handle, 138, 0) == 1_000_000


@pytest.mark.spec("S13", "S27", "S28")
def test_errors_are_those_of_every_link_and_those_injected_into_some(later: Callable[..., tuple[Any, int]]) -> None:
    more = {"nvlink_error": {"rate": 2.5, "links": [1, 9]}}
    nvml, handle = later(nvlinks.spec(COUNTING, device=more), 8)
    counted = [link(nvml, handle, "ErrorCounter", number, counter=kind)["counterValue"] for number in (0, 1) for kind in range(5)]
    assert counted == [2] * 5 + [22] * 5
    assert [field(nvml, handle, number, 1) for number in (161, 162, 163)] == [22] * 3
    assert [field(nvml, handle, number) for number in (32, 33, 34, 38, 46, 52, 59, 148, 160)] == [2, 22, NOT_SUPPORTED, 24, 2, 24, 24, 2, 24]
    nvml, handle = later(nvlinks.spec(COUNTING, device={"nvlink_error": {"rate": 2.5}}), 8)
    assert [link(nvml, handle, "ErrorCounter", number, counter=0) for number in (0, 1, 2)] == [{"counterValue": 22}] * 2 + [NOT_SUPPORTED]


@pytest.mark.spec("S15")
def test_nvlink_5_counts_packets_and_symbols_in_place_of_data_link_errors(later: Callable[..., tuple[Any, int]]) -> None:
    up = {"defaults": {**COUNTING["defaults"], "state": "up"}}
    spec = nvlinks.spec({**COUNTING, **up, "links_per_gpu": 3, "links": [{"link": 2, "state": "down"}]}, version=BLACKWELL,
                        architecture="blackwell", device={"nvlink_error": {"rate": 2.75}})  # fmt: skip
    nvml, handle = later(spec, 8)
    sent = 100 * 1024 + 8 * 1024 * 1_000_000
    assert [field(nvml, handle, number, 0) for number in range(201, 205)] == [sent // 86, sent, sent // 86, sent]
    assert [field(nvml, handle, number, 0) for number in (*range(206, 214), 215, 219, 221)] == [24] * 11
    assert [field(nvml, handle, number, 0) for number in (214, 220, 222, *range(235, 251))] == [0] * 19
    assert [answer.value_type for answer in nvml.field_values(handle, [(220, 0), (201, 0)])] == [0, 3]
    assert [field(nvml, handle, number, 2) for number in (201, 206, 220, 235)] == [NOT_SUPPORTED] * 4
    assert [field(nvml, handle, number, 0) for number in (161, 162, 163)] == [NOT_SUPPORTED] * 3  # as nvml.h says of Blackwell
    assert field(later(nvlinks.spec(COUNTING), 8)[0], handle, 201, 0) in (NOT_SUPPORTED, INVALID_ARGUMENT)
