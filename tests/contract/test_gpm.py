"""Profiling metrics: samples that the caller allocates, what two of them amount to, and what is said of samples and metrics that are none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mocklib import image, state
from mocklib.image import Clock, FieldId, FieldValue, Track
from tests.contract import boards, nvlinks, tuned

Serve = Callable[..., Any]
SECOND = 1_000_000_000
HOPPER = {
    "gpm__supported": FieldValue(1), "gpm__pcie_tx_mib_per_sec": FieldValue(2048), "gpm__pcie_rx_mib_per_sec": FieldValue(1000),
    "utilization__gpu": FieldValue(80), "utilization__memory": FieldValue(30),
}  # fmt: skip
PARTS = {1: 80.0, 2: 80.0, 3: 60.0, 4: 8.0, 5: 40.0, 6: 1.6, 7: 32.0, 8: 4.0, 9: 4.0, 11: 4.0, 12: 20.0, 13: 28.0}
"""Metric -> what it is at 80 % utilization."""


class Gpm:
    """The calls of GPM on one library, as a client makes them."""

    def __init__(self, nvml: Any) -> None:
        self.nvml, self.ffi, self.library = nvml, nvml.ffi, nvml.library

    def alloc(self) -> Any:
        place = self.ffi.new("nvmlGpmSample_t *")
        assert self.library.nvmlGpmSampleAlloc(place) == 0
        return place[0]

    def get(self, handle: int, sample: Any) -> int:
        return int(self.library.nvmlGpmSampleGet(self.ffi.cast("nvmlDevice_t", handle), sample))

    def filled(self, handle: int) -> Any:
        sample = self.alloc()
        assert self.get(handle, sample) == 0
        return sample

    def wanted(self, one: Any, other: Any, ids: list[int], version: int = 1) -> Any:
        wanted = self.ffi.new("nvmlGpmMetricsGet_t *")
        wanted.version, wanted.numMetrics, wanted.sample1, wanted.sample2 = version, len(ids), one, other
        for place, number in enumerate(ids):
            wanted.metrics[place].metricId = number
        return wanted

    def metrics(self, one: Any, other: Any, ids: list[int]) -> dict[int, tuple[int, float]]:
        wanted = self.wanted(one, other, ids)
        assert self.library.nvmlGpmMetricsGet(wanted) == 0
        return {number: (int(wanted.metrics[place].nvmlReturn), float(wanted.metrics[place].value)) for place, number in enumerate(ids)}


def board(**held: FieldValue) -> Any:
    return boards.spec(devices=[boards.device(0, **{**HOPPER, **held})])


@pytest.mark.spec("U11", "U12")
def test_activity_is_a_fixed_part_of_the_utilization(serve: Serve) -> None:
    nvml, handle = serve(board())
    gpm = Gpm(nvml)
    found = gpm.metrics(gpm.filled(handle), gpm.filled(handle), [*PARTS, 10])
    assert {number: (code, round(value, 9)) for number, (code, value) in found.items()} == {**{n: (0, v) for n, v in PARTS.items()}, 10: (0, 30.0)}


@pytest.mark.spec("U13")
def test_pcie_throughput_is_the_utilization_of_the_boards_figures(serve: Serve) -> None:
    nvml, handle = serve(board())
    gpm = Gpm(nvml)
    assert gpm.metrics(gpm.filled(handle), gpm.filled(handle), [20, 21]) == {20: (0, 1638.4), 21: (0, 800.0)}


SHIPPED = [("h100-sxm5-x8_580.105.08", {}, 1), ("b200-x8_580.105.08", {}, 1), ("gb200-x4_580.173.02", {}, 1), ("gh200-480gb-x1_550.127.05", {}, 1),
           ("a100-sxm4-40gb-x1_570.148.08", {}, 0), ("l40s-x1_595.91.07", {}, 0), ("t4-x1_595.91.07", {}, 0),
           ("a100-sxm4-40gb-x1_570.148.08", {"gpm": {"supported": True}}, 1),
           ("h100-sxm5-x8_580.105.08", {"gpm": {"supported": False}}, 0)]  # fmt: skip


@pytest.mark.spec("U10", "U11", "U12", "U13")
@pytest.mark.parametrize(("name", "keys", "supported"), SHIPPED, ids=[f"{name.partition('_')[0]}-{bool(keys)}" for name, keys, _ in SHIPPED])
def test_boards_have_metrics_from_hopper_on_or_as_their_key_says(serve: Serve, name: str, keys: dict[str, Any], supported: int) -> None:
    nvml, handle = serve(tuned.shipped(name, {**keys, "utilization": {"gpu": 80, "memory": 30}}))
    gpm = Gpm(nvml)
    assert nvml.call("nvmlGpmQueryDeviceSupport", handle, {"gpmSupport.version": 1}).out["gpmSupport.isSupportedDevice"] == supported
    if not supported:
        assert gpm.get(handle, gpm.alloc()) == 3
        return
    found = gpm.metrics(gpm.filled(handle), gpm.filled(handle), [*PARTS, 10, 20, 21, 60, 97])
    wanted = {**PARTS, 10: 30.0, 20: 0.8 * 2048, 21: 0.8 * 2048}
    assert {number: round(value, 9) for number, (code, value) in found.items() if code == 0} == wanted
    assert (found[60][0], found[97][0]) == (3, 3)  # the profile names no links


@pytest.mark.spec("U10")
def test_drivers_have_metrics_from_520_on_and_streaming_from_535_on(serve: Serve) -> None:
    """Other than ledger U10 and B24, which have 535 and 555: the real library of 525 exports the one, that of 535 the other (tables/since.yaml)."""
    for driver, codes in (("515.105.01", (13, 13)), ("525.147.05", (0, 13)), ("535.274.02", (0, 0))):
        nvml, handle = serve(tuned.spec({"architecture": "hopper"}, driver=driver))
        asked = nvml.call("nvmlGpmQueryDeviceSupport", handle, {"gpmSupport.version": 1}), nvml.call("nvmlGpmQueryIfStreamingEnabled", handle, {})
        assert tuple(answer.code for answer in asked) == codes, driver


def moving(**held: FieldValue) -> Any:
    """A board whose two links count, and whose utilization steps from 10 to 90 %."""
    spec = board(utilization__gpu=FieldValue(10, kind=2, rate=0), **held)
    ids = [FieldId(139, 0, "ecc.errors.aggregate.single_bit.total", 3), FieldId(138, 0, "ecc.errors.aggregate.double_bit.total", 3),
           FieldId(139, 1, "ecc.errors.volatile.single_bit.total", 3)]  # fmt: skip
    return replace(spec, field_ids=ids, tracks=(Track((10, 90), 1, boards.AT_NS, loop=False),))


@pytest.mark.spec("U13")
def test_links_are_the_difference_of_their_counters_by_the_time_whatever_the_order(serve: Serve, clock: Callable[[int], None]) -> None:
    nvml, handle = serve(moving(
        ecc__errors__aggregate__single_bit__total=FieldValue(5, kind=1, rate=2048),
        ecc__errors__aggregate__double_bit__total=FieldValue(0, kind=1, rate=1024),
        ecc__errors__volatile__single_bit__total=FieldValue(0, kind=1, rate=1 << 20),
    ))  # fmt: skip
    gpm = Gpm(nvml)
    first = gpm.filled(handle)
    clock(boards.AT_NS + 4 * SECOND)
    second = gpm.filled(handle)
    ids = [60, 61, 62, 63, 64, 65, 97, 212, 1]
    found = gpm.metrics(first, second, ids)
    assert {number: value for number, (code, value) in found.items() if code == 0} == {60: 1026, 61: 1, 62: 2, 63: 1, 64: 1024, 1: 90}
    assert {number for number, (code, _) in found.items() if code == 3} == {65, 97, 212}
    assert gpm.metrics(second, first, ids) == found


@pytest.mark.spec("U13", "S34")
def test_links_of_a_profile_carry_what_their_own_counters_say(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields 138 and 139, KiB of data: half of 2048 MB/s for each of two links; a third is down, the board has no fourth."""
    given = {"links_per_gpu": 3, "bandwidth_per_link_mbps": 2048, "links": [{"link": 2, "state": "down"}]}
    spec, held = nvlinks.spec({**given, "defaults": {"duty_cycle": 0.5, "state": "up"}}), tmp_path / "node.state"
    state.create(held, image.pack(spec))
    monkeypatch.setenv("MOCK_NVML_STATE", str(held))
    nvml, handle = serve(spec)
    gpm = Gpm(nvml)

    def at(seconds: int) -> tuple[Any, list[int]]:
        state.set_clock(held, Clock("frozen", spec.clock.at_ns + seconds * SECOND))
        answers = nvml.field_values(handle, [(number, scope) for scope in (0, 1) for number in (139, 138)])
        return gpm.filled(handle), [answer.value for answer in answers]

    (first, before), (second, after) = at(3), at(11)
    counted = [(later - sooner) / 8 / 1024 for sooner, later in zip(before, after, strict=True)]
    assert counted == [1_024_000_000 / 2**20] * 4
    found = gpm.metrics(first, second, [*range(62, 70), 97, 212, 60, 61])
    assert {number: value for number, (code, value) in found.items() if code == 0} == {
        **dict(zip(range(62, 66), counted, strict=True)), 60: counted[0] + counted[2], 61: counted[1] + counted[3],
    }  # fmt: skip
    assert {number for number, (code, _) in found.items() if code == 3} == {66, 67, 68, 69, 97, 212}


