"""A recording as a library: rows are answered by the recorded calls, and a call that was not asked is told from one that was refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mocklib.binding import Answer

if TYPE_CHECKING:
    from mocklib.answers import Asked, Recording

FIELD_VALUES = "nvmlDeviceGetFieldValues"
_Key = tuple[str, int | None, frozenset[tuple[str, Any]]]


class NotAskedError(LookupError):
    """The recording has no answer of this call: nothing can be said of the reading."""


class RecordedLibrary:
    """``render.source.Library`` over a recording; a handle is the GPU's index.

    A struct's version that a call does not name is the newest that was asked, as the binding's is.  ``calls``: what was asked of it since it was
    last emptied, in order.
    """

    def __init__(self, recording: Recording) -> None:
        self._answers: dict[_Key, list[tuple[int, Asked, Answer]]] = {}
        self.calls: list[tuple[Asked, Answer]] = []
        for asked, answer in recording.items():
            version = next((value for name, value in asked.arguments if name.endswith(".version") and isinstance(value, int)), 0)
            bare = frozenset((name, value) for name, value in asked.arguments if not name.endswith(".version"))
            self._answers.setdefault((asked.function, asked.gpu, bare), []).append((version, asked, answer))

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Answer:
        """The recorded answer; NotAskedError without one, and for a symbol that the library lacked."""
        given = dict(args or {})
        version = next((value for key, value in given.items() if key.endswith(".version")), None)
        bare = frozenset((key, value) for key, value in given.items() if not key.endswith(".version"))
        found = [entry for entry in self._answers.get((name, device, bare), []) if version in (None, entry[0])]
        if not found:
            raise NotAskedError(name)
        _, asked, answer = max(found, key=lambda entry: entry[0])
        if answer.missing:
            raise NotAskedError(name)
        self.calls.append((asked, answer))
        return answer

    def field_value(self, device: Any, identifier: int, scope: int) -> Answer:
        """One entry of nvmlDeviceGetFieldValues, out ``value``."""
        answer = self.call(FIELD_VALUES, device, {"fieldId": identifier, "scopeId": scope})
        return answer if answer.code else Answer(0, {"value": answer.out["value"]})

    def handle(self, index: int) -> Any:
        """The handle of a GPU: its index."""
        return index

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Answer:
        """The private table is never asked."""
        raise NotAskedError(f"slot {number}, {shape}, {device}, {key}")
