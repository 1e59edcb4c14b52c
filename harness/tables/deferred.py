"""Subtrees that are not served yet, by path, each with its reason: data of ``deferred.yaml``."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

from harness.tables import strictyaml

_INDEX = re.compile(r"\[[0-9]+\]")


@functools.cache
def subtrees() -> Mapping[str, str]:
    """Path without indices -> reason."""
    listed = strictyaml.load_file(Path(__file__).with_name("deferred.yaml"), "harness/tables/deferred.yaml").value["deferred"]
    return {entry["path"]: entry["reason"] for entry in listed}


def reason_of(path: str) -> str | None:
    """Why the element at ``path`` (indices allowed) is not served yet; None where it stands in no deferred subtree."""
    plain = _INDEX.sub("", path)
    return next((reason for start, reason in subtrees().items() if plain == start or plain.startswith(f"{start}/")), None)
