"""A profile given to the library directly: its compiler is started once, fenced off from the host and the host from it."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mocklib import build, image
from mocklib.image import FieldValue, Source
from tests.contract import boards

ROOT = Path(__file__).resolve().parents[2]
SERVED, DEFAULT = ["compiled"] * 2, ["NVIDIA A100-SXM4-40GB"] * 2
COMPILED = 'echo "$1 $2 $3 $4" >>{log}; env >{environment}; cp {made} "$4.part" && mv "$4.part" "$4"'
"""What a compiler does: an image under the name it was given, whole.  It notes how it was called."""


@dataclasses.dataclass
class Host:
    """A program that uses the library, its profile ``board.yaml``, and the compiler that it may find."""

    folder: Path
    library: Path
    program: Path
    environment: dict[str, str]

    @property
    def profile(self) -> Path:
        return self.folder / "board.yaml"

    @property
    def compilations(self) -> list[str]:
        """The arguments of each start of the compiler."""
        log = self.folder / "tools" / "log"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def compiler(self, script: str = COMPILED) -> Path:
        """A compiler that runs ``script``, named in NVPARITY_COMPILER."""
        tools = self.folder / "tools"
        names = {name: shlex.quote(str(tools / name)) for name in ("log", "environment", "made")}
        path = tools / "compiler"
        path.write_text("#!/bin/sh\n" + script.format(**names) + "\n", encoding="utf-8")
        path.chmod(0o755)
        self.environment["NVPARITY_COMPILER"] = str(path)
        return path

    def start(self, kind: str = "", **options: object) -> subprocess.Popen[str]:
        """The host, started."""
        command = [str(self.program), str(self.library), kind]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload, no-any-return] # options are Popen's

    def run(self, kind: str = "", **options: object) -> tuple[list[str], str]:
        """The names of device 0 that two inits gave, and what stood on stderr; no child is left behind."""
        host = self.start(kind, **options)
        out, said = host.communicate(timeout=60)
        assert host.returncode == 0, out + said
        return out.splitlines(), said


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host") / "host"
    build.find_compiler().run("-std=c11", "-D_GNU_SOURCE", "-O1", "-w", str(Path(__file__).with_name("compiling.c")), "-o", str(path), "-ldl")
    return path


@pytest.fixture
def host(library_path: Path, program: Path, clean_environment: dict[str, str]) -> Iterator[Host]:
    """A host whose files another user can reach: the folders of pytest are its user's alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        made = Host(folder, folder / "driver" / "usr" / "lib" / "libnvidia-ml.so.1", folder / "host", {})
        made.library.parent.mkdir(parents=True)
        shutil.copy(library_path, made.library)
        shutil.copy(program, made.program)
        (folder / "tools").mkdir()
        made.environment = {"PATH": clean_environment["PATH"], "HOME": str(folder / "home"), "LANG": "C", "MOCK_NVML_CONFIG": str(made.profile)}
        given(made, made.profile)
        yield made


def given(host: Host, profile: Path) -> None:
    """A profile, and the image that the compiler makes of it."""
    profile.write_text("version: '1.0'\n", encoding="utf-8")
    status, digest = profile.stat(), hashlib.sha256(profile.read_bytes()).digest()
    source = Source(str(profile), status.st_size, status.st_mtime_ns, status.st_ino, digest)
    spec = dataclasses.replace(boards.spec(devices=[boards.device(name=FieldValue("compiled"))]), source=source)
    image.write(host.folder / "tools" / "made", image.pack(spec))
    (host.folder / "tools" / "made").chmod(0o644)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("board*"))


@pytest.mark.spec("A01")
def test_a_profile_without_an_image_is_compiled_beside_it_and_served(host: Host) -> None:
    host.compiler()
    assert host.run() == (SERVED, "")
    assert host.compilations == [f"compile {host.profile} -o {host.folder / 'board.nvpimg'}"]
    assert names(host.folder) == ["board.nvpimg", "board.yaml"]
    assert host.run() == (SERVED, "")
    assert len(host.compilations) == 1


