"""Readings that move, at a stepped clock: two runs of nvidia-smi and a process of another kind read the same, at every step."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages import binaries, smi
from mocklib import image, state
from mocklib.spec import Clock, ImageSpec
from tests.contract import tuned
from tests.smi.test_writes_clocks import BOARD

SECOND = 1_000_000_000
EPOCH = 1_787_302_441 * SECOND
BRANCHES = (340, 470, 555)
MOVING = {
    **BOARD, "thermal": {"temperature_gpu_c": 30, "shutdown_threshold_c": 92}, "utilization": {"gpu": 0, "memory": 0},
    "dynamic_metrics": {
        "temperature": {"base_c": 40, "ramp_c": 30, "variance_c": 2}, "power": {"base_mw": 200_000, "variance_mw": 90_000},
        "utilization": {"gpu_min": 10, "gpu_max": 90, "memory_min": 5, "memory_max": 25},
    },
}  # fmt: skip
QUERY = "--query-gpu=temperature.gpu,power.draw,utilization.gpu,utilization.memory --format=csv,noheader,nounits"
FIELDS = ("thermal.temperature_gpu_c", "power.current_draw_mw", "utilization.gpu", "utilization.memory")


def at(spec: ImageSpec, name: str, second: int) -> int:
    """Where a field stands a number of seconds after the epoch; it stands at its first sample before it."""
    track = spec.tracks[spec.devices[0][name].rate]
    return track.samples[max(second, 0) * SECOND // track.period_ns % len(track.samples)]


@pytest.mark.spec("U02", "U03", "U04", "U15")
@pytest.mark.parametrize("branch", BRANCHES)
def test_every_process_reads_the_same_at_every_step(
    smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: int
) -> None:
    binary, held = smi_binary(branch), tmp_path / "state"
    spec = tuned.spec(MOVING, driver=binaries.version_of(binary, library_path))
    served = {"NVPARITY_IMAGE": str(tmp_path / "served.nvpimg"), "MOCK_NVML_STATE": str(held)}
    image.write(tmp_path / "served.nvpimg", image.pack(spec))
    state.create(held, image.pack(spec))
    for name, value in served.items():
        monkeypatch.setenv(name, value)

    def run(command: str) -> str:
        ran = smi.run_smi(binary, command.split(), library=library_path, variables=served)
        assert ran.status == 0, ran.stdout
        return ran.stdout.decode()

    for second in (0, 7, 33):
        state.set_clock(held, Clock("frozen", EPOCH + second * SECOND), EPOCH)
        wanted = [at(spec, name, second) for name in FIELDS]
        said = [run(QUERY) for _ in range(2)]
        assert said[0] == said[1]
        temperature, power, *utilization = map(float, said[0].split(", "))
        assert [temperature, *utilization] == [wanted[0], *wanted[2:]]
        assert power * 1000 == pytest.approx(wanted[1], abs=6)
        assert tuned.elsewhere(library_path, "nvmlDeviceGetUtilizationRates")[1] == {"utilization.gpu": wanted[2], "utilization.memory": wanted[3]}
    history = [at(spec, "utilization.gpu", 33 - number) for number in range(20)]
    section = re.search(r"GPU Utilization Samples\n(?:.*\n)*?\s*Max\s*: (\d+) %\n\s*Min\s*: (\d+) %", run("-q -d UTILIZATION"))
    assert section is not None
    assert [int(section[1]), int(section[2])] == [max(history), min(history)]
