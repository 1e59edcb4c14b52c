"""The argument sets of a function of the list, for one GPU or the node: from nvml.h's enums and versions, and from what was answered before."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import Answer
from mocklib.calls import ffi, signatures
from mocklib.getters import FIELD_VALUES, LINK_STATE, Getter, Set

Argument = tuple[str, int | str | Gpu]
MOST_EACH = 1024
"""Values taken from the answers of one GPU: a list may come from a hostile library."""
MOST_COUNTED = 4000
"""Devices of an image, the largest count that is asked through."""


class Answered:
    """What was answered so far, by function; ``gpus`` are the indices of the GPUs that have a handle."""

    def __init__(self, gpus: tuple[int, ...]) -> None:
        self.gpus = gpus
        self._by_function: dict[tuple[str, int | None], Recording] = {}

    def put(self, asked: Asked, answer: Answer) -> None:
        """Remember one answer."""
        self._by_function.setdefault((asked.function, asked.gpu), {})[asked] = answer

    def of(self, function: str, gpu: int | None) -> Iterator[tuple[Asked, Answer]]:
        """The answers of a function with SUCCESS: of the GPU or the node, or for the node those of all GPUs."""
        for subject in dict.fromkeys((gpu, None, *(self.gpus if gpu is None else ()))):
            for asked, answer in self._by_function.get((function, subject), {}).items():
                if answer.code == 0 and not answer.missing:
                    yield asked, answer

    def links(self, gpu: int) -> list[int]:
        """The NVLinks whose state was answered, and the first whose was not."""
        links = [int(str(dict(asked.arguments)["link"])) for asked, _ in self.of(LINK_STATE, gpu)]
        return [*links, next(link for link in itertools.count() if link not in links)]


def of(getter: Getter, gpu: int | None, answered: Answered) -> Iterator[tuple[Argument, ...]]:
    """Every combination of the arguments of ``getter``, in the list's order."""
    if getter.function == FIELD_VALUES:
        for number, scopes in getter.field_scopes.items():
            for scope in dict.fromkeys(value for each in scopes for value in _values(getter, "scopeId", each, gpu, answered)):
                yield ("fieldId", number), ("scopeId", scope)
        return
    choices = [_choices(getter, name, each, gpu, answered) for name, each in getter.sets.items()]
    for combination in itertools.product(*choices):
        yield tuple(argument for part in combination for argument in part)


def _choices(getter: Getter, name: str, each: Set, gpu: int | None, answered: Answered) -> list[tuple[Argument, ...]]:
    """The choices of one set; a set with members gives several arguments at once."""
    if each.members:
        found = [_together(name, each, answer) for _, answer in answered.of(each.sources[0].partition(".")[0], gpu)]
        return list(dict.fromkeys(choice for choice in found if choice))[:MOST_EACH]
    return [((name, value),) for value in _values(getter, name, each, gpu, answered)]


def _together(name: str, each: Set, answer: Answer) -> tuple[Argument, ...]:
    """The members of one answer's struct as arguments."""
    struct = each.sources[0].partition(".")[2]
    return tuple((f"{name}.{member}", answer.out[f"{struct}.{member}"]) for member in each.members if f"{struct}.{member}" in answer.out)


def _values(getter: Getter, name: str, each: Set, gpu: int | None, answered: Answered) -> list[Any]:
    """The values of one argument."""
    if each.kind == "values":
        return list(each.values)
    if each.kind == "enum":
        return enum_values(getter.function, name)
    if each.kind == "versions":
        return versions(getter.function, name)
    if each.kind == "gpus":
        return [Gpu(index) for index in answered.gpus]
    if each.kind == "links":
        return answered.links(gpu or 0)
    found = list(dict.fromkeys(_from_answers(each, gpu, answered)))
    if each.kind == "count":
        return list(range(min(max((value for value in found if isinstance(value, int)), default=0), MOST_COUNTED) + 1))
    return [value for value in found if isinstance(value, int | str)][:MOST_EACH]


def _from_answers(each: Set, gpu: int | None, answered: Answered) -> Iterator[Any]:
    """What earlier answers hold under the names of a set's sources, in their order."""
    for source in each.sources:
        function, _, out = source.partition(".")
        for _, answer in answered.of(function, gpu):
            if out in answer.out:
                value = answer.out[out]
                yield from value if isinstance(value, list) else [value]
            else:
                name, _, member = out.rpartition(".")
                yield from (entry[member] for entry in answer.out.get(name, []))


def enum_values(function: str, name: str) -> list[int]:
    """Each value of the enum of an argument, ascending, and one past its end: its COUNT or MAX, else the next number."""
    members: dict[int, str] = _type(function, name).elements
    values = sorted(members)
    return values if members[values[-1]].endswith(("_COUNT", "_MAX")) else [*values, values[-1] + 1]


def versions(function: str, name: str) -> list[int]:
    """Every version that nvml.h has of the struct that ``name`` is the version word of, ascending."""
    kind = _kind(function, name).rstrip(" *")
    return sorted(signatures().VERSIONS[signatures().ALIASES.get(kind, kind)])


def _type(function: str, name: str) -> Any:
    """The cffi type of an argument: of a parameter, or of a member of a struct."""
    member = name.partition(".")[2]
    found = ffi().typeof(_kind(function, name))
    return dict(found.item.fields)[member].type if member else found


def _kind(function: str, name: str) -> str:
    """The C type of the parameter that an argument is, or is a member of."""
    return next(str(kind) for param, kind, _ in signatures().FUNCTIONS[function] if param == name.partition(".")[0])
