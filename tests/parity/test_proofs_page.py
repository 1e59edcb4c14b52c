"""docs/proofs.md names what exists, and claims no more captures, nodes and faults than there are."""

from __future__ import annotations

import re

from tests.parity import proofs_page
from tests.parity.mutations_board import ROOT


def test_the_page_counts_what_is_there_and_no_more():
    there, told = proofs_page.counted(), proofs_page.told()
    assert told.keys() == there.keys(), "write it again: python -m tests.parity.proofs_page"
    assert {words: number for words, number in told.items() if number > there[words]} == {}, "write it again: python -m tests.parity.proofs_page"


def test_every_file_and_session_that_the_page_names_exists():
    text = proofs_page.PAGE.read_text("utf-8")
    files = re.findall(r"`(tests/[\w/.]+)`", text)
    assert len(files) > 10
    assert [name for name in files if not (ROOT / name).exists()] == []
    sessions = set(re.findall(r"`nox -s (\w+)", text))
    assert sessions >= {"proofs", "faults", "blind"}
    noxfile = (ROOT / "noxfile.py").read_text("utf-8")
    assert [name for name in sessions if f"\ndef {name}(" not in noxfile] == []
