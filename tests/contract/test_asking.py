"""Asking a library everything: the same answers twice, and those that the binding gives."""

from __future__ import annotations

from mocklib import asking, getters
from mocklib.answers import Asked, Gpu
from tests.contract import boards


def test_a_frozen_library_asked_twice_answers_the_same_in_the_same_order(serve) -> None:
    nvml, _ = serve(boards.spec(devices=[boards.device(), boards.device()]))
    first, second = asking.ask(nvml), asking.ask(nvml)
    assert list(first.items()) == list(second.items())
    assert {asked.gpu for asked in first} == {None, 0, 1}


def test_answers_are_what_the_binding_gives(serve) -> None:
    nvml, handle = serve(boards.spec(devices=[boards.device()]))
    found = asking.ask(nvml)
    calls = [asked for asked in found if asked.function != getters.FIELD_VALUES and not getters.getters()[asked.function].drop]
    assert len(calls) > 500
    for asked in calls:
        given = {name: handle if value == Gpu(0) else value for name, value in asked.arguments}
        answer = nvml.call(asked.function, None if asked.gpu is None else handle, given)
        assert answer.code == found[asked].code
        if not any(isinstance(value, Gpu) or value == [Gpu(0)] for value in found[asked].out.values()):
            assert answer.out == found[asked].out, asked


def test_a_field_value_is_a_call_of_its_own(serve) -> None:
    nvml, handle = serve(boards.spec())
    found = {asked: answer for asked, answer in asking.ask(nvml).items() if asked.function == "nvmlDeviceGetFieldValues" and asked.gpu == 0}
    assert Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 310), ("scopeId", 0))) in found
    pairs = [tuple(int(str(value)) for _, value in asked.arguments) for asked in found]
    entries = nvml.field_values(handle, [(int(number), int(scope)) for number, scope in pairs])
    values = [{"valueType": entry.value_type, "value": entry.value} if entry.code == 0 else {} for entry in entries]
    assert [(answer.code, answer.out) for answer in found.values()] == [(entry.code, value) for entry, value in zip(entries, values, strict=True)]
    assert any(answer.out for answer in found.values())
