"""Names that import proposes, the join of two views, sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages.importing import joining, naming, sources
from harness.stores import captures
from harness.stores.captures import Source
from harness.stores.workspace import Workspace
from harness.text import document, listing
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


def query(*gpus, attached=None):
    blocks = "".join(
        f'\t<gpu id="{n}">\n\t\t<product_name>{name}</product_name>\n\t\t<uuid>{uuid}</uuid>\n\t</gpu>\n\n' for n, (name, uuid) in enumerate(gpus)
    )
    text = (
        '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n<nvidia_smi_log>\n\t<driver_version>1.2</driver_version>\n'
        f"\t<attached_gpus>{attached or len(gpus)}</attached_gpus>\n{blocks}</nvidia_smi_log>\n"
    )
    return document.read(text.encode())


def listed(*gpus):
    return listing.read("".join(f"GPU {n}: {name} (UUID: {uuid})\n" for n, (name, uuid) in enumerate(gpus)).encode())


A, B, C = ("A", "GPU-a"), ("B", "GPU-b"), ("C", "GPU-c")


def test_views_of_one_node_join():
    joining.join(query(A, B), listed(A, B), ("q.xml", "l.txt"))


def test_a_trimmed_query_joins_by_uuid():
    joining.join(query(B, attached=2), listed(A, B), ("q.xml", "l.txt"))


@pytest.mark.parametrize("other", [(A, C), (B, A), (A,), (A, B, C)])
def test_a_disagreement_lists_both_sides(other):
    with pytest.raises(InputError, match=r"q\.xml has .*, l\.txt has") as caught:
        joining.join(query(A, B), listed(*other), ("q.xml", "l.txt"))
    assert "\n" not in str(caught.value)


def test_every_disagreement_is_listed():
    with pytest.raises(InputError) as caught:
        joining.join(query(A, B), listed(B, A), ("q.xml", "l.txt"))
    assert str(caught.value).count("q.xml has") == 2


def test_a_source_is_read_from_pairs_and_words():
    given = 'repository=o/r commit=abc path=a/b.xml licence="Apache 2" from a friend'
    assert sources.parse(given) == Source("o/r", "abc", "a/b.xml", "Apache 2", "from a friend")
    assert sources.parse("from a friend") == Source(text="from a friend")
    assert sources.parse(None) == Source()


def test_the_sources_table_has_a_row_a_capture(tmp_path: Path):
    space = Workspace(tmp_path)
    made = captures.Sidecar("b-x1_1.2", "own", "1.2", {"L": captures.View("0" * 64, "0" * 64, 1)}, Source("o|r", "abc", "p", "MIT"))
    captures.write(space.captures, captures.Capture(made, {"L": listed(A)}))
    sources.write(space)
    assert (space.captures / "SOURCES.md").read_text().splitlines()[-1] == "| b-x1_1.2 | 1.2 | o\\|r | abc | p | MIT | - |"
