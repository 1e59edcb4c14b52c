"""A `-q -x` text as a document: tree, layout and exceptions, from which the text is written again byte for byte."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.text.model import Layout, Node, Note, Verbatim

OWN = "own"
REINDENTED = "re-indented"
TRIMMED = "trimmed"
EDITED = "edited"
KINDS = (OWN, REINDENTED, TRIMMED, EDITED)

ROOT_TAG = "nvidia_smi_log"


@dataclass(slots=True)
class Document:
    """One `-q -x` text.

    kind:      own, re-indented, trimmed (fewer ``<gpu>`` than attached_gpus) or edited (told by whoever gave the file)
    layout:    how lines are written
    doctype:   file name of the DTD (``nvsmi_device_v12.dtd``), None where the line is missing
    root:      the ``nvidia_smi_log`` element
    verbatim:  lines that layout and tree cannot express
    notes:     what a report should mention: repaired names, lines outside the root, comments
    """

    root: Node
    layout: Layout = field(default_factory=Layout)
    doctype: str | None = None
    kind: str = OWN
    verbatim: list[Verbatim] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    @property
    def gpus(self) -> list[Node]:
        """The ``<gpu>`` blocks in file order."""
        return [child for child in self.root.children if child.tag == "gpu"]

    def get(self, path: str) -> str | None:
        """The text of the leaf at ``path`` (``driver_version``, ``gpu[0]/uuid``), None where it is absent."""
        return self.root.get(path)
