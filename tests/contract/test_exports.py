"""What the file is: names, soname, what it needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from mocklib import fields

OLDER = {
    "nvmlDeviceCcuGetStreamState",
    "nvmlDeviceCcuSetStreamState",
    "nvmlDeviceGetPowerMode",
    "nvmlDeviceGetSupportedPowerModes",
    "nvmlDeviceSetPowerMode",
    "nvmlGetBlacklistDeviceCount",
    "nvmlGetBlacklistDeviceInfoByIndex",
    "nvmlInternalGetExportTable",
    "nvmlRetry_NvRmControl",
}


def dynamic(path: Path, tag: str) -> list[str]:
    """The texts of one kind of dynamic entry."""
    with path.open("rb") as file:
        section = next(section for section in ELFFile(file).iter_sections() if isinstance(section, DynamicSection))
        member = {"DT_SONAME": "soname", "DT_NEEDED": "needed"}[tag]
        return [getattr(entry, member) for entry in section.iter_tags() if entry.entry.d_tag == tag]


def symbols(file: BinaryIO) -> list[Any]:
    """The dynamic symbols of an open file."""
    return list(ELFFile(file).get_section_by_name(".dynsym").iter_symbols())


def exported(path: Path) -> set[str]:
    """The names the file defines for others."""
    with path.open("rb") as file:
        return {symbol.name for symbol in symbols(file) if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"}


@pytest.mark.spec("A21", "Z24")
def test_exports_are_the_header_and_the_older_nine_and_nothing_else(library_path: Path) -> None:
    names = exported(library_path)
    assert names == set(fields.since())
    assert names >= OLDER
    assert len(names) == 436 + len(OLDER)


@pytest.mark.unsanitized("the library needs the runtime, too")
def test_soname_is_that_of_nvml_and_only_libc_is_needed(library_path: Path) -> None:
    assert dynamic(library_path, "DT_SONAME") == ["libnvidia-ml.so.1"]
    assert dynamic(library_path, "DT_NEEDED") == ["libc.so.6"]


def test_symbols_carry_no_version_of_their_own(library_path: Path) -> None:
    with library_path.open("rb") as file:
        assert ELFFile(file).get_section_by_name(".gnu.version_d") is None


@pytest.mark.sanitize
def test_the_sanitize_flavour_has_its_sanitizers(flavour_path: object) -> None:
    path = flavour_path("sanitize")  # type: ignore[operator]
    with path.open("rb") as file:
        names = {symbol.name for symbol in symbols(file)}
    assert any(name.startswith("__asan_report") for name in names)
    assert any(name.startswith("__ubsan_handle") for name in names)
