"""Blind: each handler in turn does not answer, and exactly its rows change; a handler that no row asks is called by name.

A handler is silent on every driver node that asks it as no newer one does (``proved.py``); on every node in ``nox -s proofs``.

A handler whose silence nothing shows would be a value without a proof, so an empty change fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.tables import drivers
from harness.tables.drivers import Driver
from mocklib import fields as tables
from mocklib.spec import ImageSpec
from tests.parity import blind_handlers, proved, tracer_values
from tests.parity.blind_handlers import Call
from tests.parity.expect_calls import NOT_SUPPORTED, Board, Said, feeds
from tests.parity.expect_model import Leaf, Model
from tests.parity.expect_sources import handlers_of, printed_rows
from tests.parity.mutations_board import ROOT
from tests.parity.mutations_library import Served, clock, differences
from tests.parity.tracer_unshown import ONLY_CALLED, UNANSWERED

TREE = drivers.load(ROOT)
NEWEST = TREE.versions()[-1].text
PROVED = proved.handlers(TREE)
WALKED = frozenset(("nvmlDeviceGetCount_v2", "nvmlSystemGetDriverVersion"))
"""Functions the walk itself needs: without the first there is no GPU to print."""


@pytest.fixture(scope="module")
def served(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(library_path, tmp_path_factory.mktemp("served"))


@pytest.mark.parametrize("version", [pytest.param(version, marks=[] if version == NEWEST else [pytest.mark.blind]) for version in PROVED])
def test_a_handler_that_does_not_answer_changes_exactly_its_rows(version: str, served: Served):
    driver = TREE.resolve(version)
    spec = tracer_values.spec_of(driver)
    before = {leaf.path: leaf for leaf in Model(driver, Board(spec), clock(spec)).leaves()}
    silent = []
    handlers = sorted(PROVED[version])
    for handler in handlers:
        blinded = blind_handlers.without(spec, driver, handler)
        after = Model(driver, Board(blinded), clock(spec)).leaves()
        wanted, got = [(leaf.path, leaf.text) for leaf in after], served.leaves(blinded, driver)
        assert got == wanted, f"{handler}\n{differences(wanted, got)}"
        changed = rows_changed(before, {leaf.path: leaf for leaf in after})
        if not changed:
            silent.append(handler)
        strangers = {row for row in changed if row not in resting(driver, handler)} if handler not in WALKED else set()
        assert strangers == set(), handler
    print(f"{version}: {len(handlers)} handlers, none of {', '.join(silent) or 'them'} silent")
    assert set(silent) <= SILENT, sorted(set(silent) - SILENT)


SILENT = frozenset((
    "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",
))  # fmt: skip
"""Rows that print the same for any answer and none: an empty mask."""


def rows_changed(before: dict[str, Leaf], after: dict[str, Leaf]) -> set[str]:
    """The rows of leaves that say something else, came or went."""
    paths = [path for path in before.keys() | after.keys() if text(before, path) != text(after, path)]
    return {leaf.row for path in paths for leaf in (before.get(path), after.get(path)) if leaf is not None and leaf.row}


def text(leaves: dict[str, Leaf], path: str) -> str | None:
    return leaves[path].text if path in leaves else None


def resting(driver: Driver, handler: str) -> set[str]:
    """The rows that rest on a handler: by route, gate or mask, by a predicate on presence, or inside a list or block that rests on it."""
    rows = {row for row in printed_rows(driver) if handler in handlers_of(driver, row)}
    for _, element in driver.layout.walk():
        inside = {row for row in element.rows() if row} | ({element.collapse} if element.collapse else set())
        on = element.when is not None and (
            (element.when.kind in ("answered", "supported") and element.when.name in rows)
            or (element.when.kind == "arch" and handler == "nvmlDeviceGetArchitecture")
            or (element.when.kind == "mode" and f"{element.when.name}.mode_current" in rows)
        )
        if element.refused is not None and element.attributes[0][1] in rows:  # a heading that is refused: a sentence stands in the place of all
            rows |= inside | {child.collapse for _, child in element.walk() if child.collapse}
        if on or (element.collapse in rows and element.collapse is not None) or _listed(element.repeat, rows):
            rows |= inside
        if element.collapse is not None and any(_listed(child.repeat, rows) for child in element.children):
            rows.add(element.collapse)  # the empty list is the element's own text
    return rows


def _listed(repeat: str | None, rows: set[str]) -> bool:
    from tests.parity.expect_sources import LISTS

    return any(row in rows for row in LISTS.get(repeat or "gpus", ()))


# ---- functions by name


def ways() -> Iterator[Call]:
    return blind_handlers.calls()


def answer(served: Served, call: Call, gpu: int) -> Said:
    """What the library answers to a call."""
    args = {name: value for name, value in call.mapping.items() if name != "@version"}
    if "@version" in call.mapping:
        args[f"{call.out.split('.')[0]}.version"] = call.mapping["@version"]
    device = None if call.function.startswith("nvmlSystem") else served.nvml.device(gpu)
    got = served.nvml.call(call.function, device, args)
    return Said(got.code, None if got.code else read(got.out, call.out))


def read(out: dict[str, Any], path: str) -> Any:
    """The value at ``parameter.member`` or ``parameter.member[i].member``."""
    head, _, rest = path.partition("[")
    if not rest:
        return out[path]
    number, member = rest.split("].")
    return out[head][int(number)][member]


def same(call: Call, said: Said, got: Said) -> bool:
    """Whether the library's value is the field's: a byte array holds a text or is hexadecimal."""
    if isinstance(got.value, bytes):
        return said.code == got.code and said.value in (got.value.hex(), got.value.split(b"\0")[0].decode("utf-8", "surrogateescape"))
    return said == got


def test_every_function_of_the_tables_answers_what_its_fields_hold(served: Served):
    spec = replace(tracer_values.spec_of(TREE.resolve(NEWEST)), gates={})
    board = Board(spec)
    reached: set[str] = set()
    with served.image(spec):
        wrong = []
        for call in ways():
            for gpu in range(len(spec.devices)):
                said, got = board.call(call.function, gpu, call.mapping, call.out), answer(served, call, gpu)
                if not same(call, said, got):
                    wrong.append((call, gpu, said, got))
            reached |= feeds(call.function, call.mapping) | {name for name in tables.device_fields() if name in absent(call)}
    assert wrong == []
    assert reached >= ONLY_CALLED - {"pci.function"}
    assert reached.isdisjoint(UNANSWERED)


def absent(call: Call) -> set[str]:
    """The field of a member with a value for its absence."""
    from tests.parity.expect_calls import functions

    entry = functions()[call.function]
    items = [*entry.get("out", {}).values(), *(item for inner in entry.get("version", {}).values() for item in inner["out"].values())]
    return {item["field"] for item in items if isinstance(item, dict) and set(item) == {"field", "absent"}}


def test_every_function_of_the_tables_falls_silent_when_its_handler_does(served: Served):
    spec = replace(tracer_values.spec_of(TREE.resolve(NEWEST)), gates={})
    first = {call.function: call for call in ways()}
    assert len(first) > 80
    for call in first.values():
        with served.image(blinded(spec, call.function)):
            assert answer(served, call, 2) == Said(NOT_SUPPORTED), call


def blinded(spec: ImageSpec, function: str) -> ImageSpec:
    return replace(spec, gates={function: NOT_SUPPORTED})
