"""The child side of ``process``: reads a job from standard input, renders, writes the answer file.

Imports no store, no profile schema and no XML parser: a folder with Python, this package, library, image and driver nodes is enough.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from harness.stages.render.process import Job, answer_of
from harness.stages.render.session import render
from harness.words.errors import NvparityError


def main() -> int:
    """Render the job; 0 whether it succeeded or was refused, the answer says which."""
    job = Job(**json.load(sys.stdin))
    try:
        answer = answer_of(render(job))
    except NvparityError as error:
        answer = {"error": str(error), "status": error.exit_status}
    Path(job.answer).write_text(json.dumps(answer), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
