"""Rules at work: which findings they take away, and which rules have no work left.

A rule that is expired, that speaks of no element, or that covers no difference fails the gate by name: a list of exceptions that nobody needs hides
the next difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.stages.compare import binary_rules
from harness.stages.compare.rules import COUNTERS, BinaryRule, Rule
from harness.text import paths
from harness.words.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from harness.stages.compare.case import Case, Finding


@dataclass(frozen=True)
class Ruled:
    """Findings after the rules: those ``left``, path -> counter (volatile, tolerated, gaps, deferred, binary) of those ``covered``, and how many each
    rule covers (``used``, by its place).
    """

    left: list[Finding]
    covered: dict[str, str]
    used: dict[str, int]


@dataclass(frozen=True)
class Use:
    """What became of one rule in a check: findings it ``covers``, and the ``problem`` that fails the gate, None where it does its work."""

    rule: Rule
    covers: int
    problem: str | None

    @property
    def line(self) -> str:
        """The rule by name, and its problem."""
        name = f"{self.rule.place}: {self.rule.kind} {self.rule.path}"
        said = self.rule.said
        return f"{name} {said}{self.problem}" if self.problem else f"{name} {said}covers {self.covers} (reason: {self.rule.reason})"


def apply(findings: Iterable[Finding], rules: Iterable[Rule], capture: str, version: tuple[int, ...]) -> Ruled:
    """``findings`` of ``capture`` without those that a rule covers; one that only an expired rule covers stays, and names it."""
    ruled = Ruled([], {}, {})
    speaking = [rule for rule in rules if rule.speaks_of(capture)]
    for finding in findings:
        covering = [rule for rule in speaking if rule.covers(finding)]
        valid = next((rule for rule in covering if not rule.expired(version)), None)
        if valid is not None:
            ruled.covered[finding.path] = COUNTERS[valid.kind]
            ruled.used[valid.place] = ruled.used.get(valid.place, 0) + 1
        elif covering:
            ruled.left.append(replace(finding, rule=f"expired: {covering[0].reason}"))
        else:
            ruled.left.append(finding)
    return ruled


def touched(rules: Iterable[Rule], capture: str, elements: Iterable[str]) -> frozenset[str]:
    """The places of the rules for ``capture`` whose path names one of ``elements``."""
    speaking = [rule for rule in rules if rule.speaks_of(capture)]
    listed = list(elements) if speaking else []
    return frozenset(rule.place for rule in speaking if any(paths.matches(rule.path, path) for path in listed))


def uses(rules: Iterable[Rule], cases: Collection[Case], captures: Collection[str], version: tuple[int, ...]) -> list[Use]:
    """What became of each rule in ``cases``.

    ``captures``: the ids of the workspace.  Whether a rule does work is judged where every capture it speaks of was checked; an expired one is told
    as soon as one of them was.
    """
    checked = {case.id for case in cases}
    found = []
    for rule in rules:
        if isinstance(rule, BinaryRule):
            if not any(case.printed is not None for case in cases):
                continue  # another renderer has no use for it
            found.append(Use(rule, *binary_rules.judged(rule, cases, whole=checked >= set(captures))))
            continue
        scope = {name for name in captures if rule.speaks_of(name)}
        covers = sum(case.ruled.get(rule.place, 0) for case in cases)
        judged = scope <= checked and (bool(scope) or checked >= set(captures))
        problem = None
        if rule.expired(version) and (scope & checked or judged):
            version_of = ".".join(map(str, rule.expires or ()))
            problem = f"expired at version {version_of}: mend what it stood for ({rule.reason}) or say anew why it may wait"
        elif judged:
            problem = _idle(rule, scope, covers, cases, captures)
        found.append(Use(rule, covers, problem))
    return found


def binary_rules_used(uses: Iterable[Use]) -> int:
    """How many rules of kind binary cover something."""
    return sum(1 for use in uses if isinstance(use.rule, BinaryRule) and use.covers)


def _idle(rule: Rule, scope: set[str], covers: int, cases: Iterable[Case], captures: Iterable[str]) -> str | None:
    """Why a rule does nothing; None where it does something."""
    if not scope:
        given = next((glob for glob in rule.captures if glob != "*"), next(iter(rule.boards)))
        return f"speaks of no capture of this workspace{did_you_mean(given, captures)}: remove or correct it"
    concerned = [case for case in cases if case.id in scope]
    if not any(rule.place in case.touched for case in concerned):
        known = {paths.distinct(path) for case in concerned for path in case.elements}
        return f"matches no element{did_you_mean(paths.distinct(rule.path), known)}: remove or correct it"
    return None if covers else "covers no difference: remove it"
