"""Rules: differences that are expected, by path and with a reason.  golden/rules.yaml, described in golden/README.md."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.stages.compare import elements
from harness.stages.compare.case import INVENTED, Finding
from harness.stores.references import board_of
from harness.tables import drivers, strictyaml
from harness.tables.layout import Predicate
from harness.text import paths
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT, check_format
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import DriverTree

BINARY = "binary"
COUNTERS = {"volatile": "volatile", "tolerance": "tolerated", "gap": "gaps", "deferred": "deferred", BINARY: "binary"}
NEVER, ALWAYS, REPEATS = "never", "always", "repeats"
CLAIMS = (NEVER, ALWAYS, REPEATS)
_TOP = ("format", "rules")
_KEYS = ("path", "kind", "reason", "captures", "boards", "within", "expires")
_BINARY_KEYS = ("path", "kind", "reason", "versions", "prints", "view", "of", "when", "shown")
_VIEWS = ("q-x", "q")
_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Rule:
    """One rule.

    ``path``: pattern of ``text.paths``; ``captures``, ``boards``: globs of ids and of boards, both must hold; ``within``: the largest difference
    that a tolerance covers, in ``unit`` (the element's own, empty for a bare number); ``expires``: the first version of nvparity, as parts, in which
    a gap holds no more; ``place``: file and line.
    """

    path: str
    kind: str
    reason: str
    captures: tuple[str, ...] = ("*",)
    boards: tuple[str, ...] = ("*",)
    within: float | None = None
    unit: str = ""
    expires: tuple[int, ...] | None = None
    place: str = ""

    def speaks_of(self, capture: str) -> bool:
        """Whether the rule is for that capture at all."""
        return any(fnmatchcase(capture, glob) for glob in self.captures) and any(fnmatchcase(board_of(capture), glob) for glob in self.boards)

    @property
    def said(self) -> str:
        """What it claims beside its path; nothing for most kinds."""
        return ""

    def covers(self, finding: Finding) -> bool:
        """Whether a finding of a capture it speaks of is what the rule means, its expiry aside.  No rule hides an invented element."""
        if finding.kind == INVENTED or not paths.matches(self.path, finding.path):
            return False
        return self.within is None or _near(finding.expected, finding.actual, self.within, self.unit)

    def expired(self, version: tuple[int, ...]) -> bool:
        """Whether this version of nvparity is past the rule's last."""
        return self.expires is not None and version >= self.expires


@dataclass(frozen=True, kw_only=True)
class BinaryRule(Rule):
    """What one release of nvidia-smi prints otherwise than another: it excuses that an element is there, is not, or stands for another reading.

    ``path``: one element, without wildcards.  ``versions``: the capture's driver and the binary's, which are not the same.  ``claim``: the binary
    ``never`` prints it, or ``always`` does while no capture of the capture's driver has it, or it ``repeats`` the reading of the element ``of``, so
    that the capture's is printed nowhere.  ``view``: of ``q-x`` or of the text ``q``.  ``when``: only of boards whose architecture that says.
    ``shown``: two captures, of the one driver and of the other, that show it, where the binary's outputs alone do not.
    """

    versions: tuple[str, str]
    claim: str
    view: str = "q-x"
    of: str | None = None
    when: Predicate | None = None
    shown: tuple[str, str] | None = None

    @property
    def said(self) -> str:
        """The claim, as reports have it."""
        what = {NEVER: "is never printed by", ALWAYS: "is always printed by", REPEATS: f"repeats {self.of} in"}[self.claim]
        return f"{what} {self.versions[1]}{'' if self.when is None else f' ({self.when})'}, against {self.versions[0]}: "

    def speaks_of(self, capture: str) -> bool:  # noqa: ARG002 - it is of drivers, not of captures
        """A rule of this kind is of no capture by name; `binary_rules.bound` makes those that hold for a case."""
        return False


def of(space: Workspace, named: str | None = None) -> list[Rule]:
    """The rules of a workspace, or those of the file ``named`` in their place.  Raises InputError with file and line."""
    tree = drivers.load(space.root)
    return load(space.golden / "rules.yaml", tree=tree) if named is None else load(Path(named), needed=True, tree=tree)


def load(path: Path, *, needed: bool = False, tree: DriverTree | None = None) -> list[Rule]:
    """The rules in ``path``; none when the file is not there, unless it is ``needed``.  ``tree``: the drivers that the elements of rules of kind
    binary are looked up in, None for rules that are read alone.

    Raises InputError with file and line.
    """
    if not needed and not os.path.lexists(path):
        return []
    document = strictyaml.load_file(path, kind="rules")
    loaded = document.value
    if not isinstance(loaded, dict) or not isinstance(loaded.get("rules"), list):
        raise InputError(f"{path}: expected 'format: {FORMAT}' and a list 'rules'")
    check_format(loaded.get("format"), document.where(("format",)))
    for name in loaded:
        if name not in _TOP:
            raise InputError(f"{document.where((name,))}: unknown key {name!r}{did_you_mean(str(name), _TOP)}; known: {', '.join(_TOP)}")
    made = [_rule(document, number, entry) for number, entry in enumerate(loaded["rules"])]
    for number, rule in enumerate(made):
        if tree is not None and isinstance(rule, BinaryRule):
            elements.check(rule.path, rule.of, rule.versions, rule.view, tree, f"{rule.place}: rules[{number}]")
    return made


def _near(expected: str | None, actual: str | None, within: float, unit: str) -> bool:
    """Whether both texts are numbers of ``unit`` no further apart than ``within``."""
    wanted, got = _NUMBER.fullmatch(expected or ""), _NUMBER.fullmatch(actual or "")
    if wanted is None or got is None or not wanted[2].strip() == got[2].strip() == unit:
        return False
    return abs(float(wanted[1]) - float(got[1])) <= within + 1e-9  # 0.1 + 0.2 is 0.3


def _rule(document: strictyaml.Document, number: int, entry: Any) -> Rule:
    where = f"{document.where(('rules', number))}: rules[{number}]"
    if not isinstance(entry, dict):
        raise InputError(f"{where}: not a mapping")
    known = _BINARY_KEYS if entry.get("kind") == BINARY else _KEYS
    for name in entry:
        if name not in known:
            place = f"{document.where(('rules', number, name))}: rules[{number}]"
            raise InputError(f"{place}: unknown key {name!r}{did_you_mean(str(name), known)}; known: {', '.join(known)}")
    for name in ("path", "kind", "reason"):
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise InputError(f"{where}: {name!r} is missing or not text")
    kind = entry["kind"]
    if kind not in COUNTERS:
        raise InputError(f"{where}: kind {kind!r} is none of {', '.join(COUNTERS)}{did_you_mean(kind, COUNTERS)}")
    for name, owner in (("within", "tolerance"), ("expires", "gap")):
        if (kind == owner) != (entry.get(name) is not None):
            raise InputError(f"{where}: a {owner}, and only a {owner}, has {name!r}")
    try:
        paths.check(entry["path"])
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if kind == BINARY:
        return _binary(where, entry, document.where(("rules", number)))
    within, unit = _tolerance(where, entry.get("within"))
    return Rule(
        path=entry["path"],
        kind=kind,
        reason=entry["reason"],
        captures=_globs(where, entry, "captures"),
        boards=_globs(where, entry, "boards"),
        within=within,
        unit=unit,
        expires=_version(where, entry.get("expires")),
        place=document.where(("rules", number)),
    )


def _binary(where: str, entry: dict[Any, Any], place: str) -> BinaryRule:
    """A rule of kind binary, whose path, kind and reason are read already."""
    given, claim = entry.get("versions"), entry.get("prints")
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(version, str) for version in given):
        example = '["535.54.03", "535.274.02"]'
        raise InputError(f"{where}: versions {given!r} are not the capture's driver and the binary's, in quotes, such as {example}")
    try:
        mine, theirs = (DriverVersion(version) for version in given)
        when = None if entry.get("when") is None else Predicate.parse(str(entry["when"]), where)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    if mine == theirs:
        raise InputError(f"{where}: versions {mine} and {theirs} are one: what a driver prints of its own capture nothing excuses")
    if claim not in CLAIMS:
        raise InputError(f"{where}: prints {claim!r} is none of {', '.join(CLAIMS)}{did_you_mean(str(claim), CLAIMS)}")
    if (claim == REPEATS) != isinstance(entry.get("of"), str):
        raise InputError(f"{where}: 'of' names the element whose reading is repeated: what {REPEATS} has it, and nothing else")
    shown = entry.get("shown")
    if shown is not None and (claim == REPEATS or not isinstance(shown, list) or len(shown) != 2 or not all(isinstance(one, str) for one in shown)):
        raise InputError(f"{where}: shown {shown!r} is not two ids, of a capture of each version, of what is printed {NEVER} or {ALWAYS}")
    view = entry.get("view", _VIEWS[0])
    if view not in _VIEWS:
        raise InputError(f"{where}: view {view!r} is none of {', '.join(_VIEWS)}")
    if when is not None and when.kind != "arch":
        raise InputError(f"{where}: when {entry['when']!r} is no architecture, such as arch>=ampere")
    for name in ("path", "of"):
        if any(mark in str(entry.get(name, "")) for mark in "*["):
            raise InputError(f"{where}: {name} {entry[name]!r} is not one element: no wildcard and no index")
    if entry.get("of") == entry["path"]:
        raise InputError(f"{where}: of {entry['of']!r} is the path itself: what {REPEATS} has another element's reading")
    versions = (mine.text, theirs.text)
    pair = None if shown is None else (shown[0], shown[1])
    more = {"view": view, "of": entry.get("of"), "when": when, "shown": pair, "place": place}
    return BinaryRule(entry["path"], BINARY, entry["reason"], versions=versions, claim=claim, **more)


def _tolerance(where: str, given: Any) -> tuple[float | None, str]:
    """``1 C`` -> 1.0 and C."""
    if given is None:
        return None, ""
    match = None if isinstance(given, bool) else _NUMBER.fullmatch(str(given))
    if match is None or not 0 < float(match[1]) < math.inf:
        raise InputError(f"{where}: within {given!r} is no number above zero with the unit that the element is printed with, such as 1 C or 0.5 W")
    return float(match[1]), match[2].strip()


def _globs(where: str, entry: dict[Any, Any], name: str) -> tuple[str, ...]:
    given = entry.get(name, ["*"])
    if not isinstance(given, list) or not given or not all(isinstance(glob, str) for glob in given):
        raise InputError(f"{where}: {name!r} is a list of {'ids' if name == 'captures' else 'boards'}, each perhaps with '*'")
    return tuple(given)


def _version(where: str, given: Any) -> tuple[int, ...] | None:
    if given is None:
        return None
    if not isinstance(given, str) or not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})*", given):
        raise InputError(f'{where}: expires {given!r} is not a version of nvparity in quotes, such as "0.3"')
    return tuple(int(part) for part in given.split("."))
