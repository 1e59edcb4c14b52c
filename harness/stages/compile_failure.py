"""Fields of a device's failure injector, from the block ``failure`` (ledger V01 to V06, V11): what the library counts calls and trips by."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from harness.stores.schema import codec, keys
from harness.words.state import State
from mocklib.image import FieldValue

Values = Mapping[str, Any]
States = Mapping[str, State]

HEALTHY = "healthy"
WHOLE = 1 << 53
"""The library's probability 1: a roll is a number of 53 bits."""


def armed(values: Values) -> bool:
    """Whether the device's calls are counted: it has an injector that is not inert."""
    return str(values.get("failure.mode", HEALTHY)) != HEALTHY


def _mode(values: Values, _: States) -> FieldValue:
    key = keys.device_keys()["failure.mode"]
    return FieldValue(int(codec.to_nvml(key, values.get("failure.mode", HEALTHY)) or 0))


def _number(key: str) -> Callable[[Values, States], FieldValue]:
    """The number given; 0 where none is."""
    return lambda values, _: FieldValue(int(values.get(key) or 0))


def _probability(values: Values, _: States) -> FieldValue:
    return FieldValue(round(float(values.get("failure.probability") or 0) * WHOLE))


def _begun(_: Values, __: States) -> FieldValue:
    """What the library alone sets."""
    return FieldValue(0)


DERIVATIONS: Mapping[str, Callable[[Values, States], FieldValue]] = {
    "failure_mode": _mode, "failure_after_calls": _number("failure.after_calls"), "failure_probability": _probability,
    "failure_seed": _number("failure.seed"), "failure_xid": _number("failure.xid.code"), "failure_begun": _begun,
}  # fmt: skip
