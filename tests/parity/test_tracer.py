"""The tracer: every value stands where the tables say and nowhere else, on every driver of the tree; so does every code instead of a value.

A field says otherwise on every node whose rows hang on it as no newer node's do (``proved.py``); on every node in ``nox -s proofs``.
``expect*.py`` say what must stand where; named calls from a process that cannot import harness say that the library's functions have it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from harness.stores.schema import keys
from harness.tables import drivers, rows
from harness.tables.drivers import Driver
from mocklib import fields as tables
from mocklib import image
from mocklib.spec import ImageSpec
from tests.parity import expect_fields, proved, tracer_profile, tracer_values
from tests.parity.expect_calls import Board
from tests.parity.expect_model import Leaf, Model
from tests.parity.expect_sources import asked, printed_rows, route_of, shown, unknown_handlers
from tests.parity.mutations_board import ROOT, shaped
from tests.parity.mutations_library import Served, clock, differences
from tests.parity.tracer_unshown import INJECTED, LINKS, ONLY_CALLED, ONLY_GATES, ONLY_HANDLED, OTHER_VIEWS, TUNED, UNANSWERED
from tests.parity.tracer_values import CODES, Variant

TREE = drivers.load(ROOT)
VERSIONS = proved.versions(TREE)
PROVED = proved.fields(TREE)
BATCH = 60
CALLER = Path(__file__).with_name("tracer_caller.py")
NOWHERE = frozenset({"accounted_processes", "mig_devices"})


@pytest.fixture(scope="module")
def served(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(library_path, tmp_path_factory.mktemp("served"))


@pytest.fixture(params=VERSIONS)
def driver(request: pytest.FixtureRequest) -> Driver:
    return TREE.resolve(request.param)


VALUED = [version for version in PROVED if PROVED[version] & tracer_values.choices(TREE.resolve(version)).keys()]


@pytest.fixture(params=PROVED)
def proving(request: pytest.FixtureRequest) -> Driver:
    """A driver whose rows hang on some field as no newer one's do."""
    return TREE.resolve(request.param)


def worked_out(spec: ImageSpec, driver: Driver) -> list[Leaf]:
    """The leaves that must be printed."""
    return Model(driver, Board(spec), clock(spec)).leaves()


def pairs(leaves: Iterable[Leaf]) -> list[tuple[str, str]]:
    return [(leaf.path, leaf.text) for leaf in leaves]


def test_every_handler_a_row_asks_is_one_the_expectation_knows(driver: Driver):
    assert unknown_handlers(driver) == set()


def test_every_value_stands_where_the_tables_say(driver: Driver, served: Served):
    spec = tracer_values.spec_of(driver)
    wanted, got = pairs(worked_out(spec, driver)), served.leaves(spec, driver)
    assert got == wanted, differences(wanted, got)


def test_a_value_stands_nowhere_but_in_the_rows_that_show_its_field(driver: Driver, served: Served):
    spec = tracer_values.spec_of(driver)
    printed = dict(served.leaves(spec, driver))
    few = {name for name, values in tracer_values.few(driver).items() if values}
    owners: dict[str, set[tuple[str, str]]] = {}
    for leaf in worked_out(spec, driver):
        fields = shown(driver, leaf.row) if leaf.row else frozenset()
        if len(fields) == 1 and not fields & few and tells(driver, leaf.row) and leaf.path.startswith("gpu[") and leaf.text:
            owners.setdefault(printed[leaf.path], set()).add((leaf.path.split("/")[0], *fields))  # type: ignore[arg-type]
    shared = {text: found for text, found in owners.items() if len(found) > 1 and text not in driver.texts.values()}
    assert shared == {}
    assert len(owners) > 200, "the tracer tells apart fewer readings than the three GPUs have"


def tells(driver: Driver, row: str) -> bool:
    """Whether the row's format tells a value from another: no word, no state printed without asking."""
    route = route_of(driver, row)
    return route is not None and route.kind in ("call", "fieldvalue", "slot") and route.bits is None and not driver.form(row).few


