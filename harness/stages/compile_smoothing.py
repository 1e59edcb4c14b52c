"""Power smoothing: the five presets, which of them is active, what it makes of the power limit (ledger F20 to F28)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stages import compile_defaults
from harness.words.state import State
from mocklib import fields
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

_ABSENT = FieldValue(status=3)
PRESETS = 5
"""Presets of a board (nvml.h, NVML_POWER_SMOOTHING_MAX_NUM_PROFILES)."""
PER_PERCENT = 1000
"""Percentages are held in thousandths of a percent: the field is a whole number, and the reference gives 65.5."""
_SCALES = {"percent_tmp_floor": PER_PERCENT, "ramp_up_rate_mw_per_s": 1, "ramp_down_rate_mw_per_s": 1, "ramp_down_hysteresis_ms": 1}
PARAMETERS = tuple(_SCALES)
"""Parameters of a preset by their number (nvml.h, NVML_POWER_SMOOTHING_PROFILE_PARAM_*)."""
_NOT_SET = 0xFFFFFFFF
"""nvml.h, NVML_POWER_SMOOTHING_ADMIN_OVERRIDE_NOT_SET."""


def supported(values: Values) -> bool:
    """Whether the board smooths its power: as the profile says, else Blackwell and newer (ledger F20)."""
    given = values.get("power.smoothing.supported")
    return compile_defaults.at_least(values, "blackwell") if given is None else bool(given)


def _of_board(number: Callable[[Values], int | None]) -> Callable[[Values, States], FieldValue]:
    """A number of a board that smooths its power."""

    def made(values: Values, _: States) -> FieldValue:
        found = number(values) if supported(values) else None
        return _ABSENT if found is None else FieldValue(found)

    return made


def _enabled(values: Values) -> int:
    return int(values.get("power.smoothing.state") == "enabled")


def _active(values: Values) -> int:
    return int(values.get("power.smoothing.active_profile") or 0)


def _parameter(preset: int, name: str) -> Callable[[Values], int]:
    """A preset that is not listed is all zeros."""

    def made(values: Values) -> int:
        listed = values.get("power.smoothing.profiles") or {}
        given = (listed.get(preset) or {}).get(name) or 0
        return round(given * _SCALES[name])

    return made


def _ceiling(values: Values) -> int | None:
    """The power ceiling is the enforced limit (ledger F26)."""
    limit = values.get("power.enforced_limit_mw")
    return None if limit is None else int(limit)


def _floor(values: Values) -> int | None:
    """The floor: the active preset's share of the ceiling while smoothing is on, else 0 (ledger F27)."""
    ceiling = _ceiling(values)
    if ceiling is None:
        return None
    return _enabled(values) * ceiling * _parameter(_active(values), "percent_tmp_floor")(values) // (100 * PER_PERCENT)


def _constant(number: int) -> Callable[[Values], int]:
    return lambda _: number


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "smoothing_enabled": _of_board(_enabled),
    "smoothing_active": _of_board(_active),
    "smoothing_ceiling": _of_board(_ceiling),
    "smoothing_floor": _of_board(_floor),
    "smoothing_no": _of_board(_constant(0)),
    "smoothing_hundred": _of_board(_constant(100 * PER_PERCENT)),
    "smoothing_presets": _of_board(_constant(PRESETS)),
    "smoothing_not_set": _of_board(_constant(_NOT_SET)),
    **{f"smoothing_{preset}_{name}": _of_board(_parameter(preset, name)) for preset in range(PRESETS) for name in PARAMETERS},
}
"""Name in ``from`` of ``mocklib/tables/fields.yaml`` -> what makes the field."""
STATE_KEYS: Mapping[str, str] = {
    name: "power.smoothing.enabled" for name in fields.device_fields() if name.startswith("power.smoothing.") and name != "power.smoothing.enabled"
}
"""Field -> the key whose state it answers: a board that refuses the feature refuses all of it."""
