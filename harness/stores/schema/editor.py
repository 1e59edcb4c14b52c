"""JSON Schema (2020-12) of the files people edit, generated from the models: for editors, never for checking."""

from __future__ import annotations

from typing import Any

DIALECT = "https://json-schema.org/draft/2020-12/schema"
FILES = ("profile", "driver", "rules", "sidecar")
"""The documents there is a schema for."""


def schema(name: str) -> dict[str, Any]:
    """The JSON Schema of one of FILES."""
    from harness.stores.schema import files, model

    models: dict[str, Any] = {"driver": files.Node, "rules": files.Rules, "sidecar": files.Sidecar}
    found = (model.described_model() if name == "profile" else models[name]).model_json_schema(mode="validation")
    return {"$schema": DIALECT, "title": f"nvparity {name}", **_plain(found)}


def _plain(value: Any) -> Any:
    """Without the titles and null defaults that pydantic gives every property: they tell an editor nothing."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _plain(held) for key, held in value.items() if not ((key == "title" and isinstance(held, str)) or (key == "default" and held is None))
    }
