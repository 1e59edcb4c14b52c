"""Names that import proposes, sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages.importing import naming, sources
from harness.stores import captures
from harness.stores.captures import Source
from harness.stores.workspace import Workspace
from harness.text import listing
from harness.words.errors import InputError


@pytest.mark.parametrize(
    ("product", "slug"),
    [
        ("NVIDIA GeForce GT 1030", "geforce-gt-1030"),
        ("Tesla T4", "t4"),
        ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-blackwell-max-q-workstation-edition"),
        ("..//", "gpu"),
        ("é" * 90, "gpu"),
    ],
)
def test_a_product_becomes_a_part_of_an_id(product, slug):
    assert naming.slug(product) == slug


def test_an_id_says_board_count_and_driver():
    known = {"NVIDIA H100 80GB HBM3": "h100-sxm5"}
    assert naming.propose(["NVIDIA H100 80GB HBM3"] * 8, "580.105.08", known, ()) == "h100-sxm5-x8_580.105.08"
    assert naming.propose(["NVIDIA A10", "Tesla T4", "NVIDIA A10"], None, {}, ()) == "a10-and-t4-x3_nodrv"


def test_a_taken_id_gets_a_number():
    assert naming.propose(["Tesla T4"], "1.2", {}, ("t4-x1_1.2", "t4-x1_1.2_2")) == "t4-x1_1.2_3"


def test_products_come_from_the_boards_file(tmp_path: Path):
    path = tmp_path / "boards.yaml"
    assert naming.products(path) == {}
    path.write_text("format: 1\nproducts: {NVIDIA H100 80GB HBM3: h100-sxm5}\n")
    assert naming.products(path) == {"NVIDIA H100 80GB HBM3": "h100-sxm5"}
    path.write_text("format: 1\nproducts: [a]\n")
    with pytest.raises(InputError, match="products"):
        naming.products(path)


def listed(*gpus):
    return listing.read("".join(f"GPU {n}: {name} (UUID: {uuid})\n" for n, (name, uuid) in enumerate(gpus)).encode())


def test_a_source_is_read_from_pairs_and_words():
    given = 'repository=o/r commit=abc path=a/b.xml licence="Apache 2" from a friend'
    assert sources.parse(given) == Source("o/r", "abc", "a/b.xml", "Apache 2", "from a friend")
    assert sources.parse("from a friend") == Source(text="from a friend")
    assert sources.parse(None) == Source()


def test_the_sources_table_has_a_row_a_capture(tmp_path: Path):
    space = Workspace(tmp_path)
    made = captures.Sidecar("b-x1_1.2", "own", "1.2", {"L": captures.View("0" * 64, "0" * 64, 1)}, Source("o|r", "abc", "p", "MIT"))
    captures.write(space.captures, captures.Capture(made, {"L": listed(("A", "GPU-a"))}))
    sources.write(space)
    assert (space.captures / "SOURCES.md").read_text().splitlines()[-1] == "| b-x1_1.2 | 1.2 | o\\|r | abc | p | MIT | - |"
