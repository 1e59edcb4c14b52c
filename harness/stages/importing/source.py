"""A file that nvidia-smi wrote, whichever view: told apart by its content, read, and laid out as readings by path."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from harness.tables import deferred
from harness.text import document, listing, outline, placeholders
from harness.text.document import Document
from harness.text.listing import ListedError, Listing
from harness.text.model import Node
from harness.text.outline import Outline, Queried
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError
from harness.words.version import DriverVersion

Source = Document | Outline | Listing

MAX_TEXT = 4096
"""The longest text there is: a process's name in the private list, with its end."""
_QUERY = re.compile(rb"^[^\S\n]*(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?(?:<\?xml[^>\n]*>)?[^\S\n]*(?:<!DOCTYPE nvidia_smi|<nvidia_smi_log)", re.MULTILINE)
_MINOR = re.compile(r"[0-9]{1,9}")
_ADDRESS = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])")
_FOREIGN = re.compile(r"\s*(?!GPU\b|MIG\b)\S")
_LINK = re.compile(r"\s*Link [0-9]+: |.*nvlink", re.IGNORECASE)
_AROUND = 16
"""How many lines of a log around a list are no sign of another view."""
_IDENTIFIER = re.compile(r"(uuid|serial|serial[ _]number|pdi|guid)$", re.IGNORECASE)


@dataclass(frozen=True)
class Names:
    """What a view calls the elements that say what node and GPU it is of: tags of `-q -x`, labels of `-q`."""

    drivers: tuple[str, ...]
    product: str
    uuid: str
    bus_id: str
    minor: str
    attribute: str


_NAMES = {
    Document: Names(("driver_version",), "product_name", "uuid", "pci/pci_bus_id", "minor_number", "id"),
    Outline: Names(("KMD Version", "Driver Version"), "Product Name", "GPU UUID", "PCI/Bus Id", "Minor Number", outline.HEADING),
}
_VERSION = re.compile(r"\S+")


def read(data: bytes, name: str, *, edited: bool = False) -> Source:
    """The document (`-q -x`), outline (`-q`) or listing (`-L`) in ``data``.

    Raises InputError with one line that says what the file is instead.
    """
    if b"<nvidia_smi_log" not in data and outline.is_one(data):
        return outline.read(data, name, edited=edited)
    if b"<nvidia_smi_log" in data or not _is_list(data):
        return document.read(data, name, edited=edited)
    return _no_other_view(listing.read(data, name, edited=edited), name)


def _no_other_view(read: Listing, name: str) -> Listing:
    """``read`` itself; InputError for a text of another view that only holds rows of a list (`nvlink --status`, a collection of outputs)."""
    other = [line for part in read.verbatim if not part.comment for line in part.lines if _FOREIGN.match(line)]
    if any(_LINK.match(line) for line in other):
        raise InputError(f"{name}: not an nvidia-smi capture: it is `nvidia-smi nvlink` text; capture with `nvidia-smi -q -x` or `nvidia-smi -L`")
    rows = len(read.errors) + sum(1 + len(row.migs) for row in read.gpus)
    if len(other) > max(rows, _AROUND):
        raise InputError(f"{name}: {len(other)} lines that are no rows of `nvidia-smi -L` around {rows} that are; cut the list out, or give it alone")
    return read


def view(source: Source) -> str:
    """``q-x``, ``q`` (whatever ``-d`` named) or ``L``."""
    return VIEW_QUERY if isinstance(source, Document) else VIEW_TEXT if isinstance(source, Outline) else VIEW_LIST


def printed(source: Source) -> str:
    """What nvidia-smi was asked for: the view, of a `-q` text with the sections that ``-d`` named (``q:MEMORY``)."""
    return source.view if isinstance(source, Outline) else view(source)


def driver_of(source: Source) -> str | None:
    """The driver's version that ``source`` says; None where it says none, as a list.

    Driver 610 has more words behind it in `-q` text, and its own line for the version of the kernel module.
    """
    if isinstance(source, Listing):
        return None
    said = next((text for label in _NAMES[type(source)].drivers if (text := source.get(label)) is not None), None)
    match = None if said is None or isinstance(source, Document) else _VERSION.match(said)
    return said if match is None else match.group()


def names(source: Source) -> list[str]:
    """The product names of the GPUs, in order; ``gpu`` where a query does not say one."""
    if isinstance(source, Listing):
        return [row.name for row in source.gpus]
    return [block.get(_NAMES[type(source)].product) or "gpu" for block in source.gpus]


def driver_label(source: Queried) -> str:
    """What ``source`` would call its driver's version."""
    return _NAMES[type(source)].drivers[-1]


def boards(source: Queried) -> list[dict[str, str | None]]:
    """Name and UUID of each GPU, in order."""
    named = _NAMES[type(source)]
    return [{"name": block.get(named.product), "uuid": block.get(named.uuid)} for block in source.gpus]


def uuids(source: Source) -> list[str]:
    """The UUIDs of the GPUs, in order; empty texts where one is absent, hidden or nothing but zeros: such a one names no GPU."""
    if isinstance(source, Listing):
        found = [row.uuid for row in source.gpus]
    else:
        found = [block.get(_NAMES[type(source)].uuid) or "" for block in source.gpus]
    return ["" if listing.is_masked(uuid) or placeholders.is_absent(uuid.encode("utf-8", "surrogateescape")) else uuid for uuid in found]


def meant_as_query(data: bytes) -> bool:
    """Does ``data``, which cannot be read, begin as `-q -x` does?  Text in UTF-16 too."""
    return _QUERY.search(data.replace(b"\0", b""), 0, 4096) is not None