def test_nothing_went_through_a_link_between_samples_of_one_instant(serve: Serve) -> None:
    nvml, handle = serve(moving(ecc__errors__aggregate__single_bit__total=FieldValue(5, kind=1, rate=2048)))
    gpm = Gpm(nvml)
    assert gpm.metrics(gpm.filled(handle), gpm.filled(handle), [62]) == {62: (0, 0.0)}


@pytest.mark.spec("U13")
@pytest.mark.parametrize("number", [0, 14, 30, 98, 160, 248, 477, 2**32 - 1])
def test_a_metric_that_is_not_known_is_not_supported_and_the_call_succeeds(serve: Serve, number: int) -> None:
    nvml, handle = serve(board())
    gpm = Gpm(nvml)
    assert gpm.metrics(gpm.filled(handle), gpm.filled(handle), [number, 1]) == {number: (3, 0.0), 1: (0, 80.0)}


def test_a_metric_answers_the_code_of_the_reading_it_is_made_of(serve: Serve) -> None:
    nvml, handle = serve(board(utilization__gpu=FieldValue(status=4), gpm__pcie_rx_mib_per_sec=FieldValue(status=26)))
    gpm = Gpm(nvml)
    assert gpm.metrics(gpm.filled(handle), gpm.filled(handle), [1, 10, 20, 21]) == {1: (4, 0.0), 10: (0, 30.0), 20: (4, 0.0), 21: (26, 0.0)}


