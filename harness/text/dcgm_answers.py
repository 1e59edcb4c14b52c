"""One answer of DCGM's answers document <-> the call and the answer that it stands for."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from harness.text import dcgm_keys, dcgm_values
from harness.text.dcgm import FUNCTION_RETURN, MISSING, RETURN_VALUE
from harness.text.dcgm_keys import Key
from harness.text.dcgm_values import Unfit
from mocklib import shapes
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer
from mocklib.calls import signatures


def read(key: Key, under: tuple[str, ...], code: int, node: Mapping[str, Any], gpus: Mapping[str, int], gpu: int | None) -> tuple[Asked, Answer]:
    """The call and the answer of the mapping ``node`` with the return ``code``, nested ``under`` arguments; ``gpus``: UUID -> index.

    Of the functions of ``key`` it is the one whose arguments and value these are.  Raises Unfit where the document does not say them.
    """
    fitting = [function for function in key.functions if len(inputs(function)) == len(under)]
    if not fitting:
        raise Unfit(f"nested under {len(under)} arguments; {key.functions[0]} takes {len(inputs(key.functions[0]))}")
    if code:
        function = key.failed if key.failed in fitting else fitting[0]
        versions = dcgm_keys.versions(function)
        if len(versions) > 1:
            raise Unfit("a failing return does not say which version of the struct was asked for")
        return _asked(function, versions[0], under, gpus, gpu), Answer(code)
    if RETURN_VALUE not in node:
        raise Unfit(f"SUCCESS without a {RETURN_VALUE}")
    why = ""
    for function in fitting:
        for version in dcgm_keys.versions(function):
            asked = _asked(function, version, under, gpus, gpu)
            try:
                out = values(function, version, node[RETURN_VALUE], gpus)
                _fill_up(asked, out)
                _refuse_other_length(asked, out)
            except Unfit as error:
                why = why or str(error)
            else:
                return asked, Answer(0, kept(function, out))
    raise Unfit(why)


def written(asked: Asked, answer: Answer, uuids: Sequence[str]) -> tuple[tuple[int | str, ...], dict[str, Any]]:
    """What the answer of a call is nested under, and its mapping.  Raises Unfit where the format has no words for it."""
    if answer.missing:
        raise Unfit(MISSING)
    given = dict(asked.arguments)
    nested = tuple(_argument(given.pop(name), uuids) for name, _ in inputs(asked.function) if name in given)
    if len(nested) != len(inputs(asked.function)) or not given.keys() <= dict(dcgm_keys.aside(asked.function, dcgm_keys.version_of(asked))).keys():
        raise Unfit("its arguments stand in a struct, for which the document has no place")
    if answer.code:
        return nested, {FUNCTION_RETURN: answer.code}
    return nested, {FUNCTION_RETURN: 0, RETURN_VALUE: _value(asked, answer.out, uuids)}


@functools.cache
def inputs(function: str) -> tuple[tuple[str, shapes.Shape], ...]:
    """What a call is nested by: its inputs but the device and sizes of buffers that the recorder's binding chooses."""
    return tuple(one for one in shapes.of(function).inputs if one[0] not in dcgm_keys.sizes())


def values(function: str, version: int | None, node: Any, gpus: Mapping[str, int]) -> dict[str, Any]:
    """What a call wrote, as the binding has it: the value of its one output, or of several a list in the header's order.  Raises Unfit."""
    shaped = shapes.of(function, version)
    given = [node] if len(shaped.outputs) == 1 and not _alone(shaped.outputs[0][1], node) else node
    if not isinstance(given, list) or len(given) != len(shaped.outputs):
        raise Unfit(f"{function} writes {len(shaped.outputs)} values: a list of as many stands for them")
    out: dict[str, Any] = {}
    for (name, shape), value in zip(shaped.outputs, given, strict=True):
        if isinstance(shape, shapes.Struct):
            out |= {f"{name}.{member}": inner for member, inner in dcgm_values.struct(shape, value, gpus).items()}
        else:
            out[name] = dcgm_values.read(shape, value, gpus)
    return counted(function, out)


