"""Hashes decide, the keyed diff explains."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import zip_longest

from harness.stages.compare import ruling
from harness.stages.compare.case import CHANGED, INVENTED, STATE, Case, Counts, Finding
from harness.stages.compare.keyed import gpu_of, key
from harness.stages.compare.rules import Rule
from harness.text.paths import distinct

Leaves = list[tuple[str, str]]
_SEVERITY = ("exact", "moved", "aside", "volatile", "tolerated", "redacted", "unmodelled", "deferred", "binary", "gaps", "found")


@dataclass(frozen=True)
class Expected:
    """The capture's side.

    ``leaves``: (path, text) in file order, from the transcript; ``data``: the bytes the transcript stands for.  ``scrubbed`` and
    ``readings``: the golden's sha256 of the scrubbed file and of its readings.  ``redacted``, ``unmodelled``: paths; ``deferred``: path -> reason.
    ``view``: q-x, L or answers.  ``moved``: paths of readings that were in motion while a recording was made: another value there is no finding.
    """

    id: str
    kind: str
    leaves: Leaves
    data: bytes
    scrubbed: str
    readings: str
    redacted: frozenset[str] = frozenset()
    unmodelled: frozenset[str] = frozenset()
    deferred: Mapping[str, str] = field(default_factory=dict)
    view: str = "q-x"
    moved: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Actual:
    """The render's side.

    ``read`` gives the leaves of ``data`` (called only when there is something to explain), ``hash_readings`` the golden reader's sha256
    of them; ``assumed``: paths whose route is that of the nearest measured branch; ``filled``: ``data`` with the capture's redacted
    readings, and those set ``aside``, in place of its own (None: it has none); ``explain``: what tells differences of what is no text of elements;
    ``aside``: paths whose reading cannot be the capture's, whatever is served; ``lets``: the counter of a finding that the renderer cannot help.
    """

    renderer: str
    driver: str
    layout: str
    data: bytes
    read: Callable[[bytes], Leaves]
    hash_readings: Callable[[bytes], str]
    assumed: frozenset[str] = frozenset()
    filled: bytes | None = None
    explain: Callable[[], list[Finding]] | None = None
    aside: frozenset[str] = frozenset()
    lets: Callable[[Finding], str | None] = lambda _: None

    @property
    def compared(self) -> bytes:
        """The bytes that the capture's hashes are held against."""
        return self.data if self.filled is None else self.filled


def compare(expected: Expected, actual: Actual, states: Collection[str], rules: list[Rule] | None = None, version: tuple[int, ...] = (0,)) -> Case:
    """The case of one capture and one render.

    An own-layout capture is equal when the bytes' sha256 is the golden's; a re-indented or a trimmed one when the readings' sha256 is: the GPUs
    that a trimmed one left out are uncaptured, and no renderer prints those.  A capture of kind edited is not compared: a case
    with elements 0.  ``states``: the texts the driver prints for states; ``version``: of nvparity, for gaps.
    """
    gpus = len({gpu for path, _ in expected.leaves if (gpu := gpu_of(path)) is not None})
    case = Case(expected.id, expected.kind, actual.renderer, actual.driver, actual.layout, gpus, Counts(), Counts(), "n/a", view=expected.view)
    if _sha256(expected.data) != expected.scrubbed:
        case.drift.append(f"{expected.id}: the transcript no longer gives the bytes that the golden's hash was taken from")
    if expected.kind == "edited":
        return case
    if rules:
        case.elements = tuple(path for path, _ in expected.leaves)
        case.touched = ruling.touched(rules, expected.id, case.elements)
    ruled = ruling.Ruled([], {}, {})
    if not _equal(case, expected, actual):
        told = _explain(case, expected, actual, states) if actual.explain is None else actual.explain()
        found, moved = _apart(told, expected.moved)
        let = {finding.path: counter for finding in found if (counter := actual.lets(finding)) is not None}
        ruled = ruling.apply([finding for finding in found if finding.path not in let], rules or [], expected.id, version)
        ruled.covered.update({**dict.fromkeys(moved, "moved"), **let})
    case.findings, case.ruled = ruled.left, ruled.used
    case.excused = sum(1 for counter in ruled.covered.values() if counter == "binary")
    _count(case, expected, actual, ruled.covered)
    return case