@pytest.mark.spec("U13")
@pytest.mark.parametrize("version", [0, 2, 1 << 24 | 1])
def test_another_version_word_is_a_mismatch(serve: Serve, version: int) -> None:
    nvml, handle = serve(board())
    gpm = Gpm(nvml)
    assert nvml.library.nvmlGpmMetricsGet(gpm.wanted(gpm.filled(handle), gpm.filled(handle), [1], version)) == 25


@pytest.mark.spec("U10")
@pytest.mark.parametrize(("supported", "code"), [(FieldValue(1), 0), (FieldValue(0), 3), (FieldValue(status=3), 3), (FieldValue(status=15), 15)])
def test_a_board_without_gpm_fills_no_sample(serve: Serve, supported: FieldValue, code: int) -> None:
    nvml, handle = serve(board(gpm__supported=supported))
    gpm = Gpm(nvml)
    assert gpm.get(handle, gpm.alloc()) == code
    answer = nvml.call("nvmlGpmQueryDeviceSupport", handle, {"gpmSupport.version": 1})
    told = (0, {"gpmSupport.version": 1, "gpmSupport.isSupportedDevice": supported.value})
    assert (answer.code, answer.out) == (told if not supported.status else (supported.status, {}))


def test_samples_of_two_boards_empty_ones_and_too_many_metrics_are_invalid(serve: Serve) -> None:
    nvml, handle = serve(boards.spec(2, devices=[boards.device(0, **HOPPER), boards.device(1, **HOPPER)]))
    gpm = Gpm(nvml)
    one, other, empty = gpm.filled(handle), gpm.filled(nvml.device(1)), gpm.alloc()
    several = gpm.wanted(one, one, [1])
    several.numMetrics = 478
    for pair in ((one, other), (one, empty), (empty, empty), (one, gpm.ffi.NULL)):
        assert nvml.library.nvmlGpmMetricsGet(gpm.wanted(*pair, [1])) == 2
    assert nvml.library.nvmlGpmMetricsGet(several) == 2
    several.numMetrics = 477
    assert nvml.library.nvmlGpmMetricsGet(several) == 0