TURNS = [*((version, "codes") for version in PROVED), *((version, "values") for version in VALUED)]


@pytest.mark.parametrize(("version", "kind"), TURNS)
def test_a_field_that_says_otherwise_moves_exactly_its_rows(version: str, kind: str, served: Served):
    """Every other value of a field that has few, and a code for every field; on one GPU each, a code's turn is another on each driver."""
    driver = TREE.resolve(version)
    spec = tracer_values.spec_of(driver)
    variants = tracer_values.value_variants(driver, spec) if kind == "values" else in_turn(spec, VERSIONS.index(version))
    check(on_one_gpu(new(variants, driver), spec, driver), spec, driver, served)


def new(variants: Iterable[Variant], driver: Driver) -> list[Variant]:
    """The variants of fields that the driver proves."""
    return [variant for variant in variants if variant.field in PROVED[driver.node.text]]


def in_turn(spec: ImageSpec, turn: int) -> list[Variant]:
    """For each field and GPU the code whose turn it is."""
    names = list(spec.devices[0])
    order = {name: CODES[(number + turn) % len(CODES)] for number, name in enumerate(names)}
    return [variant for variant in tracer_values.code_variants(spec) if variant.held.status == order[variant.field]]


def on_one_gpu(variants: list[Variant], spec: ImageSpec, driver: Driver) -> list[Variant]:
    """Of the variants that differ in the GPU alone, one: the GPUs that the field can move take turns.

    Those are the ones on which it answers, and on which a row hangs on it that does not print the code's text already.
    """
    board = Board(spec)
    texts: dict[tuple[int, str], set[str]] = {}
    for leaf in worked_out(spec, driver):
        if leaf.path.startswith("gpu["):
            texts.setdefault((int(leaf.path[4]), leaf.row), set()).add(leaf.text)
    hanging = {row: asked(driver, row) for _, row in texts}
    moved: dict[tuple[int, int], set[str]] = {}
    for code in {variant.held.status for variant in variants}:
        for (gpu, row), printed in texts.items():
            if printed != {driver.text_of(code)}:
                moved.setdefault((gpu, code), set()).update(hanging[row])
    chosen = {}
    for turn, (what, same) in enumerate(grouped(variants).items()):
        showing = [variant for variant in same if variant.field in moved[variant.gpu, variant.held.status]] or same
        answering = [variant for variant in showing if not board.field(variant.gpu, variant.field).code] or showing
        chosen[what] = answering[turn % len(answering)]
    return list(chosen.values())


def grouped(variants: list[Variant]) -> dict[tuple[str, int, Any], list[Variant]]:
    found: dict[tuple[str, int, Any], list[Variant]] = {}
    for variant in variants:
        found.setdefault((variant.field, variant.held.status, variant.held.value), []).append(variant)
    return found


@pytest.mark.blind
@pytest.mark.parametrize("code", CODES)
def test_every_field_of_every_gpu_in_turn_answers_every_code(code: int, proving: Driver, served: Served):
    spec = tracer_values.spec_of(proving)
    check(new(tracer_values.code_variants(spec, [code]), proving), spec, proving, served)


@pytest.mark.blind
@pytest.mark.parametrize("version", VALUED)
def test_every_field_with_few_values_takes_each_on_every_gpu(version: str, served: Served):
    driver = TREE.resolve(version)
    spec = tracer_values.spec_of(driver)
    check(new(tracer_values.value_variants(driver, spec), driver), spec, driver, served)


