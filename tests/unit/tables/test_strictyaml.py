"""The YAML that is accepted, and what is refused with its line."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.tables import strictyaml
from harness.words.errors import InputError


def test_scalars_are_what_they_look_like():
    text = 'a: 1\nb: 0x1F\nc: "1"\nd: true\ne: yes\nf: 2026-08-21\ng: null\nh: 1.5\ni: 0755\nj: 1_000\nk: 12:30\n'
    text += f"l: .nan\nm: -.inf\nn: {'9' * 5000}\no: 1_0.5\np: 1.0e+999\n"
    assert strictyaml.load(text, "x").value == {
        "a": 1, "b": 31, "c": "1", "d": True, "e": "yes", "f": "2026-08-21", "g": None, "h": 1.5, "i": "0755", "j": "1_000", "k": "12:30",
        "l": ".nan", "m": "-.inf", "n": "9" * 5000, "o": "1_0.5", "p": "1.0e+999",
    }  # fmt: skip


def test_every_key_has_its_line():
    document = strictyaml.load("a:\n  b: 1\nc:\n- d: 2\n", "x.yaml")
    assert document.where(("a", "b")) == "x.yaml:2"
    assert document.where(("c", 0, "d")) == "x.yaml:4"
    assert document.where(("c", 0, "nothing")) == "x.yaml:4"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("a: 1\na: 2\n", 2, "given twice"),
        ("a: &x 1\nb: *x\n", 1, "anchors"),
        ("b:\n  <<: {c: 1}\n", 2, "key"),
        ("a: !!python/object:os.system x\n", 1, "tags"),
        ("a: [1\n", 2, "not valid YAML"),
        ("? [1]\n: 2\n", 1, "key"),
        ("true: 1\n", 1, "key"),
        ("a: 1\n--- \nb: 2\n", 2, "not valid YAML"),
    ],
)
def test_what_is_not_plain_data_is_refused_with_file_and_line(text, line, said):
    with pytest.raises(InputError, match=said) as caught:
        strictyaml.load(text, "x.yaml")
    assert str(caught.value).startswith(f"x.yaml:{line}:")


def test_a_deep_document_is_refused():
    with pytest.raises(InputError, match="deeper"):
        strictyaml.load("[" * 100 + "]" * 100, "x")


def test_a_large_document_is_refused_before_it_is_parsed():
    with pytest.raises(InputError, match="more than"):
        strictyaml.load(b" " * (strictyaml.MAX_BYTES + 1), "x")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(InputError, match="x:2: byte 8 is not UTF-8"):
        strictyaml.load(b"a: 1\nb: \xff", "x")


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(InputError, match="cannot be read"):
        strictyaml.load_file(tmp_path / "no.yaml")


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.yaml")
    with pytest.raises(InputError, match="is no regular file"):
        strictyaml.load_file(tmp_path / "pipe.yaml")


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_one_line(text):
    said = ""
    try:
        strictyaml.load(text, "x")
    except InputError as error:
        said = str(error)
    assert "\n" not in said