def test_the_compiler_gets_three_variables_and_no_file_of_the_host(host: Host) -> None:
    host.compiler(COMPILED + "; ls -l /proc/self/fd >>{environment}; cat >>{environment}; echo text; echo more >&2")
    host.environment |= {"LD_LIBRARY_PATH": "/nowhere", "MOCK_NVML_STATE": str(host.folder / "state"), "SECRET": "x", "PYTHONPATH": "/nowhere"}
    with (host.folder / "open").open("w", encoding="utf-8") as kept:
        assert host.run(pass_fds=[kept.fileno()]) == (SERVED, "")
    noted = (host.folder / "tools" / "environment").read_text(encoding="utf-8")
    assert {line.partition("=")[0] for line in noted.splitlines() if "=" in line} - {"PWD", "SHLVL", "_", "OLDPWD"} == {"PATH", "HOME", "LANG"}
    assert "/dev/null" in noted
    assert str(host.library) not in noted


@pytest.mark.parametrize("kind", ["ignores", "reaps", "blocks", "bare"])
def test_a_host_that_minds_its_children_itself_is_served(host: Host, kind: str) -> None:
    host.compiler("kill -KILL $$")
    assert host.run(kind)[0] == DEFAULT
    host.compiler()
    assert host.run(kind) == (SERVED, "")


def test_success_is_the_image_and_not_the_exit_status(host: Host) -> None:
    host.compiler(COMPILED + "; exit 3")
    assert host.run() == (SERVED, "")
    (host.folder / "board.nvpimg").unlink()
    host.compiler("exit 0")
    served, said = host.run()
    assert served == DEFAULT
    assert "its compiler made none" in said


@pytest.mark.spec("A01", "VL05")
def test_a_profile_that_cannot_be_compiled_gets_the_default_one_line_and_a_log_and_is_tried_once(host: Host) -> None:
    host.compiler("echo x >>{log}; echo 'board.yaml:1: no version' >&2; exit 3")
    served, said = host.run()
    assert served == DEFAULT
    first, second = said.splitlines()
    assert first.endswith(f"serving the built-in default. Run: nvparity compile {host.profile}")
    assert "it has no image, and its compiler made none, see its log" in first
    assert "compiled once already by this process" in second
    assert host.compilations == ["x"]
    assert (host.folder / "board.nvpimg.log").read_text(encoding="utf-8") == "board.yaml:1: no version\n"


@pytest.mark.parametrize(("named", "why"), [
    (None, "no compiler is named in NVPARITY_COMPILER or beside the library"),
    ("nvparity", "NVPARITY_COMPILER names no program by its whole path"),
    ("/nowhere/nvparity", "NVPARITY_COMPILER names no program by its whole path"),
    ("/tmp", "NVPARITY_COMPILER names no program by its whole path"),
])  # fmt: skip
def test_without_a_compiler_the_default_is_served_and_one_line_says_the_command(host: Host, named: str | None, why: str) -> None:
    host.environment |= {"NVPARITY_COMPILER": named} if named else {}
    served, said = host.run()
    assert served == DEFAULT
    assert said.splitlines()[0] == (
        f"nvparity: {host.profile}: it has no image, and {why}; serving the built-in default. Run: nvparity compile {host.profile}"
    )
    assert names(host.folder) == ["board.yaml"]


@pytest.mark.parametrize("named", ["absolute", "relative"])
def test_the_compiler_is_named_in_the_file_beside_the_library(host: Host, named: str) -> None:
    path = host.compiler()
    del host.environment["NVPARITY_COMPILER"]
    text = str(path) if named == "absolute" else "../../../tools/compiler"
    (host.library.parent / "nvparity-compiler").write_text(f"{text}\nanything\n", encoding="utf-8")
    assert host.run() == (SERVED, "")
    assert len(host.compilations) == 1


