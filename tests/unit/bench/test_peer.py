"""Another library beside ours: what it answers is measured, what it lacks or crashes in is told, none of our variables reaches it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from tests.bench import machine, peer, program
from tests.bench.cases import Case
from tests.bench.program import Loop, Times
from tests.bench.result import Measured

ANSWERED, CRASH, LACKING = (Case(name, f"nvmlDeviceGet{name}", "scalar", ("device",)) for name in ("Answered", "Crash", "Lacking"))


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    folder = tmp_path_factory.mktemp("peer")
    built, empty = program.built(folder)
    library = program.compiled(Path(__file__).with_name("peer_nvml.c"), folder / "libnvidia-ml.so.1", "-shared", "-fPIC")
    return Loop(built, empty, library, {"NVPARITY_IMAGE": str(folder)})


@pytest.fixture
def uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "valgrind", lambda: None)


def test_a_peer_that_talks_is_measured_with_its_own_variables_alone(loop: Loop, uncounted: None) -> None:
    found = peer.measure(loop, loop.library, {"PEER_CONFIG": "x"}, [ANSWERED])
    assert (found.times["Answered"].code, found.not_measured) == (3, {})
    unset = peer.measure(loop, loop.library, {}, [ANSWERED])
    assert unset.times == {}
    assert "nvmlReturn_t 9" in unset.not_measured["Answered"]


def test_what_a_peer_lacks_or_crashes_in_is_told_and_the_rest_is_measured(loop: Loop, uncounted: None) -> None:
    found = peer.measure(loop, loop.library, {"PEER_CONFIG": "x"}, [CRASH, ANSWERED, LACKING])
    assert list(found.times) == ["Answered"]
    assert "exit status -6" in found.not_measured["Crash"]
    assert "no function nvmlDeviceGetLacking" in found.not_measured["Lacking"]


def test_both_libraries_stand_in_one_line_and_in_the_document(tmp_path: Path) -> None:
    file = tmp_path / "peer.so"
    file.write_bytes(b"peer")
    ours = [Measured("power", "nvmlDeviceGetPowerUsage", "scalar", 0, 2.0, 1.0, 20.0), Measured("gone", "nvmlGone", "scalar", 0, 2.0, 1.0, None)]
    other = peer.Peer(file, {"power": Times(3, 50.0, 1.0)}, {"power": 400.0}, {"gone": "no function nvmlGone"})
    lines = peer.table(other, ours)
    assert lines[1].split() == ["power", "2.0", "50.0", "25.00", "20", "400", "0", "3"]
    assert lines[2:] == ["peer not measured: gone: no function nvmlGone"]
    made = peer.document(other, ours)
    assert made["cases"] == [{"name": "power", "code": 3, "ns": 50.0, "times_ours": 25.0, "instructions": 400.0}]
    assert made["not_measured"] == {"gone": "no function nvmlGone"}
    uncounted = peer.table(dataclasses.replace(other, counts={}), ours)
    assert uncounted[1].split()[4:6] == ["-", "-"]


@pytest.mark.parametrize("word", ["PATH", "=x", ""])
def test_a_variable_without_name_or_value_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="give NAME=VALUE"):
        peer.variables_of([word])
    assert peer.variables_of(["A=b=c", "D="]) == {"A": "b=c", "D": ""}