def check(variants: list[Variant], spec: ImageSpec, driver: Driver, served: Served) -> None:
    """Each variant's GPU prints what is worked out; its changes are in rows that hang on the field, and rows that show it say the code."""
    assert variants
    headless = asked(driver, "gpu.id")
    refused = [variant for variant in variants if variant.held.status and variant.field in headless and not passed_over(driver, variant)]
    check_headless(refused, spec, driver, served)
    variants = [variant for variant in variants if variant not in refused]
    base = [blocks(pairs(worked_out(spec, driver)))[gpu] for gpu in range(len(spec.devices))]
    hanging = {row: asked(driver, row) for row in printed_rows(driver)}
    unmoved = {variant.field for variant in variants}
    for batch in tracer_values.batches(variants, BATCH):
        many = tracer_values.image_of(spec, batch)
        leaves = worked_out(many, driver)
        wanted, got = pairs(leaves), served.leaves(many, driver)
        assert got == wanted, f"{[str(variant) for variant in batch][:3]}...\n{differences(wanted, got)}"
        rows_of = {leaf.path: leaf.row for leaf in leaves}
        for number, block in blocks(got).items():
            variant, old = batch[number], base[batch[number].gpu]
            moved = {path for path in block if path in old and block[path] != old[path]}
            if moved or block.keys() != old.keys():
                unmoved.discard(variant.field)
            strangers = {path for path in moved if not hangs(rows_of[f"gpu[{number}]/{path}"], variant.field, hanging)}
            assert strangers == set(), str(variant)
            check_code(variant, block, {path: rows_of[f"gpu[{number}]/{path}"] for path in block}, driver)
    by_code = any(variant.held.status for variant in variants)
    report(driver, unmoved, set().union(*(asked(driver, row, by_code) for row in hanging)), by_code)


def passed_over(driver: Driver, variant: Variant) -> bool:
    """Whether nvidia-smi does not look at the code when it heads the GPU's block."""
    route = route_of(driver, "gpu.id")
    return route is not None and variant.held.status in route.ignored


def check_headless(variants: list[Variant], spec: ImageSpec, driver: Driver, served: Served) -> None:
    """A GPU whose address is refused prints an error in its place, whatever else it says."""
    for batch in tracer_values.batches(variants, BATCH):
        many = tracer_values.image_of(spec, batch)
        wanted, got = pairs(worked_out(many, driver)), served.leaves(many, driver)
        assert got == wanted, differences(wanted, got)
        said = [text.rpartition(": ")[2] for path, text in got if path.startswith("error_string")]
        assert said == [driver.text_of(variant.held.status) for variant in batch]


def hangs(row: str, field: str, hanging: dict[str, frozenset[str]]) -> bool:
    """Whether a row hangs on a field; the members of a process hang on its list."""
    return not row or row.startswith(("process.", "accounted_process.")) or field in hanging.get(row, ())


def check_code(variant: Variant, block: dict[str, str], rows_of: dict[str, str], driver: Driver) -> None:
    """A row that shows the field and nothing else, with nothing before it that fails, says the driver's text of the code."""
    if not variant.held.status or variant.field == "ecc.mode_current":
        return
    for path, row in rows_of.items():
        route = route_of(driver, row) if row else None
        if route is None or route.gate or route.supported or route.refusal is not None or route.kind not in ("call", "fieldvalue", "slot"):
            continue
        if asked(driver, row) == {variant.field} and row not in LISTED and variant.held.status not in route.ignored:
            assert block[path] == driver.texts.get(variant.held.status, ""), f"{variant}: {path}"


LISTED = frozenset(("processes.compute", "processes.graphics", "processes.mps"))


def report(driver: Driver, unmoved: set[str], reached: set[str], by_code: bool) -> None:
    """Fields that moved nothing are those no row of this driver hangs on."""
    print(f"{driver.node}: {len(unmoved)} fields that no row of this driver shows: {', '.join(sorted(unmoved))}")
    silent = SILENT | SILENT_ON.get(driver.node.text, frozenset())
    silent |= CODE_SILENT | CODE_SILENT_ON.get(driver.node.text, frozenset()) if by_code else frozenset()
    assert unmoved & reached <= silent, sorted(unmoved & reached - silent)


