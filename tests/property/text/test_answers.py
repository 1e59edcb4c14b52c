"""Random recordings and random damage: the same recording and the same text come back, or one clear refusal does."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.text import answers
from harness.words.errors import InputError
from mocklib import asking, fields
from mocklib.answers import Asked, Gpu
from mocklib.binding import FUNCTION_NOT_FOUND, Answer

FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

names = st.text("abcXYZ_.[]019", min_size=3, max_size=9)
numbers = st.one_of(st.integers(-(1 << 63), (1 << 64) - 1), st.sampled_from([0, 1, (1 << 64) - 1, -(1 << 63), 1 << 53]))
texts = st.one_of(
    st.binary(max_size=12).map(lambda data: data.replace(b"\0", b"").decode("utf-8", "surrogateescape")),
    st.sampled_from(["", " = ", "} = SUCCESS", '"', "\\", "\n", "\x85\u2028", "a\tb", "\U0001f600"]),
)
handles = st.builds(Gpu, st.integers(0, 99))
floats = st.floats(allow_nan=False, allow_infinity=False)
leaves = st.one_of(numbers, texts, handles, floats, st.binary(max_size=9))
values = st.recursive(
    leaves, lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(names, inner, min_size=1, max_size=3)), max_leaves=8
)


def of_its_subject(function: str, gpu: int, arguments: dict[str, Any]) -> Asked:
    """The call of ``function`` by what it is asked of: a GPU where its first device is one, else the node."""
    return Asked(function, gpu if asking.is_of_gpu(function) else None, tuple(arguments.items()))


calls = st.builds(
    of_its_subject,
    st.sampled_from(sorted(fields.function_index())),
    st.integers(0, 3999),
    st.dictionaries(names, st.one_of(numbers, texts, handles), max_size=3),
)
given_answers = st.one_of(
    st.builds(Answer, st.one_of(st.sampled_from([0, 3, 7, 15, 26, 999]), st.integers(0, 2000)), st.dictionaries(names, values, max_size=3)),
    st.just(Answer(FUNCTION_NOT_FOUND, missing=True)),
)
recordings = st.dictionaries(calls, given_answers, max_size=6)


def exactly(one: Any, other: Any) -> bool:
    """Equal, with 0 and -0.0, and 1 and 1.0, told apart."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return repr(one) == repr(other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(exactly(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(exactly, one, other))
    return bool(one == other)


@FEW
@given(recordings)
def test_a_recording_is_read_back_as_it_was_and_written_as_it_was(recording: dict[Asked, Answer]) -> None:
    text = answers.dump(recording)
    found = answers.load(text, "answers.txt")
    assert list(found.items()) == list(recording.items())
    assert all(exactly(found[asked].out, answer.out) for asked, answer in recording.items())
    assert answers.dump(found) == text
    assert text.isascii()


@FEW
@given(recordings, st.data())
def test_a_damaged_file_is_refused_with_its_line_or_reads_as_what_it_says(recording: dict[Asked, Answer], data: st.DataObject) -> None:
    text = answers.dump(recording)
    place = data.draw(st.integers(0, len(text)))
    damaged = data.draw(
        st.sampled_from([text[:place], text[:place] + text[place + 1 :], text[:place] + "}" + text[place:], text[:place] + " " + text[place:]])
    )
    said = damaged
    try:
        said = answers.dump(answers.load(damaged, "answers.txt"))
    except InputError as error:
        message = str(error)
    else:
        message = "answers.txt: read"
    assert said == damaged
    assert message.startswith("answers.txt:")
    assert "\n" not in message
