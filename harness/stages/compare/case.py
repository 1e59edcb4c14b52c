"""What a comparison says: findings, counts, the case.  Plain data; reports write it, nothing here reads or prints.

The counts keep one equation (the JSON of a check, version 1): elements = exact + volatile + tolerated + gaps + redacted + unmodelled +
deferred + moved + findings of kind changed, missing, order, state.  ``invented`` stands on top; each invented element is also a finding, as is each
contradiction, which is of an element of the text and told beside the answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

CHANGED, MISSING, INVENTED, ORDER, STATE = "changed", "missing", "invented", "order", "state"
CONTRADICTION = "contradiction"
KINDS = (CHANGED, MISSING, INVENTED, ORDER, STATE)


@dataclass(frozen=True)
class Finding:
    """One difference.

    ``gpu`` is the expected GPU's UUID where UUIDs tell GPUs apart, else its index as text; None for an element of the node.  ``path`` names
    the element in the capture (``gpu[0]/temperature/gpu_temp``), or ``line N`` for bytes that belong to no element; of an answer the call
    (``gpu[0]/nvmlDeviceGetPowerUsage``).  ``rule`` names a rule that would have covered it but did not (an expired gap), else None.  ``row`` and
    ``call``, of a contradiction: the row whose reading is not what it makes of the answer, and the call with its answer.
    """

    gpu: str | None
    path: str
    kind: str
    expected: str | None
    actual: str | None
    rule: str | None = None
    row: str | None = None
    call: str | None = None


@dataclass
class Counts:
    """How many elements (or distinct paths) ended up where; see the module for the equation."""

    elements: int = 0
    exact: int = 0
    volatile: int = 0
    tolerated: int = 0
    gaps: int = 0
    redacted: int = 0
    unmodelled: int = 0
    deferred: int = 0
    moved: int = 0
    invented: int = 0
    assumed: int = 0
    clock_lines: int = 0


@dataclass
class Case:
    """The comparison of one view of a capture with one render.

    ``kind`` is the kind of capture (own, re-indented, trimmed, edited), ``layout`` the driver node that gave the layout (with ``(assumed)``
    after it when the version itself has no node), ``gpus`` how many GPU blocks the capture holds, ``bytes`` equal, differs or n/a.
    ``baselines``: view that no capture covers -> equal or differs, against the render accepted for it.  ``drift``: lines about files that no
    longer follow their source; any of them fails the gate.  ``view``: q-x, L or answers.  ``ruled``: place of a rule -> findings that it covers;
    ``touched``: places of the rules that name one of the ``elements`` (paths; kept only where there are rules).  ``deferrals``: reason -> how
    many elements are deferred for it.
    """

    id: str
    kind: str
    renderer: str
    driver: str
    layout: str
    gpus: int
    counts: Counts
    rows: Counts
    bytes: str
    findings: list[Finding] = field(default_factory=list)
    drift: list[str] = field(default_factory=list)
    baselines: dict[str, str] = field(default_factory=dict)
    view: str = "q-x"
    ruled: dict[str, int] = field(default_factory=dict)
    touched: frozenset[str] = frozenset()
    elements: tuple[str, ...] = ()
    deferrals: dict[str, int] = field(default_factory=dict)

    @property
    def compared(self) -> bool:
        """Whether there is a comparison at all: what was changed by hand has none."""
        return self.kind != "edited"

    @property
    def parity(self) -> bool:
        """No finding left and no drift."""
        return not self.findings and not self.drift
