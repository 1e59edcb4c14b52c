"""What dynamic metrics without a seed of their own are drawn from: the seed of the state, in every process and whatever compiles a GPU anew (U01)."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.cli import guard
from harness.stages import compile as compiling
from harness.stages.overriding import document, nodes, places, putting, starting
from harness.stages.overriding.nodes import Node
from harness.stages.overriding.starting import Seed, Served
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from mocklib import binding, state
from mocklib.spec import Clock
from tests.contract import tuned

UTILIZATION, DRAW = "utilization.gpu", "power.current_draw_mw"
RESET_SLOT = 13
"""Of driver 390."""
AT_NS, SECOND = 1_787_302_441_000_000_000, 1_000_000_000
PROFILE = """format: 1
version: "1.0"
system: {driver_version: "580.105.08"}
device_defaults:
  name: board
  architecture: hopper
  utilization: {gpu: 0, memory: 0}
  power: {current_draw_mw: 200000, default_limit_mw: 400000, enforced_limit_mw: 400000}
devices:
  - {index: 0, pci: {bus_id: "0000:07:00.0"}, dynamic_metrics: {utilization: {gpu_min: 0, gpu_max: 100}, power: {base_mw: 200000, variance_mw: 9000}}}
  - {index: 1, pci: {bus_id: "0000:08:00.0"}, dynamic_metrics: {seed: 5, utilization: {gpu_min: 0, gpu_max: 100}}}
