"""Random recordings of what the answers document of DCGM's NVML injection can say come back from it; random damage is refused or counted."""

from __future__ import annotations

from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.text import dcgm_answers, dcgm_keys, dcgm_reader, dcgm_values, dcgm_writer
from harness.words.errors import InputError
from mocklib import shapes
from mocklib.answers import Asked, Gpu, Recording
from mocklib.binding import Answer

FEW = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
GPUS = 3
UUIDS = [f"GPU-{number}" for number in range(GPUS)]
CODES = st.sampled_from([1, 2, 3, 4, 13, 15, 26, 999, 1234])
ODD = ["", "570.10", "0120", "null", "~", "yes", "[", ": ", "#", "'", '"', "\\", "\x85\u2028\t", "\U0001f600", "-"]
TEXTS = st.one_of(st.text(max_size=9), st.sampled_from(ODD))


def values(shape: shapes.Shape) -> st.SearchStrategy[Any]:
    """Values of a shape that the format can say."""
    match shape:
        case shapes.Number(low, high):
            return st.one_of(st.integers(low, high), st.sampled_from([low, high]))
        case shapes.Double():
            return st.floats(allow_nan=False, allow_infinity=False)
        case shapes.Text(room):
            return TEXTS.filter(lambda text: "\0" not in text and _sound(text) and len(text.encode()) <= room)
        case shapes.Bytes(count):
            return st.binary(min_size=count, max_size=count)
        case shapes.Handle():
            return st.builds(Gpu, st.integers(0, GPUS - 1))
        case shapes.Array(item, length):
            return st.lists(values(item), min_size=1 if length is None else length, max_size=3 if length is None else length)
        case shapes.Struct():
            return members(shape)
    raise AssertionError(shape)


def _sound(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def members(shape: shapes.Struct) -> st.SearchStrategy[dict[str, Any]]:
    """Members by their names, with the version word of the struct."""
    made: dict[str, st.SearchStrategy[Any]] = {}
    for name, inner in shape.members:
        if name == "version" and shape.version is not None:
            made[name] = st.just(shape.word)
        else:
            made[name] = values(inner)

    def flat(found: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for name, value in found.items():
            out |= {f"{name}.{inner}": item for inner, item in value.items()} if isinstance(value, dict) else {name: value}
        return out

    return st.fixed_dictionaries(made).map(flat)


@st.composite
def answers(draw: Any, key: dcgm_keys.Key, gpu: int | None) -> tuple[Asked, Answer]:
    """One call of a key with an answer."""
    function = draw(st.sampled_from(key.functions))
    versions = dcgm_keys.versions(function)
    version = draw(st.sampled_from(versions))
    given_ = {name: draw(values(shape)) for name, shape in dcgm_answers.inputs(function)}
    sized = [(name, unit) for name, unit in shapes.of(function).sizes if unit and name in given_]
    for name, unit in sized:
        given_[name] = draw(st.integers(1, 3)) * unit
    asked = Asked(function, gpu, dcgm_answers.arguments(function, version, given_))
    if function == key.failed and len(versions) == 1 and draw(st.booleans()):
        return asked, Answer(draw(CODES))
    out: dict[str, Any] = {}
    arguments = dict(asked.arguments)
    for name, shape in shapes.of(function, version).outputs:
        length = next((int(str(arguments[size])) // unit for size, unit in shapes.of(function).sizes if unit and size in arguments), None)
        shaped = shapes.Array(shape.item, length) if isinstance(shape, shapes.Array) and length is not None else shape
        drawn = draw(values(shaped))
        out |= {f"{name}.{inner}": value for inner, value in drawn.items()} if isinstance(shape, shapes.Struct) else {name: drawn}
    return asked, Answer(0, dcgm_answers.counted(function, out))


@st.composite
def recordings(draw: Any) -> Recording:
    """The node and three GPUs, a few keys of each."""
    found: Recording = {Asked("nvmlDeviceGetUUID", index): Answer(0, {"uuid": uuid}) for index, uuid in enumerate(UUIDS)}
    for gpu in (None, *range(GPUS)):
        section = dcgm_keys.keys(dcgm_keys.GLOBAL if gpu is None else dcgm_keys.DEVICE)
        names = sorted(name for name, key in section.items() if name != "UUID" and not any(map(dcgm_keys.dropped, key.functions)))
        for name in draw(st.sets(st.sampled_from(names), max_size=3)):
            asked, answer = draw(answers(section[name], gpu))
            found[asked] = answer
    return found


@FEW
@given(recordings())
def test_what_the_format_can_say_comes_back_from_it(recording: Recording) -> None:
    made = dcgm_writer.write(recording)
    assert not made.left
    assert made.kept == len(recording)
    found = dcgm_reader.read(made.text.encode(), "document")
    assert found.recording == recording
    assert not found.left
    assert dcgm_writer.write(found.recording).text == made.text


@FEW
@given(recordings())
def test_the_text_is_plain_yaml_of_mappings_lists_integers_and_texts(recording: Recording) -> None:
    loaded = yaml.safe_load(dcgm_writer.write(recording).text)
    assert list(loaded) == ["Global", "Device"]
    assert loaded["Global"]["DeviceOrder"] == list(loaded["Device"]) == UUIDS
    for asked, answer in recording.items():
        if asked.function == "nvmlDeviceGetName" and answer.code == 0:
            assert loaded["Device"][UUIDS[asked.gpu or 0]]["Name"]["ReturnValue"] == answer.out["name"]


def refused(said: str) -> None:
    """One line that starts with the place."""
    assert said.startswith("document:")
    assert "\n" not in said


@FEW
@given(recordings(), st.data())
def test_damage_is_refused_in_one_line_or_costs_what_it_hit_and_says_so(recording: Recording, data: st.DataObject) -> None:
    text = dcgm_writer.write(recording).text
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    broken = text[:start] + data.draw(st.sampled_from(["", "x", ": ", "- ", "\n", "9" * 40, "{", "&a ", "*a", "!!x "])) + text[end:]
    try:
        found = dcgm_reader.read(broken.encode(), "document")
    except InputError as error:
        refused(str(error))
    else:
        for answer in found.recording.values():
            assert not answer.missing
        dcgm_writer.write(found.recording)


@FEW
@given(st.text("0123456789abcx+-.eE_ ", max_size=8))
def test_a_whole_number_is_decimal_or_hexadecimal_and_nothing_else(text: str) -> None:
    number = dcgm_values.integer(text)
    assert number is None or number == int(text, 0)