def counted(function: str, out: Mapping[str, Any]) -> dict[str, Any]:
    """What a call wrote with the length of its list, in the header's order."""
    shaped = shapes.of(function)
    lengths = [len(out[name]) for name, shape in shaped.outputs if isinstance(shape, shapes.Array)]
    return _ordered(function, {**out, **dict(zip(shaped.counts, lengths, strict=False))})


def kept(function: str, out: dict[str, Any]) -> dict[str, Any]:
    """``out`` without what a recording drops of it."""
    for name in dcgm_keys.dropped(function):
        if out.pop(name, None) is None:
            listed, _, member = name.rpartition(".")
            for entry in out.get(listed, ()):
                entry.pop(member, None)
    return out


def arguments(function: str, version: int | None, given: Mapping[str, int | str | Gpu]) -> tuple[tuple[str, int | str | Gpu], ...]:
    """The arguments of a call: those ``given``, and those that the document does not nest by."""
    return tuple(_ordered(function, {**dict(dcgm_keys.aside(function, version)), **given}).items())


def _fill_up(asked: Asked, out: dict[str, Any]) -> None:
    """Give a list the elements back that the Python binding leaves out, because they say nothing."""
    element = dcgm_keys.table()["filled"].get(asked.function)
    given = dict(asked.arguments)
    for name, unit in shapes.of(asked.function).sizes if element is not None else ():
        for value in out.values():
            value.extend([element] * (int(str(given[name])) // unit - len(value)))


def _refuse_other_length(asked: Asked, out: Mapping[str, Any]) -> None:
    """Unfit for an array that is not as long as the call says that its buffer was."""
    given = dict(asked.arguments)
    for name, unit in shapes.of(asked.function).sizes:
        for value in out.values() if unit and name in given else ():
            if isinstance(value, list) and len(value) * unit != given[name]:
                raise Unfit(f"{len(value)} entries, the buffer of {name} {given[name]} has {int(str(given[name])) // unit}")


def _ordered(function: str, named: Mapping[str, Any]) -> dict[str, Any]:
    """By parameter, in the header's order."""
    order = [param for param, _, _ in signatures().FUNCTIONS[function]]
    return dict(sorted(named.items(), key=lambda item: order.index(item[0].split(".")[0])))


def _alone(shape: shapes.Shape, node: Any) -> bool:
    """Whether the one number of a call stands in a list, as the Python binding hands out that of nvmlDeviceGetDefaultEccMode."""
    return isinstance(shape, shapes.Number) and isinstance(node, list)


def _asked(function: str, version: int | None, given: tuple[str, ...], gpus: Mapping[str, int], gpu: int | None) -> Asked:
    """The call, with its arguments as the binding names them."""
    found = {name: dcgm_values.read(shape, text, gpus, name) for (name, shape), text in zip(inputs(function), given, strict=True)}
    return Asked(function, gpu, arguments(function, version, found))


def _argument(value: int | str | Gpu, uuids: Sequence[str]) -> int | str:
    return str(dcgm_values.write(shapes.Handle(), value, uuids)) if isinstance(value, Gpu) else value


def _value(asked: Asked, out: Mapping[str, Any], uuids: Sequence[str]) -> Any:
    """The value of one output, or the list of several."""
    made = []
    for name, shape in shapes.of(asked.function, dcgm_keys.version_of(asked)).outputs:
        if isinstance(shape, shapes.Struct):
            inside = {path.removeprefix(f"{name}."): value for path, value in out.items() if path.startswith(f"{name}.")}
            made.append(dcgm_values.written_struct(shape, inside, uuids))
        elif name in out:
            made.append(dcgm_values.write(shape, out[name], uuids))
        else:
            raise Unfit(f"{name} was not recorded")
    return made[0] if len(made) == 1 else made
