"""What one nvidia-smi wrote is what the next one prints, and what a process that runs reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from mocklib import state


@pytest.mark.parametrize("branch", [470, 535, 555])
@pytest.mark.spec("Z22", "F04")
@pytest.mark.usefixtures("served_library")
def test_a_limit_that_one_process_set_is_there_for_the_next_one_at_once(
    branch: int, smi_binary: Callable[[int], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_CONFIG", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    run = ["run", "--driver", str(branch), "--state", str(tmp_path / "state"), "h100", "--", str(smi_binary(branch))]
    query = [*run, "--query-gpu=power.limit", "--format=csv,noheader,nounits"]
    assert guard.run([*run, "-pl", "300", "-i", "1"]) == 0
    capfd.readouterr()
    assert guard.run(query) == 0
    printed = capfd.readouterr().out.splitlines()
    assert [number for number, line in enumerate(printed) if float(line) == 300] == [1]
    assert [bool(changed) for changed in state.overrides(tmp_path / "state")] == [number == 1 for number in range(len(printed))]
