"""Which fields of the image a call is answered from: what makes one reading move makes every call that answers from it move along."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from mocklib import members
from mocklib.members import Member

if TYPE_CHECKING:
    from mocklib.answers import Asked
    from mocklib.spec import FieldId

FIELD_VALUES = "nvmlDeviceGetFieldValues"


class Routes:
    """The tables of functions and the field ids of one driver."""

    def __init__(self, field_ids: Iterable[FieldId]) -> None:
        self._field_ids: dict[tuple[int, int | None], FieldId] = {(known.id, known.scope): known for known in field_ids}

    def members(self, asked: Asked) -> Mapping[str, Member]:
        """What the call writes, by the binding's name; nothing for one whose handler is C."""
        arguments = dict(asked.arguments)
        if asked.function != FIELD_VALUES:
            return {member.out: member for member in members.of(asked.function, arguments)}
        number, scope = arguments.get("fieldId"), arguments.get("scopeId")
        if not isinstance(number, int) or not isinstance(scope, int):
            return {}
        known = self._field_ids.get((number, None)) or self._field_ids.get((number, scope))
        if known is None:
            return {}
        return {"valueType": Member("valueType", None, const=known.value_type), "value": Member("value", known.field)}

    def fields(self, asked: Asked) -> frozenset[str]:
        """The fields that the call is answered from."""
        named = [member.field for member in self.members(asked).values() if member.field is not None]
        return frozenset((*named, *members.reads(asked.function)))

    def beside(self, chosen: Iterable[Asked], calls: Iterable[Asked]) -> list[Asked]:
        """Those of ``calls``, in their order, that are ``chosen`` or answer from a field that one of these answers from, or one of those in turn."""
        listed = list(calls)
        by_field: dict[tuple[int | None, str], list[Asked]] = {}
        for asked in listed:
            for name in self.fields(asked):
                by_field.setdefault((asked.gpu, name), []).append(asked)
        found = dict.fromkeys(chosen)
        waiting = list(found)
        while waiting:
            asked = waiting.pop()
            for name in self.fields(asked):
                for other in by_field.pop((asked.gpu, name), ()):
                    if other not in found:
                        found[other] = None
                        waiting.append(other)
        return [asked for asked in listed if asked in found]
