"""Which machine a measurement is of."""

from __future__ import annotations

from pathlib import Path

from tests.bench import machine


def test_the_processor_is_named_by_cpuinfo() -> None:
    assert machine.cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\nflags: x\n") == "Some CPU @ 2 GHz"
    assert machine.cpu_model("processor: 0\n") == "unknown"


def test_a_compiler_that_cannot_be_started_has_no_version() -> None:
    assert machine.version_text(["nvparity-no-such-program"]) == ""


def test_the_identity_changes_with_the_compiler(tmp_path: Path) -> None:
    compilers = []
    for version in ("1", "2"):
        path = tmp_path / f"cc{version}"
        path.write_text(f"#!/bin/sh\necho cc {version}\n")
        path.chmod(0o755)
        compilers.append(machine.identity([str(path)]))
    first, second = compilers
    assert (first["compiler"], second["compiler"]) == ("cc 1", "cc 2")
    assert first["id"] != second["id"]
    assert {**first, **dict.fromkeys(("id", "compiler", "compiler_sha256"))} == {**second, **dict.fromkeys(("id", "compiler", "compiler_sha256"))}
