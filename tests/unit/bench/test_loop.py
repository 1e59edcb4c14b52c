"""The loop program against a small library: arguments, codes, refusals.  Nothing here depends on a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import program
from tests.bench.cases import Case
from tests.bench.program import Loop, ProgramError

SIX = Case("six", "nvmlDeviceGetSix", "scalar", ("device", "7", "mem:8:0102ff", "count:64", "0x10", "mem:4:"))
REFUSED = Case("refused", "nvmlDeviceGetRefused", "scalar", ("device",))


@pytest.fixture(scope="module")
def loop(tmp_path_factory: pytest.TempPathFactory) -> Loop:
    folder = tmp_path_factory.mktemp("loop")
    image = folder / "image"
    image.write_bytes(b"image")
    built, empty = program.built(folder)
    library = program.compiled(Path(__file__).with_name("fake_nvml.c"), folder / "libnvidia-ml.so.1", "-shared", "-fPIC")
    return Loop(built, empty, library, {"NVPARITY_IMAGE": str(image)})


def count(loop: Loop, *cases: Case) -> list[str]:
    return loop.run(["count", str(loop.library), str(loop.empty), "5"], cases).splitlines()


def test_arguments_arrive_as_they_are_written_and_a_count_is_set_before_each_call(loop: Loop) -> None:
    assert count(loop, SIX) == ["six 0"]


@pytest.mark.parametrize("wrong", [("device", "8"), ("0", "7")])
def test_a_wrong_argument_is_seen_by_the_library(loop: Loop, wrong: tuple[str, str]) -> None:
    assert count(loop, Case("six", "nvmlDeviceGetSix", "scalar", (*wrong, *SIX.arguments[2:]))) == ["six 2"]


def test_each_case_prints_the_code_of_its_last_call_to_warm_up(loop: Loop) -> None:
    calls = Case("calls", "nvmlDeviceGetCalls", "scalar", ("device", "mem:4:"))
    assert count(loop, REFUSED, calls, calls) == ["refused 3", "calls 3", "calls 3"]


def test_times_name_the_code_and_both_times_of_each_case(loop: Loop) -> None:
    found, mappings = loop.times([SIX, REFUSED])
    assert {name: times.code for name, times in found.items()} == {"six": 0, "refused": 3}
    assert all(times.ns > 0 and times.empty_ns > 0 for times in found.values())
    assert mappings == []  # nobody maps the image here


def test_starts_are_one_for_each_process(loop: Loop) -> None:
    assert len(loop.run(["init", str(loop.library), "3"]).split()) == 3


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("x", "nvmlNone", "scalar", ()), "no function nvmlNone"),
        (Case("x", "nvmlInit_v2", "scalar", ("word",)), "unknown argument word"),
        (Case("x", "nvmlInit_v2", "scalar", ("mem:0:",)), "bad memory argument mem:0:"),
        (Case("x", "nvmlInit_v2", "scalar", ("1",) * 7), "more than 6 arguments"),
    ],
)
def test_a_case_that_cannot_be_called_ends_the_program_with_one_line(loop: Loop, case: Case, message: str) -> None:
    with pytest.raises(ProgramError, match=message) as caught:
        count(loop, case)
    assert str(caught.value).startswith("loop: ")
    assert "\n" not in str(caught.value)


def test_a_library_that_is_not_there_is_named(loop: Loop) -> None:
    with pytest.raises(ProgramError, match=r"none\.so"):
        loop.run(["init", str(loop.library.with_name("none.so")), "1"])


def test_wrong_usage_says_how_it_is_used(loop: Loop) -> None:
    with pytest.raises(ProgramError, match="usage: loop time LIBRARY EMPTY CALLS REPEATS"):
        loop.run(["time"])


def test_a_library_that_says_something_is_not_measured(loop: Loop, tmp_path: Path) -> None:
    source = tmp_path / "talking.c"
    body = '    fputs("serving the default\\n", stderr);\n    return 0;\n'
    source.write_text(f"#include <stdio.h>\nint nvmlInit_v2(void);\nint nvmlInit_v2(void)\n{{\n{body}}}\n")
    talking = program.compiled(source, tmp_path / "libnvidia-ml.so.1", "-shared", "-fPIC")
    with pytest.raises(ProgramError, match="serving the default"):
        loop.run(["init", str(talking), "1"])
