"""Compare: a capture's golden and transcript against a render.  ``judge.compare`` gives the case; the noun files give its parts."""

from harness.stages.compare.case import Case, Counts, Finding
from harness.stages.compare.judge import Actual, Expected, compare, total

__all__ = ["Actual", "Case", "Counts", "Expected", "Finding", "compare", "total"]
