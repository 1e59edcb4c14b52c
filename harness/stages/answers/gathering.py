"""What a recording's answers say of the image's fields: each call taken apart by the tables that make the library answer it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import compile as compiling
from harness.stages.answers import gathering_links, gathering_lists, gathering_places, handlers
from harness.stages.answers.gathering_lists import Answers
from harness.stages.answers.told import Refusal, Told, holds
from harness.tables import rows
from harness.words.state import State
from mocklib import fields, members

if TYPE_CHECKING:
    from harness.tables.drivers import Driver
    from mocklib.answers import Asked, Recording
    from mocklib.binding import Answer

FIELD_VALUES = "nvmlDeviceGetFieldValues"


@dataclass
class Gathered:
    """What the answers say of one GPU (or of the node): ``fields``, the field's name -> what the call says that is believed; ``refusals``: calls
    that answered a code and read several fields, of which none is said to have it.
    """

    fields: dict[str, Told] = field(default_factory=dict)
    refusals: list[Refusal] = field(default_factory=list)


def gather(recording: Recording, driver: Driver) -> dict[int | None, Gathered]:
    """GPU index (None: the node) -> what ``recording`` says of it, on ``driver``.

    Of calls that say one field differently the one that nvidia-smi asks is believed, then the first function of the tables, then field ids; the
    code of a call that reads several fields is said of those of them that nothing else says anything of.  A call that the driver does not have yet
    (its gate answers FUNCTION_NOT_FOUND) and a missing symbol say nothing.
    """
    by_gpu: dict[int | None, dict[Asked, Answer]] = {}
    gates = compiling.gates(driver)
    for asked, answer in recording.items():
        if answer.missing or (answer.code == State.FUNCTION_NOT_FOUND.code and asked.function in gates):
            continue
        by_gpu.setdefault(asked.gpu, {})[asked] = answer
    order = _Order(driver)
    node = Answers(None, by_gpu.get(None, {}))
    order.places = gathering_places.places(by_gpu)
    return {gpu: _settle(list(_told(Answers(gpu, answers), node, order))) for gpu, answers in by_gpu.items()}


class _Order:
    """Which of several calls that say one field is believed; a lower number is."""

    def __init__(self, driver: Driver) -> None:
        table = rows.load()
        self._places = {name: place for place, name in enumerate(members.functions())}
        self._own = {(route.target, table[row].field) for row, route in driver.routes.items() if route.kind == "call" and row in table}
        self.field_ids = compiling.field_ids(driver)
        self.places: dict[int, int] = {}
        self.ids = gathering_links.Ids(tuple(self.field_ids), tuple(compiling.link_ids(driver)))

    def of(self, asked: Asked, name: str) -> tuple[int, int]:
        if asked.function == FIELD_VALUES:
            return 2, 0
        if asked.function in handlers.INDIRECT:
            return 3, 0
        return (0 if (asked.function, name) in self._own else 1), self._places.get(asked.function, len(self._places))


Ranked = tuple[tuple[int, int], Told | Refusal]


def _told(answers: Answers, node: Answers, order: _Order) -> Iterator[Ranked]:
    state = handlers.performance_state(answers.given)
    for asked, answer in answers.given.items():
        if asked.function == FIELD_VALUES:
            for said in _of_field_id(asked, answer, order.field_ids):
                yield order.of(asked, said.name), said
            continue
        for told in (*_of_table(asked, answer), *handlers.told(asked, answer, state)):
            yield order.of(asked, told.name if isinstance(told, Told) else ""), told
    for said in gathering_lists.told(answers, node):
        yield order.of(said.asked, said.name), said
    for said in gathering_places.told(answers, order.places) if answers.gpu is not None else ():
        yield order.of(said.asked, said.name), said
    for link in gathering_links.told(answers, order.ids):
        yield order.of(link.asked, link.name if isinstance(link, Told) else ""), link


def _of_field_id(asked: Asked, answer: Answer, known: list[Any]) -> Iterator[Told]:
    arguments = dict(asked.arguments)
    number, scope = arguments.get("fieldId"), arguments.get("scopeId", 0)
    for entry in known:
        if entry.id == number and entry.scope in (None, scope):
            yield from _one(entry.field, asked, answer, _held(answer.out.get("value"), entry.per))


def _held(value: Any, per: int) -> Any:
    """A double as the field holds it; one that lies between two numbers of the field stays what it is."""
    return int(value * per) if isinstance(value, float) and (value * per).is_integer() else value


def _of_table(asked: Asked, answer: Answer) -> Iterator[Told | Refusal]:
    named = [member for member in members.of(asked.function, dict(asked.arguments)) if member.field is not None]
    if answer.code and len(named) > 1:
        yield Refusal(asked, answer.code, tuple(member.field for member in named if member.field is not None and member.absent is None))
        return
    for member in named:
        value = _value(answer, member.out)
        if member.field is not None:
            yield from _one(member.field, asked, answer, value)


def _one(name: str, asked: Asked, answer: Answer, value: Any) -> Iterator[Told]:
    """The field as one call alone says it: the value, or the code where a profile has a state for it."""
    if answer.code:
        if State.of_code(answer.code) is not None:
            yield Told(name, asked, code=answer.code)
    elif isinstance(value, bytes) and fields.device_fields()[name].type == "string":
        yield Told(name, asked, value=value.split(b"\0")[0].decode("utf-8", "surrogateescape"))
    elif holds(name, value):
        yield Told(name, asked, value=value)


def _value(answer: Answer, out: str) -> Any:
    """What the call wrote under ``parameter.member``; of an array of structs, ``parameter.array[0].member``."""
    if out in answer.out:
        return answer.out[out]
    array, bracket, rest = out.partition("[")
    number, _, member = rest.partition("].")
    listed = answer.out.get(array) if bracket else None
    if isinstance(listed, list) and number.isdigit() and int(number) < len(listed) and isinstance(listed[int(number)], dict):
        return listed[int(number)].get(member)
    return None


def _settle(said: list[Ranked]) -> Gathered:
    gathered = Gathered()
    for _, told in sorted((entry for entry in said if isinstance(entry[1], Told)), key=lambda entry: entry[0]):
        if isinstance(told, Told):
            gathered.fields.setdefault(told.name, told)
    for _, told in sorted((entry for entry in said if isinstance(entry[1], Refusal)), key=lambda entry: entry[0]):
        if isinstance(told, Refusal):
            _refuse(gathered, told)
    return gathered


def _refuse(gathered: Gathered, refusal: Refusal) -> None:
    """A code of a call that reads several fields: one of them answers it."""
    said = [gathered.fields.get(name) for name in refusal.names]
    if State.of_code(refusal.code) is None or any(known is not None and known.code == refusal.code for known in said):
        return
    unsaid = [name for name in refusal.names if name not in gathered.fields and _settable(name)]
    if not unsaid:
        gathered.refusals.append(refusal)
    for name in unsaid:
        gathered.fields[name] = Told(name, refusal.asked, code=refusal.code, shared=True)


def _settable(name: str) -> bool:
    return name in fields.device_fields()
