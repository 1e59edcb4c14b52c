"""``check --live``: both views of a node taken and judged."""

from __future__ import annotations

from dataclasses import dataclass

from harness.stages.compare.case import INVENTED, MISSING, ORDER
from harness.stages.live import unasked
from harness.stages.live.judging import Verdict, judge
from harness.stages.live.node import VIEWS, Node, take
from harness.tables import drivers


@dataclass(frozen=True)
class Live:
    """What a live check gave.

    ``driver``: the version the library reports; ``layout``: the node whose layout was used, ``assumed`` when the version has none of its own;
    ``library``, ``smi``: the files; ``not_asked``: rows that were not asked for safety's sake; ``verdicts``: one a view; ``raw``: whether
    identifiers stand in it as they are.
    """

    driver: str
    layout: str
    assumed: bool
    library: str
    smi: str
    not_asked: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    raw: bool

    @property
    def parity(self) -> bool:
        """Nothing is left that differs."""
        return all(verdict.case.parity for verdict in self.verdicts)

    @property
    def layout_differs(self) -> bool:
        """Whether elements stand elsewhere, or on one side alone: what an import of nvidia-smi's text would learn."""
        return any(finding.kind in (MISSING, INVENTED, ORDER) for verdict in self.verdicts for finding in verdict.case.findings)


def check(node: Node, *, raw: bool = False) -> Live:
    """Take and judge every view of ``node``; raises as ``node.take`` does."""
    smi = node.binary()
    taken = [take(node, view) for view in VIEWS]
    ours = taken[0].ours
    driver = drivers.load(node.root).resolve(ours.driver)
    left = unasked.of(driver)
    verdicts = tuple(judge(one, driver, left, raw=raw) for one in taken)
    return Live(ours.driver, ours.node, ours.assumed, ours.library, str(smi), left.rows, verdicts, raw)
