"""The answers document of DCGM's NVML injection against a recorder that shares no code with ours: both make the same of the same mock."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.stages import exporting, running
from harness.stages.answers import replaying
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from harness.text import dcgm_keys, dcgm_reader
from mocklib.answers import Asked, Recording

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ("a100-sxm4-40gb-x1_570.148.08", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07", "l4-x2_555.42.06")
ENOUGH = 20
"""Functions that the two documents are compared on at least."""

if importlib.util.find_spec("pynvml") is None:
    pytest.skip("nvidia-ml-py is not installed", allow_module_level=True)


@pytest.fixture(scope="module", params=BOARDS)
def board(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def recorded(board: str, tmp_path_factory: pytest.TempPathFactory, library_path: Path) -> bytes:
    """The document that the other recorder makes of a board's mock."""
    space = Workspace.nearby(str(ROOT))
    image = serving.image_of(space.locate_profile(board), space)
    state = tmp_path_factory.mktemp("recorder") / "state"
    serving.make_state(image, state)
    environment = running.environment_for(library_path, image, state, {**os.environ, "PYTHONPATH": ""})
    command = [sys.executable, str(ROOT / "tests" / "clients" / "recorder.py")]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


@pytest.fixture(scope="module")
def answered(board: str, served: None) -> Recording:
    """What our own binding is answered by the same mock."""
    space = Workspace.nearby(str(ROOT))
    return replaying.record_mock(space.locate_profile(board), space)


@pytest.fixture(scope="module")
def served(library_path: Path) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NVPARITY_LIBRARY", str(library_path))
        yield


def values(held: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Every answer of a document by the keys and arguments it stands under: its code, or its value."""
    if not isinstance(held, dict):
        return {}
    if "FunctionReturn" in held:
        return {path: held["ReturnValue"] if held["FunctionReturn"] == 0 else [held["FunctionReturn"]]}
    return {place: value for key, inner in held.items() for place, value in values(inner, (*path, key)).items()}


def test_an_export_has_what_another_recorder_writes_of_the_same_mock(board: str, recorded: bytes, served: None) -> None:
    theirs, ours = values(yaml.safe_load(recorded)), values(yaml.safe_load(exporting.document(Workspace.nearby(str(ROOT)), board).text))
    seen = set()
    for path, value in theirs.items():
        if path not in ours:
            assert value == [13], path  # no such symbol, as the recorder's binding says it; an export leaves it out
        elif path[-1] == "FieldValues":
            assert {number: plain(entry) for number, entry in value.items()} == {number: plain(ours[path][number]) for number in value}
        elif isinstance(value, list) or not isinstance(ours[path], (dict, list)):
            assert ours[path] == (value[0] if path[-1] == "DefaultEccMode" and not isinstance(ours[path], list) else value), path
        elif isinstance(ours[path], dict) and not isinstance(value, dict):
            assert [member for name, member in ours[path].items() if name != "version"] == [value]
        else:
            assert ours[path] == value, path
        seen.add(path[0 if path[0] == "Global" else 2])
    assert len(seen) >= ENOUGH


def plain(entry: dict[str, Any]) -> Any:
    """A field's code, or its type and value."""
    return (entry["valueType"], entry["value"]) if entry["nvmlReturn"] == 0 else entry["nvmlReturn"]


def test_the_document_of_another_recorder_is_read_as_the_mock_answered(recorded: bytes, answered: Recording) -> None:
    found = dcgm_reader.read(recorded, "recorded.yaml")
    assert not found.left
    assert len({asked.function for asked in found.recording}) >= ENOUGH
    for asked, answer in found.recording.items():
        if answered.get(asked) is None or answered[asked].missing:
            assert answer.code == 13, asked
        else:
            assert answer == answered[asked], asked
    assert Asked("nvmlDeviceGetMemoryInfo_v2", 0, (("memory.version", 2),)) in found.recording


def bound() -> dict[str, set[str]]:
    """Name of a function of the Python binding -> the functions of NVML that it calls, through other functions of the binding too."""
    import pynvml

    found: dict[str, set[str]] = {}
    through: dict[str, set[str]] = {}
    source = Path(str(pynvml.__file__)).read_text("utf-8")
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.FunctionDef):
            text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
            found[node.name] = set(re.findall(r'_nvmlGetFunctionPointer\("(\w+)"\)', text))
            through[node.name] = set(re.findall(r"return (nvml\w+)\(", text)) - {node.name}
    return {name: called or {inner for other in through[name] for inner in found.get(other, ())} for name, called in found.items()}


def test_a_key_is_the_function_that_the_python_binding_calls_under_that_name() -> None:
    """Of several functions of one key the first is the one that the recorder's binding calls; what it has no name for, nothing is known of."""
    calls = bound()
    compared = 0
    for section, prefixes in dcgm_keys.table()["prefixes"].items():
        for name, key in dcgm_keys.keys(section).items():
            called = next((calls[f"{prefix}{name}"] for prefix in prefixes if calls.get(f"{prefix}{name}")), None)
            if called is not None:
                assert key.functions[0] in called, name
                compared += 1
    assert compared > 150
