"""Two sides laid over each other: the comparison's own engine, with renamed elements told as renames and what rules cover left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.stages.compare import ruling
from harness.stages.compare.case import INVENTED, MISSING, Finding
from harness.stages.compare.diff import explain
from harness.stages.compare.judge import lines
from harness.stages.compare.keyed import Keyed, gpu_of, key
from harness.stages.compare.rules import BINARY, Rule
from harness.stages.compare.sides import PROFILE
from harness.text import paths
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from harness.stages.compare.sides import Side, View

RENAMED = "renamed"
CLOCK = Rule("timestamp", "volatile", "when the text was printed")
"""What moves between any two texts; everything else that does is for rules to name."""


@dataclass(frozen=True)
class Rename:
    """One reading that stands under another name on the other side: ``path`` there, ``actual`` here, both under the first side's GPU numbers."""

    path: str
    actual: str
    row: str


@dataclass(frozen=True)
class Difference:
    """What differs in one view.

    ``elements``: readings of the first side; ``findings``: expected is the first side's text, actual the other's; ``rows``: path -> row id;
    ``hidden``: counter -> findings that a rule covers; ``redacted``: readings that a giver hid, not compared; ``present``: paths of both
    sides, first and other.
    """

    view: str
    elements: int
    findings: list[Finding]
    renames: list[Rename]
    rows: Mapping[str, str]
    hidden: Mapping[str, int] = field(default_factory=dict)
    redacted: int = 0
    present: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())

    @property
    def equal(self) -> bool:
        """Nothing is left to tell."""
        return not self.findings and not self.renames


def compare(one: Side, other: Side, rules: Iterable[Rule], version: tuple[int, ...], *, volatile: bool = False) -> list[Difference]:
    """What differs in each view that both sides have; ``volatile``: tell what moves by itself, too.

    Raises InputError for sides that have no view in common.
    """
    common = [view for view in one.views if view in other.views]
    if not common:
        raise InputError(_apart(one, other))
    speaking = [CLOCK, *(rule for rule in rules if any(rule.speaks_of(side.id) for side in (one, other) if side.id) or rule.speaks_of(""))]
    told = (BINARY, "volatile") if volatile else (BINARY,)
    usable = [replace(rule, captures=("*",), boards=("*",)) for rule in speaking if rule.kind not in told]
    return [_view(view, one.views[view], other.views[view], usable, version) for view in common]


def _apart(one: Side, other: Side) -> str:
    if PROFILE in (one.kind, other.kind):
        profile, text = (one, other) if one.kind == PROFILE else (other, one)
        reference = profile.name.removeprefix("profile:")
        return f"{text.name} is readings and {profile.name} is keys: compare {text.name} with render:{reference}"
    return f"{one.name} has {', '.join(one.views)} and {other.name} has {', '.join(other.views)}: no view in common"


def _view(view: str, one: View, other: View, rules: list[Rule], version: tuple[int, ...]) -> Difference:
    keyed = key(one.leaves, other.leaves)
    mapped = dict(zip((path for path, _ in other.leaves), keyed.actual, strict=True))
    rows = {mapped[path]: row for path, row in other.rows.items() if path in mapped}
    renames = _renames(keyed, one.rows, rows)
    under = {rename.actual: rename.path for rename in renames}
    keyed = Keyed(keyed.expected, {under.get(path, path): text for path, text in keyed.actual.items()}, keyed.names)
    redacted = one.redacted | {under.get(mapped[path], mapped[path]) for path in other.redacted}
    found = [finding for finding in explain(keyed, one.states | other.states) if finding.path not in redacted]
    found = [finding for finding in found if not _uncaptured(finding, one, other, keyed)]
    ruled = ruling.apply(found, rules, "", version)
    left = ruled.left
    if not found and not renames and not redacted and one.kind == other.kind == "own":
        left = lines(*(_ends(data or b"") for data in (one.data, other.data)))
    hidden = Counter(ruled.covered.values())
    present = frozenset(keyed.expected), frozenset(keyed.actual)
    return Difference(view, len(keyed.expected), left, renames, {**rows, **one.rows}, hidden, len(redacted), present)


def _renames(keyed: Keyed, mine: Mapping[str, str], theirs: Mapping[str, str]) -> list[Rename]:
    """Elements that one side alone has, of one row, on one GPU, in one entry of a list: the reading has another name on the other side."""
    here = _by_row((path for path in keyed.expected if path not in keyed.actual), mine)
    there = _by_row((path for path in keyed.actual if path not in keyed.expected), theirs)
    pairs = [(here[same], there[same], same) for same in here if same in there]
    return [Rename(one[0], other[0], same[0]) for one, other, same in pairs if len(one) == len(other) == 1 and not _nested(one[0], other[0])]


def _nested(one: str, other: str) -> bool:
    """Whether one path is around the other: a block that is a line on boards that lack it has no other name."""
    return one.startswith(f"{other}/") or other.startswith(f"{one}/")


def _by_row(listed: Iterable[str], rows: Mapping[str, str]) -> dict[tuple[str, ...], list[str]]:
    """Row and indices -> the paths it stands under."""
    found: dict[tuple[str, ...], list[str]] = {}
    for path in listed:
        if path in rows:
            found.setdefault((rows[path], *paths.indices(path)), []).append(path)
    return found


def _uncaptured(finding: Finding, one: View, other: View, keyed: Keyed) -> bool:
    """Whether it is of a GPU that a trimmed capture left out: of that nothing is known."""
    gpu = gpu_of(finding.path)
    missing, invented = not other.whole and finding.kind == MISSING, not one.whole and finding.kind == INVENTED
    if gpu is None or not (missing or invented):
        return False
    there = keyed.actual if missing else keyed.expected
    return not any(gpu_of(path) == gpu for path in there)


def _ends(data: bytes) -> bytes:
    """``data`` without what a file's way to us may do to it: other line ends, or none at the end."""
    return data.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"