"""
STILL = PROFILE.partition("devices:")[0] + "devices: [{index: 0}]\n"
Start = Callable[..., Node]


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    """PROFILE in a file."""
    path = tmp_path / "node.yaml"
    path.write_text(PROFILE)
    return path


@pytest.fixture
def start(profile: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    """``start(seed)``: the node, its state made or going on as ``run`` does it; ``overrides``: a document it starts with."""
    space, made, held = Workspace(repository), profile.with_suffix(".nvpimg"), profile.with_name("state")
    serving.write_image(profile, space, made)
    monkeypatch.setenv("NVPARITY_IMAGE", str(made))
    monkeypatch.setenv("MOCK_NVML_STATE", str(held))

    def of(seed: Seed | None, overrides: str | None = None) -> Node:
        given = None if overrides is None else document.load(overrides, "doc.yaml")
        starting.start(Served(profile, made, None, space), held, Clock("frozen", AT_NS), given, seed=seed)
        return nodes.open_node(places.find(places.Asked(config=str(profile), state=str(held)), {}, space), space)

    return of


def wanted(profile: Path, seed: int, name: str = UTILIZATION, gpu: int = 0) -> tuple[int, ...]:
    """The samples that a field steps through where the state draws from ``seed``."""
    made = compiling.compile_profile(profiles.load(profile), drivers.load().resolve("580.105.08"), seed)
    return made.tracks[made.devices[gpu][name].rate].samples


def served(node: Node, name: str = UTILIZATION, gpu: int = 0) -> tuple[int, ...]:
    """The samples of a field of a state."""
    record = state.read(node.state).devices[gpu]
    return record.tracks[record.values[name].rate].samples


@pytest.mark.spec("U01")
def test_a_state_draws_from_its_seed_and_every_process_reads_the_same(start: Start, profile: Path, library_path: Path) -> None:
    node, nvml = start(Seed(asked=7)), binding.open_library(library_path)
    assert nvml.init() == 0
    state.set_clock(node.state, Clock("frozen", AT_NS), AT_NS)
    try:
        for second in (0, 11, 31):
            state.set_clock(node.state, Clock("frozen", AT_NS + second * SECOND))
            here = nvml.call("nvmlDeviceGetUtilizationRates", nvml.device(0), {}).out[UTILIZATION]
            there = tuned.elsewhere(library_path, "nvmlDeviceGetUtilizationRates")[1][UTILIZATION]
            assert here == there == wanted(profile, 7)[second]
    finally:
        nvml.shutdown()
    assert wanted(profile, 7) != wanted(profile, 8) != wanted(profile, 1)
    assert served(node, gpu=1) == wanted(profile, 7, gpu=1) == wanted(profile, 1, gpu=1), "a seed of its own"


@pytest.mark.spec("U01")
def test_what_compiles_a_gpu_anew_draws_from_the_states_seed(start: Start, profile: Path) -> None:
    node = start(Seed(asked=7))
    putting.put(node, 0, lambda _: {"performance_state": "P8"})
    assert (served(node), served(node, DRAW)) == (wanted(profile, 7), wanted(profile, 7, DRAW))
    putting.put(node, None, lambda _: {"performance_state": "P2"})
    assert served(node) == wanted(profile, 7)
    putting.reset(node, 0)
    assert served(node) == wanted(profile, 7)
    putting.reset(node, None, everything=True)
    assert (served(node), state.read(node.state).node.head.seed) == (wanted(profile, 7), 7)


@pytest.mark.spec("U01")
def test_a_reset_by_a_client_goes_back_to_the_numbers_of_the_states_seed(start: Start, profile: Path, repository: Path, library_path: Path) -> None:
    profile.write_text(PROFILE.replace("580.105.08", "390.157"))
    serving.write_image(profile, Workspace(repository), profile.with_suffix(".nvpimg"))
    node, nvml = start(Seed(asked=7)), binding.open_library(library_path)
    putting.put(node, 0, lambda _: {"utilization.gpu": 50, "dynamic_metrics.utilization": None})
    assert nvml.init() == 0
    try:
        asked = lambda: nvml.call("nvmlDeviceGetUtilizationRates", nvml.device(0), {}).out[UTILIZATION]  # noqa: E731
        assert asked() == 50
        assert nvml.slot(nvml.device(0), RESET_SLOT, "reset").code == 0
        assert (asked(), served(node)) == (wanted(profile, 7)[0], wanted(profile, 7))
    finally:
        nvml.shutdown()


@pytest.mark.spec("U01")
def test_overrides_and_setters_stay_when_the_seed_changes(start: Start, profile: Path) -> None:
    node = start(Seed(asked=7), "{version: 1, devices: {'0': {performance_state: P8}}}")
    before = putting.overrides(node)
    assert start(Seed(drawn=9)).state == node.state
    assert (served(node), state.read(node.state).node.head.seed) == (wanted(profile, 7), 7), "a state that goes on keeps its seed"
    start(Seed(asked=9))
    assert (served(node), served(node, gpu=1)) == (wanted(profile, 9), wanted(profile, 1, gpu=1))
    assert putting.overrides(node) == before
    assert before.devices == {0: {"performance_state": "P8"}}


@pytest.mark.parametrize(
    ("text", "seed"),
    [(PROFILE, 9), (PROFILE.replace("dynamic_metrics: {utilization", "dynamic_metrics: {seed: 3, utilization"), 1), (STILL, 1)],
    ids=["of the node", "of the GPUs", "nothing moves"],
)
@pytest.mark.spec("U01")
def test_a_seed_is_drawn_only_where_a_gpu_needs_one(start: Start, profile: Path, text: str, seed: int, repository: Path) -> None:
    profile.write_text(text)
    serving.write_image(profile, Workspace(repository), profile.with_suffix(".nvpimg"))
    node = start(Seed(drawn=9))
    assert state.read(node.state).node.head.seed == seed
    if text is PROFILE:
        assert served(node) == wanted(profile, 9)


@pytest.mark.spec("U01")
def test_a_document_that_moves_a_gpu_needs_a_seed(start: Start, profile: Path, repository: Path) -> None:
    profile.write_text(STILL)
    serving.write_image(profile, Workspace(repository), profile.with_suffix(".nvpimg"))
    node = start(Seed(drawn=9), "{version: 1, all: {dynamic_metrics: {utilization: {gpu_min: 5, gpu_max: 95}}}}")
    assert state.read(node.state).node.head.seed == 9
    first = served(node)
    start(Seed(asked=10))
    assert served(node) != first


@pytest.mark.spec("U01")
def test_run_takes_a_seed_or_draws_one_and_status_shows_it(profile: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def run(name: str, *options: str) -> Any:
        held = str(tmp_path / name)
        assert guard.run(["run", str(profile), "--state", held, *options, "--", sys.executable, "-c", ""]) == 0
        capfd.readouterr()
        assert guard.run(["ctl", "--config", str(profile), "--state", held, "status", "--json"]) == 0
        told = json.loads(capfd.readouterr().out)["seed"]
        assert guard.run(["ctl", "--config", str(profile), "--state", held, "status"]) == 0
        assert f"# seed: {told}" in capfd.readouterr().out.splitlines()
        return told

    drawn = [run("one"), run("other")]
    assert drawn[0] != drawn[1]
    assert run("one") == drawn[0]
    assert run("one", "--seed", "7") == run("one") == 7
    for refused in ("0", "-1", str(2**64), "x"):
        assert guard.run(["run", str(profile), "--seed", refused, "--", "true"]) == 2
    assert guard.run(["ctl", "--config", str(profile), "--state", str(tmp_path / "none"), "status", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["seed"] is None
