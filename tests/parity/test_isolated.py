"""The render in a root folder that has no capture, profile or golden to look at."""

from __future__ import annotations

import base64
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from harness.stages.compare import check
from harness.stages.importing import source
from harness.stages.render import serving
from harness.stages.render.process import Job
from harness.stores import captures, golden_reader
from harness.stores.workspace import Workspace
from tests.parity.mutations_board import compared

ROOT = Path(__file__).resolve().parents[2]
SPACE = Workspace(ROOT)
pytestmark = pytest.mark.unsanitized("a root folder of its own has no runtime")


def test_the_root_holds_no_capture_profile_or_golden(isolated_root: Path):
    assert {path.name for path in isolated_root.glob("site/profiles/*")} == {"drivers"}
    names = {path.name for path in isolated_root.rglob("*")}
    assert not names & {"captures", "golden", "transcript.txt", "sidecar.yaml", "boards.yaml", *(f"{name}.yaml" for name in SPACE.ids())}


@pytest.mark.parametrize("name", compared(SPACE))
def test_a_render_there_is_the_original(name: str, enter, isolated_root: Path):
    text = captures.load(SPACE.captures, name).texts["q-x"]
    original = text.to_bytes()
    (isolated_root / "nv" / "image").write_bytes(serving.image_bytes(SPACE.profile_path(name), SPACE))
    verbatim = check.verbatim_of(SPACE.profile_path(name), text)  # what no row explains comes with the job
    job = Job(library="/nv/libnvidia-ml.so.1", image="/nv/image", root=None, answer="/tmp/answer", verbatim=verbatim)
    environment = {"PYTHONPATH": "/site", "NVPARITY_IMAGE": "/nv/image", "MOCK_NVML_STATE": "/tmp/state", "PYTHONDONTWRITEBYTECODE": "1"}
    done = enter(["-m", "harness.stages.render"], environment, json.dumps(asdict(job)).encode())
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads((isolated_root / "tmp" / "answer").read_bytes())
    hidden = source.redacted(source.leaves(text))
    rendered = check.delivered(check.fill(base64.b64decode(answer["data"]), text, hidden), text)
    if text.kind == "own":
        assert rendered == original
    else:
        assert golden_reader.read(rendered) == golden_reader.read(original)
    shutil.rmtree(isolated_root / "tmp")
    (isolated_root / "tmp").mkdir()
