"""Bytes become text that XML parsers accept, and the same bytes again."""

from __future__ import annotations

import pytest

from harness.text import rawbytes


@pytest.mark.parametrize(
    "data",
    [
        b"plain ascii\nand lines\r\n",
        "grün ✔ 中".encode(),
        b"\xf8\x01\x00 garbage",
        b"\xff\xfe\x80",
        b"lone \r carriage return",
        "\ue000 \uf6ff \uf700 \uf7ff \uf800".encode(),
        b"\xef\x9e",
        b"\xed\xa0\x80 a surrogate written as UTF-8",
        "\ufffe\uffff".encode("utf-8", "surrogatepass"),
        bytes(range(256)),
    ],
)
def test_every_byte_comes_back(data):
    assert rawbytes.encode(rawbytes.decode(data)) == data


def test_each_odd_byte_is_one_character():
    assert rawbytes.decode(b"a\xf8\x01\x00b") == "a\uf7f8\uf701\uf700b"


def test_a_line_end_of_windows_stays_a_line_end():
    assert rawbytes.decode(b"a\r\nb\rc") == "a\r\nb\uf70dc"


def test_odd_bytes_are_told_from_text():
    assert rawbytes.has_odd_bytes(rawbytes.decode(b"\xff"))
    assert not rawbytes.has_odd_bytes("grün")
