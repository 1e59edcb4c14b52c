"""A hostile environment: pipes, folders, loops and endless names where files are named, full disks, leftovers, unloading, forks and storms."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mocklib import build, image, state
from mocklib.image import FieldValue, ImageSpec
from mocklib.statefile import StateFile
from tests.contract import boards

pytestmark = pytest.mark.hostile

ROOT = Path(__file__).resolve().parents[2]
LIMITS = {"power.min_limit_mw": FieldValue(100_000), "power.max_limit_mw": FieldValue(400_000)}
LIMITS |= {"power.requested_limit_mw": FieldValue(300_000), "power.enforced_limit_mw": FieldValue(300_000)}
HEAD = """
import os, sys
from mocklib import binding
nvml = binding.open_library(sys.argv[1])
def put(limit):
    return nvml.call('nvmlDeviceSetPowerManagementLimit', nvml.device(0), {'limit': limit}).code
def got():
    return nvml.call('nvmlDeviceGetEnforcedPowerLimit', nvml.device(0)).out['limit']
def maps(name):
    return sum(name in line for line in open('/proc/self/maps'))
"""
Run = Callable[..., tuple[str, str]]


def limited(count: int = 1) -> ImageSpec:
    """A node whose boards take power limits."""
    return boards.spec(count, devices=[boards.device(number) | LIMITS for number in range(count)])


@pytest.fixture
def run(library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> Run:
    """``run(program, NAME=value)``: what a fresh process that serves a sound image printed on stdout and stderr; a hang or a crash fails."""
    path = tmp_path / "image" / "sound.nvpimg"
    image.write(path, image.pack(limited()))

    def start(program: str, **variables: object) -> tuple[str, str]:
        given = {"NVPARITY_IMAGE": path, **variables}
        environment = {**clean_environment, "PYTHONPATH": str(ROOT), **{name: str(value) for name, value in given.items() if value is not None}}
        command = [sys.executable, "-c", HEAD + program, str(library_path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip(), done.stderr

    return start


@pytest.fixture
def odd(tmp_path: Path) -> dict[str, str]:
    """Names that are no regular file, and one that is longer than any."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "folder").mkdir()
    return {name: str(tmp_path / name) for name in ("pipe", "loop", "folder")} | {"long": "/tmp/" + "x" * 100_000}


ODD = ("pipe", "loop", "folder", "long")


@pytest.mark.parametrize("kind", ODD)
def test_an_image_that_is_no_file_is_refused_with_one_line(run: Run, odd: dict[str, str], kind: str) -> None:
    out, said = run("print(nvml.init())", NVPARITY_IMAGE=odd[kind])
    assert (out, said.count("\n")) == ("9", 1)


@pytest.mark.parametrize("kind", ODD)
def test_a_profile_that_is_no_file_gets_the_default_and_one_line(run: Run, odd: dict[str, str], kind: str) -> None:
    out, said = run("print(nvml.init(), nvml.count())", NVPARITY_IMAGE=None, MOCK_NVML_CONFIG=odd[kind])
    assert (out, said.count("\n")) == ("0 8", 1)
    assert "serving the built-in default" in said


@pytest.mark.parametrize("variable", ["MOCK_NVML_STATE", "MOCK_NVML_OVERRIDES"])
@pytest.mark.parametrize("kind", ODD)
def test_a_state_that_is_no_file_makes_settings_answer_no_permission(run: Run, odd: dict[str, str], kind: str, variable: str) -> None:
    named = odd[kind] if variable == "MOCK_NVML_STATE" or kind == "long" else f"{odd['folder']}/no such folder/overrides.yaml"
    out, said = run("print(nvml.init(), put(100000), got())", **{variable: named})
    assert out == "0 4 300000"
    assert said.count("\n") == 1


def test_the_lock_of_a_state_is_not_taken_through_a_link(run: Run, tmp_path: Path) -> None:
    (tmp_path / "state.lock").symlink_to(tmp_path / "elsewhere")
    assert run("print(nvml.init(), put(100000))", MOCK_NVML_STATE=tmp_path / "state")[0] == "0 4"
    assert not (tmp_path / "elsewhere").exists()


def test_what_a_killed_writer_left_is_in_nobodys_way(run: Run, tmp_path: Path) -> None:
    program = "open(f'{os.environ[\"MOCK_NVML_STATE\"]}.new.{os.getpid()}', 'w').close(); print(nvml.init(), put(100000), got())"
    assert run(program, MOCK_NVML_STATE=tmp_path / "state") == ("0 0 100000", "")
    assert sorted(path.name for path in tmp_path.glob("state*")) == ["state", "state.lock"]


def test_a_fresh_state_has_all_its_blocks_so_that_no_store_meets_a_full_disk(run: Run, tmp_path: Path) -> None:
    assert run("print(nvml.init())", MOCK_NVML_STATE=tmp_path / "state")[0] == "0"
    sizes = [size for _, size in image.read((tmp_path / "image" / "sound.nvpimg").read_bytes()).records]
    opened = StateFile(tmp_path / "state", write=False)
    used = opened.head.first + 2 * sum(sizes)
    opened.close()
    assert (tmp_path / "state").stat().st_blocks * 512 >= used


