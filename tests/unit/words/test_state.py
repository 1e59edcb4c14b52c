"""States: each code is the header's, none is a value, and no two are one."""

from __future__ import annotations

import re

import pytest

from harness.words.state import State
from mocklib.gen.header import find_header

HEADER_NAMES = {State.UNKNOWN_ERROR: "UNKNOWN", State.GPU_LOST: "GPU_IS_LOST"}
WITHOUT_CODE = [State.ABSENT, State.REDACTED, State.UNCAPTURED]
WITH_CODE = [state for state in State if state not in WITHOUT_CODE]


@pytest.fixture(scope="module")
def returns() -> dict[str, int]:
    """nvmlReturn_t as the vendor's header has it."""
    text = find_header().read_text("latin-1")
    return {name: int(number) for name, number in re.findall(r"NVML_ERROR_(\w+)\s*=\s*(\d+)", text)}


@pytest.mark.parametrize("state", WITH_CODE)
def test_a_states_code_is_the_headers(returns: dict[str, int], state: State) -> None:
    names = [HEADER_NAMES.get(state, state.name), state.name]
    assert state.code == next(returns[name] for name in names if name in returns)


@pytest.mark.parametrize("state", WITH_CODE)
def test_a_code_leads_back_to_its_state(state: State) -> None:
    assert state.code is not None
    assert State.of_code(state.code) is state


@pytest.mark.parametrize("state", WITHOUT_CODE)
def test_what_no_call_returns_has_no_code(state: State) -> None:
    assert state.code is None


def test_success_is_no_state() -> None:
    assert State.of_code(0) is None


@pytest.mark.parametrize("value", [0, "", "N/A", None, False, "not_supported"])
def test_no_state_equals_a_value(value: object) -> None:
    assert [state for state in State if state == value] == []