def test_of_two_processes_at_once_one_compiles_and_both_are_served(host: Host) -> None:
    host.compiler("mkdir {log}.one || echo twice >>{log}; " + COMPILED)
    hosts = [host.start() for _ in range(6)]
    assert [(one.communicate(timeout=60), one.returncode) for one in hosts] == [(("compiled\ncompiled\n", ""), 0)] * 6
    assert len(host.compilations) == 1
    assert names(host.folder) == ["board.nvpimg", "board.yaml"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: a program of another group cannot be made")
def test_a_program_with_more_rights_than_its_user_never_starts_a_compiler(host: Host) -> None:
    host.compiler()
    (host.library.parent / "nvparity-compiler").write_text(str(host.folder / "tools" / "compiler"), encoding="utf-8")
    config = host.folder / "driver" / "config" / "config.yaml"
    config.parent.mkdir()
    given(host, config)
    os.chown(host.program, 0, 12345)
    host.program.chmod(0o2755)
    served, said = host.run()
    assert served == DEFAULT
    assert host.compilations == []
    assert "none is compiled for a program with more rights than its user" in said
    host.program.chmod(0o755)
    del host.environment["MOCK_NVML_CONFIG"]
    assert host.run() == (SERVED, "")


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: no other user to be")
@pytest.mark.parametrize("home", [True, False])
def test_a_folder_that_cannot_be_written_leaves_the_image_to_the_cache_or_to_the_user(host: Host, home: bool) -> None:
    host.compiler(COMPILED.replace(">>{log}", ">/dev/null").replace(">{environment}", ">/dev/null"))
    place = host.folder / "home"
    place.mkdir()
    if home:
        os.chown(place, 65534, 65534)
    served, said = host.run(user=65534, group=65534, extra_groups=[])
    assert names(host.folder) == ["board.yaml"]
    if home:
        assert (served, said) == (SERVED, "")
        assert names(place / ".cache" / "nvparity") == ["board.nvpimg"]
    else:
        assert served == DEFAULT
        assert "neither its folder nor the cache can be written" in said
        assert f"Run: nvparity compile {host.profile} -o FILE.nvpimg, and name that in NVPARITY_IMAGE\n" in said


def test_the_command_is_one_that_a_shell_takes(host: Host) -> None:
    profile = host.folder / "my board's.yaml"
    given(host, profile)
    host.environment["MOCK_NVML_CONFIG"] = str(profile)
    said = host.run()[1]
    assert shlex.split(said.splitlines()[0].partition("Run: ")[2]) == ["nvparity", "compile", str(profile)]


def test_a_log_that_is_a_link_or_a_pipe_is_not_written(host: Host) -> None:
    host.compiler()
    (host.folder / "board.nvpimg.log").symlink_to(host.folder / "elsewhere")
    assert host.run()[0] == DEFAULT
    assert not (host.folder / "elsewhere").exists()
    assert host.compilations == []


@pytest.mark.hostile
def test_a_compiler_that_does_not_end_is_ended_with_what_it_started(host: Host) -> None:
    host.compiler("sleep 600 & echo $! >>{log}; wait")
    assert host.run()[0] == DEFAULT
    (sleeper,) = host.compilations
    state = Path(f"/proc/{sleeper}/stat")
    assert not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"


@pytest.mark.spec("A01")
def test_the_command_of_the_installation_makes_the_image(host: Host, repository: Path) -> None:
    host.compiler(f'PYTHONPATH={shlex.quote(str(ROOT))} exec {shlex.quote(sys.executable)} -m harness.cli "$@"')
    shutil.copy(repository / "profiles" / "t4-x1_595.91.07.yaml", host.profile)
    assert host.run() == (["Tesla T4"] * 2, "")
    host.profile.write_text(host.profile.read_text(encoding="utf-8").replace("brand: nvidia", "brand: 7up"), encoding="utf-8")
    (host.folder / "board.nvpimg").unlink()
    assert host.run()[0] == DEFAULT
