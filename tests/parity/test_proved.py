"""What is proved on some node only is left out of the others for being asked alike, and for no other reason."""

from __future__ import annotations

from harness.tables import drivers
from tests.parity import proved
from tests.parity.blind_handlers import asked_handlers
from tests.parity.expect_sources import asked, printed_rows
from tests.parity.mutations_board import ROOT

TREE = drivers.load(ROOT)


def test_every_handler_and_field_is_proved_by_a_node_that_asks_it():
    handlers, fields = proved.handlers(TREE), proved.fields(TREE)
    every = [TREE.resolve(version) for version in TREE.versions()]
    assert set().union(*handlers.values()) == set().union(*(asked_handlers(driver) for driver in every))
    assert set().union(*fields.values()) >= set().union(*(asked(driver, row) for driver in every for row in printed_rows(driver)))
    assert all(handlers[version] <= set(asked_handlers(TREE.resolve(version))) for version in handlers)


def test_a_handler_whose_row_another_route_or_format_has_is_proved_again():
    newest = proved.versions(TREE)[-1]
    oldest = TREE.versions()[0].text
    assert proved.handlers(TREE)[newest] == set(asked_handlers(TREE.resolve(newest)))
    if not proved.FULL:
        assert 0 < len(proved.handlers(TREE)[oldest]) < len(asked_handlers(TREE.resolve(oldest)))
