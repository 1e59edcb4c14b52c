"""The child side of ``following``: reads a task from standard input, samples the library, writes the answer file.

Imports no store, no profile schema and no XML parser.  SIGINT is blocked and looked for between two samples, so that a sample is whole or not there.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from typing import Any

from harness.stages import errand
from harness.stages.answers.__main__ import Progress, opened
from harness.stages.recording import sampling
from harness.stages.timeline.routes import Routes
from harness.text import answers, timeline
from mocklib.answers import Asked, Recording
from mocklib.spec import FieldId

NAP_S = 10.0
"""Seconds between two signs of life while a sample is waited for."""


class NodeClock:
    """The node's own time, with Ctrl-C in it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def monotonic_ns(self) -> int:
        """As ``sampling.Clock``."""
        return time.monotonic_ns()

    def wall_ns(self) -> int:
        """As ``sampling.Clock``."""
        return time.time_ns()

    def wait_until(self, instant_ns: int) -> None:
        """As ``sampling.Clock``; KeyboardInterrupt where SIGINT came meanwhile or before."""
        while True:
            left = max(instant_ns - time.monotonic_ns(), 0) / sampling.SECOND
            if signal.sigtimedwait({signal.SIGINT}, min(left, NAP_S)) is not None:
                raise KeyboardInterrupt
            if left <= NAP_S:
                return
            self._progress.tell(f"a wait of {left:.0f} s for the next sample")


def sampled(task: dict[str, Any]) -> dict[str, Any]:
    """Text of the time line (None where nothing was taken) and the sentence of the summary."""
    progress = Progress(task["progress"])
    routes = Routes([FieldId(**known) for known in task["field_ids"]])
    first = answers.load(task["first"], "answers")
    with opened(task["library"], progress, mock=False) as asker:

        def ask(calls: Sequence[Asked] | None) -> Recording:
            return asker.recording() if calls is None else {asked: asker.answer(asked) for asked in calls}

        taken = sampling.sample(ask, first, sampling.Plan(**task["plan"]), NodeClock(progress), routes)
    line = sampling.line(taken)
    return {"line": None if line is None else timeline.dump(line), "said": sampling.summary(taken)}


if __name__ == "__main__":
    sys.exit(errand.serve(sampled))
