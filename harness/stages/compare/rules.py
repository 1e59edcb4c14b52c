"""Rules: differences that are expected, by path and with a reason.

golden/rules.yaml, ``format: 1`` and a list ``rules`` of mappings: ``path`` (glob over paths without indices, ``gpu/pci/tx_util``), ``kind``
(volatile, tolerance, gap, deferred), ``reason``, and ``captures`` (globs of ids; all when left out), ``within`` (tolerance: the largest
difference of the numbers), ``expires`` (gap: the first version of nvparity in which it holds no more).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from harness.stages.compare.case import INVENTED, Finding
from harness.stages.compare.keyed import distinct
from harness.tables import strictyaml
from harness.text.versions import FORMAT, check_format
from harness.words.errors import InputError, did_you_mean

COUNTERS = {"volatile": "volatile", "tolerance": "tolerated", "gap": "gaps", "deferred": "deferred"}
_TOP = ("format", "rules")
_KEYS = ("path", "kind", "reason", "captures", "within", "expires")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Rule:
    """One rule; ``within`` in the element's own unit, ``expires`` as version parts."""

    path: str
    kind: str
    reason: str
    captures: tuple[str, ...] = ("*",)
    within: float | None = None
    expires: tuple[int, ...] | None = None

    def covers(self, finding: Finding, capture: str) -> bool:
        """Whether the rule speaks of this finding, its expiry aside."""
        if finding.kind == INVENTED or not fnmatchcase(distinct(finding.path), self.path):
            return False
        if not any(fnmatchcase(capture, glob) for glob in self.captures):
            return False
        return self.within is None or _near(finding.expected, finding.actual, self.within)

    def expired(self, version: tuple[int, ...]) -> bool:
        """Whether this version of nvparity is past the rule's last."""
        return self.expires is not None and version >= self.expires


def load(path: Path) -> list[Rule]:
    """The rules in ``path``; none when the file is not there.  Raises InputError naming the file and the rule."""
    if not path.is_file():
        return []
    document = strictyaml.load_file(path)
    loaded = document.value
    if not isinstance(loaded, dict) or not isinstance(loaded.get("rules"), list):
        raise InputError(f"{path}: expected 'format: {FORMAT}' and a list 'rules'")
    check_format(loaded.get("format"), document.where(("format",)))
    for name in loaded:
        if name not in _TOP:
            raise InputError(f"{document.where((name,))}: unknown key {name!r}{did_you_mean(str(name), _TOP)}; known: {', '.join(_TOP)}")
    return [_rule(document.where(("rules", number)), number, entry) for number, entry in enumerate(loaded["rules"])]


def apply(findings: Iterable[Finding], rules: list[Rule], capture: str, version: tuple[int, ...]) -> tuple[list[Finding], dict[str, str]]:
    """The findings no rule covers, and path -> counter (volatile, tolerated, gaps, deferred) of those that one does.

    A finding that only an expired rule covers stays, and names it.
    """
    left: list[Finding] = []
    covered: dict[str, str] = {}
    for finding in findings:
        speaking = [rule for rule in rules if rule.covers(finding, capture)]
        valid = [rule for rule in speaking if not rule.expired(version)]
        if valid:
            covered[finding.path] = COUNTERS[valid[0].kind]
        elif speaking:
            left.append(Finding(finding.gpu, finding.path, finding.kind, finding.expected, finding.actual, f"expired: {speaking[0].reason}"))
        else:
            left.append(finding)
    return left, covered


def _near(expected: str | None, actual: str | None, within: float) -> bool:
    wanted, got = _NUMBER.fullmatch(expected or ""), _NUMBER.fullmatch(actual or "")
    if wanted is None or got is None or wanted.group(2) != got.group(2):
        return False
    return abs(float(wanted.group(1)) - float(got.group(1))) <= within


def _rule(place: str, number: int, entry: Any) -> Rule:
    where = f"{place}: rules[{number}]"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: not a mapping")
    for name in entry:
        if name not in _KEYS:
            raise InputError(f"{where}: unknown key {name!r}{did_you_mean(str(name), _KEYS)}")
    for name in ("path", "kind", "reason"):
        if not isinstance(entry.get(name), str) or not entry[name]:
            raise InputError(f"{where}: {name!r} is missing or not text")
    if entry["kind"] not in COUNTERS:
        raise InputError(f"{where}: kind {entry['kind']!r} is none of {', '.join(COUNTERS)}{did_you_mean(entry['kind'], COUNTERS)}")
    if (entry["kind"] == "tolerance") != isinstance(entry.get("within"), int | float):
        raise InputError(f"{where}: a tolerance, and only a tolerance, has a number 'within'")
    if (entry["kind"] == "gap") != isinstance(entry.get("expires"), str):
        raise InputError(f"{where}: a gap, and only a gap, has a version 'expires' (text)")
    captures = entry.get("captures", ["*"])
    if not isinstance(captures, list) or not all(isinstance(glob, str) for glob in captures):
        raise InputError(f"{where}: 'captures' is not a list of ids or globs")
    expires = entry.get("expires")
    if expires is not None and not re.fullmatch(r"\d+(\.\d+)*", expires):
        raise InputError(f"{where}: expires {expires!r} is not a version such as 0.3")
    return Rule(
        path=entry["path"],
        kind=entry["kind"],
        reason=entry["reason"],
        captures=tuple(captures),
        within=entry.get("within"),
        expires=tuple(int(part) for part in expires.split(".")) if expires else None,
    )
