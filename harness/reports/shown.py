"""What ``show`` says, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


def lines(found: dict[str, Any]) -> Iterator[str]:
    """One line a fact."""
    profile = found["profile"]
    if profile is None:
        yield f"{found['id']}: no profile can be made from it"
    else:
        yield from _profile(found["id"], profile)
    if "capture" in found:
        yield from _capture(found["capture"])
        yield from _golden(found["golden"])


def _profile(name: str, profile: dict[str, Any]) -> Iterator[str]:
    yield f"{name}: driver {profile['driver']}, layout {profile['layout']}"
    yield f"  profile {profile['path']}"
    for number, gpu in enumerate(profile["gpus"]):
        known = f"{gpu['name'] or 'no name'} ({gpu['uuid'] or 'no UUID'}), {gpu['keys']} keys"
        yield f"  GPU {number}: {gpu['state'] or known}"
    if profile["answers"]:
        yield f"  answered as recorded, no key explains them: {profile['answers']} calls"
    if profile["unmodelled"]:
        yield f"  printed verbatim, no row explains them: {profile['unmodelled']} elements"
    if profile["redacted"]:
        yield f"  hidden by the giver: {profile['redacted']} elements"
    yield from (f"  printed verbatim, not served yet ({reason}): {count} elements" for reason, count in profile["deferrals"].items())


def _capture(capture: dict[str, Any]) -> Iterator[str]:
    views = ", ".join(
        f"{view} {part['elements']} elements ({part['redacted']} redacted), {part['bytes']} bytes" for view, part in capture["views"].items()
    )
    yield f"  capture: {capture['kind']}; {views}"
    if capture["states"]:
        yield "  states: " + ", ".join(f"{count} x {text!r}" for text, count in capture["states"].items())
    if capture["scrubbed"]:
        yield "  scrubbed: " + ", ".join(f"{family} {count}" for family, count in capture["scrubbed"].items())
    if capture["source"]:
        yield "  source: " + ", ".join(f"{key} {value}" for key, value in capture["source"].items())
    yield from (f"  note: {note}" for note in capture["notes"])


def _golden(golden: dict[str, Any]) -> Iterator[str]:
    for view, hashes in golden["views"].items():
        yield from (f"  golden {view} {what}: sha256 {digest}" for what, digest in hashes.items())
    yield from (f"  baseline {view}: sha256 {digest}" for view, digest in golden["baselines"].items())
    yield f"  accepted by {golden['accepted']}"
    yield from (f"  rejected by {one}" for one in golden["rejected"])
