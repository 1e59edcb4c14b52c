"""A stub is a library of its own: whole, deterministic, and as odd as it was asked to be."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from mocklib import binding
from mocklib.binding import Answer, Nvml

PROGRAM = """
import json, sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
nvml.init()
answer = nvml.call(sys.argv[2], nvml.device(int(sys.argv[3])), json.loads(sys.argv[4]))
print(repr((answer.code, answer.out)))
"""


def opened(path: Path) -> Nvml:
    nvml = binding.open_library(path)
    assert nvml.init() == 0
    return nvml


def elsewhere(
    path: Path, function: str, device: int = 0, arguments: dict[str, int] | None = None, limit: int = 60
) -> subprocess.CompletedProcess[str]:
    """One call in a process of its own, at most ``limit`` seconds long."""
    words = [sys.executable, "-c", PROGRAM, str(path), function, str(device), json.dumps(arguments or {})]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=limit)


def getters() -> list[str]:
    return [name for name in binding.function_names() if name.startswith(("nvmlDeviceGet", "nvmlSystemGet"))]


def answers(nvml: Nvml, device: int) -> dict[str, Answer]:
    return {name: nvml.call(name, nvml.device(device)) for name in getters() if name != "nvmlDeviceGetCount_v2"}


def test_every_function_of_the_header_is_there(nvml_stub: Callable[..., Path]) -> None:
    nvml = opened(nvml_stub())
    assert [name for name in binding.function_names() if nvml.function(name) is None] == []
    assert nvml.count() == 1


def test_a_symbol_left_out_is_truly_absent(nvml_stub: Callable[..., Path]) -> None:
    nvml = opened(nvml_stub(without=frozenset({"nvmlDeviceGetName"})))
    assert nvml.call("nvmlDeviceGetName", nvml.device(0)).missing
    assert not nvml.call("nvmlDeviceGetSerial", nvml.device(0)).missing


def test_answers_hang_on_seed_device_and_arguments_alone(nvml_stub: Callable[..., Path]) -> None:
    path = nvml_stub(seed=5, gpus=3)
    nvml = opened(path)
    first = answers(nvml, 0)
    assert first == answers(nvml, 0)
    assert first != answers(nvml, 1)
    assert first != answers(opened(nvml_stub(seed=6)), 0)
    clocks = [nvml.call("nvmlDeviceGetClockInfo", nvml.device(2), {"type": kind}) for kind in range(4)]
    assert len({repr(clock) for clock in clocks}) > 1
    asked = elsewhere(path, "nvmlDeviceGetClockInfo", 2, {"type": 1})
    assert asked.stdout.strip() == repr((clocks[1].code, clocks[1].out))


def test_codes_and_values_are_of_every_kind(nvml_stub: Callable[..., Path]) -> None:
    nvml = opened(nvml_stub(seed=7, gpus=40))
    found = [answer for device in range(4) for answer in answers(nvml, device).values()]
    codes = Counter(answer.code for answer in found)
    assert {0, 2, 3, 4, 15, 25, 26, 999} <= set(codes)
    assert codes[0] > len(found) / 3
    texts = [value for answer in found for value in answer.out.values() if isinstance(value, str)]
    assert any("\udc80" <= character <= "\udcff" for text in texts for character in text)
    lists = {len(value) for answer in found for value in answer.out.values() if isinstance(value, list)}
    assert {0, 1, 9, 70} <= lists
    modes = [nvml.call("nvmlDeviceGetComputeMode", nvml.device(device)) for device in range(40)]
    assert {mode.out["mode"] > 3 for mode in modes if not mode.code} == {True, False}, "an enum within its range and beyond"


def test_a_buffer_that_is_too_small_is_refused(nvml_stub: Callable[..., Path]) -> None:
    nvml = opened(nvml_stub(gpus=8))
    names = [nvml.call("nvmlDeviceGetName", nvml.device(n), {"length": 1}).code for n in range(8)]
    assert 7 in names


def test_a_function_that_moves_differs_from_call_to_call(nvml_stub: Callable[..., Path]) -> None:
    nvml = opened(nvml_stub(moving=frozenset({"nvmlDeviceGetPowerUsage"})))
    assert len({repr(nvml.call("nvmlDeviceGetPowerUsage", nvml.device(0))) for _ in range(9)}) > 3
    assert len({repr(nvml.call("nvmlDeviceGetTemperatureV", nvml.device(0))) for _ in range(9)}) == 1


def test_one_function_can_hang_or_die(nvml_stub: Callable[..., Path]) -> None:
    path = nvml_stub(hangs="nvmlDeviceGetName", crashes="nvmlDeviceGetSerial")
    assert elsewhere(path, "nvmlDeviceGetUUID").returncode == 0
    assert elsewhere(path, "nvmlDeviceGetSerial").returncode == -11
    try:
        elsewhere(path, "nvmlDeviceGetName", limit=2)
    except subprocess.TimeoutExpired:
        return
    raise AssertionError("the call that hangs came back")


def test_the_log_says_what_was_called(nvml_stub: Callable[..., Path], tmp_path: Path) -> None:
    log = tmp_path / "calls"
    nvml = opened(nvml_stub(log=log))
    nvml.call("nvmlDeviceGetName", nvml.device(0))
    nvml.slot(nvml.device(0), 20, "ok")
    found = [name for name in log.read_text("ascii").split() if name != "nvmlDeviceGetHandleByIndex_v2"]
    assert found == ["nvmlInit_v2", "nvmlDeviceGetName", "nvmlInternalGetExportTable", "slot"]
