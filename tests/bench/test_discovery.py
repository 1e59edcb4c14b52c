"""Discovery of a large node from its four texts, held against a bare parse of its report by the XML parser (docs/discovery.md has the figure)."""

from __future__ import annotations

import re
import time
import timeit
from typing import Any

import pytest

from harness.discovery.texts import Texts, discover
from harness.stores import captures
from harness.stores.workspace import Workspace
from harness.text import xmltree

CASE = "a100-sxm4-80gb-x1_535.54.03"
"""The capture of a card in MIG mode; its first MIG device is written seven times, its block sixteen."""
CARDS, DEVICES = 16, 7
LIMIT = 10
TRIES = 5

pytestmark = pytest.mark.bench


def large(query: bytes) -> Texts:
    """The four texts of CARDS cards of DEVICES instances each, made of one card's report."""
    text = query.decode()
    block = text[text.index("<gpu id=") : text.index("</gpu>") + len("</gpu>\n")]
    device = re.search(r"[ \t]*<mig_device>.*?</mig_device>\n", block, re.DOTALL)
    assert device is not None
    entries = [re.sub(r"<(index|gpu_instance_id)>\d+<", rf"<\g<1>>{number}<", device[0], count=2) for number in range(DEVICES)]
    block = re.sub(r"[ \t]*<mig_device>.*</mig_device>\n", "".join(entries).replace("\\", r"\\"), block, count=1, flags=re.DOTALL)
    blocks = [re.sub(r'id="[^"]*"', f'id="00000000:{card + 1:02X}:00.0"', block).replace("<uuid>", f"<uuid>{card}", 1) for card in range(CARDS)]
    uuid = re.search(r"<uuid>(.*?)</uuid>", block)
    assert uuid is not None
    listing, lgi, lci = [], [], []
    for card in range(CARDS):
        listing.append(f"GPU {card}: NVIDIA A100-SXM4-80GB (UUID: {card}{uuid[1]})")
        for number in range(DEVICES):
            listing.append(f"  MIG 1g.10gb     Device {number:>2}: (UUID: MIG-{card}-{number})")
            lgi.append(f"| {card:>3}  MIG 1g.10gb          19  {number:>7} {number:>10}:1     |")
            lci.append(f"| {card:>3} {number:>6}       MIG 1g.10gb          0         0          0:1     |")
    report = text[: text.index("<gpu id=")] + "".join(blocks) + "</nvidia_smi_log>\n"
    return Texts("\n".join(listing).encode(), report.encode(), "\n".join(lgi).encode(), "\n".join(lci).encode())


def test_sixteen_cards_of_seven_instances_in_under_ten_parses_of_their_report(request: pytest.FixtureRequest, benchmark: Any) -> None:
    query = captures.load(Workspace.nearby(str(request.config.rootpath)).captures, CASE).query
    assert query is not None
    whole = large(query.to_bytes())
    report = whole.report or b""
    root = report[report.index(b"<nvidia_smi_log") :].rstrip()
    found = benchmark.pedantic(discover, args=(whole,), rounds=3, warmup_rounds=1)
    assert [gpu.index for gpu in found.gpus] == [1000 + 100 * card + device for card in range(CARDS) for device in range(DEVICES)]
    assert {gpu.mig.gpu_instance for gpu in found.gpus if gpu.mig} == set(range(DEVICES))
    ratio = min(least(lambda: discover(whole)) / least(lambda: xmltree.parse(root)) for _ in range(TRIES))
    print(f"{len(report)} bytes of report: {ratio:.1f} times the XML parser alone")
    assert ratio < LIMIT


def least(call: Any) -> float:
    """The least processor time of ten calls; other work on the machine does not count."""
    return min(timeit.repeat(call, timer=time.process_time, number=1, repeat=10))
