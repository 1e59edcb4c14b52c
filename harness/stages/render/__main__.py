"""The child side of ``process``: reads a job from standard input, renders, writes the answer file.

Imports no store, no profile schema and no XML parser: a folder with Python, this package, library, image and driver nodes is enough.
"""

from __future__ import annotations

import sys
from typing import Any

from harness.stages import errand
from harness.stages.render.process import Job, answer_of
from harness.stages.render.session import render


def rendered(task: dict[str, Any]) -> dict[str, Any]:
    """The answer to a job: what `process` reads back."""
    return answer_of(render(Job(**task)))


if __name__ == "__main__":
    sys.exit(errand.serve(rendered))
