"""Asking a library everything the list of getters has: the calls of a recording, and nothing else.

The library is open and initialised, the mock or a real one alike.  A function that is not on the list, or is there with a ``why_not``, is never
called, nor is any slot of the private table; a handle never leaves the process, ``Gpu(index)`` stands for it.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from mocklib import argument_sets
from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import FUNCTION_NOT_FOUND, Answer, BindingError, Nvml
from mocklib.calls import Call, signatures
from mocklib.getters import FIELD_VALUES, LINK_STATE, Getter, asked_functions, getters

MISSING = Answer(FUNCTION_NOT_FOUND, missing=True)
VALUE_TYPES = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal", 6: "usVal"}
"""nvmlValueType_t -> member of nvmlValue_t (nvml.h)."""


def ask(nvml: Nvml, functions: Collection[str] | None = None) -> Recording:
    """Every call of the list with its answer, in the list's order: the node, each GPU, the node by what its GPUs answered.

    A function that the library has no symbol for is one ``missing`` answer of the node, without arguments; a GPU whose handle is not given is asked
    nothing.  ``functions``: these alone, and what their arguments are taken from; None: all.
    """
    return Asker(nvml).recording(functions)


def is_of_gpu(function: str) -> bool:
    """Whether a function is asked of each GPU: it has a device among its parameters."""
    return any(role == "device" for _, _, role in signatures().FUNCTIONS[function])


class Asker:
    """Asks one open, initialised library; the C arguments of a call are made once for each argument set and serve every GPU.

    ``handles``: index -> handle of the GPUs that have one.  Raises BindingError where the library cannot even be asked for its devices.
    """

    def __init__(self, nvml: Nvml) -> None:
        self.nvml = nvml
        count = nvml.count()
        if count > argument_sets.MOST_COUNTED:
            raise BindingError(f"nvmlDeviceGetCount_v2 answers {count} GPUs; a node has at most {argument_sets.MOST_COUNTED}")
        found = [nvml.call("nvmlDeviceGetHandleByIndex_v2", None, {"index": index}) for index in range(count)]
        self.handles = {index: int(answer.out["device"]) for index, answer in enumerate(found) if answer.code == 0}
        self._gpus = {handle: Gpu(index) for index, handle in self.handles.items()}
        self._calls: dict[tuple[str, tuple[argument_sets.Argument, ...]], Call] = {}
        self._field: Any = None

    def recording(self, functions: Collection[str] | None = None) -> Recording:
        """As ``ask``."""
        chosen = [getter for name, getter in getters().items() if getter.why_not is None and (functions is None or name in _closure(functions))]
        answered = argument_sets.Answered(tuple(self.handles))
        later = [getter for getter in chosen if not is_of_gpu(getter.function) and _of_gpus(getter)]
        found: Recording = {}
        for getter in chosen:
            if not is_of_gpu(getter.function) and getter not in later:
                self._ask(getter, None, answered, found)
        for getter in chosen:
            if is_of_gpu(getter.function) and self.nvml.function(getter.function) is None:
                found[Asked(getter.function)] = MISSING
        for index in self.handles:
            for getter in chosen:
                if is_of_gpu(getter.function) and self.nvml.function(getter.function) is not None:
                    self._ask(getter, index, answered, found)
        for getter in later:
            self._ask(getter, None, answered, found)
        return found if functions is None else {asked: answer for asked, answer in found.items() if asked.function in functions}

    def answer(self, asked: Asked) -> Answer:
        """The answer of one call of the list now.

        BindingError for a function that is not asked, a GPU without a handle and arguments that the function does not take.
        """
        getter = getters().get(asked.function)
        if getter is None or getter.why_not is not None:
            raise BindingError(f"{asked.function} is not asked: {getter.why_not if getter else 'it is not on the list of getters'}")
        if asked.gpu is not None and asked.gpu not in self.handles:
            raise BindingError(f"GPU {asked.gpu} has no handle")
        function = self.nvml.function(asked.function)
        if function is None:
            return MISSING
        handle = None if asked.gpu is None else self.handles[asked.gpu]
        try:
            if asked.function == FIELD_VALUES:
                return self._field_value(function, handle, dict(asked.arguments))
            call = self._call(asked)
            code = call.run(function, handle)
        except (KeyError, OverflowError, TypeError, ValueError) as error:  # arguments that were read from a file
            raise BindingError(f"{asked.function} cannot be asked with {dict(asked.arguments)!r}: {error}") from None
        out = call.results(code)
        if call.handles:
            self._name_gpus(call.handles, out)
        if getter.drop:
            _drop(getter, out)
        return Answer(code, out)

    def _call(self, asked: Asked) -> Call:
        """The C arguments of a call, made the first time it is asked."""
        key = (asked.function, asked.arguments)
        if key not in self._calls:
            given = {name: self.handles[value.index] if isinstance(value, Gpu) else value for name, value in asked.arguments}
            self._calls[key] = Call(self.nvml.ffi, asked.function, None, given, self.nvml.entry(asked.function))
        return self._calls[key]

    def _ask(self, getter: Getter, gpu: int | None, answered: argument_sets.Answered, found: Recording) -> None:
        """Every argument set of one function."""
        if self.nvml.function(getter.function) is None:
            found[Asked(getter.function)] = MISSING
            return
        for arguments in argument_sets.of(getter, gpu, answered):
            asked = Asked(getter.function, gpu, arguments)
            answer = found[asked] = self.answer(asked)
            answered.put(asked, answer)

    def _name_gpus(self, names: list[str], out: dict[str, Any]) -> None:
        """Put ``Gpu`` for every handle; a handle of no GPU of the node means nothing outside the process and is left out."""
        for name in names:
            value = out.get(name)
            if isinstance(value, list):
                out[name] = [self._gpus[handle] for handle in value if handle in self._gpus]
            elif value in self._gpus:
                out[name] = self._gpus[value]
            else:
                out.pop(name, None)

    def _field_value(self, function: Any, handle: int | None, arguments: dict[str, Any]) -> Answer:
        """One entry of nvmlDeviceGetFieldValues: its own code, or that of the call, and the value by its type."""
        ffi = self.nvml.ffi
        entry = self._field = self._field or ffi.new("nvmlFieldValue_t *")
        ffi.memmove(entry, bytes(ffi.sizeof("nvmlFieldValue_t")), ffi.sizeof("nvmlFieldValue_t"))
        entry.fieldId, entry.scopeId = arguments["fieldId"], arguments["scopeId"]
        code = int(function(ffi.cast("nvmlDevice_t", handle or 0), 1, entry)) or int(entry.nvmlReturn)
        if code:
            return Answer(code)
        kind = int(entry.valueType)
        value = getattr(entry.value, VALUE_TYPES[kind]) if kind in VALUE_TYPES else None
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            value = bytes(ffi.buffer(ffi.addressof(entry, "value")))
        return Answer(0, {"valueType": kind, "value": value})


def _of_gpus(getter: Getter) -> bool:
    """Whether the arguments of a function of the node are taken from what GPUs answered."""
    return any(is_of_gpu(source.partition(".")[0]) for each in getter.sets.values() for source in each.sources)


def _closure(functions: Collection[str]) -> set[str]:
    """The functions and those that their arguments are taken from."""
    found = set(functions)
    for name in reversed(asked_functions()):
        if name in found:
            sets = getters()[name].sets.values()
            found |= {source.partition(".")[0] for each in sets for source in each.sources}
            if any(each.kind == "links" for scopes in (sets, *getters()[name].field_scopes.values()) for each in scopes):
                found.add(LINK_STATE)
    return found


def _drop(getter: Getter, out: dict[str, Any]) -> None:
    """Take away what is not kept."""
    for name in getter.drop:
        if out.pop(name, None) is None:
            listed, _, member = name.rpartition(".")
            for entry in out.get(listed, ()):
                entry.pop(member, None)
