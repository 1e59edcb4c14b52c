"""docs/profile.md names every key, as the models have it."""

from __future__ import annotations

from pathlib import Path

from harness.reports import keytable
from harness.stores.schema import kept, keys

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_is_in_step_with_the_models() -> None:
    page = (ROOT / "docs" / "profile.md").read_text("utf-8")
    assert page[page.index("| key |") :] == keytable.table(), "nvparity schema --table prints what belongs there"


def test_every_key_stands_in_the_table() -> None:
    listed = [path.replace("[]", "").replace(".<n>", "") for path in keytable.paths()]
    others = [key.path for key in (*kept.DEVICE, *keys.NODE, *kept.NODE)]
    for key in (*keys.device_keys(), *others, "system.driver_version", "clock.at", "index", "states"):
        assert any(path == key or path.startswith(f"{key}.") for path in listed), key


def test_a_key_that_is_not_served_says_so() -> None:
    lines = {line.split("`")[1]: line for line in keytable.table().splitlines()[2:]}
    assert "not served yet" in lines["nvlink.multi_node"]
    assert "`nvmlDeviceGetNvLinkState`" in lines["nvlink.switches[].bdf"]
    assert "`NVML_FI_PWR_SMOOTHING_PROFILE_PERCENT_TMP_FLOOR`" in lines["power.smoothing.profiles.<n>.percent_tmp_floor"]
    assert "`nvmlDeviceGetProcessUtilization`" in lines["processes[].sm_util"]
    assert "asked for by no call" in lines["features"]
    assert "`nvmlDeviceGetEnforcedPowerLimit`" in lines["power.enforced_limit_mw"]
