"""What an interrupt does to sampling, each in a process of its own: ``interrupts.py waiting|answering|ending FOLDER``; silent where it holds."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
from pathlib import Path

from harness.stages import child
from harness.stages.answers.__main__ import Progress
from harness.stages.recording.__main__ import NodeClock

ANSWERS = """
    import json, os, pathlib, signal, sys
    task = json.load(sys.stdin)
    os.kill(os.getppid(), signal.SIGINT)
    signal.sigwait({signal.SIGINT})
    pathlib.Path(task["answer"]).write_text(json.dumps({"blocked": signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())}))
"""
KEEPS_ON = """
    import os, signal
    os.kill(os.getppid(), signal.SIGINT)
    signal.sigwait({signal.SIGINT})
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
"""


def errand(folder: Path, code: str) -> child.Errand:
    """A child that interrupts the one who started it."""
    (folder / "interrupting.py").write_text(textwrap.dedent(code))
    return child.Errand("interrupting", {}, "x", "the child", stoppable=True)


def waiting(folder: Path) -> None:
    (folder / "progress").touch()
    clock = NodeClock(Progress(str(folder / "progress")))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    clock.wait_until(clock.monotonic_ns())
    os.kill(os.getpid(), signal.SIGINT)
    try:
        clock.wait_until(clock.monotonic_ns() + 10**15)
    except KeyboardInterrupt:
        clock.wait_until(clock.monotonic_ns())
    else:
        raise AssertionError


def answering(folder: Path) -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    assert child.run(errand(folder, ANSWERS)) == {"blocked": True}
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


def ending(folder: Path) -> None:
    try:
        child.run(errand(folder, KEEPS_ON))
    except KeyboardInterrupt:
        return
    raise AssertionError


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    {"waiting": waiting, "answering": answering, "ending": ending}[sys.argv[1]](Path(sys.argv[2]))
