"""Contradictions: readings of a text that are not what their row makes of the recording's answer.  Each is a fault of our rows or layouts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contradiction:
    """One reading: ``path`` of the element, ``gpu`` index (None: the node), ``row`` id, the text ``printed`` and the text that the row makes of
    the answer (``answered``), the ``call``, and its ``answer`` as a recording spells it.
    """

    path: str
    gpu: int | None
    row: str
    printed: str
    answered: str
    call: str
    answer: str
