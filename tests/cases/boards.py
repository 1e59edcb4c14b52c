"""The boards at hand as texts, and changes to such a text that cannot miss."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from harness.stores import captures

ROOT = Path(__file__).resolve().parents[2]
T4, H100, A100, GT1030 = "t4-x1_595.91.07", "h100-sxm5-x8_580.105.08", "a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74"
UUID = "GPU-{0:08x}-0000-0000-0000-{0:012x}"
"""A UUID as the scrubber leaves them."""

Content = str | Mapping[str, "Content"] | Sequence[tuple[str, "Content"]]


@functools.cache
def text_of(board: str) -> str:
    """The query of a board, as its node printed it."""
    query = captures.load(ROOT / "captures", board).query
    assert query is not None
    return query.to_bytes().decode()


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """``text`` with the first of each pair replaced wherever it stands; one that stands nowhere is an error of the test."""
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return text


def put(text: str, tag: str, content: Content, *, inside: str = "") -> str:
    """``text`` with the first element ``tag`` (the first behind ``<inside>``) replaced by one of this content, on lines of nvidia-smi's own."""
    start = text.index(f"<{inside}>") if inside else 0
    match = re.compile(rf"(?s)^(\t*)<{tag}>.*?</{tag}>\n", re.MULTILINE).search(text, start)
    assert match is not None, tag
    return text[: match.start()] + written(tag, content, len(match[1])) + text[match.end() :]


def drop(text: str, tag: str, *, inside: str = "") -> str:
    """``text`` without the first element ``tag`` (the first behind ``<inside>``)."""
    start = text.index(f"<{inside}>") if inside else 0
    match = re.compile(rf"(?s)^\t*<{tag}>.*?</{tag}>\n", re.MULTILINE).search(text, start)
    assert match is not None, tag
    return text[: match.start()] + text[match.end() :]


def add(text: str, after: str, tag: str, content: Content) -> str:
    """``text`` with a new element behind the first element ``after``."""
    match = re.compile(rf"(?s)^(\t*)<{after}>.*?</{after}>\n", re.MULTILINE).search(text)
    assert match is not None, after
    return text[: match.end()] + written(tag, content, len(match[1])) + text[match.end() :]


def written(tag: str, content: Content, depth: int) -> str:
    """An element in nvidia-smi's layout."""
    margin = "\t" * depth
    if isinstance(content, str):
        return f"{margin}<{tag}>{content}</{tag}>\n"
    children = content.items() if isinstance(content, Mapping) else content
    return f"{margin}<{tag}>\n" + "".join(written(name, inner, depth + 1) for name, inner in children) + f"{margin}</{tag}>\n"


def process(pid: int, name: str, used: str, kind: str = "C") -> tuple[str, Content]:
    """A ``process_info`` outside MIG."""
    return "process_info", {
        "gpu_instance_id": "N/A", "compute_instance_id": "N/A", "pid": str(pid), "type": kind, "process_name": name, "used_memory": used,
    }  # fmt: skip


def each(text: str, change: Callable[[int, str], str]) -> str:
    """``text`` with ``change(number, block)`` in place of every GPU block."""
    counter = itertools.count()
    return re.sub(r"(?s)\t<gpu id=.*?</gpu>\n", lambda match: change(next(counter), match.group()), text)
