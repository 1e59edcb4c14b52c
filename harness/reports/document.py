"""The JSON of a check, version 1: the contract with scripts and CI."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from harness.stages.compare import Case, Counts, Finding, ruling, total

if TYPE_CHECKING:
    from collections.abc import Iterable

    from harness.stages.compare.ruling import Use

VERSION = 1


def check(cases: Iterable[Case], drift: Iterable[str] = (), uses: Iterable[Use] = (), pending: Iterable[str] = ()) -> dict[str, Any]:
    """The document of a check: ``version``, ``cases``, ``totals``, ``drift`` of files that belong to no case, ``rules`` (what became of each),
    ``pending``: ids for which something is proposed.

    ``totals``: cases (one a view), captures, parity (captures all of whose views reach it), edited and skipped (captures that are not compared, in
    neither of these: changed by hand, or without a binary of their branch), the counts, findings, rows, binary_rules (those of the kind in use).
    """
    listed = list(cases)
    counts, rows = total(listed)
    totals = {
        "cases": len(listed),
        **outcomes(listed),
        "gpus": sum(case.gpus for case in listed),
        **asdict(counts),
        "rows": asdict(rows),
        "findings": sum(len(case.findings) for case in listed),
    }
    told = list(uses)
    totals["binary_rules"] = ruling.binary_rules_used(told)
    rules = [_use(use) for use in told]
    found = {"version": VERSION, "cases": [_case(case) for case in listed], "totals": totals}
    return {**found, "drift": list(drift), "rules": rules, "pending": list(pending)}


def _use(use: Use) -> dict[str, Any]:
    rule = use.rule
    return {"place": rule.place, "path": rule.path, "kind": rule.kind, "reason": rule.reason, "covers": use.covers, "problem": use.problem}


def outcomes(cases: Iterable[Case]) -> dict[str, int]:
    """``captures`` that were compared, how many of them reach ``parity`` in every view, and those ``edited``."""
    views: dict[str, list[Case]] = {}
    for case in cases:
        views.setdefault(case.id, []).append(case)
    compared = [found for found in views.values() if found[0].compared]
    reached = sum(1 for found in compared if all(case.parity for case in found))
    skipped = sum(1 for found in views.values() if found[0].skipped)
    return {"captures": len(compared), "parity": reached, "edited": len(views) - len(compared) - skipped, "skipped": skipped}


def _case(case: Case) -> dict[str, Any]:
    """``printed`` and ``skipped`` are of renderer smi alone."""
    made = _common(case)
    if case.printed is not None:
        facts = case.printed
        made["printed"] = {"nvidia_smi": facts.version, "retargeted_from": facts.origin, "lacking": list(facts.lacking), "status": facts.status,
                           "stderr": facts.stderr}  # fmt: skip
    return {**made, "skipped": case.skipped} if case.skipped else made


def _common(case: Case) -> dict[str, Any]:
    return {
        "id": case.id,
        "view": case.view,
        "kind": case.kind,
        "renderer": case.renderer,
        "driver": case.driver,
        "layout": case.layout,
        "gpus": case.gpus,
        **_counts(case.counts),
        "deferrals": dict(case.deferrals),
        "bytes": case.bytes,
        "rows": _counts(case.rows),
        "findings": [_finding(finding) for finding in case.findings],
        "baselines": dict(case.baselines),
        "drift": list(case.drift),
    }


def _finding(finding: Finding) -> dict[str, Any]:
    """``row`` and ``call`` are of a contradiction alone."""
    return {name: value for name, value in asdict(finding).items() if value is not None or name not in ("row", "call")}


def _counts(counts: Counts) -> dict[str, int]:
    return asdict(counts)


def text(document: dict[str, Any]) -> str:
    """The document as JSON text: two spaces, keys in the order of the contract, one last line end."""
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
