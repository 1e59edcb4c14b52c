"""The pydantic models of a profile, built from the key table: strict types, no unknown key anywhere."""

from __future__ import annotations

import functools
import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, create_model

from harness.stores.schema import codec
from harness.stores.schema.keys import Key, device_keys
from harness.words.errors import InputError, did_you_mean

_STRICT = ConfigDict(strict=True, extra="forbid")
U32, U64 = 2**32 - 1, 2**64 - 1

MIB = 2**20

Uint = Annotated[int, Field(ge=0, le=U64)]
Mib = Annotated[int, Field(ge=0, le=U64 // MIB)]


def _spelled(pattern: str, said: str) -> AfterValidator:
    """A text that matches ``pattern`` whole; ``said`` tells the user what is expected."""

    def check(text: str) -> str:
        if re.fullmatch(pattern, text, re.ASCII | re.DOTALL) is None:
            raise ValueError(f"expected {said}")
        return text

    return AfterValidator(check)


Text = Annotated[str, StringConstraints(max_length=4096), _spelled(r"[^\x00\uf700\ud800-\udfff]*", "text without NUL and lone surrogates")]
Version = Annotated[str, _spelled(r"\d{1,6}(\.\d{1,6}){1,3}", 'a driver version such as "570.148.08"')]
CudaVersion = Annotated[str, _spelled(r"\d{1,4}\.\d{1,2}", 'a CUDA version such as "12.8"')]


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


class _Base(BaseModel):
    model_config = _STRICT


class Process(_Base):
    """One entry of ``processes``; the last three keys are extensions."""

    pid: Annotated[int, Field(ge=0, le=U32)]
    type: Literal["C", "G", "M", "C+G", "M+C", "M+C+G"] = "C"
    name: Text = ""
    used_memory_mib: Mib | None = None
    sm_util: Annotated[int, Field(ge=0, le=100)] = 0
    mem_util: Annotated[int, Field(ge=0, le=100)] = 0
    enc_util: Annotated[int, Field(ge=0, le=100)] = 0
    dec_util: Annotated[int, Field(ge=0, le=100)] = 0
    gpu_instance_id: Annotated[int, Field(ge=0, le=U32)] | None = None
    compute_instance_id: Annotated[int, Field(ge=0, le=U32)] | None = None
    protected_memory_mib: Mib = 0


class Accounted(_Base):
    """One entry of ``accounting.terminated``."""

    pid: Annotated[int, Field(ge=0, le=U32)]
    gpu_util: Annotated[int, Field(ge=0, le=100)] = 0
    mem_util: Annotated[int, Field(ge=0, le=100)] = 0
    max_memory_mib: Mib = 0
    time_ms: Uint = 0


class MemoryClock(_Base):
    """One entry of ``supported_clocks.memory_clocks``."""

    freq_mhz: Annotated[int, Field(ge=0, le=U32)]
    graphics_clocks: list[Annotated[int, Field(ge=0, le=U32)]]


class Pages(_Base):
    """Retired pages of one cause (extension)."""

    count: Annotated[int, Field(ge=0, le=U32)]
    addresses: list[Uint] = []


class System(_Base):
    """``system``."""

    driver_version: Version
    nvml_version: Text | None = None
    cuda_version: CudaVersion | None = None
    cuda_version_major: Annotated[int, Field(ge=0, le=10_000)] | None = None
    cuda_version_minor: Annotated[int, Field(ge=0, le=99)] | None = None
    driver_branch: Text | None = None
    num_devices: Annotated[int, Field(ge=0, le=255)] | None = None


class Clock(_Base):
    """``clock`` (extension): the time a replay stands at."""

    mode: Literal["frozen", "real"] = "frozen"
    at: Annotated[str, AfterValidator(_instant)] | None = None


class Origin(_Base):
    """``origin`` (extension): where derive took the values from; ``unmodelled``: path -> text of elements no row explains, printed verbatim."""

    capture: Text
    driver: Text
    layout: Text
    keys: dict[str, Text] = {}
    unmodelled: dict[str, Text] = {}


_KINDS: dict[str, Any] = {
    "text": Text,
    "flag": bool,
    "health_flag": bool,
    "hex": Annotated[str, AfterValidator(_hexadecimal)],
    "uuid": Annotated[str, AfterValidator(_hexadecimal)],
    "bus_id": Annotated[str, AfterValidator(_bus_id)],
    "percent": Annotated[int | str, AfterValidator(_percent)],
    "numbers": list[Annotated[int, Field(ge=0, le=254)]],
    "clock_table": list[MemoryClock],
    "processes": list[Process],
    "accounted": list[Accounted],
    "pages": Pages,
}


def _type(key: Key) -> Any:
    if key.kind in ("uint", "int"):
        least, most = key.limits
        return Annotated[int, Field(ge=least, le=most)]
    if key.kind != "word":
        return _KINDS[key.kind]
    words = (*(word for word, _ in key.words), codec.NOT_AVAILABLE)
    if key.path == "architecture":
        return Annotated[str, AfterValidator(_architecture(words))]
    return Literal[words]


def _architecture(words: tuple[str, ...]) -> Any:
    def check(text: str) -> str:
        if text.strip().lower() not in (*words, "ada_lovelace"):
            raise ValueError(f"unknown architecture {text!r}{did_you_mean(text.strip().lower(), words)}")
        return text

    return check


@functools.cache
def profile_model() -> type[BaseModel]:
    """The model of a whole profile."""
    tree: dict[str, Any] = {}
    for path, key in device_keys().items():
        *blocks, name = path.split(".")
        level = tree
        for block in blocks:
            level = level.setdefault(block, {})
        level[name] = key
    block_fields = _fields(tree)
    states: Any = (dict[str, str], {})
    defaults = create_model("Defaults", __base__=_Base, **{**block_fields, "states": states})
    device = create_model("Device", __base__=_Base, **{**block_fields, "states": states, "index": (Annotated[int, Field(ge=0, le=1023)], ...)})
    return create_model(
        "Profile", __base__=_Base, format=(Literal[1], 1), version=(Annotated[Text, Field(min_length=1)], ...), system=(System, ...),
        clock=(Clock | None, None), device_defaults=(defaults, {}), devices=(list[device], []), origin=(Origin | None, None),  # type: ignore[valid-type]
    )  # fmt: skip


def _fields(tree: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, entry in tree.items():
        kind = _type(entry) if isinstance(entry, Key) else create_model(name, __base__=_Base, **_fields(entry))
        made[name] = (kind | None, None)
    return made
