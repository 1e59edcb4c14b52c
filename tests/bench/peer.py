"""Another library of the same ABI, called by the same loop with the same arguments: its figures beside ours, one line a case.

The peer brings its own configuration: it gets the variables that ``--peer-env`` gives and none of ours.  It may lack functions, print what it likes
and crash: such a case is told as not measured, and the others go on.  Nothing of a peer has a limit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.bench import machine
from tests.bench.cases import Case
from tests.bench.program import Loop, ProgramError, Times
from tests.bench.result import Measured


@dataclass(frozen=True)
class Peer:
    """What was measured of ``library``: times by case, instructions by case, and why a case has none."""

    library: Path
    times: Mapping[str, Times]
    counts: Mapping[str, float]
    not_measured: Mapping[str, str]


def variables_of(words: Sequence[str]) -> dict[str, str]:
    """``NAME=VALUE`` words as variables; ValueError names one that is none."""
    found = {}
    for word in words:
        name, sign, value = word.partition("=")
        if not sign or not name:
            raise ValueError(f"--peer-env {word}: give NAME=VALUE")
        found[name] = value
    return found


def measure(loop: Loop, library: Path, variables: Mapping[str, str], cases: Sequence[Case]) -> Peer:
    """All ``cases`` on ``library``: at once, and where that fails each in a process of its own."""
    other = replace(loop, library=library, variables=dict(variables), silent=False)
    valgrind = machine.valgrind()
    times: dict[str, Times] = {}
    counts: dict[str, float] = {}
    failed: dict[str, str] = {}
    try:
        times, _ = other.times(cases)
    except ProgramError:
        for case in cases:
            try:
                times |= other.times([case])[0]
            except ProgramError as error:
                failed[case.name] = str(error).splitlines()[-1]
    answered = [case for case in cases if case.name in times]
    if valgrind:
        try:
            counts = other.instructions(answered, valgrind)
        except ProgramError as error:
            failed["instructions"] = str(error).splitlines()[-1]
    return Peer(library, times, counts, failed)


def document(peer: Peer, ours: Sequence[Measured]) -> dict[str, Any]:
    """The part of the JSON document that is about a peer."""
    return {
        "library": {"path": str(peer.library), "sha256": machine.sha256(peer.library), "bytes": peer.library.stat().st_size},
        "cases": [
            {
                "name": case.name,
                "code": peer.times[case.name].code,
                "ns": round(peer.times[case.name].ns, 2),
                "times_ours": round(peer.times[case.name].ns / case.ns, 2),
                "instructions": peer.counts.get(case.name),
            }
            for case in ours
            if case.name in peer.times
        ],
        "not_measured": dict(peer.not_measured),
    }


def table(peer: Peer, ours: Sequence[Measured]) -> list[str]:
    """Ours and the peer's side by side: ns, instructions where counted, the code of each; then what the peer was not measured at."""
    lines = [f"{'case':44} {'ns':>8} {'peer':>9} {'times':>7} {'instructions':>13} {'peer':>9} {'code':>5} {'peer':>5}"]
    for case in ours:
        other = peer.times.get(case.name)
        if other is None:
            continue
        counted = f"{case.instructions or 0:13.0f} {peer.counts.get(case.name, 0):9.0f}" if case.name in peer.counts else f"{'-':>13} {'-':>9}"
        lines.append(f"{case.name:44} {case.ns:8.1f} {other.ns:9.1f} {other.ns / case.ns:7.2f} {counted} {case.code:5} {other.code:5}")
    return lines + [f"peer not measured: {name}: {why}" for name, why in peer.not_measured.items()]
