"""The list of getters as one Markdown table: what a recording asks each function with, or why not; docs/getters.md has it."""

from __future__ import annotations

from collections.abc import Iterator

from mocklib import argument_sets, asking, getters
from mocklib.getters import Getter, Set

_HEAD = "| function | asked with | calls | what is special |\n|---|---|---|---|\n"
_MORE = ("count", "each", "links")
"""Sets that grow with what the library answers."""


def page() -> str:
    """What docs/getters.md has below its words: the total and the table."""
    return f"{total()}\n{table()}"


def table() -> str:
    """The table, in the list's order; ``calls`` are those of a node with one GPU whose library answers nothing, with + where answers add to them."""
    return _HEAD + "".join(_line(getter) for getter in getters.getters().values())


def total() -> str:
    """One line: how many functions there are, are asked, and how many calls a GPU and the node cost at least."""
    listed = getters.getters().values()
    asked = [getter for getter in listed if getter.why_not is None]
    a_gpu = sum(calls(getter) for getter in asked if asking.is_of_gpu(getter.function))
    node = sum(calls(getter) for getter in asked if not asking.is_of_gpu(getter.function))
    return f"{len(listed)} functions, {len(asked)} of them asked; at least {a_gpu} calls a GPU and {node} of the node.\n"


def calls(getter: Getter) -> int:
    """How often a function is asked on a node with one GPU whose library answers nothing."""
    gpu = 0 if asking.is_of_gpu(getter.function) else None
    return sum(1 for _ in argument_sets.of(getter, gpu, argument_sets.Answered((0,))))


def _line(getter: Getter) -> str:
    """One row of the table."""
    if getter.why_not is not None:
        return f"| `{getter.function}` | not asked | 0 | {getter.why_not} |\n"
    sets = [*getter.sets.values(), *(each for scopes in getter.field_scopes.values() for each in scopes)]
    more = "+" if any(each.kind in _MORE for each in sets) else ""
    said = "; ".join(f"`{name}`: {_set(getter, name, each)}" for name, each in getter.sets.items()) or _fields(getter)
    return f"| `{getter.function}` | {said} | {calls(getter)}{more} | {'; '.join(_special(getter))} |\n"


def _set(getter: Getter, name: str, each: Set) -> str:
    """One set in words."""
    if each.kind in {"enum", "versions"}:
        values = (argument_sets.enum_values if each.kind == "enum" else argument_sets.versions)(getter.function, name)
        return f"{_numbers(values)} ({each.kind})"
    if each.kind == "values":
        return _numbers(list(each.values))
    if each.kind == "gpus":
        return "each GPU"
    if each.kind == "links":
        return f"each link that `{getters.LINK_STATE}` knows, and one more"
    sources = ", ".join(f"`{source}`" for source in each.sources)
    return f"0 to {sources}" if each.kind == "count" else f"each of {sources}{_members(each)}"


def _members(each: Set) -> str:
    return f" ({', '.join(each.members)})" if each.members else ""


def _fields(getter: Getter) -> str:
    """The field ids and their scopes in words."""
    if not getter.field_scopes:
        return ""
    groups: dict[str, list[int]] = {}
    for number, scopes in getter.field_scopes.items():
        said = " and ".join(_set(getter, "scopeId", each) for each in scopes)
        groups.setdefault(said, []).append(number)
    return "; ".join(f"`fieldId` {_numbers(ids)} with `scopeId` {said}" for said, ids in groups.items())


def _numbers(values: list[int]) -> str:
    """Numbers, runs of three and more as ranges."""
    found: list[list[int]] = []
    for value in values:
        if found and found[-1][-1] + 1 == value:
            found[-1].append(value)
        else:
            found.append([value])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in found)


def _special(getter: Getter) -> Iterator[str]:
    """What is marked of an answer."""
    for name, kind in getter.identifier.items():
        yield f"`{name}` is scrubbed ({kind})"
    if getter.moving is None:
        yield "of a moment"
    elif getter.moving:
        yield f"of a moment: {', '.join(f'`{name}`' for name in sorted(getter.moving))}"
    if getter.moving_ids:
        yield f"of a moment: ids {_numbers(sorted(getter.moving_ids))}"
    for name, why in getter.drop.items():
        yield f"`{name}` is not kept: {why}"
    if getter.slow:
        yield f"slow: {getter.slow}"
