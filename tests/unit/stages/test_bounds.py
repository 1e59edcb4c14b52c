"""A program that we start is bounded, and never above what its caller has."""

from __future__ import annotations

import os
import resource
import subprocess
import sys

from harness.stages.bounds import bound

PROGRAM = """
import os, resource
from harness.stages.bounds import bound
{before}
bound(os.getpid(), resource.RLIMIT_FSIZE, 4096)
print(resource.getrlimit(resource.RLIMIT_FSIZE))
"""


def limits(before: str = "") -> str:
    return subprocess.run([sys.executable, "-c", PROGRAM.format(before=before)], capture_output=True, text=True, check=True).stdout.strip()


def test_a_process_has_the_bound_for_its_limit() -> None:
    assert limits() == "(4096, 4096)"


def test_a_lower_limit_of_the_caller_stays() -> None:
    assert limits("resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 2048))") == "(1024, 1024)"


def test_a_process_that_has_ended_needs_none() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)
    bound(child, resource.RLIMIT_CORE, 0)
