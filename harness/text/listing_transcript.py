"""The transcript of a `-L` text.

format: 1
view: L
kind: own
layout: own

gpu 0: NVIDIA A100-SXM4-80GB | GPU-00000001-...
  mig 0: 3g.40gb | MIG-00000002-...
line: Unable to determine the device handle for gpu 0000:04:00.0: Unknown Error
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from harness.text import headers, quoting
from harness.text.listing import ListedError, ListedGpu, ListedMig, Listing, ListLayout, write
from harness.words.errors import InputError, did_you_mean
from harness.words.fileformat import FORMAT

if TYPE_CHECKING:
    from harness.text.transcript import Header

_GPU = re.compile(r"gpu (0|[1-9][0-9]{0,3}): (.+)")
_MIG = re.compile(r"  mig (0|[1-9][0-9]{0,3}): (.+)")
_TEXT = re.compile(r"line: (.+)")
_NONE = "~"
_KEYS = ("gpu", "mig", "width", "digits", "eol", "end", "bom")


def dump(listing: Listing) -> str:
    """The transcript of ``listing``."""
    from harness.text.transcript import verbatim_lines

    out = [f"format: {FORMAT}", "view: L", f"kind: {listing.kind}", f"layout: {layout_line(listing.layout)}"]
    out.extend(verbatim_lines(listing.verbatim))
    out.append("")
    for row in listing.rows:
        if isinstance(row, ListedError):
            out.append(f"line: {quoting.word(row.text)}")
            continue
        out.append(f"gpu {row.index}: {quoting.word(row.name)}{quoting.BAR}{quoting.word(row.uuid)}")
        for mig in row.migs:
            profile = _NONE if mig.profile is None else quoting.word(mig.profile)
            out.append(f"  mig {mig.index}: {profile}{quoting.BAR}{quoting.word(mig.uuid)}")
    return "\n".join(out) + "\n"


def load(head: Header, name: str) -> Listing:
    """The listing below ``head``.  Raises InputError with file and line."""
    try:
        layout = parse_layout(head.values["layout"])
    except ValueError as error:
        raise head.error("layout", str(error)) from None
    listing = Listing(layout=layout, kind=head.kind(), verbatim=head.verbatim)
    for number, line in head.body:
        try:
            _row(line, listing)
        except ValueError as error:
            raise InputError(f"{name}:{number}: {error}") from None
    if listing.verbatim_lines:
        _check_verbatim(listing, name)
    return listing


def _row(line: str, listing: Listing) -> None:
    gpu, mig, text = _GPU.fullmatch(line), _MIG.fullmatch(line), _TEXT.fullmatch(line)
    if gpu:
        name, uuid = _two(gpu[2])
        listing.rows.append(ListedGpu(int(gpu[1]), quoting.value(name), quoting.value(uuid)))
    elif mig and listing.rows and isinstance(listing.rows[-1], ListedGpu):
        profile, uuid = _two(mig[2])
        listing.rows[-1].migs.append(ListedMig(int(mig[1]), None if profile == _NONE else quoting.value(profile), quoting.value(uuid)))
    elif text:
        listing.rows.append(ListedError(quoting.value(text[1])))
    else:
        raise ValueError(f"{line.strip()[:60]!r} is no row; write `gpu N: name | uuid`, `  mig N: profile | uuid` below it, or `line: text`")


def _two(words: str) -> tuple[str, str]:
    found = quoting.split(words)
    if len(found) != 2:
        raise ValueError(f"{len(found)} values where two are due: a name and a UUID, a bar between them")
    return found[0], found[1]


def _check_verbatim(listing: Listing, name: str) -> None:
    """A verbatim line must not say another row than the transcript."""
    from harness.text.listing import read

    written = read(listing.to_bytes(), f"{name} (as written)")
    if written.rows != listing.rows:
        raise InputError(f"{name}: a verbatim line says another row than the transcript; change both (written: {write(written)[:120]!r})")


def layout_line(layout: ListLayout) -> str:
    """``own`` for nvidia-smi's layout, else what differs from it."""
    own = ListLayout()
    parts: list[str] = []
    if layout.gpu != own.gpu:
        parts.append(f"gpu={quoting.quote(layout.gpu)}")
    if layout.mig != own.mig:
        parts.append(f"mig={quoting.quote(layout.mig)}")
    if layout.width != own.width:
        parts.append(f"width={layout.width}")
    if layout.digits != own.digits:
        parts.append(f"digits={layout.digits}")
    if layout.eol != own.eol:
        parts.append("eol=crlf")
    if layout.end != own.end:
        parts.append(f"end={layout.end}")
    if layout.bom:
        parts.append("bom=yes")
    return " ".join(parts) or headers.OWN


def _columns(word: str) -> int:
    if not word.isascii() or not word.isdigit() or len(word) > 2:
        raise ValueError(f"{word[:40]!r} is no number of columns (0 to 99)")
    return int(word)


def parse_layout(line: str) -> ListLayout:
    """The layout that `layout_line` wrote as ``line``.  Raises ValueError, saying what is wrong."""
    layout = ListLayout()
    if line == headers.OWN:
        return layout
    for key, value in headers.pairs(line).items():
        if key == "gpu":
            layout.gpu = quoting.unquote(value)
        elif key == "mig":
            layout.mig = quoting.unquote(value)
        elif key == "end":
            layout.end = headers.line_ends(value)
        elif key == "eol":
            layout.eol = headers.line_end(value)
        elif key == "bom":
            layout.bom = headers.yes_no(value)
        elif key in {"width", "digits"}:
            setattr(layout, key, _columns(value))
        else:
            raise ValueError(f"{key!r} is no key of a layout{did_you_mean(key, _KEYS)}; known: {', '.join(_KEYS)}")
    return layout
