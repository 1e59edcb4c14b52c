"""Canaries through a whole import: every identifier of a board is replaced by a random one, and none is in any file that the import writes.

One capture of each driver branch here; every capture in ``nox -s proofs``.
"""

from __future__ import annotations

import copy
import re
from pathlib import Path
from random import Random

import pytest

from harness.cli import guard
from harness.stores import captures
from harness.text.document import Document
from harness.text.model import Node, leaf
from tests.parity import proved
from tests.parity.mutations_board import BOARDS, SPACE, board, state_texts

SEED = 20261130
IMPORTED = proved.one_a_branch([captures.load_sidecar(SPACE.captures / name / "sidecar.yaml") for name in BOARDS])
SHAPES = {
    "uuid": r"(?:MIG-)?GPU-[0-9a-f-]{36}", "serial": r"[0-9]{6,20}", "pdi": r"0x[0-9a-f]{16}", "chassis_serial_number": r"[0-9A-Z]+",
    "gpu_fabric_guid": r"0x[0-9a-f]{16}", "clusterUuid": r"[0-9a-f-]{36}",
}  # fmt: skip
"""Elements that hold an identifier, and what one looks like."""


class Canaries:
    """Identifiers that occur nowhere else."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.made: list[str] = []

    def like(self, text: str) -> str:
        """Another of the shape of ``text``, and long enough to be found; its prefix stays."""
        head = re.match(r"(?:MIG-)?(?:GPU-)?(?:0x)?", text)
        kept = head.group() if head else ""
        body = "".join(self.random.choice("123456789abcdef") if char.isalnum() else char for char in text[len(kept) :])
        if text.isdigit():
            body = "".join(self.random.choice("123456789") for _ in text)
        self.made.append(body)
        return kept + body

    def word(self) -> str:
        """A user's or host's name."""
        self.made.append("q" + "".join(self.random.choice("bcdfghjklmnpqrstvwz") for _ in range(7)))
        return self.made[-1]


def planted(document: Document, made: Canaries, states: frozenset[str]) -> Document:
    """``document`` with every identifier another, and some where nobody expects them; lines kept as they stand, which a new line would move, go."""
    planted = copy.deepcopy(document)
    planted.verbatim = []
    gpus = [node for _, node in planted.root.walk() if node.tag == "gpu"]
    for gpu in gpus:
        uuid = ""
        for _, node in gpu.walk():
            if node.tag in SHAPES and node.text and node.text not in states and re.fullmatch(SHAPES[node.tag], node.text):
                node.text = made.like(node.text)
                uuid = node.text if node.tag == "uuid" else uuid
            elif node.tag == "process_name" and node.text:
                node.text = f"/home/{made.word()}/bin/{node.text.rpartition('/')[2]} --gpu {uuid.upper()}"
        stray = made.like("00000000-0000-0000-0000-000000000000")
        gpu.children.insert(3, leaf("unheard_of", f"{stray} of {uuid} at /Users/{made.word()}/x, GPU-{stray[:8]}"))
    return planted


def listed(document: Document) -> str:
    """The list that goes with a query."""
    gpus = [node for _, node in document.root.walk() if node.tag == "gpu"]
    return "".join(f"GPU {number}: {gpu.get('product_name')} (UUID: {gpu.get('uuid')})\n" for number, gpu in enumerate(gpus))


def written(folder: Path) -> dict[str, bytes]:
    """Every file below ``folder`` by its path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def found(made: Canaries, name: str, data: bytes) -> list[str]:
    """The canaries in a file or its name, whatever the letter case and without dashes."""
    text = (name.encode() + b"\n" + data).lower().replace(b"-", b"")
    return [canary for canary in made.made if canary.lower().replace("-", "").encode() in text]


@pytest.mark.parametrize(("name", "known"), [(name, number % 2 == 0) for number, name in enumerate(IMPORTED)])
def test_no_canary_is_in_anything_an_import_writes(
    name: str, known: bool, tmp_path: Path, library_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], record_property
):
    monkeypatch.setenv("NVPARITY_LIBRARY", str(library_path))
    root, cache = tmp_path / "root", tmp_path / "cache"
    root.mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    own = board(name)
    made = Canaries(f"{SEED} {name} {known}")
    document = planted(own.told.document, made, state_texts(own.driver))
    if not known:
        other_version(document.root)
    query, rows = tmp_path / "query.xml", tmp_path / "list.txt"
    query.write_bytes(document.to_bytes())
    rows.write_text(listed(document))
    files = [str(query)] if b"<mig_device>" in document.to_bytes() else [str(query), str(rows)]  # no row of a MIG device is made up here
    assert guard.run(["import", *files, "--root", str(root), "--json"]) in (0, 1)
    said = capfd.readouterr()
    left = {**written(root), **written(cache), "standard output": said.out.encode(), "standard error": said.err.encode()}
    assert len(made.made) >= 3 * len(document.gpus)
    assert {path.split("/")[0] for path in left} >= {"captures", "golden", "profiles"}
    assert any(path.startswith("profiles/drivers/") for path in left), "an element nobody knows has a node written beside the capture"
    assert {path: hits for path, data in left.items() if (hits := found(made, path, data))} == {}
    record_property("figure", f"canaries  {name}: {len(made.made)} planted, none found in {len(left)} texts")


def other_version(root: Node) -> None:
    """A driver version that nobody has seen."""
    version = root.find("driver_version")
    assert version is not None
    version.text = f"{(version.text or '').split('.')[0]}.999"


def test_a_canary_is_found_where_it_is():
    made = Canaries("x")
    uuid = made.like("GPU-00000000-0000-0000-0000-000000000000")
    assert found(made, "file", uuid.upper().replace("-", "").encode()) == made.made
    assert found(made, made.word(), b"") == made.made[1:]
