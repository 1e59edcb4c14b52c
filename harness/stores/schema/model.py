"""The pydantic models of a profile, built from the key table: strict types, no unknown key anywhere."""

from __future__ import annotations

import functools
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, create_model

from harness.stores.schema import codec
from harness.stores.schema.keys import Key, device_keys
from harness.words.errors import InputError, did_you_mean

_STRICT = ConfigDict(strict=True, extra="forbid")
U32, U64 = 2**32 - 1, 2**64 - 1

Uint = Annotated[int, Field(ge=0, le=U64)]
Text = Annotated[str, StringConstraints(max_length=4096, pattern=r"^[^\x00]*$")]
Version = Annotated[str, StringConstraints(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}$")]


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
    used_memory_mib: Uint | None = None
    sm_util: Annotated[int, Field(ge=0, le=100)] = 0
    mem_util: Annotated[int, Field(ge=0, le=100)] = 0
    enc_util: Annotated[int, Field(ge=0, le=100)] = 0
    dec_util: Annotated[int, Field(ge=0, le=100)] = 0
    gpu_instance_id: Annotated[int, Field(ge=0, le=U32)] | None = None
    compute_instance_id: Annotated[int, Field(ge=0, le=U32)] | None = None
    protected_memory_mib: Uint = 0


class Accounted(_Base):
    """One entry of ``accounting.terminated``."""

    pid: Annotated[int, Field(ge=0, le=U32)]
    gpu_util: Annotated[int, Field(ge=0, le=100)] = 0
    mem_util: Annotated[int, Field(ge=0, le=100)] = 0
    max_memory_mib: Uint = 0
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
    cuda_version: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,4}\.[0-9]{1,2}$")] | None = None
    cuda_version_major: Annotated[int, Field(ge=0, le=10_000)] | None = None
    cuda_version_minor: Annotated[int, Field(ge=0, le=99)] | None = None
    driver_branch: Text | None = None
    num_devices: Annotated[int, Field(ge=1, le=1024)] | None = None


class Clock(_Base):
    """``clock`` (extension): the time a replay stands at."""

    mode: Literal["frozen", "real"] = "frozen"
    at: Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")] | None = None


class Origin(_Base):
    """``origin`` (extension): where derive took the values from; ``unmodelled``: path -> text of elements no row explains, printed verbatim."""

    capture: Text
    driver: Text
    layout: Text
    keys: dict[str, Text] = {}
    unmodelled: dict[str, Text] = {}


_KINDS: dict[str, Any] = {
    "uint": Uint,
    "int": Annotated[int, Field(ge=-(2**63), lt=2**63)],
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
        "Profile", __base__=_Base, format=(Literal[1], 1), version=(Text, ...), system=(System, ...), clock=(Clock | None, None),
        device_defaults=(defaults, {}), devices=(list[device], []), origin=(Origin | None, None),  # type: ignore[valid-type]
    )  # fmt: skip


def _fields(tree: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, entry in tree.items():
        kind = _type(entry) if isinstance(entry, Key) else create_model(name, __base__=_Base, **_fields(entry))
        made[name] = (kind | None, None)
    return made