def leaves(source: Source) -> list[tuple[str, str]]:
    """Path and text of every reading, in file order; an attribute is ``gpu[i]/@id``; a list's are ``gpu[i]/name``, ``gpu[i]/uuid``,
    ``gpu[i]/mig[j]/...``.
    """
    if not isinstance(source, Listing):
        return [leaf for path, node in source.root.walk() for leaf in _of(path, node)]
    found: list[tuple[str, str]] = []
    number = 0
    for row in source.rows:
        if isinstance(row, ListedError):
            found.append((f"error[{sum(1 for path, _ in found if path.startswith('error['))}]", row.text))
            continue
        found += [(f"gpu[{number}]/name", row.name), (f"gpu[{number}]/uuid", row.uuid)]
        for index, mig in enumerate(row.migs):
            found.append((f"gpu[{number}]/mig[{index}]/uuid", mig.uuid))
            if mig.profile is not None:
                found.append((f"gpu[{number}]/mig[{index}]/profile", mig.profile))
        number += 1
    return found


def redacted(leaves: Iterable[tuple[str, str]]) -> frozenset[str]:
    """The paths of readings that the giver hid: ``[REDACTED]`` anywhere, and identifiers with ``...`` or ``xxx`` in them."""
    return frozenset(path for path, text in leaves if listing.is_hidden(text) or (_IDENTIFIER.search(path) and listing.is_masked(text)))


@dataclass(frozen=True)
class Apart:
    """Readings of a capture that no row explains or nobody can compare, each counted once.

    ``redacted``: paths of what the giver hid; ``deferred``: path -> reason, of what is kept because it is not served yet; ``unmodelled``: paths of
    the rest of what is kept.
    """

    redacted: frozenset[str]
    deferred: Mapping[str, str]
    unmodelled: frozenset[str]

    def kind_of(self, path: str) -> str | None:
        """redacted, deferred or unmodelled; None for a reading like any other."""
        if path in self.redacted:
            return "redacted"
        return "deferred" if path in self.deferred else "unmodelled" if path in self.unmodelled else None

    def deferrals(self) -> dict[str, int]:
        """Reason -> number of elements."""
        return dict(Counter(self.deferred.values()))


def apart(leaves: Iterable[tuple[str, str]], kept: Container[str]) -> Apart:
    """``leaves`` taken apart; ``kept``: paths printed verbatim, each alone or, in a list, as the row that its leaves are of."""
    listed = list(leaves)
    hidden = redacted(listed)
    verbatim = [path for path, _ in listed if path not in hidden and (path in kept or path.rpartition("/")[0] in kept)]
    put_off = {path: reason for path in verbatim if (reason := deferred.reason_of(path)) is not None}
    return Apart(hidden, put_off, frozenset(path for path in verbatim if path not in put_off))


def check_identity(text: Queried, name: str) -> None:
    """Raises InputError, with the line, for what cannot be of one node: a driver version that is none, a GPU block whose attribute names another
    PCI address than its own element, two blocks of one address or one minor number; ``name`` is the file's.
    """
    named = _NAMES[type(text)]
    bus_id = named.bus_id.rpartition("/")[2]
    driver = next((node for label in named.drivers if (node := text.root.find(label)) is not None), None)
    if driver is not None:
        try:
            DriverVersion(driver_of(text) or "")
        except InputError as error:
            raise InputError(f"{name}:{driver.line}: {error}; capture again") from error
    seen: dict[tuple[str, object], int] = {}
    for number, block in enumerate(text.gpus):
        said = (block.attributes.get(named.attribute), block.get(named.bus_id))
        found = [tuple(int(part, 16) for part in match.groups()) for text in said if (match := _ADDRESS.fullmatch(text or ""))]
        if len(found) == len(said) and found[0] != found[1]:
            raise InputError(f"{name}:{block.line}: GPU {number} is at {said[0]} by its attribute and at {said[1]} by its {bus_id}; capture again")
        minor = block.get(named.minor) or ""
        for what, value in (("PCI address", found[0] if found else None), ("minor number", int(minor) if _MINOR.fullmatch(minor) else None)):
            other = seen.setdefault((what, value), number) if value is not None else number
            if other != number:
                raise InputError(f"{name}:{block.line}: GPU {number} has the {what} of GPU {other}; take one of the blocks out or capture again")


def check_texts(source: Source, data: bytes, name: str) -> None:
    """Raises InputError, with the line, for what no text of NVML holds and no profile could: a NUL, more than MAX_TEXT bytes."""
    nul = data.find(0)
    if nul >= 0:
        line = data.count(b"\n", 0, nul) + 1
        raise InputError(f"{name}:{line}: a NUL byte, which no text of nvidia-smi's holds: the file is damaged; capture again")
    if not isinstance(source, Listing):
        texts = [(node.line, node.tag, text) for _, node in source.root.walk() for text in (node.text, *node.attributes.values())]
    else:
        texts = [(row.line, "name", row.name) for row in source.gpus]
    for line, tag, text in texts:
        if text is not None and len(text) > MAX_TEXT:
            raise InputError(f"{name}:{line}: <{tag}> holds {len(text)} characters, NVML's longest text {MAX_TEXT}; repair the line or capture again")


def _of(path: str, node: Node) -> list[tuple[str, str]]:
    """The attributes of an element, and its text where it has no children."""
    own = [(f"{path}/@{name}", value) for name, value in node.attributes.items()]
    return [*own, (path, node.text or "")] if node.is_leaf else own


def _is_list(data: bytes) -> bool:
    """Does any line look like a row of `-L`?  What does not is read as a query, whose refusals name what else it may be."""
    return any(line.lstrip(b" \t#\xef\xbb\xbf").startswith((b"GPU ", b"No devices were found", b"Unable to determine")) for line in data.splitlines())