SILENT = frozenset({
    "power.workload_profiles.requested", "power.workload_profiles.enforced",  # an empty mask and NOT_SUPPORTED print the same
    "clocks_throttle_reasons.supported_mask",  # a reason that is not active and one that is not supported may be the same row's turn
})  # fmt: skip
"""Fields a row hangs on that may move nothing, and why."""
SILENT_ON = {
    "340.108": frozenset({"processes.graphics", "processes.mps"}),  # names come from these, too; the processes printed are those of compute
}
"""The same on one driver."""
CODE_SILENT = frozenset({"mig.mode_current"})  # a mode that is refused is not on, and accounting goes on; drivers before 450 print no MIG row beside
CODE_SILENT_ON = {
    "555.58.02": frozenset({"fabric.health_mask"}),  # a refused mask is served as 0: N/A, as the tracer's own masks print; its values move it
}
"""Fields that another value moves, and a code does not."""


def blocks(leaves: Iterable[tuple[str, str]]) -> dict[int, dict[str, str]]:
    """GPU number -> path within the GPU -> text."""
    found: dict[int, dict[str, str]] = {}
    for path, text in leaves:
        if path.startswith("gpu["):
            gpu, rest = path.removeprefix("gpu[").split("]/", 1)
            found.setdefault(int(gpu), {})[rest] = text
    return found


def test_every_field_of_the_image_is_shown_by_a_row_of_some_driver_or_named_here():
    reached: set[str] = set()
    gates: set[str] = set()
    for version in VERSIONS:
        driver = TREE.resolve(version)
        for row in printed_rows(driver):
            reached |= shown(driver, row)
            gates |= asked(driver, row)
    assert set(tables.device_fields()) - reached == ONLY_CALLED | ONLY_HANDLED | ONLY_GATES | OTHER_VIEWS | UNANSWERED | LINKS | TUNED | INJECTED
    assert gates >= ONLY_GATES


def test_the_field_a_route_reaches_is_the_key_its_row_is_derived_into(driver: Driver):
    """Two tables say where a reading comes from: the row names its key, the function, field id or slot its field."""
    told = rows.load()
    different = {
        row: shown(driver, row)
        for row in printed_rows(driver)
        if (route := route_of(driver, row)) is not None and route.kind in ("call", "fieldvalue", "slot") and route.bits is None
        and told[row].field in keys.device_keys() and shown(driver, row) != {told[row].field}
    }  # fmt: skip
    assert different.keys() <= OTHERWISE.keys()
    assert all(fields == OTHERWISE[row] for row, fields in different.items())


PAGES = frozenset(("retired_pages.single_bit", "retired_pages.double_bit"))
ACCOUNTED = frozenset(("accounting.mode", "accounting.processes", "mig.mode_current"))
BRIDGE = frozenset(("bridge_chip.type", "bridge_chip.firmware"))
OTHERWISE: dict[str, frozenset[str]] = {
    # the cause is an argument
    **{f"retired_pages.{cause}.{part}": PAGES for cause in ("single_bit", "double_bit") for part in ("count", "addresses", "list")},
    **dict.fromkeys(("gpu.id", "pci.bus_id"), frozenset(("pci.bus_id_legacy",))),  # 375 prints four digits of domain
    "bridge_chip.type": BRIDGE,
    "bridge_chip.firmware": BRIDGE,
    "memory.used_bytes": frozenset(("memory.v1_used_bytes",)),  # before 510 used counts what is reserved
    "pcie.atomics_inbound": frozenset(("pcie.atomics_outbound",)),  # 525 to 550 ask slot 226 for its code alone
    "supported_clocks.memory": frozenset(("clocks.supported",)),
    "supported_clocks.graphics": frozenset(("clocks.supported",)),
    "accounting.pids": ACCOUNTED,
    "process.name": frozenset(("processes.compute", "processes.graphics", "processes.mps")),
    **{f"processes.{kind}": frozenset((f"processes.{kind}",)) for kind in ("compute", "graphics", "mps")},
    **{f"accounted_process.{part}": ACCOUNTED for part in ("gpu_util", "memory_util", "max_memory", "time", "is_running")},
}
"""Rows whose route reaches another field than the key's own, or several."""


