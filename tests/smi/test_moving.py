"""Readings that move, at a stepped clock: two runs of nvidia-smi and a process of another kind read the same, at every step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from harness.stages import binaries, smi
from harness.stages import compile as compiling
from harness.stages.overriding import starting
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from mocklib import image, state
from mocklib.spec import Clock, ImageSpec
from tests.contract import tuned
from tests.smi.test_writes_clocks import BOARD

SECOND = 1_000_000_000
EPOCH = 1_787_302_441 * SECOND
BRANCHES = (340, 390, 418, 450, 460, 470, 525, 535, 550, 555)
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


THROTTLED, FREE = (
    {**BOARD, "clocks_throttle_reasons": {"sw_power_cap": capped, "counters": {"sw_power_cap_us": 5_000_000}}} for capped in (True, False)
)
SAMPLED = (390, 418, 450, 460, 470, 525, 535, 550, 555)
VIOLATION = "nvmlDeviceGetViolationStatus"


def serve(folder: Path, monkeypatch: pytest.MonkeyPatch, spec: ImageSpec) -> tuple[Path, dict[str, str]]:
    """A fresh state of a spec, and the variables by which it is served; they are this process's, too."""
    folder.mkdir()
    held, made = folder / "state", folder / "served.nvpimg"
    image.write(made, image.pack(spec))
    state.create(held, image.pack(spec))
    served = {"NVPARITY_IMAGE": str(made), "MOCK_NVML_STATE": str(held)}
    for name, value in served.items():
        monkeypatch.setenv(name, value)
    return held, served


@pytest.mark.spec("J10")
def test_a_counter_of_event_reasons_that_grows_is_no_line_of_the_query_on_any_of_the_ten(
    smi_binaries: dict[int, Path], library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their lines, Clocks Event Reasons Counters, come with 580 (captures): a second process reads that it grew, `-q` and `-q -x` print the same."""
    for branch, binary in smi_binaries.items():
        held, served = serve(tmp_path / str(branch), monkeypatch, tuned.spec(THROTTLED, driver=binaries.version_of(binary, library_path)))
        said, read = [], []
        for second in (0, 100):
            state.set_clock(held, Clock("frozen", EPOCH + second * SECOND), EPOCH)
            texts = [smi.run_smi(binary, words, library=library_path, variables=served).stdout.decode() for words in (["-q"], ["-q", "-x"])]
            said.append([re.sub(r"(?m)^.*timestamp.*$", "", text, flags=re.IGNORECASE) for text in texts])
            read += [tuned.elsewhere(library_path, VIOLATION, {"perfPolicyType": 0}) if branch in BRANCHES else None]
        assert said[0] == said[1]
        assert all("GPU 00000000:" in text or "<gpu id=" in text or branch == 340 for text in said[0]), branch
        assert not re.search(r"(?i)reasons.?counters", "".join(said[0])), branch
        if branch in BRANCHES:
            assert [answer[1]["violTime.violationTime"] for answer in read if answer] == [5 * SECOND, 105 * SECOND]


UNSURE = pytest.mark.unsanitized("390 and 418 at times print 100 of a GPU whose answers stay the same: their thread is slow there", "threads")


@pytest.mark.spec("J10")
@pytest.mark.parametrize("branch", [pytest.param(branch, marks=UNSURE if branch in {390, 418} else ()) for branch in SAMPLED])
def test_dmon_prints_the_share_of_the_time_that_the_counter_of_the_power_cap_grew_by(
    smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: int
) -> None:
    """Its column pviol, from 390 on (340 has no dmon), is nvmlDeviceGetViolationStatus; of the first look it is 0.

    Time goes on between the looks, so that this one runs by the real clock; what it prints is a share and does not depend on how much.
    """
    binary = smi_binary(branch)
    boards = [{**board, "pci": {"bus_id": f"0000:0{number}:00.0"}} for number, board in enumerate((THROTTLED, FREE), 1)]
    held, served = serve(tmp_path / "served", monkeypatch, tuned.spec(*boards, driver=binaries.version_of(binary, library_path)))
    state.set_clock(held, Clock("real"))
    lines = smi.run_smi(binary, ["dmon", "-s", "v", "-c", "2"], library=library_path, variables=served).stdout.decode().splitlines()
    shares = [int(line.split()[1]) for line in lines if not line.startswith("#")]
    assert shares[:2] == [0, 0]
    assert shares[2] in {99, 100}  # cut, where the microseconds of the reference time are rounded up
    assert shares[3:] == [0]


@pytest.mark.spec("U01")
def test_nvidia_smi_draws_from_the_seed_of_the_state_as_every_process_does(
    smi_binary: Callable[[int], Path], library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    binary, space = smi_binary(555), Workspace(repository)
    board = tmp_path / "board.yaml"
    document = {"format": 1, "version": "1.0", "system": {"driver_version": "555.58.02"}, "devices": [{"index": 0, **MOVING}]}
    board.write_text(yaml.safe_dump(json.loads(json.dumps(document))))
    made, held = board.with_suffix(".nvpimg"), tmp_path / "held"
    serving.write_image(board, space, made)
    starting.start(starting.Served(board, made, None, space), held, Clock("frozen", EPOCH), seed=starting.Seed(asked=7))
    served = {"NVPARITY_IMAGE": str(made), "MOCK_NVML_STATE": str(held)}
    for name, value in served.items():
        monkeypatch.setenv(name, value)
    wanted = [compiling.compile_profile(profiles.load(board), drivers.load().resolve("555.58.02"), seed) for seed in (7, 1)]
    state.set_clock(held, Clock("frozen", EPOCH + 33 * SECOND), EPOCH)
    said = smi.run_smi(binary, QUERY.split(), library=library_path, variables=served).stdout.decode().split(", ")
    drawn = [[at(spec, name, 33) for name in FIELDS] for spec in wanted]
    assert drawn[0] != drawn[1]
    assert [int(said[0]), *map(int, said[2:])] == [drawn[0][0], *drawn[0][2:]]
    assert tuned.elsewhere(library_path, "nvmlDeviceGetUtilizationRates")[1] == {"utilization.gpu": drawn[0][2], "utilization.memory": drawn[0][3]}
