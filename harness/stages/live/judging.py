"""What differs between nvidia-smi's text and ours, less what moved between nvidia-smi's two texts and what was not asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from harness.stages.compare.case import INVENTED, Case, Counts, Finding
from harness.stages.compare.check import fill, state_texts
from harness.stages.compare.diff import explain
from harness.stages.compare.judge import lines
from harness.stages.compare.keyed import Keyed, gpu_of, key
from harness.stages.importing import source
from harness.stages.live.node import Taken, name_of
from harness.stages.live.unasked import Unasked
from harness.stages.render.process import Rendered
from harness.stages.render.reading import Raw, Traced
from harness.tables.drivers import Driver
from harness.tables.layout import Element
from harness.text import paths, scrub
from harness.words.errors import InputError

ID = "live"
NOT_ASKED = "not asked"
FIRST, OURS, SECOND = "first run", "our render", "second run"
Leaves = list[tuple[str, str]]


@dataclass(frozen=True)
class Asked:
    """Where a finding's element comes from.

    ``row``, ``route``: row id and its call as text (empty: no row stands there), ``code``: what the call answered, None where nothing was asked,
    ``answer``: the value it gave; ``why``: what the layout says of the element, where that matters.
    """

    row: str = ""
    route: str = ""
    code: int | None = None
    answer: Raw | None = None
    why: str = ""


@dataclass(frozen=True)
class Verdict:
    """One view judged: its ``case``, the elements that ``moved`` (paths), and where each finding comes from, by path."""

    case: Case
    moved: tuple[str, ...]
    asked: Mapping[str, Asked]


def judge(taken: Taken, driver: Driver, unasked: Unasked, *, raw: bool) -> Verdict:
    """The verdict on one view; ``raw``: with identifiers as they are, else scrubbed in all three texts together before they are compared."""
    texts = _texts(taken, raw=raw)
    first, second = (source.read(texts[name], f"{name_of(taken.view)} ({name})") for name in (FIRST, SECOND))
    leaves = source.leaves(first)
    moved = _moved(leaves, source.leaves(second))
    drawn = _drawn(texts[OURS])
    keyed = key(leaves, drawn)
    every = explain(keyed, state_texts(driver)) if drawn else []
    aside = {finding.path for finding in every if finding.path in moved or unasked.covers(finding.path)}
    found = [finding for finding in every if finding.path not in aside]
    outcome = "differs" if found else "n/a"
    if not drawn or not (found or _uneven(keyed)):
        data = fill(texts[OURS], first, frozenset(aside)) if aside else texts[OURS]
        outcome = "equal" if data == texts[FIRST] else "differs"
        found = lines(texts[FIRST], data)
    case = _case(taken, leaves, outcome, found)
    _count(case, leaves, taken, moved, unasked)
    trace = {entry.path: entry for entry in _answers(taken.ours, drawn, raw=raw)}
    under = {mapped: trace[path] for (path, _), mapped in zip(drawn, keyed.actual, strict=True) if path in trace}
    return Verdict(case, tuple(path for path, _ in leaves if path in moved), {finding.path: _asked(finding, under, driver) for finding in found})


def _drawn(ours: bytes) -> Leaves:
    """The readings of our render; none where an odd name or UUID makes it no text of its view, and lines must tell."""
    try:
        return source.leaves(source.read(ours, OURS))
    except InputError:
        return []


def _texts(taken: Taken, *, raw: bool) -> dict[str, bytes]:
    """The three texts by name; scrubbed as files of one node, so that an identifier is the same placeholder in all."""
    texts = {FIRST: taken.first, OURS: taken.ours.data, SECOND: taken.second}
    return texts if raw else scrub.scrub(texts).files


def _moved(first: Leaves, second: Leaves) -> frozenset[str]:
    """The elements that differ between nvidia-smi's two texts, or that one of them alone has."""
    both = key(first, second)
    return frozenset(path for path in (*both.expected, *both.actual) if both.expected.get(path) != both.actual.get(path))


def _uneven(keyed: Keyed) -> bool:
    """Whether the two sides have other elements, or in another order: then no bytes can be laid over each other."""
    return list(keyed.expected) != list(keyed.actual)


def _case(taken: Taken, leaves: Leaves, outcome: str, found: list[Finding]) -> Case:
    gpus = len({gpu for path, _ in leaves if (gpu := gpu_of(path)) is not None})
    ours = taken.ours
    return Case(ID, "own", "builtin", ours.driver, ours.layout, gpus, Counts(), Counts(), outcome, found, view=taken.view)


def _count(case: Case, leaves: Leaves, taken: Taken, moved: frozenset[str], unasked: Unasked) -> None:
    """Every element of nvidia-smi's text in one place: found, moved (volatile), not asked or not served yet (deferred), unmodelled, else exact."""
    apart = source.apart(leaves, taken.kept)
    found = {finding.path for finding in case.findings}
    reasons: Counter[str] = Counter()
    counts, assumed = case.counts, taken.ours.assumed_paths()
    for path, _ in leaves:
        counts.elements += 1
        counts.assumed += path in assumed
        counts.clock_lines += "supported_clocks/" in path
        if path in found:
            continue
        if path in moved:
            counts.volatile += 1
        elif unasked.covers(path) or path in apart.deferred:
            counts.deferred += 1
            reasons[apart.deferred.get(path, NOT_ASKED)] += 1
        elif path in apart.unmodelled:
            counts.unmodelled += 1
        else:
            counts.exact += 1
    counts.invented = sum(1 for finding in case.findings if finding.kind == INVENTED)
    case.deferrals = dict(reasons)


def _answers(ours: Rendered, drawn: Leaves, *, raw: bool) -> list[Traced]:
    """The trace of our render; an answer whose text holds an identifier is given as the scrubbed text says it."""
    if raw:
        return ours.trace
    shown, real = dict(drawn), dict(_drawn(ours.data))
    return [replace(entry, answer=shown[entry.path]) if real.get(entry.path) != shown.get(entry.path) else entry for entry in ours.trace]


def _asked(finding: Finding, under: Mapping[str, Traced], driver: Driver) -> Asked:
    """Where the element of a finding comes from."""
    if finding.path in under:
        entry = under[finding.path]
        return Asked(entry.row, entry.route, entry.code, entry.answer, "" if finding.expected is not None else _when(_placed(finding.path, driver)))
    placed = _placed(finding.path, driver)
    row = next((name for element in placed for name in (element.row, element.collapse) if name is not None), "")
    route = driver.routes.get(row)
    why = _when(placed) if placed else f"the layout of {driver.node} has no such element"
    return Asked(row, "" if route is None else route.spelled, why="" if finding.path.startswith("line ") else why)


def _placed(path: str, driver: Driver) -> list[Element]:
    """The elements of the layout at ``path``."""
    plain = paths.distinct(path)
    return [element for place, element in driver.layout.walk() if place.partition("/")[2] == plain]


def _when(placed: list[Element]) -> str:
    """When the layout has an element."""
    conditions = [str(element.when) for element in placed if element.when is not None]
    return f"the layout has it when {' or '.join(conditions)}" if conditions else ""
