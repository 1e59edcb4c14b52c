"""Settle: what no key of a profile explains goes into its ``answers``, so that its mock gives a recording exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import derive_shape
from harness.stages.answers import replaying
from harness.stores import profiles
from harness.stores.schema.answers import KEY
from harness.tables import strictyaml
from harness.text import answers
from harness.words.errors import InputError

if TYPE_CHECKING:
    from harness.stores.workspace import Workspace
    from mocklib.answers import Asked, Recording
    from mocklib.binding import Answer

STILL = {"mode": "frozen", "at": "1970-01-01T00:00:01Z"}
NAMED = 8
"""Calls that an error names; the rest are counted."""


@dataclass(frozen=True)
class Settled:
    """A profile whose mock gives a recording: its ``text``; how many of the recording's answers its keys explain; ``residual``: function -> how many
    answers it keeps as they were recorded.
    """

    text: str
    explained: int
    residual: Mapping[str, int] = field(default_factory=dict)

    @property
    def kept(self) -> int:
        """How many answers are residual."""
        return sum(self.residual.values())


def settle(profile: str, recording: Recording, space: Workspace) -> Settled:
    """``profile`` (the text of one) with every answer of ``recording`` that its keys do not give; answers it had are made anew.

    What the recording does not hold stays as the keys have it.  The same arguments always give the same bytes.  Raises InputError for a profile that
    does not hold, and where its mock cannot give the recording: the message names the calls.
    """
    document = strictyaml.load(profile, "profile", "profile").value
    bare = _spelled(document)
    text = profiles.dump(bare)
    served = replaying.record_mock(_still(bare), space)
    left = {asked: answer for asked, answer in recording.items() if served.get(asked) != answer}
    if left:
        whole = _with(bare, left, text)
        text = profiles.dump(whole)
        served = replaying.record_mock(_still(whole), space)
    wrong = [asked for asked, answer in recording.items() if asked in served and served[asked] != answer]
    if wrong:
        raise InputError(f"the mock of the profile cannot give {len(wrong)} answers of the recording: {_told(wrong, recording, served)}")
    return Settled(text, len(recording) - len(left), Counter(asked.function for asked in left))


def _still(document: dict[str, Any]) -> str:
    """The text of a profile at an instant: what counts with time would have moved on since the recording."""
    return profiles.dump({**document, "clock": document.get("clock") or STILL})


def _told(wrong: list[Asked], recording: Recording, served: Recording) -> str:
    """The calls with both answers, the first of them."""
    shown = [f"{_name(asked)} is {_short(recording[asked])}, not {_short(served[asked])}" for asked in wrong[:NAMED]]
    return "; ".join(shown) + (f"; {len(wrong) - NAMED} more" if len(wrong) > NAMED else "")


def _name(asked: Asked) -> str:
    return f"{'node' if asked.gpu is None else f'gpu{asked.gpu}'} {answers.call(asked)}"


def _short(answer: Answer) -> str:
    text = answers.answer_text(answer)
    return text if len(text) <= 120 else f"{text[:120]}..."


def _spelled(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document without its answers, spelled as derive spells it."""
    bare = {name: value for name, value in document.items() if name != KEY}
    if isinstance(bare.get("device_defaults"), dict):
        bare["device_defaults"] = _block(bare["device_defaults"])
    if isinstance(bare.get("devices"), list):
        bare["devices"] = [_block(entry) for entry in bare["devices"]]
    return bare


def _block(block: dict[str, Any]) -> dict[str, Any]:
    return derive_shape.spelled({name: value for name, value in block.items() if name != KEY})


def _with(document: dict[str, Any], left: Recording, text: str) -> dict[str, Any]:
    """The document with the answers ``left`` over: in the defaults where every GPU that inherits has them, else in the entry of its GPU."""
    devices = profiles.parse(text.encode()).devices
    own: dict[int | None, dict[str, str]] = {}
    for asked, answer in left.items():
        own.setdefault(asked.gpu, {})[answers.call(asked)] = answers.answer_text(answer)
    beyond = [gpu for gpu in own if gpu is not None and gpu >= len(devices)]
    if beyond:
        raise InputError(f"the recording has answers of GPU {max(beyond)} and the profile {len(devices)} GPUs")
    heirs = [own.get(place, {}) for place, device in enumerate(devices) if device.state is None]
    shared = {call: answer for call, answer in heirs[0].items() if all(other.get(call) == answer for other in heirs[1:])} if heirs else {}
    made = dict(document)
    if shared:
        made["device_defaults"] = {**(document.get("device_defaults") or {}), KEY: shared}
    made["devices"] = list(_entries(document, [device.values["index"] for device in devices], own, shared))
    if own.get(None):
        made[KEY] = own[None]
    return made


def _entries(
    document: Mapping[str, Any], indices: list[int], own: Mapping[int | None, Mapping[str, str]], shared: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """An entry for each GPU, with the answers of its own."""
    listed = {entry["index"]: entry for entry in document.get("devices") or ()}
    for place, index in enumerate(indices):
        kept = {call: answer for call, answer in own.get(place, {}).items() if call not in shared}
        yield {**listed.get(index, {"index": index}), **({KEY: kept} if kept else {})}
