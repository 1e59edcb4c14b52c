"""Every key of a profile as one Markdown table, made from the JSON Schema, the defaults and the readers: docs/profile.md has it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from harness.stages import compile_defaults
from harness.stores.schema import editor, wording

_HEAD = "| key | what | type | default | read by |\n|---|---|---|---|---|\n"
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true, false", "object": "mapping"}
_FREE = ("states", "origin.keys", "origin.unmodelled")
_DEFAULTS: Mapping[str, str] = {
    "system.nvml_version": "CUDA major, driver version",
    "system.cuda_version": "12.4",
    "system.cuda_version_major": "12",
    "system.cuda_version_minor": "4",
    "system.driver_branch": "r<driver major>_00",
    "system.init_status": "0: nvmlInit succeeds",
    "system.num_devices": "number of devices, else 8",
    "minor_number": "index",
    "uuid": "made from index",
    "timeline.file": "timeline.txt of the capture",
    "dynamic_metrics.seed": "0",
    "dynamic_metrics.temperature.ramp_period_sec": "60",
    "dynamic_metrics.utilization.burst_period_sec": "30",
    "dynamic_metrics.utilization.pattern": "steady",
    **{f"dynamic_metrics.utilization.{engine}_{end}": value for engine in ("gpu", "memory") for end, value in (("min", "0"), ("max", "100"))},
    **{f"dynamic_metrics.temperature.{key}_c": "0" for key in ("base", "variance", "ramp")},
    **{f"dynamic_metrics.power.{key}_mw": "0" for key in ("base", "variance")},
}
"""Defaults that compile makes outside its table of defaults."""


def table() -> str:
    """The table; a key of ``device_defaults`` stands for that of every entry of ``devices``, too."""
    schema = editor.schema("profile")
    return _HEAD + "".join(_line(path, spec) for path, spec in _keys(schema))


def paths() -> list[str]:
    """Every key, as the table names it."""
    return [path for path, _ in _keys(editor.schema("profile"))]


def _keys(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    definitions = schema["$defs"]
    for name, spec in schema["properties"].items():
        if name == "devices":
            shared = definitions["Defaults"]["properties"]
            for key, inner in definitions["Device"]["properties"].items():
                if key not in shared:
                    yield from _below(key, inner, definitions)
        elif name == "device_defaults":
            for key, inner in sorted(definitions["Defaults"]["properties"].items()):
                yield from _below(key, inner, definitions)
        else:
            yield from _below(name, spec, definitions)


def _below(path: str, spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The key itself where it is a value, else the keys of its block, of its list's entries or of its mapping's values."""
    block, step = _block(spec, definitions)
    if block is None or not block.get("properties"):
        yield path, {**_value(spec), "default": spec.get("default")}
        return
    for name, inner in block["properties"].items():
        yield from _below(f"{path}{step}.{name}", inner, definitions)


def _value(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a key takes when it is given: the alternatives of null left out."""
    others = [one for one in spec.get("anyOf", ()) if one.get("type") != "null"]
    return others[0] if len(others) == 1 else {"anyOf": others} if others else spec  # what is nothing but null takes anything


def _block(spec: Mapping[str, Any], definitions: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, str]:
    value = _value(spec)
    if "$ref" in value:
        return definitions[value["$ref"].rpartition("/")[2]], ""
    for name, step in (("items", "[]"), ("additionalProperties", ".<n>")):
        if isinstance(value.get(name), dict) and "$ref" in value[name]:
            return definitions[value[name]["$ref"].rpartition("/")[2]], step
    return None, ""


def _line(path: str, spec: Mapping[str, Any]) -> str:
    unit = wording.unit(path)
    what = wording.label(path) + (f", {unit}" if unit else "")
    return f"| `{path}` | {what} | {_type(spec)} | {_default(path, spec)} | {_readers(path)} |\n"


def _type(spec: Mapping[str, Any]) -> str:
    if "enum" in spec or "const" in spec:
        return " ".join(f"`{word}`" for word in spec.get("enum", [spec.get("const")]))
    if "anyOf" in spec:
        return " or ".join(_type(one) for one in spec["anyOf"])
    kind = _TYPES.get(spec.get("type", ""), "")
    if spec.get("type") == "array":
        inner = _type(spec["items"]) if isinstance(spec.get("items"), dict) else ""
        return f"list of {inner}" if inner else "list"
    if "minimum" in spec and "maximum" in spec:
        return f"{kind} {_number(spec['minimum'])} to {_number(spec['maximum'])}"
    return kind or "anything"


def _number(value: float) -> str:
    for bits in (32, 64):
        if value == 2**bits - 1:
            return f"2^{bits} - 1"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _default(path: str, spec: Mapping[str, Any]) -> str:
    if path in _DEFAULTS:
        return _DEFAULTS[path]
    if spec.get("default") == "":
        return "empty"
    if spec.get("default") not in (None, {}, []):
        return f"`{spec['default']}`".replace("`True`", "true").replace("`False`", "false")
    given = compile_defaults.default(path, {})
    if given is not None:
        return str(given).lower() if isinstance(given, bool) else str(given)
    beside = compile_defaults.default(path, _Beside(path))
    if beside is not None:
        return f"{str(beside).lower() if isinstance(beside, bool) else beside} in a block that is given"
    return "from other keys" if compile_defaults.derived(path) else ""


class _Beside(dict[str, Any]):
    """Values of a device of which only another key of the same block is given."""

    def __init__(self, path: str) -> None:
        super().__init__({f"{path.partition('.')[0]}.another": True})


def _readers(path: str) -> str:
    """What answers, functions in their first version only."""
    if path.startswith(_FREE) or path in ("format", "version"):
        return "nvparity"
    if path.startswith("timeline."):
        return "the calls that its samples are of"
    if path == "answers":
        return "the call that each of its keys names"
    if path.startswith("origin.") or path == "recorded.capture":
        return "nothing; says where the values are from"
    answers = wording.status_of(path.replace("[]", "").replace(".<n>", ""))
    if answers.startswith(("not served", "descriptive")):
        return answers
    assert answers, f"{path} has no reader and is not said to have none"
    names = dict.fromkeys(re.sub(r"_v\d+$", "", name) for name in answers.split(", ") if name)
    return ", ".join(f"`{name}`" for name in names)
