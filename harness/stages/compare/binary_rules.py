"""Rules of kind ``binary`` at work: bound to one case that a real nvidia-smi printed, and held against everything that it printed.

A rule excuses that an element is there, is not, or stands for another reading; never a value.  What it claims of the release must hold in every
output of it, and what it claims of the capture's driver in every capture of that; one that is untrue fails the gate as one without work does.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.stages.compare.case import CHANGED, INVENTED, MISSING, STATE
from harness.stages.compare.keyed import gpu_of
from harness.stages.compare.rules import ALWAYS, NEVER, REPEATS, BinaryRule, Rule
from harness.text import paths
from harness.text.model import REPEATED

if TYPE_CHECKING:
    from harness.stages.compare.case import Case, Finding, Printed

_KIND = {NEVER: (MISSING,), ALWAYS: (INVENTED,), REPEATS: (CHANGED, STATE)}
_STEP = re.compile(r"\[[0-9]+\]")


@dataclass(frozen=True, kw_only=True)
class Bound(BinaryRule):
    """A rule as it holds for one case, whose render is ``printed``."""

    printed: Printed

    def speaks_of(self, capture: str) -> bool:  # noqa: ARG002 - it was bound to its case
        """Always: it was bound to that case."""
        return True

    def covers(self, finding: Finding) -> bool:
        """Whether the finding is what the release always does with that element."""
        if finding.kind not in _KIND[self.claim] or paths.distinct(finding.path) != self.path or not _holds(self, finding.path, self.printed):
            return False
        return self.of is None or finding.actual == self.printed.leaves.get(beside(finding.path, self.of))


def bound(rules: list[Rule], printed: Printed) -> list[Rule]:
    """``rules`` for one case: those of kind binary that are of its pair of versions, and all of other kinds."""
    made: list[Rule] = [rule for rule in rules if not isinstance(rule, BinaryRule)]
    pair = (printed.origin, printed.version)
    held = [rule for rule in rules if isinstance(rule, BinaryRule) and rule.versions == pair and of_view(rule, printed)]
    return [*made, *(Bound(**vars(rule), printed=printed) for rule in held)]


def of_view(rule: BinaryRule, printed: Printed) -> bool:
    """Whether the rule is of the view that was printed, or of the one that its sections are of."""
    return rule.view == printed.view.partition(":")[0]


def judged(rule: BinaryRule, cases: Collection[Case], *, whole: bool) -> tuple[int, str | None]:
    """How many findings of ``cases`` the rule covers, and the problem that fails the gate, None where it does its work.

    It is judged where its binary printed something; whether it does work, where the captures were checked ``whole``.
    """
    covers = sum(case.ruled.get(rule.place, 0) for case in cases)
    ran = [case.printed for case in cases if case.printed is not None and case.printed.version == rule.versions[1] and case.printed.leaves]
    ran = [printed for printed in ran if of_view(rule, printed)]
    if rule.shown is not None and (untold := _untold(rule, rule.shown, cases, whole=whole)):
        return covers, untold
    for case in cases:
        untrue = rule.claim == ALWAYS and case.printed is not None and case.printed.origin == rule.versions[0]
        if untrue and any(paths.distinct(path) == rule.path for path in case.elements):
            return covers, f"is untrue: {case.id}, of {rule.versions[0]}, has it; remove or correct it"
    for printed in ran if rule.shown is None else ():
        against = next(contrary(rule, printed), None)
        if against is not None:
            return covers, f"is untrue: {rule.versions[1]} prints {against}; remove or correct it"
    return covers, "covers no difference: remove it" if whole and ran and not covers else None


def _untold(rule: BinaryRule, shown: tuple[str, str], cases: Collection[Case], *, whole: bool) -> str | None:
    """Why the two captures do not show what the rule claims; None where they do, or were not looked at."""
    expected = {NEVER: (True, False), ALWAYS: (False, True)}[rule.claim]
    for name, version, there in zip(shown, rule.versions, expected, strict=True):
        looked = [case for case in cases if case.id == name and case.printed is not None and case.view == rule.view]
        if whole and not looked:
            return f"is untrue: {name}, which shows it, is no capture of {version} here"
        for case in looked:
            has = any(paths.distinct(path) == rule.path for path in case.elements)
            if case.printed is None or case.printed.origin != version or has != there:
                return f"is untrue: {name} is no capture of {version} {'with' if there else 'without'} it"
    return None


def contrary(rule: BinaryRule, printed: Printed) -> Iterator[str]:
    """What in an output of the rule's binary its claim does not hold for."""
    found = {path for path in printed.leaves if paths.distinct(path) == rule.path and _holds(rule, path, printed)}
    if rule.claim == NEVER:
        yield from (path for path in printed.leaves if path in found)
    elif rule.claim == ALWAYS:
        if printed.view != rule.view:
            return  # sections alone say nothing of what stands outside them
        yield from (f"{entry or 'everything'} without it" for entry in _entries(rule, printed) if not any(path.startswith(entry) for path in found))
    else:
        assert rule.of is not None
        for path in sorted(found):
            if printed.leaves[path] != printed.leaves.get(beside(path, rule.of)):
                yield f"{path} otherwise than {beside(path, rule.of)}"


def _holds(rule: BinaryRule, path: str, printed: Printed) -> bool:
    """Whether the rule is of the board that ``path`` is of."""
    gpu = gpu_of(path)
    if rule.when is None or gpu is None:
        return rule.when is None
    return gpu < len(printed.architectures) and rule.when.holds_for(printed.architectures[gpu])


def _entries(rule: BinaryRule, printed: Printed) -> Iterator[str]:
    """The entries of the innermost list around the rule's element that were printed (``gpu[0]/``, ``gpu[1]/processes/process_info[3]/``)."""
    around = rule.path.split("/")[:-1]
    depth = max((number for number, step in enumerate(around, 1) if step in REPEATED), default=0)
    pattern = "".join(f"{step}\\[[0-9]+\\]/" if step in REPEATED else f"{step}/" for step in around[:depth])
    found = (re.match(pattern, path) for path in printed.leaves)
    yield from dict.fromkeys(match[0] for match in found if match is not None and _holds(rule, match[0], printed))


def beside(path: str, other: str) -> str:
    """``other``, a path without indices, with those of ``path`` on the steps that both begin with."""
    steps = other.split("/")
    for number, part in enumerate(path.split("/")):
        if number >= len(steps) or _STEP.sub("", part) != steps[number]:
            break
        steps[number] = part
    return "/".join(steps)


def pairs(rules: Collection[Rule]) -> Mapping[str, list[BinaryRule]]:
    """The rules of kind binary by the binary's version."""
    found: dict[str, list[BinaryRule]] = {}
    for rule in rules:
        if isinstance(rule, BinaryRule):
            found.setdefault(rule.versions[1], []).append(rule)
    return found
