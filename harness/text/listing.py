"""`nvidia-smi -L`: GPUs and MIG devices by index, name and UUID, and the text they are written in.

    GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000001-...)
      MIG 3g.40gb     Device  0: (UUID: MIG-00000002-...)

Drivers from 470 pad the MIG row (`MIG <profile>` to 15 columns, the index to 2) and give a MIG device a UUID of its own; 450 pads nothing
and spells it `MIG-GPU-<uuid>/<gpu instance>/<compute instance>` (seen in captures; padding measured on binaries 525 to 555).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.text import lost, rawbytes, refusals, writer
from harness.text.document import EDITED, OWN, REINDENTED, TRIMMED
from harness.text.model import Note, Verbatim
from harness.words.errors import InputError

MAX_BYTES = 1024 * 1024
NO_DEVICES = "No devices were found"

_PREFIX = r"([ \t#]*)"
_GPU = re.compile(_PREFIX + r"GPU ([0-9]{1,4}): (.*?) \(UUID: ([^()\s]{1,100})\)(.*)")
_MIG = re.compile(_PREFIX + r"MIG (?:(\S{1,40}) *)?Device +([0-9]{1,4}): \(UUID: ([^()\s]{1,140})\)(.*)")
_TORN = re.compile(_PREFIX + r"(GPU|MIG)\b")
_TUPLE = re.compile(r"MIG-(GPU-[^/]+)/([0-9]{1,4})/([0-9]{1,4})")
_MASKED = re.compile(r"\.\.\.|…|[xX]{3}|[yY]{3}|\*\*|redacted", re.IGNORECASE)
_HIDDEN = re.compile(r"[\[(<]?(?:redacted|masked|hidden|removed|scrubbed)[\])>]?", re.IGNORECASE)


@dataclass(slots=True)
class ListedMig:
    """A MIG row: ``index`` within its GPU, ``profile`` name (None: the row has none), ``uuid`` as spelled."""

    index: int
    profile: str | None
    uuid: str
    line: int = field(default=0, compare=False)

    @property
    def instances(self) -> tuple[int, int] | None:
        """GPU instance and compute instance of the tuple spelling, None for the other."""
        match = _TUPLE.fullmatch(self.uuid)
        return (int(match[2]), int(match[3])) if match else None


@dataclass(slots=True)
class ListedGpu:
    """A GPU row: ``index``, ``name`` (may hold parentheses), ``uuid``, and the MIG rows below it."""

    index: int
    name: str
    uuid: str
    migs: list[ListedMig] = field(default_factory=list)
    line: int = field(default=0, compare=False)


@dataclass(slots=True)
class ListedError:
    """A line nvidia-smi prints in place of a GPU it cannot open; ``text`` is the whole line, "No devices were found" included."""

    text: str
    line: int = field(default=0, compare=False)


Row = ListedGpu | ListedError
_Style = tuple[bool, str, int, int]
"""Is it a GPU row, what stands before it, width of `MIG <profile>`, digits of the MIG index."""


@dataclass(slots=True)
class ListLayout:
    """How rows are written; the defaults are nvidia-smi's own way since driver 470.

    gpu, mig:  what stands before a GPU row and before a MIG row
    width:     columns that `MIG <profile>` is padded to (470 and later 15; 450 none: 0)
    digits:    columns that the MIG index is padded to (2; 450: 1)
    eol, end:  line end, and how many of them end the text
    bom:       a UTF-8 byte order mark stands first
    """

    gpu: str = ""
    mig: str = "  "
    width: int = 15
    digits: int = 2
    eol: str = "\n"
    end: int = 1
    bom: bool = False

    @property
    def own(self) -> bool:
        """Is it nvidia-smi's own layout?  As for `model.Layout`, CR LF and a missing last line end are; so is 450's unpadded row."""
        return self.end <= 1 and self in (ListLayout(eol=self.eol, end=self.end), ListLayout(width=0, digits=1, eol=self.eol, end=self.end))


@dataclass(slots=True)
class Listing:
    """One `-L` text: ``rows`` in file order, ``kind`` as of a document, and lines that rows and layout cannot express."""

    rows: list[Row] = field(default_factory=list)
    layout: ListLayout = field(default_factory=ListLayout)
    kind: str = OWN
    verbatim: list[Verbatim] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list, compare=False)

    @property
    def gpus(self) -> list[ListedGpu]:
        """The GPU rows."""
        return [row for row in self.rows if isinstance(row, ListedGpu)]

    @property
    def errors(self) -> list[ListedError]:
        """The lines that stand for GPUs in error, or for no GPU at all."""
        return [row for row in self.rows if isinstance(row, ListedError)]

    @property
    def verbatim_lines(self) -> int:
        """How many lines are kept verbatim."""
        return sum(max(len(part.lines), part.drop) for part in self.verbatim if not part.comment)

    def to_bytes(self) -> bytes:
        """The text, byte for byte the one that was read."""
        return rawbytes.encode(writer.patch(write(self), self.verbatim))


def is_masked(text: str) -> bool:
    """Did whoever gave the file hide ``text`` (``GPU-...``, ``xxxx``, REDACTED)?  Zeros are a value."""
    return _MASKED.search(text) is not None or is_hidden(text)


def is_hidden(text: str) -> bool:
    """Is ``text`` nothing but a word that says it was hidden (``[REDACTED]``, ``(hidden)``)?  Then it says nothing about what stood there."""
    return _HIDDEN.fullmatch(text) is not None


def write(listing: Listing) -> str:
    """The text of the rows of ``listing`` in its layout, before any verbatim line is put in."""
    layout = listing.layout
    out: list[str] = []
    for row in listing.rows:
        if isinstance(row, ListedError):
            out.append(row.text)
            continue
        out.append(f"{layout.gpu}GPU {row.index}: {row.name} (UUID: {row.uuid})")
        out.extend(_mig_line(mig, layout) for mig in row.migs)
    text = "\n".join(out) + "\n" * layout.end
    text = text.replace("\n", layout.eol) if layout.eol != "\n" else text
    return "\ufeff" + text if layout.bom else text


def _mig_line(mig: ListedMig, layout: ListLayout) -> str:
    head = f"MIG {mig.profile}" if mig.profile is not None else "MIG"
    return f"{layout.mig}{head:<{layout.width}} Device {mig.index:>{layout.digits}}: (UUID: {mig.uuid})"


def read(data: bytes, name: str = "list", *, edited: bool = False) -> Listing:
    """The listing of ``data``, the output of `nvidia-smi -L`; ``name`` stands for the file in messages.

    ``edited`` says that the giver changed the text by hand.  Torn rows are kept verbatim and noted.  Raises InputError, one line, for an
    empty file, one that is too large and one that holds no row and no message of `-L`.
    """
    refusals.check_size(data, name, MAX_BYTES)
    text = rawbytes.decode(data)
    bom = text.startswith("\ufeff")
    plain = (text[1:] if bom else text).replace("\r\n", "\n")
    if "<nvidia_smi_log" in plain:
        raise InputError(f"{name}: not an nvidia-smi -L list: it is `nvidia-smi -q -x` XML; give it as the query, not as the list")
    listing = Listing()
    styles: list[_Style] = []
    for number, line in enumerate(plain.split("\n"), 1):
        _row(line, number, listing, styles)
    if not listing.rows:
        raise refusals.not_a_capture(plain, name, view="-L")
    _settle(listing, styles)
    listing.layout.bom = bom
    listing.layout.eol = "\r\n" if text.count("\r\n") * 2 > text.count("\n") else "\n"
    listing.layout.end = min(len(plain) - len(plain.rstrip("\n")), 9)
    listing.verbatim = writer.exceptions(write(listing), text)
    listing.kind = EDITED if edited else _kind(listing)
    return listing


def _row(line: str, number: int, listing: Listing, styles: list[_Style]) -> None:
    """Reads one line into ``listing``; ``styles`` collects what stands before rows and how they are padded."""
    gpu = _GPU.fullmatch(line)
    mig = None if gpu else _MIG.fullmatch(line)
    error = None if gpu or mig else lost.parse(line)
    rest = (gpu or mig or [""] * 6)[5].strip()
    if rest:
        listing.notes.append(Note(number, f"text after the row: {rest[:80]!r}"))
    if gpu:
        listing.rows.append(ListedGpu(int(gpu[2]), gpu[3], gpu[4], line=number))
        styles.append((True, gpu[1], 0, 0))
    elif mig and listing.gpus and isinstance(listing.rows[-1], ListedGpu):
        listing.rows[-1].migs.append(ListedMig(int(mig[3]), mig[2], mig[4], line=number))
        head, _, index = line[len(mig[1]) : mig.start(3)].partition(" Device ")
        blanks = len(index) + len(mig[3])
        styles.append((False, mig[1], len(head) if head.endswith(" ") else 0, blanks if index else 1))
    elif error or line.strip() == NO_DEVICES:
        listing.rows.append(ListedError(line, line=number))
    elif mig:
        listing.notes.append(Note(number, "MIG row without a GPU row above it"))
    elif torn := _TORN.match(line):
        listing.notes.append(Note(number, f"unreadable {torn[2]} row: {line.strip()[:80]!r}"))
    elif line.strip():
        listing.notes.append(Note(number, f"no row of -L: {line.strip()[:80]!r}"))


def _settle(listing: Listing, styles: list[_Style]) -> None:
    """The most frequent way of writing as the layout."""
    gpus = [style for style in styles if style[0]]
    migs = [style for style in styles if not style[0]]
    if gpus:
        listing.layout.gpu = max(gpus, key=gpus.count)[1]
    if migs:
        _, listing.layout.mig, listing.layout.width, listing.layout.digits = max(migs, key=migs.count)


def _kind(listing: Listing) -> str:
    """What the bytes say: two lists in one file are edited, gaps in the numbers trimmed."""
    indices = [gpu.index for gpu in listing.gpus]
    if len(set(indices)) < len(indices):
        listing.notes.append(Note(1, "GPU numbers repeat: more than one list in the file"))
        return EDITED
    failed = [error for error in listing.errors if error.text.strip() != NO_DEVICES]
    if indices and (sorted(indices) != indices or indices[-1] + 1 > len(indices) + len(failed)):
        return TRIMMED
    return OWN if listing.layout.own and not listing.verbatim else REINDENTED
