"""Captures changed at random: derive accounts for every leaf, writes a profile that reads and packs, or refuses with one line."""

from __future__ import annotations

import random
import re

import pytest

from harness.stages import compile as compiling
from harness.stages import derive, derive_node
from harness.stores import profiles
from harness.tables import drivers
from harness.text import document, transcript
from harness.words.errors import NvparityError
from mocklib.image import pack

pytestmark = pytest.mark.hostile

BOARDS = ["a100-sxm4-40gb-x1_570.148.08", "geforce-gt-1030-x1_470.74", "t4-x1_595.91.07"]
TEXTS = ["", "N/A", "0", "-1", "9" * 23, "None", "GPU is lost", "x" * 5000, "é", "0x", "Enabled", "12 %", "4294967296 MiB", "1.00 W", "Yes", "P99",
         "[REDACTED]", "Requested functionality has been deprecated", "18446744073709551616", "18446744073709551615", "4294967296"]  # fmt: skip
TAGS = ["foo", "gpu", "processes", "value", "pid", "supported_graphics_clock", "sram_correctable", "total", "retired_count"]
LEAF = re.compile(r"(\s*<(\w+)>)(.*)(</\w+>)")


def mutated(text: str, chance: random.Random) -> bytes:
    lines = text.split("\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(8, len(lines) - 2)
        leaf = LEAF.fullmatch(lines[at])
        if leaf is None:
            continue
        kind = chance.randrange(6)
        if kind < 3:
            lines[at] = leaf[1] + chance.choice(TEXTS) + leaf[4]
        elif kind == 3:
            del lines[at]
        elif kind == 4:
            lines.insert(chance.randrange(8, len(lines) - 2), lines[at])
        else:
            lines[at] = lines[at].replace(leaf[2], chance.choice(TAGS))
    return "\n".join(lines).encode()


@pytest.mark.parametrize("seed", range(48))
def test_a_capture_changed_at_random_is_derived_or_refused(seed, repository, tmp_path):
    chance = random.Random(seed)
    original = transcript.load((repository / "captures" / BOARDS[seed % len(BOARDS)] / "transcript.txt").read_text()).to_bytes().decode()
    try:
        captured = document.read(mutated(original, chance))
    except NvparityError:
        return
    tree = drivers.load()
    version = captured.get("driver_version") or ""
    learnt = derive_node.learn(captured, tree.resolve(version), tree)
    if learnt is not None:
        folder = tmp_path / "profiles" / "drivers"
        folder.mkdir(parents=True)
        (folder / f"{learnt.version}.yaml").write_text(learnt.text)
        tree = drivers.load(tmp_path)
    driver = tree.resolve(version)
    assert derive_node.learn(captured, driver, tree) is None
    made = derive.derive(captured, driver)
    assert made.counts["elements"] == len(list(captured.root.leaves())) + sum(len(gpu.attributes) for gpu in captured.gpus)
    pack(compiling.compile_profile(profiles.parse(made.text.encode(), "p.yaml"), driver))