def test_the_compiler_makes_of_the_tracer_what_the_documents_say(driver: Driver):
    spec = tracer_values.spec_of(driver)
    for gpu, (values, states) in enumerate(expect_fields.devices(tracer_profile.document(driver.version.text))):
        for name, (code, value) in expect_fields.fields(values, states).items():
            held = spec.devices[gpu][name]
            assert (held.status, held.value) == (code, None if code else shaped(name, value)), name
        assert spec.modes[gpu] == expect_fields.modes(values, states)


# ---- named calls


def test_the_named_function_has_the_value_for_a_process_that_knows_no_harness(driver: Driver, library_path: Path, tmp_path: Path):
    spec = tracer_values.spec_of(driver)
    board = Board(spec)
    asks, wanted = [], []
    for gpu in range(len(spec.devices)):
        for row in printed_rows(driver):
            ask = named(driver, row, gpu)
            if ask is not None:
                asks.append(ask)
                said = answer(board, ask)
                wanted.append([said.code, None if said.code else plain(said.value)])
    got = call_by_name(asks, spec, library_path, tmp_path)
    different = [(ask, want, have) for ask, want, have in zip(asks, wanted, got, strict=True) if want != have]
    assert different == []
    assert len(asks) > 250


def named(driver: Driver, row: str, gpu: int) -> dict[str, Any] | None:
    """What to ask for a row's reading: the call itself, without what the row does with it."""
    route = route_of(driver, row)
    if route is None or any("$" in str(value) for _, value in route.args):
        return None
    if route.target.endswith("RunningProcesses"):
        return None  # entries of the first version are another struct: tests/contract/test_old_clients.py reads them
    if route.kind == "call":
        plain_bytes = any(tables.device_fields()[name].type == "bytes" for name in shown(driver, row) if name in tables.device_fields())
        words = route.out.endswith(".mask")
        return {"kind": "call", "function": route.target, "args": dict(route.args), "out": route.out, "gpu": gpu, "bytes": plain_bytes and not words}
    if route.kind == "fieldvalue":
        return {"kind": "fieldvalue", "id": driver.field_ids[route.target], "scope": route.scope, "gpu": gpu}
    slot = driver.slots.get(route.target)
    if route.kind != "slot" or slot is None or slot.shape.startswith("processes"):
        return None
    return {"kind": "slot", "number": slot.number, "shape": slot.shape, "key": slot.key, "gpu": gpu}


def answer(board: Board, ask: dict[str, Any]) -> Any:
    """What the tables say to an ask."""
    if ask["kind"] == "call":
        return board.call(ask["function"], ask["gpu"], ask["args"], ask["out"])
    if ask["kind"] == "fieldvalue":
        return board.field_value(ask["gpu"], ask["id"], ask["scope"])
    return board.slot(ask["gpu"], ask["number"], ask["key"])


def plain(value: Any) -> Any:
    """A value as JSON brings it back."""
    if isinstance(value, (tuple, list)):
        return [{key: held for key, held in one.items() if key != "name"} if isinstance(one, dict) else one for one in value]
    return value


def call_by_name(asks: list[dict[str, Any]], spec: ImageSpec, library: Path, folder: Path) -> list[list[Any]]:
    """The answers of the library in a process that cannot import harness or mocklib."""
    path = folder / "tracer.img"
    image.write(path, image.pack(spec))
    environment = {"NVPARITY_IMAGE": str(path), "MOCK_NVML_STATE": str(folder / "state"), "PATH": "/usr/bin:/bin"}
    job = json.dumps({"library": str(library), "asks": asks})
    done = subprocess.run([sys.executable, "-I", str(CALLER)], input=job, capture_output=True, text=True, env=environment, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    answers: list[list[Any]] = json.loads(done.stdout)
    return answers


def test_the_tracer_gives_every_key_of_the_schema_but_those_named():
    given = set(keys.flatten({name: value for name, value in tracer_profile.document("580.105.08")["devices"][2].items() if name != "states"}))
    assert set(keys.device_keys()) - given == set(tracer_profile.LEFT_OUT)
