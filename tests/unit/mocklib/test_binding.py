"""The binding: what it refuses, and a library that lacks a symbol."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import pytest

from mocklib import binding, build, calls
from mocklib.binding import BindingError, Nvml
from mocklib.build import BuildError


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Nvml:
    """A library of two functions, as an old driver's would lack the rest."""
    folder = tmp_path_factory.mktemp("small")
    source = folder / "small.c"
    source.write_text("int nvmlInit_v2(void) { return 0; }\nint nvmlDeviceGetCount_v2(unsigned *n) { *n = 3; return 0; }\n", encoding="ascii")
    build.find_compiler().run("-shared", "-fPIC", str(source), "-o", str(folder / "small.so"))
    return binding.open_library(folder / "small.so")


def test_a_symbol_the_library_lacks_is_missing(small: Nvml) -> None:
    assert small.init() == 0
    assert small.count() == 3
    answer = small.call("nvmlDeviceGetPlatformInfo", 1)
    assert (answer.code, answer.missing, answer.out) == (13, True, {})
    assert [entry.code for entry in small.field_values(1, [(1, 0), (2, 0)])] == [13, 13]
    assert small.slot(1, 240, "i32").missing


def test_a_wrong_call_is_the_callers_error(small: Nvml) -> None:
    with pytest.raises(BindingError, match="nvmlDeviceGetNme is no function"):
        small.call("nvmlDeviceGetNme")
    with pytest.raises(BindingError, match="has no parameter 'n'; it has deviceCount"):
        small.call("nvmlDeviceGetCount_v2", None, {"n": 1})
    with pytest.raises(BindingError, match="no device 0"):
        small.device(0)


def test_a_library_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.so").write_text("no library", encoding="ascii")
    for name in ("none.so", "text.so"):
        with pytest.raises(BindingError, match=rf"{name} cannot be loaded"):
            binding.open_library(tmp_path / name)


def test_a_binding_that_is_not_built_names_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(calls, "HERE", tmp_path / "mocklib")
    with pytest.raises(BindingError, match=r"run: python -m mocklib\.build"):
        calls.built_folder()


def test_a_compiler_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -O2")
    with pytest.raises(BuildError, match="CC=no-such-compiler -O2 is not a program"):
        build.find_compiler()


def test_a_compiler_or_a_header_that_cannot_be_read_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CC", '"cc')
    with pytest.raises(BuildError, match='CC="cc is no command: No closing quotation'):
        build.find_compiler()
    (tmp_path / "nvml.h").write_text("no header\n")
    monkeypatch.delenv("CC")
    with pytest.raises(BuildError, match=r"nvml\.h: cannot be read as nvml\.h"):
        build.read_header(build.find_compiler(), tmp_path / "nvml.h")


def test_without_any_compiler_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BuildError, match="pip install ziglang"):
        build.find_compiler()


def test_zig_is_taken_where_there_is_no_cc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    if importlib.util.find_spec("ziglang") is None:
        pytest.skip("ziglang is not installed")
    assert build.find_compiler().is_zig


def test_what_the_compiler_said_is_kept(tmp_path: Path) -> None:
    source = tmp_path / "bad.c"
    source.write_text("int broken(", encoding="ascii")
    with pytest.raises(BuildError, match=r"bad\.c"):
        build.find_compiler().run("-c", str(source), "-o", str(tmp_path / "bad.o"))


def test_an_unknown_flavour_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="no flavour 'debug'; there are release, sanitize, threads, killpoints, killpoints-"):
        build.library("debug", tmp_path)


@pytest.mark.unsanitized("the library under test is of another flavour")
def test_a_library_that_is_up_to_date_is_not_built_again(library_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = library_path.parent / "zz_generated_library"
    if not stamp.exists():
        pytest.skip("the library under test was not built here")
    before = library_path.stat().st_mtime_ns

    def refuse(*_: object, **__: object) -> subprocess.CompletedProcess[str]:
        raise AssertionError("a compiler was started")

    from harness.stages import building

    image = building.default_image()
    monkeypatch.setattr(subprocess, "run", refuse)
    assert build.library("release", library_path.parent, image) == library_path
    assert library_path.stat().st_mtime_ns == before
