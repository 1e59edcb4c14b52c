"""nvidia-ml-py on the mock: every release of it that is at hand gets the same answers as our own binding, as text and numbers.

The installed release is always tried; ``NVPARITY_CLIENTS`` names a folder with more, each in a folder of its own (``<version>/pynvml.py``).
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.stages import running
from harness.stages.render import serving
from harness.stores.workspace import Workspace
from mocklib import calls
from tests.clients import client

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ("a100-sxm4-40gb-x1_570.148.08", "h100-sxm5-x8_580.105.08", "t4-x1_595.91.07", "geforce-gt-1030-x1_470.74")
MORE = sorted(path.parent for path in Path(os.environ.get("NVPARITY_CLIENTS") or os.devnull).glob("*/pynvml.py"))
REALLY = {"nvmlDeviceGetPciInfo": "nvmlDeviceGetPciInfo_v3"}
"""The name of the newest generation, which the client asks for."""
OURS = """
import json, sys
from mocklib import binding
nvml = binding.open_library("libnvidia-ml.so.1")
nvml.init()
asked = json.loads(sys.argv[1])
json.dump([[[answer.code, answer.out] for answer in (nvml.call(name, nvml.device(index), given) for name, given in asked)]
           for index in range(nvml.count())], sys.stdout)
"""


@pytest.fixture(scope="module", params=BOARDS)
def mocked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, library_path: Path) -> dict[str, str]:
    """The environment of a program that ``nvparity run`` starts on one of the boards."""
    space = Workspace.nearby(str(ROOT))
    image = serving.image_of(space.locate_profile(request.param), space)
    state = tmp_path_factory.mktemp("clients") / "state"
    serving.make_state(image, state)
    return running.environment_for(library_path, image, state, {**os.environ, "PYTHONPATH": str(ROOT)})


def output(arguments: list[str], environment: dict[str, str]) -> Any:
    """The JSON a program printed."""
    return json.loads(subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=True).stdout)


def ours(environment: dict[str, str]) -> list[dict[str, tuple[int, dict[str, Any]]]]:
    """Per device: function -> (code, output) by our binding."""
    asked: list[tuple[str, dict[str, int]]] = []
    for name, arguments, _ in client.CALLS:
        params = [param for param, _, role in calls.signatures().FUNCTIONS[REALLY.get(name, name)] if role == "in"]
        asked.append((REALLY.get(name, name), dict(zip(params, arguments, strict=False))))
    found = output(["-c", OURS, json.dumps(asked)], environment)
    return [{name: (code, out) for (name, _, _), (code, out) in zip(client.CALLS, answers, strict=True)} for answers in found]


@pytest.mark.parametrize("folder", [None, *MORE], ids=["installed", *(path.name for path in MORE)])
def test_a_release_of_nvidia_ml_py_makes_of_the_answers_what_they_are(mocked: dict[str, str], folder: Path | None) -> None:
    if folder is None and importlib.util.find_spec("pynvml") is None:
        pytest.skip("nvidia-ml-py is not installed")
    said = output([str(Path(client.__file__)), *([str(folder)] if folder else [])], mocked)
    assert isinstance(said["driver"], str)
    assert said["nvml"].endswith(said["driver"])
    expected = ours(mocked)
    assert len(said["devices"]) == len(expected)
    for index, (device, answers) in enumerate(zip(said["devices"], expected, strict=True)):
        assert device["index by uuid"] == index
        gated = said["driver"].startswith("470.")  # the client asks for the third generation of process lists, of 510
        assert [device[name] for name in client.LISTS] == [[13] if gated else [], [13] if gated else []]
        for name, (code, out) in answers.items():
            members = {key.rpartition(".")[2]: value for key, value in out.items()}
            if code:
                assert device[name] == [code], name
            elif isinstance(device[name], dict):
                assert device[name] == {member: members[member] for member in device[name]}, name
            else:
                assert device[name] in members.values(), name
