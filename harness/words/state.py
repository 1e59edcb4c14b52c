"""States: what an element can say instead of a value.

A state is never a value and never zero.  States with a return code are those an nvmlReturn_t stands for (nvml.h, enum nvmlReturn_enum);
the text a driver prints for a code is data of the driver tree, not of this module.
"""

from __future__ import annotations

import enum


class State(enum.Enum):
    """One state an element, an image field or an NVML call can be in.

    The value is the name used in profiles (``states:``), transcripts and reports.
    """

    NOT_SUPPORTED = "not_supported"
    NO_PERMISSION = "no_permission"
    NOT_FOUND = "not_found"
    GPU_LOST = "gpu_lost"
    RESET_REQUIRED = "reset_required"
    FUNCTION_NOT_FOUND = "function_not_found"
    NOT_READY = "not_ready"
    DEPRECATED = "deprecated"
    UNKNOWN_ERROR = "unknown_error"
    ABSENT = "absent"
    REDACTED = "redacted"
    UNCAPTURED = "uncaptured"

    @property
    def code(self) -> int | None:
        """The nvmlReturn_t of this state, or None for states that no call returns (absent, redacted, uncaptured)."""
        return _CODES.get(self)

    @property
    def in_profile(self) -> bool:
        """Whether a profile's ``states`` may name it: what a call returns, and a reading that the giver of a capture hid."""
        return self.code is not None or self is State.REDACTED

    @classmethod
    def of_code(cls, code: int) -> State | None:
        """The state of an nvmlReturn_t; None for SUCCESS (0) and for codes without a state of their own."""
        return _STATES.get(code)


_CODES: dict[State, int] = {
    State.NOT_SUPPORTED: 3,
    State.NO_PERMISSION: 4,
    State.NOT_FOUND: 6,
    State.FUNCTION_NOT_FOUND: 13,
    State.GPU_LOST: 15,
    State.RESET_REQUIRED: 16,
    State.DEPRECATED: 26,
    State.NOT_READY: 27,
    State.UNKNOWN_ERROR: 999,
}
_STATES: dict[int, State] = {code: state for state, code in _CODES.items()}
