"""What is said of variables of the environment that are none of ours."""

from __future__ import annotations

import pytest

from harness.cli import guard
from harness.words import variables


@pytest.mark.parametrize(("given", "line"), [
    ({"NVPARITY_LIBARY": "x"}, "NVPARITY_LIBARY: is no variable of nvparity, and has no effect (did you mean 'NVPARITY_LIBRARY'?)"),
    ({"MOCK_NVML_STAT": "x"}, "MOCK_NVML_STAT: is no variable of nvparity, and has no effect (did you mean 'MOCK_NVML_STATE'?)"),
    ({"NVPARITY_\x1b\n" + "q" * 100: "x"}, "NVPARITY_??" + "q" * 53 + "...: is no variable of nvparity, and has no effect"),
    ({"MOCK_NVML_EPOCH": "12\n"}, "MOCK_NVML_EPOCH=12?: is no number of whole seconds since 1970, 1 to 9999999999; what adds up began"),
    ({"MOCK_NVML_EPOCH": "00"}, "MOCK_NVML_EPOCH=00: is no number of whole seconds"),
])  # fmt: skip
def test_a_name_or_a_value_without_effect_is_told_of(given: dict[str, str], line: str) -> None:
    (said,) = variables.told({"PATH": "/", **given})
    assert said.startswith(line)


def test_what_is_known_or_empty_or_not_ours_is_not_told_of() -> None:
    known = dict.fromkeys((*variables.LIBRARY, *variables.INERT, *variables.HARNESS, *variables.TESTS), "1")
    assert variables.told(known | {"NVPARITY_NONE": "", "NVML_X": "1", "XNVPARITY_": "1"}) == []


def test_a_command_tells_of_it_first_and_goes_on(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("NVPARITY_CASH", "x")
    assert guard.run(["--version"]) == 0
    said = capsys.readouterr()
    assert said.err == "nvparity: NVPARITY_CASH: is no variable of nvparity, and has no effect (did you mean 'NVPARITY_CACHE'?)\n"
    assert said.out
