"""What a comparison says: findings, counts, the case.  Plain data; reports write it, nothing here reads or prints.

The counts keep one equation (the JSON of a check, version 1): elements = exact + volatile + tolerated + gaps + redacted + unmodelled +
deferred + moved + aside + binary + findings of kind changed, missing, order, state.  ``invented`` stands on top; each invented element is also a
finding, as is each contradiction, which is of an element of the text and told beside the answers.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    aside: int = 0
    binary: int = 0
    invented: int = 0
    assumed: int = 0
    clock_lines: int = 0


@dataclass(frozen=True)
class Printed:
    """Of a case that a real nvidia-smi printed: what it was and what it was given.

    ``version``: the binary's, which the profile was served as; ``origin``: the capture's driver; ``lacking``: rows without data, which are not
    supported; ``status``: exit status, or minus the signal's number, None for a run that did not end; ``stderr``: what it said there; ``leaves``:
    path -> text of what it printed, under the capture's GPU numbers; ``architectures``: of each GPU that is shown (NVML's number, or None);
    ``view``: what it was asked for, with sections (``q:ECC``).
    """

    version: str
    origin: str
    lacking: tuple[str, ...] = ()
    status: int | None = None
    stderr: str = ""
    leaves: Mapping[str, str] = field(default_factory=dict, repr=False)
    architectures: tuple[int | None, ...] = ()
    view: str = "q-x"

    @property
    def retargeted(self) -> bool:
        """Whether the capture's driver is another than the binary's."""
        return self.version != self.origin


@dataclass
class Case:
    """The comparison of one view of a capture with one render.

    ``kind`` is the kind of capture (own, re-indented, trimmed, edited), ``layout`` the driver node that gave the layout (with ``(assumed)``
    after it when the version itself has no node), ``gpus`` how many GPU blocks the capture holds, ``bytes`` equal, differs or n/a.
    ``baselines``: view that no capture covers -> equal or differs, against the render accepted for it.  ``drift``: lines about files that no
    longer follow their source; any of them fails the gate.  ``view``: q-x, L or answers.  ``ruled``: place of a rule -> findings that it covers;
    ``touched``: places of the rules that name one of the ``elements`` (paths; kept only where there are rules).  ``deferrals``: reason -> how
    many elements are deferred for it.  ``printed``: of a case that a real nvidia-smi printed.  ``skipped``: why nothing was compared, where that is
    no matter of the capture's kind.  ``excused``: findings that rules of kind binary cover, those of elements that the capture has not, too.
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
    printed: Printed | None = None
    skipped: str = ""
    excused: int = 0

    @property
    def compared(self) -> bool:
        """Whether there is a comparison at all: what was changed by hand has none, nor has what there is no binary for."""
        return self.kind != "edited" and not self.skipped

    @property
    def parity(self) -> bool:
        """No finding left and no drift."""
        return not self.findings and not self.drift