def test_a_state_that_cannot_grow_is_not_left_behind(run: Run, tmp_path: Path) -> None:
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)); print(nvml.init(), put(100000), got())"
    out, said = run(program, MOCK_NVML_STATE=tmp_path / "state")
    assert (out, said.count("\n")) == ("0 4 300000", 1)
    assert sorted(path.name for path in tmp_path.glob("state*")) == ["state.lock"]


@pytest.mark.parametrize(
    "change", ["os.unlink(path)", "os.rename(path, path + '.old')", "state.create(pathlib.Path(path), open(image, 'rb').read())"]
)
def test_a_state_that_is_gone_or_replaced_is_found_again_by_the_next_setter(run: Run, tmp_path: Path, change: str) -> None:
    program = (
        "import pathlib; from mocklib import state; path, image = os.environ['MOCK_NVML_STATE'], os.environ['NVPARITY_IMAGE']\n"
        f"nvml.init(); put(100000); {change}; print(put(200000), got())"
    )
    assert run(program, MOCK_NVML_STATE=tmp_path / "state") == ("0 200000", "")


def test_a_process_sees_what_it_sets_in_a_state_that_another_made_after_its_init(
    run: Run, library_path: Path, tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    variables = {**clean_environment, "PYTHONPATH": str(ROOT), "NVPARITY_IMAGE": str(tmp_path / "image" / "sound.nvpimg")}
    program = HEAD + "nvml.init(); print('ready', flush=True); sys.stdin.readline(); print(put(222000), got())"
    command = [sys.executable, "-c", program, str(library_path)]
    with subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "ready\n"
        assert run("nvml.init(); print(put(111000))")[0] == "0"
        assert first.communicate("go\n")[0] == "0 222000\n"


def test_a_relative_name_of_the_state_stays_where_it_was_at_init(run: Run, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    program = f"os.chdir('{tmp_path}'); nvml.init(); os.chdir('other'); print(put(100000), got(), os.listdir('.'))"
    assert run(program, MOCK_NVML_STATE="relative.state") == ("0 100000 []", "")
    assert state.overrides(tmp_path / "relative.state")[0]["power.enforced_limit_mw"] == FieldValue(100_000)


def test_init_and_shutdown_again_and_again_map_nothing_twice(run: Run, tmp_path: Path) -> None:
    program = "for _ in range(50):\n    nvml.init(); nvml.shutdown()\nprint(maps('sound.nvpimg'), maps('the.state'))"
    assert run(program, MOCK_NVML_STATE=tmp_path / "the.state")[0] == "1 1"


def test_a_library_that_is_unloaded_leaves_no_mapping(run: Run, tmp_path: Path) -> None:
    program = """
ffi = nvml.ffi
for _ in range(5):
    nvml.init(); nvml.shutdown()
    ffi.dlclose(nvml.library)
    print(maps('sound.nvpimg'), maps('the.state'), maps('libnvidia-ml'), end=' ')
    nvml = binding.open_library(sys.argv[1])
"""
    assert run(program, MOCK_NVML_STATE=tmp_path / "the.state")[0].split() == ["0", "0", "0"] * 5


@pytest.fixture(scope="module")
def storm_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled storm of threads and forks."""
    program = tmp_path_factory.mktemp("storm") / "storm"
    source = Path(__file__).parent / "storm.c"
    build.find_compiler().run("-std=c11", "-D_GNU_SOURCE", "-O1", "-w", "-pthread", str(source), "-o", str(program), "-ldl")
    return program


@pytest.mark.parametrize("named", [True, False], ids=["one state", "a state beside each image"])
def test_threads_that_init_set_and_shut_down_under_changing_images_while_others_fork_get_sound_codes(
    storm_program: Path, library_path: Path, tmp_path: Path, clean_environment: dict[str, str], named: bool
) -> None:
    for count in (1, 3):
        image.write(tmp_path / f"{count}.nvpimg", image.pack(limited(count)))
    variables = clean_environment | ({"MOCK_NVML_STATE": str(tmp_path / "state")} if named else {})
    command = [str(storm_program), str(library_path), str(tmp_path / "1.nvpimg"), str(tmp_path / "3.nvpimg")]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert set(done.stdout.split()) <= {"0", "2"}  # 2: a device that the image served at that moment does not have


def test_two_processes_that_set_at_once_lose_no_generation(run: Run, library_path: Path, tmp_path: Path, clean_environment: dict[str, str]) -> None:
    path = tmp_path / "shared.state"
    variables = {
        **clean_environment,
        "PYTHONPATH": str(ROOT),
        "NVPARITY_IMAGE": str(tmp_path / "image" / "sound.nvpimg"),
        "MOCK_NVML_STATE": str(path),
    }
    program = HEAD + "nvml.init(); print({put(100000 + number) for number in range(300)})"
    command = [sys.executable, "-c", program, str(library_path)]
    writers = [subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [writer.communicate()[0] for writer in writers] == ["{0}\n"] * 2
    assert state.read(path).generations == (0, 600)


def test_every_getter_is_answered_with_the_state_mapped_for_reading_alone(run: Run, tmp_path: Path) -> None:
    program = (
        "from mocklib import asking\n"
        "print(nvml.init(), put(100000), len(asking.ask(nvml)) > 100, got())\n"
        "print({line.split()[1] for line in open('/proc/self/maps') if 'the.state' in line})"
    )
    assert run(program, MOCK_NVML_STATE=tmp_path / "the.state")[0] == "0 0 True 100000\n{'r--s'}"