def _equal(case: Case, expected: Expected, actual: Actual) -> bool:
    """What the hashes say."""
    if expected.kind == "own":
        case.bytes = "equal" if _sha256(actual.compared) == expected.scrubbed else "differs"
        return case.bytes == "equal"
    return actual.hash_readings(actual.compared) == expected.readings


def _apart(found: list[Finding], moved: Collection[str]) -> tuple[list[Finding], list[str]]:
    """The findings that stay, and the paths of those that are another value, or another state, of a reading that was in motion."""
    aside = [finding.path for finding in found if finding.path in moved and finding.kind in (CHANGED, STATE)]
    return [finding for finding in found if finding.path not in aside], aside


def _explain(case: Case, expected: Expected, actual: Actual, states: Collection[str]) -> list[Finding]:
    """Every difference that counts; where no reading differs though the hash does, what else can be the reason."""
    from harness.stages.compare.diff import explain

    hidden = expected.redacted | actual.aside
    found = [finding for finding in explain(key(expected.leaves, actual.read(actual.data)), states) if finding.path not in hidden]
    if found or (hidden and actual.filled is None):
        return found
    if expected.kind == "own":
        return lines(expected.data, actual.compared)
    case.drift.append(f"{expected.id}: the golden's hash of the readings is not that of the transcript")
    return []


def lines(expected: bytes, actual: bytes) -> list[Finding]:
    """The first line that differs though every reading is the same: bytes of layout, which belong to no element."""
    for number, (wanted, got) in enumerate(zip_longest(expected.splitlines(keepends=True), actual.splitlines(keepends=True)), 1):
        if wanted != got:
            return [Finding(None, f"line {number}", INVENTED, _shown(wanted), _shown(got))]
    return []


def _shown(line: bytes | None) -> str | None:
    return None if line is None else line.decode("utf-8", "backslashreplace")


def _count(case: Case, expected: Expected, actual: Actual, covered: dict[str, str]) -> None:
    outcome = {path: "exact" for path, _ in expected.leaves}
    outcome.update((path, "unmodelled") for path in expected.unmodelled if path in outcome)
    outcome.update((path, "deferred") for path in expected.deferred if path in outcome)
    outcome.update((path, "redacted") for path in expected.redacted if path in outcome)
    outcome.update((path, "aside") for path in actual.aside if path in outcome)
    outcome.update((path, what) for path, what in covered.items() if path in outcome)
    outcome.update((finding.path, "found") for finding in case.findings if finding.path in outcome)
    invented = [finding.path for finding in case.findings if finding.kind == INVENTED]
    assumed = [path for path in outcome if path in actual.assumed]
    case.deferrals = dict(Counter(expected.deferred.get(path, "rule") for path, what in outcome.items() if what == "deferred"))
    case.counts = _tally(outcome, invented, assumed)
    worst: dict[str, str] = {}
    for path, what in outcome.items():
        row = distinct(path)
        worst[row] = max(worst.get(row, "exact"), what, key=_SEVERITY.index)
    case.rows = _tally(worst, sorted({distinct(path) for path in invented}), sorted({distinct(path) for path in assumed}))


def _tally(outcome: dict[str, str], invented: list[str], assumed: list[str]) -> Counts:
    counts = Counts(elements=len(outcome), invented=len(invented), assumed=len(assumed))
    counts.clock_lines = sum(1 for path in outcome if "supported_clocks/" in path)
    for what in outcome.values():
        if what != "found":
            setattr(counts, what, getattr(counts, what) + 1)
    return counts


def total(cases: list[Case]) -> tuple[Counts, Counts]:
    """The sums of all cases' counts and of their rows."""
    counts, rows = Counts(), Counts()
    for case in cases:
        for name in (entry.name for entry in fields(Counts)):
            setattr(counts, name, getattr(counts, name) + getattr(case.counts, name))
            setattr(rows, name, getattr(rows, name) + getattr(case.rows, name))
    return replace(counts), replace(rows)


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
