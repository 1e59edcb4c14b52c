"""The transcript of a `-q` text: as that of a query, with labels for tags; a line with a value may have others below it.

format: 1
view: q
kind: own
layout: before=0 end=1

Driver Version: 555.42.06
gpu 0-1
@GPU: 00000000:8F:00.0 | 00000000:90:00.0
Clocks Event Reasons
HW Slowdown: Not Active
HW Thermal Slowdown: Not Active
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.text import headers, outline, outline_writer, quoting, transcribing
from harness.text.outline_writer import OutlineLayout
from harness.text.rebuilding import Rebuilder
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT

if TYPE_CHECKING:
    from harness.text.transcript import Header

_KEYS = ("column", "inner", "prefix", "unit", "before", "eol", "end", "bom", "stripped")


def dump(source: outline.Outline) -> str:
    """The transcript of ``source``; the same for equal outlines."""
    from harness.text.transcript import verbatim_lines

    out = [f"format: {FORMAT}", f"view: {source.view}", f"kind: {source.kind}", f"layout: {layout_line(source.layout)}"]
    out += [*verbatim_lines(source.verbatim), "", *transcribing.body(source.root)]
    return "\n".join(out) + "\n"


def load(head: Header, name: str) -> outline.Outline:
    """The outline whose transcript has the header ``head``.  Raises InputError with file and line."""
    if "doctype" in head.values or head.indents:
        raise head.error("doctype", "the transcript of a `-q` text has neither doctype nor indent")
    try:
        layout = parse_layout(head.values["layout"])
    except ValueError as error:
        raise head.error("layout", str(error)) from None
    root = Rebuilder(head.body, name, labelled=True).root("")
    outline_writer.space(root)
    _, _, sections = head.values["view"].partition(":")
    found = outline.Outline(root, layout, head.kind(), head.verbatim, tuple(sections.split(",")) if sections else ())
    if found.verbatim_lines:
        _check_verbatim(found, name)
    return found


def _check_verbatim(found: outline.Outline, name: str) -> None:
    """A verbatim line must not say another reading than the transcript."""
    written = outline.read(found.to_bytes(), f"{name} (as written)")
    ours, theirs = list(found.root.leaves()), list(written.root.leaves())
    if ours != theirs:
        one = next((pair for pair in zip([*ours, None], [*theirs, None], strict=False) if pair[0] != pair[1]), (None, None))
        raise InputError(f"{name}: a verbatim line says another reading than the transcript: {one[1]} where that has {one[0]}; change both")


def layout_line(layout: OutlineLayout) -> str:
    """``own`` for nvidia-smi's layout in drivers 470 to 580, else what differs from it."""
    own = OutlineLayout()
    parts: list[str] = []
    if layout.column != own.column:
        parts.append(f"column={layout.column}")
    if layout.inner:
        parts.append(f"inner={','.join(quoting.quote(f'{section}@{column}') for section, column in layout.inner)}")
    if layout.prefix != own.prefix:
        parts.append(f"prefix={quoting.quote(layout.prefix)}")
    if layout.unit != own.unit:
        parts.append(f"unit={headers.blanks_word(layout.unit)}")
    if layout.before != own.before:
        parts.append(f"before={layout.before}")
    if layout.eol != own.eol:
        parts.append("eol=crlf")
    if layout.end != own.end:
        parts.append(f"end={layout.end}")
    if layout.bom:
        parts.append("bom=yes")
    if layout.stripped:
        parts.append("stripped=yes")
    return " ".join(parts) or headers.OWN


def parse_layout(line: str) -> OutlineLayout:
    """The layout that `layout_line` wrote as ``line``.  Raises ValueError, saying what is wrong."""
    layout = OutlineLayout()
    for key, value in headers.pairs(line).items() if line != headers.OWN else ():
        if key == "column":
            layout.column = _column(value)
        elif key == "inner":
            layout.inner = tuple(_inner(word) for word in headers.items(value))
        elif key == "prefix":
            layout.prefix = quoting.unquote(value)
            if layout.prefix.strip(" \t#"):
                raise ValueError(f"{value[:40]} stands before no line of a slice")
        elif key == "unit":
            layout.unit = headers.parse_blanks(value)
        elif key in {"before", "end"}:
            setattr(layout, key, headers.line_ends(value))
        elif key == "eol":
            layout.eol = headers.line_end(value)
        elif key in {"bom", "stripped"}:
            setattr(layout, key, headers.yes_no(value))
        else:
            raise ValueError(f"{key!r} is no key of a layout{did_you_mean(key, _KEYS)}; known: {', '.join(_KEYS)}")
    return layout


def _column(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 3:
        raise ValueError(f"{word[:40]!r} is no column (0 to {outline_writer.MOST_COLUMN})")
    return int(word)


def _inner(word: str) -> tuple[str, int]:
    section, _, column = quoting.unquote(word).rpartition("@")
    return section, _column(column)
