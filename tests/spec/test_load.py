"""Ledger VL and the required keys of B: what a profile must have to be loaded."""

from __future__ import annotations

import pytest

from harness.cli import ctl
from harness.stores import profiles
from harness.words.errors import InputError
from tests.spec import serving


@pytest.mark.parametrize(("text", "said"), [
    pytest.param("system: {driver_version: '580.1'}\n", "version", marks=pytest.mark.spec("B01", "VL01")),
    pytest.param("version: ''\nsystem: {driver_version: '580.1'}\n", "version", marks=pytest.mark.spec("B01", "VL01")),
    pytest.param("version: '1.0'\nsystem: {cuda_version: '12.4'}\n", "driver_version", marks=pytest.mark.spec("B02", "VL02")),
    pytest.param("version: '1.0'\nsystem: {driver_version: ''}\n", "driver_version", marks=pytest.mark.spec("B02", "VL02")),
])  # fmt: skip
def test_a_profile_without_a_required_key_is_refused(text: str, said: str):
    with pytest.raises(InputError, match=said):
        profiles.parse(text.encode())


@pytest.mark.spec("VL03")
def test_indices_of_devices_are_unique():
    with pytest.raises(InputError, match="index"):
        serving.compiled(devices="[{index: 3}, {index: 3}]")


@pytest.mark.spec("F13", "VL09")
@pytest.mark.parametrize("supported", ["[{id: 1}, {id: 1}]", "[{id: 255}]", "[{id: -1}]"])
def test_ids_of_workload_profiles_are_unique_and_0_to_254(supported: str):
    with pytest.raises(InputError, match="workload_power_profiles"):
        serving.compiled(f"power: {{workload_power_profiles: {{supported: {supported}}}}}")


@pytest.mark.parametrize(("keys", "said"), [pytest.param(*case[:2], marks=pytest.mark.spec(case[2])) for case in (
    ("brand: acme", "brand: 'acme' is not one of", "B10"), ("architecture: martian", "unknown architecture 'martian'", "B18"),
    ("pci: {bus_id: nowhere}", "pci.bus_id 'nowhere' is not", "D03"), ("topology: {default_level: sideways}", "'sideways' is not one of", "D17"),
    ("platform: {peer_type: weird}", "'weird' is not one of", "E05"),
    ("fan: {count: 1, speed_percent: fast}", 'expected "0" to "100" or "N/A"', "H02"),
    ("fan: {count: 1, target_speed_percent: '101'}", 'expected "0" to "100" or "N/A"', "H03"),
    ("performance_state: P16", "'P16' is not one of", "K01"),
)])  # fmt: skip
def test_a_word_that_a_key_does_not_have_is_refused_with_its_line(keys: str, said: str):
    """The rows have another word in its place; row W52 of the ledger wants a strict load, so that a slip of the pen is no other board."""
    with pytest.raises(InputError, match=rf"profile:3: .*{said}"):
        serving.compiled(keys)


@pytest.mark.spec("X19")
def test_ctl_has_no_command_for_mig():
    assert "mig" not in ctl.TABLE
    assert "fail" in ctl.TABLE
