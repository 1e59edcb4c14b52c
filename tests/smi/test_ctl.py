"""What ``nvparity ctl`` changes, as real nvidia-smi binaries print it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.cli import guard

FIELDS = ("temperature.gpu,power.draw,fan.speed,utilization.gpu,utilization.memory,clocks.sm,pstate,memory.used,"
          "ecc.errors.uncorrected.volatile.device_memory")  # fmt: skip
VERBS = (["temp", "85"], ["power", "300.5"], ["fan", "40"], ["util", "77"], ["clocks", "1200"], ["pstate", "8"],
         ["set", "memory.used_bytes=1073741824", "memory.free_bytes=84447068160", "ecc.errors.volatile.double_bit.device_memory=3"])  # fmt: skip


@pytest.mark.parametrize("branch", [470, 555])
@pytest.mark.spec("X04", "X05", "X06", "X07", "X08", "X10", "X14", "X22")
@pytest.mark.usefixtures("served_library")
def test_a_binary_prints_what_each_verb_pins(
    branch: int, smi_binary: Callable[[int], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    place, query = str(tmp_path / "state"), [f"--query-gpu={FIELDS}", "--format=csv,noheader"]

    def printed() -> list[str]:
        assert guard.run(["run", "--driver", str(branch), "--state", place, "h100", "--", str(smi_binary(branch)), *query]) == 0
        return capfd.readouterr().out.splitlines()

    before = printed()
    for words in VERBS:
        assert guard.run(["ctl", "--state", place, "--gpu", "2", *words]) == 0
    capfd.readouterr()
    after = printed()
    assert after[2] == "85, 300.50 W, 40 %, 77 %, 77 %, 1200 MHz, P8, 1024 MiB, 3"
    assert [line for number, line in enumerate(after) if number != 2] == [line for number, line in enumerate(before) if number != 2]
    assert guard.run(["ctl", "--state", place, "reset"]) == 0
    capfd.readouterr()
    assert printed() == before


@pytest.mark.parametrize("branch", [470, 555])
@pytest.mark.spec("Y12", "Y13", "X16")
@pytest.mark.usefixtures("served_library")
def test_a_reset_by_a_binary_drops_what_is_over_that_gpu(
    branch: int, smi_binary: Callable[[int], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    place = str(tmp_path / "state")
    run = ["run", "--driver", str(branch), "--state", place, "h100", "--", str(smi_binary(branch))]
    assert guard.run([*run, "-L"]) == 0
    for words in (["temp", "50", "--gpu", "all"], ["temp", "60", "--gpu", "1"], ["temp", "61", "--gpu", "2"]):
        assert guard.run(["ctl", "--state", place, *words]) == 0
    assert guard.run([*run, "-pl", "300", "-i", "1"]) == 0
    capfd.readouterr()
    assert guard.run([*run, "-r", "-i", "1"]) == 0
    capfd.readouterr()
    assert guard.run([*run, "--query-gpu=temperature.gpu,power.limit", "--format=csv,noheader"]) == 0
    assert capfd.readouterr().out.splitlines()[:3] == ["50, 700.00 W", "50, 700.00 W", "61, 700.00 W"]
    assert guard.run(["ctl", "--state", place, "export"]) == 0
    told = yaml.safe_load(capfd.readouterr().out)
    assert set(told["devices"]) == {"2"}
    assert told["all"]["thermal"] == {"temperature_gpu_c": 50}
