"""A file that nvidia-smi wrote, whichever view: told apart by its content, read, and laid out as readings by path."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.text import document, listing
from harness.text.document import Document
from harness.text.listing import ListedError, Listing
from harness.text.model import Node
from harness.text.transcript import VIEW_LIST, VIEW_QUERY
from harness.words.errors import InputError

Source = Document | Listing

_INDEX = re.compile(r"\[[0-9]+\]")
_ADDRESS = re.compile(r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-9a-fA-F])")
_HIDDEN = re.compile(r"[\[(<]?(redacted|masked|hidden|removed|scrubbed)[\])>]?", re.IGNORECASE)
_IDENTIFIER = re.compile(r"(uuid|serial|serial_number|pdi|guid|clusterUuid)$")


def read(data: bytes, name: str, *, edited: bool = False) -> Source:
    """The document (`-q -x`) or listing (`-L`) in ``data``.

    Raises InputError with one line that says what the file is instead.
    """
    if b"<nvidia_smi_log" in data or not _is_list(data):
        return document.read(data, name, edited=edited)
    return listing.read(data, name, edited=edited)


def view(source: Source) -> str:
    """``q-x`` or ``L``."""
    return VIEW_QUERY if isinstance(source, Document) else VIEW_LIST


def leaves(source: Source) -> list[tuple[str, str]]:
    """Path and text of every reading, in file order; an attribute is ``gpu[i]/@id``; a list's are ``gpu[i]/name``, ``gpu[i]/uuid``,
    ``gpu[i]/mig[j]/...``.
    """
    if isinstance(source, Document):
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
    return frozenset(path for path, text in leaves if _HIDDEN.fullmatch(text) or (_IDENTIFIER.search(path) and listing.is_masked(text)))


def check_addresses(document: Document, name: str) -> None:
    """Raises InputError, with both, for a GPU block whose attribute names another PCI address than its own element; ``name`` is the file's."""
    for number, block in enumerate(document.gpus):
        said = (block.attributes.get("id"), block.get("pci/pci_bus_id"))
        found = [tuple(int(part, 16) for part in match.groups()) for text in said if (match := _ADDRESS.fullmatch(text or ""))]
        if len(found) == len(said) and found[0] != found[1]:
            raise InputError(f"{name}:{block.line}: GPU {number} is at {said[0]} by its attribute and at {said[1]} by its pci_bus_id; capture again")


def plain(path: str) -> str:
    """``path`` without its indices, as a layout spells it."""
    return _INDEX.sub("", path)


def _of(path: str, node: Node) -> list[tuple[str, str]]:
    """The attributes of an element, and its text where it has no children."""
    own = [(f"{path}/@{name}", value) for name, value in node.attributes.items()]
    return own if node.children else [*own, (path, node.text or "")]


def _is_list(data: bytes) -> bool:
    """Does any line look like a row of `-L`?  What does not is read as a query, whose refusals name what else it may be."""
    return any(line.lstrip(b" \t#\xef\xbb\xbf").startswith((b"GPU ", b"No devices were found", b"Unable to determine")) for line in data.splitlines())
