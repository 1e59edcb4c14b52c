"""The pydantic models of a profile, built from the key table: strict types, no unknown key anywhere."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema, create_model

from harness.stores.schema import blocks, codec, kept
from harness.stores.schema.keys import NODE, Key, device_keys, state_keys
from harness.stores.schema.kinds import Base, BusId, CudaVersion, DriverVersion, Hexadecimal, Hostname, Instant, PercentText, Text, Version
from harness.words.errors import did_you_mean
from harness.words.fileformat import FORMAT
from harness.words.state import State

Format = Annotated[int, WithJsonSchema({"const": FORMAT, "type": "integer"})]
"""The format of a profile; which numbers are read is for the reader to say, with more than a schema can."""


class System(Base):
    """``system``."""

    driver_version: DriverVersion
    nvml_version: Text | None = None
    cuda_version: CudaVersion | None = None
    cuda_version_major: Annotated[int, Field(ge=0, le=10_000)] | None = None
    cuda_version_minor: Annotated[int, Field(ge=0, le=99)] | None = None
    driver_branch: Text | None = None
    num_devices: Annotated[int, Field(ge=0, le=255)] | None = None
    hic: list[blocks.Hic] | None = None
    init_status: Annotated[int, Field(ge=0, le=999)] | None = None


class Clock(Base):
    """``clock`` (extension): the time a replay stands at."""

    mode: Literal["frozen", "real"] = "frozen"
    at: Instant | None = None


class Recorded(Base):
    """``recorded`` (extension): of a profile made from a recording, what moves from one to the next: ``origin.capture`` and ``clock.at``."""

    capture: Text
    at: Instant | None = None


class TimeLine(Base):
    """``timeline`` (extension): the file with the samples that a replay moves by, and whether it starts over after the last."""

    file: Text | None = None
    loop: bool = False


class Origin(Base):
    """``origin`` (extension): where derive took the values from; ``unmodelled``: path -> text of elements no row explains, printed verbatim."""

    capture: Text | None = None
    driver: Text
    layout: Text
    keys: dict[str, Text] | None = None
    unmodelled: dict[str, Text] | None = None


States = Annotated[dict[str, str], Field(json_schema_extra=lambda schema: schema.update(_states()))]
"""``states`` of a device; which keys and states there are is checked by ``rules``."""
Answers = Annotated[dict[str, str | None], Field(json_schema_extra=lambda schema: schema.update(_answers()))]
"""``answers``: call -> answer; what stands in them is checked by ``schema.answers``."""
Describe = Callable[[str], str | None]


def _states() -> dict[str, Any]:
    return {
        "propertyNames": {"enum": sorted(state_keys())},
        "additionalProperties": {"enum": sorted(state.value for state in State if state.in_profile)},
    }

def _answers() -> dict[str, Any]:
    """A call is a function with its arguments, an answer a code (or ``missing``) with its values; null: a default that does not hold on this GPU."""
    return {
        "propertyNames": {"pattern": r"^nvml[A-Za-z0-9_]+( \{.*\})?$"},
        "additionalProperties": {"anyOf": [{"type": "string", "pattern": r"^([A-Z][A-Z0-9_]*|[0-9]+|missing)( \{.*\})?$"}, {"type": "null"}]},
    }


GPU_STATES = tuple(state.value for state in State if state is State.UNCAPTURED or state.code not in (None, State.NOT_SUPPORTED.code))
"""What ``state`` of a device may be: uncaptured, or why its handle is not given."""


_KINDS: dict[str, Any] = {
    **blocks.KINDS, "text": Text, "mode": Text, "flag": bool, "health_flag": bool, "hex": Hexadecimal, "uuid": Hexadecimal, "bus_id": BusId,
    "percent": PercentText, "hostname": Hostname,
}  # fmt: skip


def _type(key: Key) -> Any:
    if key.kind in ("uint", "int"):
        least, most = key.limits
        return Annotated[int, Field(ge=least, le=most)]
    if key.kind != "word":
        return _KINDS[key.kind]
    words = tuple(word for word, _ in key.words)
    if key.path == "architecture":
        spelled = "|".join("".join(f"[{letter.upper()}{letter}]" for letter in word) for word in (*words, "ada_lovelace"))
        return Annotated[str, AfterValidator(_architecture(words)), WithJsonSchema({"type": "string", "pattern": f"^\\s*({spelled})\\s*$"})]
    return Literal[*words, codec.NOT_AVAILABLE]


def _architecture(words: tuple[str, ...]) -> Any:
    def check(text: str) -> str:
        if text.strip().lower() not in (*words, "ada_lovelace"):
            raise ValueError(f"unknown architecture {text!r}{did_you_mean(text.strip().lower(), words)}")
        return text

    return check


@functools.cache
def profile_model() -> type[BaseModel]:
    """The model of a whole profile."""
    return _profile(lambda _: None)


def described_model() -> type[BaseModel]:
    """The same, each key with its description: what an editor shows."""
    from harness.stores.schema import wording

    return _profile(wording.description)


def _profile(describe: Describe) -> type[BaseModel]:
    device_fields = _fields(_tree((*device_keys().values(), *kept.DEVICE)), describe)
    node_fields = _fields(_tree(key for key in (*NODE, *kept.NODE) if not key.path.startswith("system.")), describe)
    held: dict[str, Any] = {"states": (States, {}), "answers": (Answers | None, None)}
    defaults = create_model("Defaults", __base__=Base, **{**device_fields, **held})
    own = {"index": (Annotated[int, Field(ge=0, le=1023)], ...), "state": (Literal[GPU_STATES] | None, None)}
    device = create_model("Device", __base__=Base, **{**device_fields, **held, **own})
    return create_model(
        "Profile", __base__=Base, format=(Format, FORMAT), version=(Version, ...), system=(System, ...),
        clock=(Clock | None, None), device_defaults=(defaults | None, None), devices=(list[device] | None, None),  # type: ignore[valid-type, arg-type]
        origin=(Origin | None, None), recorded=(Recorded | None, None), timeline=(TimeLine | None, None),
        answers=(Answers | None, None), **node_fields,
    )  # fmt: skip


def _tree(listed: Iterable[Key]) -> dict[str, Any]:
    """Keys by their blocks."""
    tree: dict[str, Any] = {}
    for key in listed:
        *parents, name = key.path.split(".")
        level = tree
        for block in parents:
            level = level.setdefault(block, {})
        level[name] = key
    return tree


def _fields(tree: dict[str, Any], describe: Describe, path: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, entry in tree.items():
        whole = f"{path}.{name}" if path else name
        if isinstance(entry, Key):
            made[name] = (_type(entry) | None, Field(None, description=describe(whole)))
        else:
            made[name] = (create_model(whole.replace(".", "_"), __base__=Base, **_fields(entry, describe, whole)) | None, None)
    return made


def names_at(path: Iterable[str | int]) -> list[str]:
    """The keys of the block at ``path`` of a profile; none where it is no block of named keys."""
    kind: Any = profile_model()
    for step in path:
        if isinstance(step, str) and _is_model(kind):
            field = kind.model_fields.get(step)
            kind = None if field is None else _inner(field.annotation)
    return sorted(kind.model_fields) if _is_model(kind) else []


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _inner(kind: Any) -> Any:
    """The model within an annotation: that of the block, of a list's items or of a mapping's values."""
    if _is_model(kind):
        return kind
    return next((found for part in get_args(kind) if (found := _inner(part)) is not None), None)
