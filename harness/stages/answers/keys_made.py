"""The keys of one GPU in the making."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import compile_device, derive_lists
from harness.stores.profiles import Device
from harness.text import answers, rawbytes
from harness.words.errors import InputError
from harness.words.state import State
from mocklib.spec import FieldValue

if TYPE_CHECKING:
    from harness.stages.answers.told import Told


@dataclass
class Keys:
    """``values`` and ``states`` by key, ``origin``: key -> the call that said it, ``unheld``: what no key can say as it was answered.

    ``fixed``: keys whose values stay, whatever an answer says: those of a node, which one GPU does not change.
    """

    values: dict[str, Any] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)
    unheld: list[Told] = field(default_factory=list)
    fixed: frozenset[str] = frozenset()

    def put(self, key: str, value: Any, told: Told) -> None:
        """The answer ``told`` says that ``key`` has ``value``, whatever was there."""
        if key in self.fixed:
            return
        self.values[key] = value
        self.states.pop(key, None)
        self.origin[key] = answers.call(told.asked)

    def refuse(self, key: str, state: State, told: Told) -> None:
        """The answer ``told`` says that ``key`` is in ``state``."""
        if key not in self.fixed:
            self.values.pop(key, None)
        self.states[key] = state
        self.origin[key] = answers.call(told.asked)

    def drop(self, key: str) -> None:
        """``key`` says nothing: an answer stands against what was there."""
        if key in self.fixed:
            return
        for part in (self.values, self.states, self.origin):
            part.pop(key, None)

    def served(self, index: int) -> Mapping[str, FieldValue]:
        """The fields that these keys compile into; one whose default has no room is not supported."""
        made, refused = compile_device.apart(Device({"index": index, **self.values}, self.states), index)
        self.states.update(dict.fromkeys(refused, State.NOT_SUPPORTED))
        return {**made, **{name: FieldValue(status=compile_device.NOT_SUPPORTED) for name in refused}}


def text_of(raw: str) -> str:
    """A text of an answer as a profile has it: odd bytes as private-use characters; InputError for one that no profile holds."""
    try:
        text = rawbytes.decode(raw.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError as error:
        raise InputError("a text with a lone surrogate") from error
    if len(text) > derive_lists.MAX_TEXT or "\0" in text or "\uf700" in text:
        raise InputError("a text that no key holds")
    return text


def plain(raw: str) -> bool:
    """Whether a text stands in a profile as it came."""
    try:
        return text_of(raw) == raw
    except InputError:
        return False
