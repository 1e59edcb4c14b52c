"""The vendor's own libraries, without a driver: asked the whole list, each lacks exactly the functions that its branch does not have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.tables import drivers
from harness.text import answers
from mocklib import asking, getters
from mocklib.answers import RETURN_CODES
from mocklib.gen import since

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("version", since.LIBRARIES)
def test_a_library_of_the_vendor_lacks_what_its_branch_lacks(smi_binary: Callable[[int], Path], version: str) -> None:
    library = smi_binary(int(version.partition(".")[0])).parent / "lib" / "libnvidia-ml.so.1"
    if not library.exists():
        pytest.skip("the binary's own library is not beside it")
    command = [sys.executable, "-m", "tests.smi.asked", str(library)]
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True, timeout=60)
    if done.stderr.strip() == "0":
        pytest.skip("this machine has a driver: what its GPUs answer is not for a test")
    assert RETURN_CODES[int(done.stderr)] in {"DRIVER_NOT_LOADED", "LIB_RM_VERSION_MISMATCH", "UNKNOWN"}
    found = answers.load(done.stdout, "answers.txt")
    lacking = {asked.function for asked, answer in found.items() if answer.missing}
    known = set(getters.asked_functions())
    assert lacking == known - drivers.load().resolve(version).exports
    assert {asked.function for asked in found} - lacking == {name for name in known - lacking if not asking.is_of_gpu(name)} - unasked()


def unasked() -> set[str]:
    """Functions of the node whose arguments are taken from GPUs that did not answer."""
    return {name for name in getters.asked_functions() if any(each.kind == "each" for each in getters.getters()[name].sets.values())}