def test_a_sample_is_dead_after_it_is_freed_and_after_the_last_shutdown(serve: Serve) -> None:
    nvml, handle = serve(board())
    gpm = Gpm(nvml)
    kept, freed = gpm.filled(handle), gpm.filled(handle)
    assert nvml.library.nvmlGpmSampleFree(freed) == 0
    assert [nvml.library.nvmlGpmSampleFree(freed), gpm.get(handle, freed), nvml.library.nvmlGpmMetricsGet(gpm.wanted(kept, freed, [1]))] == [2, 2, 2]
    again = gpm.alloc()
    assert again != freed
    assert nvml.library.nvmlGpmMetricsGet(gpm.wanted(kept, again, [1])) == 2, "what a sample's slot held before is not the sample's"
    nvml.shutdown()
    assert nvml.library.nvmlGpmSampleFree(kept) == 1
    nvml.init()
    assert nvml.library.nvmlGpmSampleFree(kept) == 2


def test_more_samples_than_there_is_room_for_are_refused_and_room_comes_back(serve: Serve) -> None:
    nvml, _ = serve(board())
    gpm = Gpm(nvml)
    held = [gpm.alloc() for _ in range(1024)]
    place = gpm.ffi.new("nvmlGpmSample_t *")
    assert nvml.library.nvmlGpmSampleAlloc(place) == 20
    assert len(set(map(int, (gpm.ffi.cast("uintptr_t", sample) for sample in held)))) == 1024
    assert nvml.library.nvmlGpmSampleFree(held[7]) == 0
    assert nvml.library.nvmlGpmSampleAlloc(place) == 0


def test_a_handle_of_another_kind_is_no_sample(serve: Serve) -> None:
    nvml, handle = serve(board())
    event_set = nvml.call("nvmlEventSetCreate", None, {}).out["set"]
    cast = nvml.ffi.cast
    assert [nvml.library.nvmlGpmSampleFree(cast("nvmlGpmSample_t", value)) for value in (0, 1, handle, event_set, 2**64 - 1)] == [2] * 5


def test_streaming_is_set_for_every_process_and_refused_where_there_is_no_gpm(serve: Serve, clock: Callable[[int], None]) -> None:
    nvml, handle = serve(board(gpm__streaming=FieldValue(0)))

    def streaming(state: int | None = None) -> tuple[int, Any]:
        if state is not None:
            return nvml.call("nvmlGpmSetStreamingEnabled", handle, {"state": state}).code, None
        answer = nvml.call("nvmlGpmQueryIfStreamingEnabled", handle, {})
        return answer.code, answer.out.get("state")

    assert [streaming(), streaming(1), streaming(), streaming(2), streaming(), streaming(0), streaming()] == [
        (0, 0), (0, None), (0, 1), (2, None), (0, 1), (0, None), (0, 0),
    ]  # fmt: skip
    nvml, handle = serve(board(gpm__streaming=FieldValue(status=3)))
    assert [streaming(1), streaming()] == [(3, None), (3, None)]
