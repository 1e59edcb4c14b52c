"""The readings of a document as the lines of a transcript: one reading a line, those of several GPUs side by side."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.text import clocklists, merging
from harness.text.model import BLOCK, CLOSED, EMPTY, FULL, LINE, TREE, Node
from harness.text.quoting import BAR, quote, word

ABSENT = "~"
EMPTY_WORD = "[]"
CLOSED_WORD = "</>"
STEP = "  "
LABEL = r"[A-Za-z_](?:[A-Za-z0-9 ./()_+&'-]*[A-Za-z0-9./()_+&'-])?"
_PLAIN = re.compile(LABEL)
_GPUS = "gpu "


def body(root: Node) -> list[str]:
    """The lines of everything below ``root``."""
    out: list[str] = []
    _attributes(list(root.attributes), [root], "", out)
    children = root.children
    place = gpu = 0
    while place < len(children):
        run = place
        while run < len(children) and children[run].tag == "gpu" and children[run].form == TREE:
            run += 1
        if run == place:
            _element(merging.single(children[place]), "", out)
            place += 1
            continue
        for places, merged in merging.groups(children[place:run]):
            out.append(f"gpu {_ranges([gpu + at for at in places])}")
            _inside(merged, STEP, out)
        gpu += run - place
        place = run
    return out


def _ranges(numbers: list[int]) -> str:
    """0 1 2 5 as ``0-2,5``."""
    parts: list[str] = []
    for number in numbers:
        first, _, last = parts[-1].partition("-") if parts else ("", "", "")
        if parts and int(last or first) == number - 1:
            parts[-1] = f"{first}-{number}"
        else:
            parts.append(str(number))
    return ",".join(parts)


def _element(merged: merging.Merged, indent: str, out: list[str]) -> None:
    if merged.shape == merging.BLOCK:
        out.append(indent + label(merged.tag))
        _inside(merged, indent + STEP, out)
        return
    words = [ABSENT if node is None else _word(node) for node in merged.nodes]
    out.append(f"{indent}{label(merged.tag)}: {_side_by_side(words)}")
    if merged.shape == merging.WORDED:
        _inside(merged, indent + STEP, out)
        return
    _attributes(merged.names, merged.nodes, indent + STEP, out)


def label(tag: str) -> str:
    """``tag`` as it stands; a label of `-q` text that a line could be read otherwise with, in quotes."""
    return tag if _PLAIN.fullmatch(tag) and not tag.startswith(_GPUS) else quote(tag)


def _inside(merged: merging.Merged, indent: str, out: list[str]) -> None:
    _attributes(merged.names, merged.nodes, indent, out)
    for key in merged.keys:
        _element(merged.children[key], indent, out)


def _side_by_side(words: list[str]) -> str:
    """One word where all GPUs agree, else one for each."""
    return words[0] if len(set(words)) == 1 else BAR.join(words)


def _attributes(names: list[str], nodes: Sequence[Node | None], indent: str, out: list[str]) -> None:
    """A line ``@name: value`` for each attribute of ``names``."""
    for name in names:
        words = [ABSENT if node is None or name not in node.attributes else word(node.attributes[name]) for node in nodes]
        out.append(f"{indent}@{name}: {_side_by_side(words)}")


def _word(node: Node) -> str:
    """The value of a leaf, with its form where that is not LINE and its escapes where those are not FULL."""
    if node.form == TREE and node.text is None:
        return clocklists.encode(node) or EMPTY_WORD
    if node.form == EMPTY:
        return EMPTY_WORD
    if node.form == CLOSED:
        return CLOSED_WORD
    text = node.text or ""
    if node.form == BLOCK:
        return f"[{word(text) if _clear(text) else quote(text)}]"
    assert node.form == LINE
    return word(text) if node.escape == FULL else f"{node.escape} {quote(text)}"


def _clear(text: str) -> bool:
    return "]" not in text and '"' not in text
