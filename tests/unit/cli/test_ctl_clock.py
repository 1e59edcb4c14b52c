"""``nvparity ctl clock``, and what adds up while it is stepped: every process reads the same, one that has only started, too."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli import guard
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import carrying, state

PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.105.08"}
clock: {at: "2026-08-21T08:54:01Z"}
device_defaults:
  name: board
  architecture: hopper
  thermal: {temperature_gpu_c: 30}
  power: {current_draw_mw: 50000, total_energy_consumption_mj: 1000}
  clocks_throttle_reasons: {gpu_idle: true, counters: {hw_thermal_slowdown_us: 5}}
devices: [{index: 0}, {index: 1}]
"""
COUNTER, ENERGY = "clocks_throttle_reasons.counters.hw_thermal_slowdown_us", "power.total_energy_consumption_mj"
Ctl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def held(tmp_path: Path, repository: Path) -> Path:
    """Where the state of PROFILE will be."""
    path = tmp_path / "mine.yaml"
    path.write_text(PROFILE)
    path.with_suffix(".nvpimg").write_bytes(serving.image_bytes(path, Workspace(repository)))
    return path.with_suffix(".nvpimg.nvpstate")


@pytest.fixture
def ctl(held: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Ctl:
    for name in ("MOCK_NVML_STATE", "MOCK_NVML_OVERRIDES", "NVPARITY_IMAGE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MOCK_NVML_CONFIG", str(held.with_name("mine.yaml")))

    def run(*words: str) -> tuple[int, str, str]:
        status = guard.run(["ctl", *words])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def now(held: Path, name: str, device: int = 0) -> int:
    view = state.read(held)
    return carrying.value_at(view.devices[device].values[name], carrying.now_ns(view.node.clock), carrying.epoch_ns(view.node.head.epoch_ns))


def test_the_clock_is_said_stepped_and_left_alone_by_a_reset(ctl: Ctl, held: Path) -> None:
    assert ctl("clock") == (0, "frozen: 2026-08-21T08:54:01Z\n", "")
    assert ctl("clock", "step", "90s", "--dry-run")[1].endswith("clock: 'frozen: 2026-08-21T08:55:31Z'\n")
    assert not held.exists()
    assert ctl("clock", "step", "90s") == (0, "ok: clock applied to the node\n", "")
    assert ctl("reset")[0] == 0
    assert ctl("clock") == (0, "frozen: 2026-08-21T08:55:31Z\n", "")
    assert ctl("clock", "freeze", "2026-01-01T00:00:00Z")[0] == 0
    assert ctl("clock")[1] == "frozen: 2026-01-01T00:00:00Z\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stepp", "1s"], "no 'stepp' (did you mean 'step'?)"),
        (["step", "-5s"], "a duration is a number and its unit"),
        (["scale", "fast"], "a speed is a number"),
        (["real", "--gpu", "0"], "it takes no --gpu"),
    ],
)
def test_what_is_refused_ends_with_2_and_nothing_written(ctl: Ctl, held: Path, words: list[str], said: str) -> None:
    status, out, err = ctl("clock", *words)
    assert (status, out) == (2, "")
    assert said in err
    assert not held.exists()


@pytest.mark.spec("Y09", "J10", "F10")
def test_counters_and_energy_add_up_from_when_they_were_told_to_and_never_go_back(ctl: Ctl, held: Path) -> None:
    ctl("clock", "step", "100s")
    assert (now(held, COUNTER), now(held, ENERGY)) == (5_000, 1_000 + 100 * 50_000)
    ctl("throttle", "thermal", "--gpu", "0")
    assert now(held, COUNTER) == 5_000, "a GPU thrown into it now has no history"
    ctl("clock", "step", "2s")
    ctl("temp", "80", "--gpu", "0")
    ctl("power", "100", "--gpu", "0")
    assert (now(held, COUNTER), now(held, ENERGY)) == (2_000_005_000, 1_000 + 102 * 50_000)
    ctl("clock", "step", "1s")
    ctl("throttle", "none", "--gpu", "0")
    ctl("clock", "step", "1h")
    ctl("fan", "50", "--gpu", "0")
    assert now(held, COUNTER) == 3_000_005_000, "it stays where it is"
    assert now(held, ENERGY) == 1_000 + 102 * 50_000 + 3_601 * 100_000
    ctl("throttle", "thermal", "--gpu", "0")
    ctl("set", "clocks_throttle_reasons.counters.hw_thermal_slowdown_us=9", "--gpu", "0")
    ctl("clock", "step", "1s")
    assert now(held, COUNTER) == 1_000_009_000
    assert now(held, COUNTER, 1) == 5_000
