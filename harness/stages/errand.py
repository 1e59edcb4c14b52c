"""The child side of ``child``, for every module that is run as one: the task comes on standard input, the answer goes into the file it names."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.words.errors import NvparityError


def serve(work: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
    """Answer the task with what ``work`` makes of it; 0 whether it succeeded or was refused, the answer (``error``, ``status``) says which."""
    task = json.load(sys.stdin)
    try:
        answer = work(task)
    except NvparityError as error:
        answer = {"error": str(error), "status": error.exit_status}
    Path(task["answer"]).write_text(json.dumps(answer), "utf-8")
    return 0
