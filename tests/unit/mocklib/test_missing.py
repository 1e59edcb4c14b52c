"""A library without some of its symbols truly lacks them, and answers as before otherwise."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from mocklib import binding, build, missing
from mocklib.binding import Answer
from mocklib.spec import ImageError

GONE = frozenset({"nvmlDeviceGetName", "nvmlSystemGetDriverBranch"})


def test_the_symbols_are_gone_and_all_others_answer(library_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NVPARITY_IMAGE", raising=False)
    path = tmp_path / "libnvidia-ml.so.1"
    path.write_bytes(missing.without(library_path.read_bytes(), GONE))
    whole, other = binding.open_library(library_path), binding.open_library(path)
    assert [name for name in binding.function_names() if other.function(name) is None] == sorted(
        {name for name in binding.function_names() if whole.function(name) is None} | GONE
    )
    assert other.init() == 0
    device = other.device(0)
    assert other.call("nvmlDeviceGetName", device) == Answer(13, missing=True)
    assert other.call("nvmlDeviceGetUUID", device).code == 0
    assert other.shutdown() == 0
    with path.open("rb") as file:
        elf = ELFFile(file)
        assert elf.get_section_by_name(".gnu.version").num_symbols() == elf.get_section_by_name(".dynsym").num_symbols()


def test_names_that_it_has_not_change_nothing(library_path: Path) -> None:
    data = library_path.read_bytes()
    assert missing.without(data, {"nvmlNoSuchThing", ""}) == data
    assert missing.without(data, ()) == data


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF\x01\x01" + bytes(100), b"#!/bin/sh\n", b"\x7fELF\x02\x03" + bytes(100)])
def test_what_is_no_64_bit_library_is_refused(data: bytes) -> None:
    with pytest.raises(ImageError):
        missing.without(data, GONE)


def test_a_library_that_is_cut_off_is_refused(library_path: Path) -> None:
    data = library_path.read_bytes()
    for size in (60, len(data) // 2):
        with pytest.raises(ImageError, match="table of symbols"):
            missing.without(data[:size], GONE)


SOURCE = "int one(void) { return 1; } int two(void) { return 2; } int four(void) { return one() + 3; } int eight(void) { return 8; }\n"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A library with both kinds of hash table, one of whose functions looks another one up."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.c").write_text(SOURCE, encoding="ascii")
    made = folder / "small.so"
    build.find_compiler().run("-shared", "-fPIC", "-O0", "-Wl,--hash-style=both", str(folder / "small.c"), "-o", str(made))
    return made.read_bytes()


def test_a_symbol_is_gone_from_every_table_and_the_others_are_found_in_each(small: bytes, tmp_path: Path) -> None:
    path = tmp_path / "small.so"
    path.write_bytes(missing.without(small, {"two", "eight"}))
    with path.open("rb") as file:
        elf = ELFFile(file)
        names = [symbol.name for symbol in elf.get_section_by_name(".dynsym").iter_symbols()]
        assert names.count("") == 1, "the table's own first entry"
        for table in (elf.get_section_by_name(".hash"), elf.get_section_by_name(".gnu.hash")):
            assert table.get_number_of_symbols() == len(names)
            assert {name for name in ("one", "two", "four", "eight") if table.get_symbol(name) is not None} == {"one", "four"}
    assert missing.exported(path.read_bytes()) == missing.exported(small) - {"two", "eight"}
    loaded = ctypes.CDLL(str(path))
    assert (loaded.one(), loaded.four(), hasattr(loaded, "two"), hasattr(loaded, "eight")) == (1, 4, False, False)


def test_a_symbol_that_the_library_looks_up_itself_cannot_be_taken_away(small: bytes) -> None:
    with pytest.raises(ImageError, match="the library itself looks up one"):
        missing.without(small, {"one"})
