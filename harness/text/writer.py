"""A document's tree written through its layout, and the lines that this cannot express."""

from __future__ import annotations

import bisect

from harness.text.escapes import escape
from harness.text.lines import attributes_text
from harness.text.model import BLOCK, CLOSED, EMPTY, LINE, Layout, Node, Verbatim

LOOKAHEAD = 16
"""Written lines tried when written and original text part, to find where they meet again."""


def write(root: Node, layout: Layout, doctype: str | None) -> str:
    """The text of ``root`` in ``layout``, before any verbatim line is put in."""
    out: list[str] = []
    if layout.declaration is not None:
        out.append(layout.declaration)
    if doctype is not None:
        out.append(f'<!DOCTYPE {root.tag} SYSTEM "{doctype}">')
    _write(root, 0, layout, out)
    text = "\n".join(out) + "\n" * layout.end
    if layout.eol != "\n":
        text = text.replace("\n", layout.eol)
    return "\ufeff" + text if layout.bom else text


def _write(node: Node, depth: int, layout: Layout, out: list[str]) -> None:
    """The lines of ``node``, which has children or stands on more than one line."""
    indent = layout.indent(depth) if node.indent is None else node.indent
    attributes = attributes_text(node.attributes) if node.attributes else ""
    inner = layout.indent(depth + 1)
    if not node.children:
        _write_leaf(node, indent, inner, attributes, layout, out)
        return
    out.append(f"{indent}<{node.tag}{attributes}>")
    for child in node.children:
        if child.children or child.form != LINE or child.attributes:
            _write(child, depth + 1, layout, out)
        else:
            before = inner if child.indent is None else child.indent
            out.append(f"{before}<{child.tag}>{escape(child.text or '', child.escape)}</{child.tag}>")
            if layout.gap and child.blank:
                out.append("")
    out.append(f"{indent}</{node.tag}>")
    if layout.gap and node.tag == "gpu" and depth == 1:
        out.append("")


def _write_leaf(node: Node, indent: str, inner: str, attributes: str, layout: Layout, out: list[str]) -> None:
    if node.form == CLOSED:
        out.append(f"{indent}<{node.tag}{attributes}{layout.closing}")
    elif node.form == LINE:
        out.append(f"{indent}<{node.tag}{attributes}>{escape(node.text or '', node.escape)}</{node.tag}>")
    else:
        out.append(f"{indent}<{node.tag}{attributes}>")
        if node.form == BLOCK and node.text:
            out.extend(f"{inner}{escape(line, node.escape)}" for line in node.text.split("\n"))
        out.append(f"{indent}</{node.tag}>")
        if layout.gap and node.tag == "gpu" and node.form in {EMPTY, BLOCK}:
            out.append("")


def patch(written: str, verbatim: list[Verbatim]) -> str:
    """``written`` with the lines of ``verbatim`` in their places."""
    if not verbatim:
        return written
    lines = written.split("\n")
    out: list[str] = []
    position = 0
    for part in verbatim:
        out.extend(lines[position : part.at])
        out.extend(part.lines)
        position = part.at + part.drop
    out.extend(lines[position:])
    return "\n".join(out)


def exceptions(written: str, original: str) -> list[Verbatim]:
    """What `patch` needs to turn ``written`` into ``original``; empty where they are equal.

    Not the shortest such list, but found in time that grows with the text, whatever the text is.
    """
    if written == original:
        return []
    ours, theirs = written.split("\n"), original.split("\n")
    places: dict[str, list[int]] = {}
    for number, line in enumerate(theirs):
        places.setdefault(line, []).append(number)
    found: list[Verbatim] = []
    i = j = 0
    while i < len(theirs) or j < len(ours):
        if i < len(theirs) and j < len(ours) and theirs[i] == ours[j]:
            i, j = i + 1, j + 1
            continue
        next_i, next_j = _meet(ours, j, i, places, len(theirs))
        found.append(Verbatim(j, next_j - j, theirs[i:next_i]))
        i, j = next_i, next_j
    return found


def _meet(ours: list[str], j: int, i: int, places: dict[str, list[int]], size: int) -> tuple[int, int]:
    """Where original (from ``i``) and written lines (from ``j``) are equal again, with the fewest lines passed over."""
    best = (size, len(ours))
    cost = size + len(ours)
    for ahead in range(j, min(j + LOOKAHEAD, len(ours))):
        spots = places.get(ours[ahead], [])
        at = bisect.bisect_left(spots, i)
        if at < len(spots) and (spots[at] - i) + (ahead - j) < cost:
            best = (spots[at], ahead)
            cost = (spots[at] - i) + (ahead - j)
    return best
