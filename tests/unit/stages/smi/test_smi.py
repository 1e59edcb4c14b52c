"""The runner of the real binary: a clean environment, both streams, a time limit, bounded output.  Stand-in programs, no binary needed."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from pathlib import Path

import pytest

from harness.stages import smi
from harness.stages.smi import OUTPUT_LIMIT, binary_for, find_binaries, node_smi, run_node, run_smi
from harness.words.errors import GateError, InputError, MissingError


@pytest.fixture
def library(tmp_path: Path) -> Path:
    folder = tmp_path / "lib"
    folder.mkdir()
    path = folder / "libnvidia-ml.so.1"
    path.touch()
    return path


def program(tmp_path: Path, script: str) -> Path:
    path = tmp_path / "nvidia-smi"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_streams_and_status_are_kept_apart(tmp_path: Path, library: Path) -> None:
    run = run_smi(program(tmp_path, 'echo "out $1 $2"; echo err >&2; exit 6'), ["-q", "-x"], library=library, variables={})
    assert (run.status, run.stdout, run.stderr) == (6, b"out -q -x\n", b"err\n")


def test_the_environment_is_made_here_and_holds_nothing_of_the_caller(tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", "")
    monkeypatch.setenv("MOCK_NVML_CONFIG", "stray.yaml")
    run = run_smi(program(tmp_path, "env"), [], library=library, variables={"NVPARITY_IMAGE": "i"})
    seen = dict(line.split("=", 1) for line in run.stdout.decode().splitlines())
    assert seen.pop("PWD") == "/"
    seen.pop("_", None)
    assert seen == {
        "PATH": "/usr/bin:/bin",
        "LANG": "C",
        "LC_ALL": "C",
        "TZ": "UTC",
        "HOME": "/nonexistent",
        "LD_LIBRARY_PATH": str(library.parent),
        "NVPARITY_IMAGE": "i",
    }


def test_malloc_perturb_is_handed_on(tmp_path: Path, library: Path) -> None:
    run = run_smi(program(tmp_path, 'echo "$MALLOC_PERTURB_"'), [], library=library, variables={}, perturb=165)
    assert run.stdout == b"165\n"


def test_a_signal_that_ends_the_binary_is_a_negative_status(tmp_path: Path, library: Path) -> None:
    assert run_smi(program(tmp_path, "kill -SEGV $$"), [], library=library, variables={}).status == -11


def test_a_binary_that_does_not_end_is_ended(tmp_path: Path, library: Path) -> None:
    with pytest.raises(GateError, match=r"still running after 0\.2 s"):
        run_smi(program(tmp_path, "exec sleep 60"), [], library=library, variables={}, limit_s=0.2)


def test_what_a_nodes_nvidia_smi_starts_is_bounded_and_ends_with_it(tmp_path: Path) -> None:
    """A script in its place, as containers have one."""
    run = run_node(program(tmp_path, "head -c 80000000 /dev/zero; echo $? >&2"), [], variables={})
    assert len(run.stdout) <= OUTPUT_LIMIT
    assert run.stderr != b"0\n"
    with pytest.raises(GateError, match=r"still running after 0\.2 s"):
        run_node(program(tmp_path, f"sleep 60 & echo $! > {tmp_path}/started; wait"), [], variables={}, limit_s=0.2)
    with contextlib.suppress(ProcessLookupError):  # gone already
        started = os.pidfd_open(int((tmp_path / "started").read_text()))
        assert select.select([started], [], [], 20)[0]
        os.close(started)


def test_one_that_the_kernel_does_not_let_go_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[int] = []
    end = os.killpg
    monkeypatch.setattr(smi, "ENDING_S", 0.0)
    with monkeypatch.context() as patched:
        patched.setattr("os.killpg", lambda group, _: kept.append(group))
        with pytest.raises(GateError, match=r"still running after 0\.1 s"):
            run_node(program(tmp_path, "exec sleep 60"), [], variables={}, limit_s=0.1)
    end(kept[0], signal.SIGKILL)


def test_endless_output_is_cut_off(tmp_path: Path, library: Path) -> None:
    run = run_smi(program(tmp_path, "exec head -c 80000000 /dev/zero"), [], library=library, variables={})
    assert run.status != 0
    assert len(run.stdout) <= OUTPUT_LIMIT


def test_a_library_under_another_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"libnvidia-ml\.so\.1"):
        run_smi(program(tmp_path, "true"), [], library=tmp_path / "libmock.so", variables={})


def test_a_binary_that_cannot_start_is_named(tmp_path: Path, library: Path) -> None:
    with pytest.raises(MissingError, match="nvidia-smi: cannot be started"):
        run_smi(tmp_path / "470" / "nvidia-smi", [], library=library, variables={})


def test_binaries_are_found_by_branch(tmp_path: Path) -> None:
    for name in ("550", "470", "apt"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "nvidia-smi").touch()
    assert list(find_binaries(tmp_path)) == [470, 550]


def test_a_folder_without_binaries_says_what_brings_them(tmp_path: Path) -> None:
    with pytest.raises(MissingError, match="nox -s smi"):
        find_binaries(tmp_path)


@pytest.mark.parametrize(("branch", "chosen"), [(470, 470), (460, 470), (520, 470), (550, 550), (595, 550)])
def test_the_binary_of_a_driver_is_its_own_else_the_newest_older(branch: int, chosen: int) -> None:
    assert binary_for(branch, {470: Path("a"), 550: Path("b")})[0] == chosen


def test_a_nodes_own_binary_is_told_where_the_callers_loader_looks_and_what_a_mock_reads(tmp_path: Path, library: Path) -> None:
    caller = {"LD_LIBRARY_PATH": "/opt/driver", "MOCK_NVML_CONFIG": "c", "LD_PRELOAD": "stray", "USER": "someone"}
    own = run_node(program(tmp_path, "env"), [], variables=caller)
    named = run_node(program(tmp_path, "env"), [], variables=caller, library=library)
    lines = own.stdout.decode().splitlines()
    assert {"LD_LIBRARY_PATH=/opt/driver", "MOCK_NVML_CONFIG=c", "TZ=UTC"} <= set(lines)
    assert not [line for line in lines if line.startswith(("LD_PRELOAD=", "USER="))]
    assert f"LD_LIBRARY_PATH={library.parent}:/opt/driver" in named.stdout.decode().splitlines()
    assert "LD_LIBRARY_PATH" not in run_node(program(tmp_path, "env"), [], variables={}).stdout.decode()


def test_a_nodes_binary_is_the_one_named_else_the_first_on_path(tmp_path: Path) -> None:
    made = program(tmp_path, "true")
    assert node_smi(None, {"PATH": f"/nonexistent:{tmp_path}"}) == made
    assert node_smi(made, {"PATH": "/nonexistent"}) == made
    with pytest.raises(MissingError, match="no nvidia-smi on PATH"):
        node_smi(None, {"PATH": "/nonexistent"})
    with pytest.raises(MissingError, match="none: no program"):
        node_smi(tmp_path / "none", {})
