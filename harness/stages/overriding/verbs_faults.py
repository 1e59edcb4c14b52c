"""The verbs that break something: failures, errors of links and memory, fabric health (ledger X03, X11 to X13)."""

from __future__ import annotations

from collections.abc import Sequence

from harness.stages.overriding.arguments import Changes, fraction, names_of, whole, words_of
from harness.words.errors import UsageError, did_you_mean

HEALTHY = "healthy"
_U64 = 2**64 - 1
_LAST_LINK, _MOST_ERRORS = 17, 1_000_000_000
_TYPES = ("correctable", "parity", "secded")
_SOURCES = {"l2": "l2", "sm": "sm", "microcontroller": "microcontroller", "mcu": "microcontroller", "pcie": "pcie", "other": "other"}
_HEALTH, _MISCONFIGURED = "fabric.health.", "fabric.health.incorrect_configuration"
_CONDITIONS = {
    "degraded_bandwidth": "degraded_bandwidth", "bandwidth": "degraded_bandwidth", "degraded_bw": "degraded_bandwidth",
    "route_recovery": "route_recovery", "route_unhealthy": "route_unhealthy",
    "access_timeout_recovery": "access_timeout_recovery", "access_timeout": "access_timeout_recovery",
}  # fmt: skip
"""Name or alias of a condition -> its key below ``fabric.health``."""


def _one_of(verb: str, option: str, text: str, known: Sequence[str]) -> str:
    if text not in known:
        raise UsageError(f"{verb}: {option} {text!r} is not one of {', '.join(known)}{did_you_mean(text, known)}")
    return text


def fail(mode: str, after_calls: str | None = None, probability: str | None = None, seed: str | None = None, xid: str | None = None) -> Changes:
    """X03: the whole failure block anew; healthy takes it away."""
    _one_of("fail", "--mode", mode, words_of("failure.mode"))
    given = {
        "after_calls": None if after_calls is None else whole("fail: --after-calls", after_calls, 0, _U64),
        "probability": None if probability is None else float(fraction("fail: --probability", probability, 0, 1)),
        "seed": None if seed is None else whole("fail: --seed", seed, 0, _U64),
        "xid.code": None if xid is None else whole("fail: --xid", xid, 0, 2**32 - 1),
    }
    if mode == HEALTHY:
        return {"failure": None}
    return {"failure.mode": mode, **{f"failure.{name}": value for name, value in given.items()}}


def nvlink_error(rate: str, links: str | None = None) -> Changes:
    """X11: errors a second, on the links named or on all that are active; 0 heals."""
    number = fraction("nvlink-error", rate, 0, _MOST_ERRORS)
    listed = None if links is None else sorted({whole("nvlink-error: --links", link.strip(), 0, _LAST_LINK) for link in links.split(",")})
    if not number:
        return {"nvlink_error": None}
    return {"nvlink_error.rate": int(number) if number == int(number) else float(number), "nvlink_error.links": listed}


def sram_ecc(count: str, kind: str = "secded", source: str | None = None, *, threshold_exceeded: bool = False) -> Changes:
    """X12: SRAM errors of one kind, volatile and aggregate; every other SRAM counter is 0 then, and 0 heals.  The ECC mode stays."""
    number = whole("sram-ecc", count, 0, _MOST_ERRORS)
    _one_of("sram-ecc", "--type", kind, _TYPES)
    if source is not None:
        _one_of("sram-ecc", "--source", source, tuple(_SOURCES))
        if kind == "correctable":
            raise UsageError("sram-ecc: --source names where uncorrectable errors come from; --type correctable has none")
    changes: Changes = {}
    for scope in ("volatile", "aggregate"):
        for name in _TYPES:
            counter = name if name == "correctable" else f"uncorrectable_{name}"
            changes[f"ecc.sram.{scope}.{counter}"] = number if name == kind else 0
    for name in dict.fromkeys(_SOURCES.values()):
        changes[f"ecc.sram.uncorrectable_sources.{name}"] = number if source is not None and _SOURCES[source] == name else 0
    return {**changes, "ecc.sram.threshold_exceeded": threshold_exceeded and number > 0}


def fabric_health(names: Sequence[str]) -> Changes:
    """X13: the conditions that hold, and at most one misconfiguration; every other one does not, and the summary is worked out from them."""
    wrong = {word: word for word in words_of(_MISCONFIGURED) if word != "none"}
    wanted = names_of("fabric-health", names, {**_CONDITIONS, **wrong}, (HEALTHY, "none"))
    found = sorted(wanted & set(wrong))
    if len(found) > 1:
        raise UsageError(f"fabric-health: {' and '.join(found)}: a GPU reports one misconfiguration")
    flags = {f"{_HEALTH}{name}": name in wanted for name in dict.fromkeys(_CONDITIONS.values())}
    return {**flags, _MISCONFIGURED: found[0] if found else "none", "fabric.health_summary": "auto", "fabric.health_mask": None}
