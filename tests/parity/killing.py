"""A command that is killed half way."""

from __future__ import annotations

KILLED = """
import os, signal, sys
from pathlib import Path
from harness.cli import guard
count, rename, unlink = int(sys.argv[1]), Path.rename, Path.unlink

def counted(call):
    def step(path, *more, **named):
        global count
        if ".import-" in str(path) or ".pending" in str(path) or (more and ".import-" in str(more[0])):
            count -= 1
            if count < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return call(path, *more, **named)
    return step

Path.rename, Path.unlink = counted(rename), counted(unlink)
sys.exit(guard.run(sys.argv[2:]))
"""
"""Run with ``-c``: how many renames and removals of staged files go through before the kill, then the command's arguments."""
