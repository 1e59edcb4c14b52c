"""Power: three shapes of one block, average and instant draw, GPU, memory and module scope."""

from __future__ import annotations

import pytest

from mocklib.binding import Nvml
from tests.cases.boards import A100, GT1030, H100, T4, Content, put, swap, text_of
from tests.cases.conftest import Ask, On, Take

AVERAGE, INSTANT, MIN, MAX, DEFAULT, CURRENT, REQUESTED = 185, 186, 187, 188, 189, 190, 192
GPU, MODULE, MEMORY = 0, 1, 2


def usage(nvml: Nvml, device: int) -> tuple[int | None, int | None]:
    """Milliwatts of the draw and of the enforced limit."""
    return (
        nvml.call("nvmlDeviceGetPowerUsage", device).out.get("power"),
        nvml.call("nvmlDeviceGetEnforcedPowerLimit", device).out.get("limit"),
    )


def fields(nvml: Nvml, device: int, *asked: tuple[int, int]) -> list[tuple[int, int | float | None]]:
    """Code and value of each (field id, scope)."""
    return [(answer.code, answer.value) for answer in nvml.field_values(device, list(asked))]


def test_the_block_that_525_prints_gives_draw_and_limits_and_no_module(take: Take, ask: Ask, on: On):
    """BL-001, a: one name for the block, ``power_draw`` and ``power_limit``; there is no module block."""
    given = put(put(put(on(GT1030, "525.147.05"), "power_draw", "27.23 W"), "power_limit", "200.00 W"), "enforced_power_limit", "200.00 W")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert (taken.value("power.current_draw_mw"), taken.value("power.enforced_limit_mw")) == (27230, 200000)
    assert taken.value("power.module.average_draw_mw") is None
    assert usage(*ask(taken)) == (27230, 200000)


def test_the_block_that_535_prints_has_the_draw_under_its_old_name_and_a_module_without_one(take: Take, ask: Ask, on: On):
    """BL-001, b."""
    given = swap(on(A100, "535.274.02"), ("49.68 W", "22.78 W"), ("_limit>400.00 W</current", "_limit>336.00 W</current"))
    given = swap(given, ("<requested_power_limit>400", "<requested_power_limit>336"))
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert "<module_power_readings>" in given
    assert usage(*ask(taken)) == (22780, 336000)
    assert fields(*ask(taken), (AVERAGE, MODULE), (CURRENT, MODULE)) == [(3, None)] * 2


def test_the_block_that_570_prints_has_average_and_instant_draw(take: Take, ask: Ask):
    """BL-001, c."""
    given = put(put(text_of(A100), "average_power_draw", "11.60 W"), "instant_power_draw", "11.63 W")
    given = put(put(given, "current_power_limit", "170.00 W"), "requested_power_limit", "170.00 W")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert usage(*ask(taken)) == (11600, 170000)
    assert fields(*ask(taken), (AVERAGE, GPU), (INSTANT, GPU), (CURRENT, GPU)) == [(0, 11600), (0, 11630), (0, 170000)]


def test_a_block_under_another_doctype_is_told_by_its_elements(take: Take, ask: Ask, on: On):
    """BL-001: v12 stands above all three shapes, so v11 above one of them changes nothing."""
    given = on(A100, "535.274.02").replace("nvsmi_device_v12", "nvsmi_device_v11")
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert usage(*ask(taken)) == (49680, 400000)


@pytest.mark.parametrize(("board", "milliwatts"), [(A100, 49680), (T4, 33510)])
def test_an_average_that_is_not_supported_is_not_filled_from_the_instant_draw(board: str, milliwatts: int, take: Take, ask: Ask):
    """BL-002: the usage call of these architectures reports the instant draw; the average stays what it is in both directions."""
    nvml, device = ask(board)
    assert nvml.call("nvmlDeviceGetPowerUsage", device).out == {"power": milliwatts}
    assert fields(nvml, device, (AVERAGE, GPU), (INSTANT, GPU)) == [(3, None), (0, milliwatts)]


def test_an_instant_draw_that_is_not_supported_is_not_filled_from_the_average(take: Take, ask: Ask):
    """BL-002, the other way round; newer architectures report the average."""
    given = swap(text_of(H100), ("<instant_power_draw>68.92 W", "<instant_power_draw>N/A"))
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    nvml, device = ask(taken)
    assert nvml.call("nvmlDeviceGetPowerUsage", device).out == {"power": 68570}
    assert fields(nvml, device, (AVERAGE, GPU), (INSTANT, GPU)) == [(0, 68570), (3, None)]


def test_memory_and_module_have_figures_of_their_own(take: Take, ask: Ask):
    """BL-019: one node's module and memory power, by scope; no module limit comes from a GPU's."""
    memory: Content = {"average_power_draw": "35.70 W", "instant_power_draw": "N/A"}
    module: Content = {
        "power_state": "P0", "average_power_draw": "488.29 W", "instant_power_draw": "N/A", "current_power_limit": "2900.00 W",
        "requested_power_limit": "N/A", "default_power_limit": "N/A", "min_power_limit": "500.00 W", "max_power_limit": "N/A",
    }  # fmt: skip
    given = put(put(text_of(H100), "gpu_memory_power_readings", memory), "module_power_readings", module)
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    first = fields(
        *ask(taken), (AVERAGE, MODULE), (CURRENT, MODULE), (MIN, MODULE), (MAX, MODULE), (AVERAGE, MEMORY), (INSTANT, MEMORY), (CURRENT, GPU)
    )
    assert first == [(0, 488290), (0, 2900000), (0, 500000), (3, None), (0, 35700), (3, None), (0, 700000)]
    assert fields(*ask(taken, 1), (AVERAGE, MODULE), (CURRENT, MODULE), (AVERAGE, MEMORY)) == [(3, None), (3, None), (0, 39710)]


def test_a_board_without_module_figures_supports_no_field_of_that_scope(take: Take, ask: Ask):
    """BL-019."""
    ids = (AVERAGE, INSTANT, MIN, MAX, DEFAULT, CURRENT, REQUESTED)
    assert fields(*ask(T4), *((number, MODULE) for number in ids)) == [(3, None)] * len(ids)
