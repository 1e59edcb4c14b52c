"""The scalar types of a profile: strict, each with the words a user is told and the pattern an editor checks."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, WithJsonSchema

from harness.stores.schema import codec
from harness.words.errors import InputError

STRICT = ConfigDict(strict=True, extra="forbid")
U32, U64 = 2**32 - 1, 2**64 - 1
MIB = 2**20
LONGEST = 4096
"""Characters of a text."""

Uint = Annotated[int, Field(ge=0, le=U64)]
Mib = Annotated[int, Field(ge=0, le=U64 // MIB)]


class Base(BaseModel):
    """What every block is: strict types, no key it does not name."""

    model_config = STRICT


def _spelled(pattern: str, said: str) -> AfterValidator:
    """A text that matches ``pattern`` whole; ``said`` tells the user what is expected."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text, re.ASCII | re.DOTALL) is None:
            raise ValueError(f"expected {said}")
        return text

    return AfterValidator(check)


def _schema(pattern: str, **more: object) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^(?:{pattern})$", **more})


_VERSION, _CUDA, _FIRMWARE = r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}", r"[0-9]{1,4}\.[0-9]{1,2}", r"[0-9]{1,10}:[0-9]{1,10}:[0-9]{1,10}"
_HOSTNAME = r"|[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?"
_TEXT = r"[^\x00\uf700\ud800-\udfff]*"
Text = Annotated[
    str, StringConstraints(max_length=LONGEST), _spelled(_TEXT, "text without NUL and lone surrogates"),
    WithJsonSchema({"type": "string", "maxLength": LONGEST, "pattern": r"^[^\u0000\uf700]*$"}),
]  # fmt: skip
Version = Annotated[Text, Field(min_length=1), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST})]
DriverVersion = Annotated[str, _spelled(_VERSION, 'a driver version such as "570.148.08"'), _schema(_VERSION)]
CudaVersion = Annotated[str, _spelled(_CUDA, 'a CUDA version such as "12.8"'), _schema(_CUDA)]
Firmware = Annotated[str, _spelled(_FIRMWARE, 'a firmware version such as "36:2014:4784"'), _schema(_FIRMWARE)]
Hostname = Annotated[str, _spelled(_HOSTNAME, "at most 63 letters, digits, dots and hyphens, a letter or digit at either end"), _schema(_HOSTNAME)]


def _instant(text: str) -> str:
    try:
        codec.instant_ns(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


def _bus_id(text: str) -> str:
    try:
        codec.bus_id(text)
    except InputError as error:
        raise ValueError(str(error)) from None
    return text


def _hexadecimal(text: str) -> str:
    if len(text.removeprefix("0x").replace("-", "")) > 32 or any(digit not in "0123456789abcdefABCDEF-" for digit in text.removeprefix("0x")):
        raise ValueError("expected at most 32 hexadecimal digits, dashes allowed")
    return text


def _percent(value: int | str) -> int | str:
    text = str(value)
    if text != codec.NOT_AVAILABLE and not (text.isascii() and text.isdigit() and int(text) <= 100):
        raise ValueError('expected "0" to "100" or "N/A"')
    return value


_PERCENT = r"N/A|0*(100|[0-9]{1,2})"
Instant = Annotated[str, AfterValidator(_instant), _schema(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")]
BusId = Annotated[str, AfterValidator(_bus_id), _schema(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-9a-fA-F]")]
Hexadecimal = Annotated[str, AfterValidator(_hexadecimal), _schema(r"(0x)?-*([0-9a-fA-F]-*){0,32}")]
PercentText = Annotated[
    int | str, AfterValidator(_percent),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 0, "maximum": 100}, {"type": "string", "pattern": f"^(?:{_PERCENT})$"}]}),
]  # fmt: skip
