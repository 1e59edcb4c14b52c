"""Mutations: one thing changed at random at each of four points, and the comparison finds exactly what the tables say it must.

What must be found is worked out beforehand by ``expect*.py``, which the comparison, the renderer and the library do not use.  Seeds are fixed and
printed; a draw that no row of the board shows is drawn again, and named in the test's output.  A run makes 200 mutations a point, spread evenly
over the captures; ``NVPARITY_MUTATIONS=200`` makes that many of every capture and driver node (``nox -s proofs``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from harness.stages.compile import compile_profile
from harness.stores import profiles
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib import image, state
from mocklib.spec import Absence, FieldValue, ImageSpec
from tests.parity import expect_calls, expect_events, expect_fields, mutations_points, proved, tracer_values
from tests.parity.expect import Wanted, findings
from tests.parity.expect_model import Model
from tests.parity.mutations_board import BOARDS, ROOT, Board, board, found, shaped, state_texts, told
from tests.parity.mutations_library import Served, clock, leaves

VERSIONS = proved.versions(drivers.load(ROOT))
TOGETHER = 200
"""Mutations of each point in a run that does not say otherwise."""
ASKED = int(os.environ.get("NVPARITY_MUTATIONS", "0"))
EACH = ASKED or -(-TOGETHER // len(BOARDS))
"""Mutations of a leaf, a key and a field a board; those of a field half in the image, half in the live record of a state."""
EACH_VERSION = ASKED or -(-TOGETHER // len(VERSIONS))
"""Mutations of a row a driver of the tree."""
MOST_DRAWS = 12 * max(EACH, EACH_VERSION, 50)
SEED = 20261130


@pytest.fixture(scope="module")
def served(library_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Served:
    return Served(library_path, tmp_path_factory.mktemp("served"))


def model_leaves(spec: ImageSpec, driver: Any, kept: Mapping[str, Any] | None = None) -> list[tuple[str, str]]:
    """What must be printed of ``spec`` with what is ``kept`` (path -> text and form) because no row explains it."""
    texts = {path: text for path, (text, _) in (kept or {}).items()}
    return [(leaf.path, leaf.text) for leaf in Model(driver, expect_calls.Board(spec), clock(spec), texts).leaves()]


def wanted_of(own: Board, spec: ImageSpec) -> set[Wanted]:
    """What must be found between the capture of ``own`` and a render of ``spec``."""
    after = model_leaves(spec, own.driver, own.kept)
    return findings(own.told.leaves, after, state_texts(own.driver), own.told.hidden)


def draws(point: str, name: str, count: int, make: Callable[[Random], tuple[str, set[Wanted], Any]]) -> Iterator[tuple[str, set[Wanted], Any]]:
    """``count`` draws with something to find; the others are counted and named."""
    seed = f"{SEED} {point} {name}"
    random = Random(seed)
    shown, left_out = 0, []
    for _ in range(MOST_DRAWS):
        if shown == count:
            break
        what, wanted, given = make(random)
        if wanted:
            shown += 1
            yield what, wanted, given
        else:
            left_out.append(what)
    print(f"seed {seed!r}: {shown} mutations found as worked out, {len(left_out)} that no row of {name} shows: {'; '.join(left_out)}")
    assert shown == count


def report(what: str, wanted: set[Wanted], got: set[Wanted]) -> str:
    """Why a mutation was not found as it must be."""
    return f"{what}\n  not found: {sorted(wanted - got)[:8]}\n  found beside: {sorted(got - wanted)[:8]}"


@pytest.mark.parametrize("name", BOARDS)
def test_a_board_is_worked_out_as_its_capture_and_its_render_say(name: str, served: Served):
    own = board(name)
    assert wanted_of(own, own.spec) == set()
    assert found(own.told, served.render(own.spec, own.driver, own.kept), own.driver, own.kept) == set()


@pytest.mark.parametrize("name", BOARDS)
def test_a_leaf_of_the_capture_that_says_otherwise_is_found_and_nothing_else(name: str, served: Served):
    own = board(name)
    states = state_texts(own.driver)
    rendered = served.render(own.spec, own.driver, own.kept)

    def make(random: Random) -> tuple[str, set[Wanted], Any]:
        path, data = mutations_points.leaf(random, own.told, states)
        changed = told(name, data)
        wanted = findings(changed.leaves, own.told.leaves, states, changed.hidden)
        assert {one.path for one in wanted} <= {path}
        return path, wanted, changed

    for what, wanted, changed in draws("leaf", name, EACH, make):
        got = found(changed, rendered, own.driver, own.kept)
        assert got == wanted, report(what, wanted, got)


@pytest.mark.parametrize("name", BOARDS)
def test_a_key_of_the_profile_that_says_otherwise_is_found_in_every_row_and_gpu_it_feeds(name: str, served: Served):
    own = board(name)

    def make(random: Random) -> tuple[str, set[Wanted], Any]:
        change = mutations_points.key(random, own)
        return change.what, wanted_of(own, worked_out(own, change.document)), change.document

    for what, wanted, document in draws("key", name, EACH, make):
        profile = profiles.parse(json.dumps(document).encode(), what)  # JSON is YAML, and quick to write
        got = found(own.told, served.render(compile_profile(profile, own.driver), own.driver, own.kept), own.driver, own.kept)
        assert got == wanted, report(what, wanted, got)


def worked_out(own: Board, document: dict[str, Any]) -> ImageSpec:
    """The image's content that a changed profile means, not by the compiler; the driver's tables are the board's."""
    devices, modes, absences = [], [], []
    for values, states in expect_fields.devices(document):
        held = expect_fields.fields(values, states)
        made = {name: FieldValue(status=code) if code else FieldValue(shaped(name, value)) for name, (code, value) in held.items()}
        moving = expect_events.rates(values, held)
        devices.append(made | {name: replace(made[name], kind=1, rate=rate) for name, rate in moving.items()})
        modes.append(expect_fields.modes(values, states))
        absences.append(Absence(*expect_fields.absence(states)))
    system = document["system"]
    node = dict(own.spec.system)
    if "cuda_version_major" in system:
        node["system.cuda_version"] = FieldValue(system["cuda_version_major"] * 1000 + system["cuda_version_minor"] * 10)
    return replace(own.spec, devices=devices, modes=modes, absences=absences, system=node)


@pytest.mark.parametrize("name", BOARDS)
def test_the_compiler_makes_of_each_board_what_the_documents_say(name: str):
    own = board(name)
    made = worked_out(own, dict(own.profile))
    assert made.devices == own.spec.devices
    assert (made.modes, made.absences) == (own.spec.modes, own.spec.absences)


@pytest.mark.parametrize("live", [False, True], ids=["image", "state"])
@pytest.mark.parametrize("name", BOARDS)
def test_a_field_of_image_or_live_record_that_says_otherwise_is_found_in_every_row_it_feeds(name: str, live: bool, served: Served, tmp_path: Path):
    own = board(name)

    def make(random: Random) -> tuple[str, set[Wanted], Any]:
        change = mutations_points.field(random, own.spec, node=not live)
        return str(change), wanted_of(own, change.put(own.spec)), change

    for what, wanted, change in draws("state" if live else "image", name, -(-EACH // 2), make):
        data = changed_while_served(served, own, change, tmp_path / "state") if live else served.render(change.put(own.spec), own.driver, own.kept)
        got = found(own.told, data, own.driver, own.kept)
        assert got == wanted, report(what, wanted, got)


def changed_while_served(served: Served, own: Board, change: Any, path: Path) -> bytes:
    """The render after a live record was changed under an initialised library that had printed the board as it was."""
    state.create(path, image.pack(own.spec))
    with served.image(own.spec, path):
        device = served.nvml.device(change.gpu)
        assert served.nvml.call("nvmlDeviceGetName", device).code == 0
        state.override(path, change.gpu, {change.field: change.held})
        return served.text(own.driver, clock(own.spec), own.kept)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_row_of_the_table_that_is_wrong_is_found_on_the_tracer(version: str, served: Served):
    driver = drivers.load(ROOT).resolve(version)
    states = state_texts(driver)
    spec = tracer_values.spec_of(driver)

    def make(random: Random) -> tuple[str, set[Wanted], Any]:
        change = mutations_points.row(random, driver)
        told_codes = coded(random, spec)
        try:
            after = model_leaves(told_codes, change.driver)
        except (InputError, ValueError):
            return f"{change.what} (cannot be printed)", set(), None
        return change.what, findings(model_leaves(told_codes, driver), after, states), (change, told_codes)

    for what, wanted, (change, told_codes) in draws("row", version, EACH_VERSION, make):
        right = told(version, served.render(told_codes, driver))
        got = found(right, served.render(told_codes, change.driver), driver)
        assert got == wanted, report(what, wanted, got)


def coded(random: Random, spec: ImageSpec) -> ImageSpec:
    """The tracer with a few fields of each GPU answering a code, so that every code is told somewhere."""
    devices = []
    for device in spec.devices:
        names = random.sample([name for name in device if name.startswith(("clocks.", "power.", "pcie.", "utilization.", "inforom."))], 12)
        codes = (3, 4, 15, 26, 999)
        devices.append({**device, **{name: FieldValue(status=codes[number % 5]) for number, name in enumerate(names)}})
    return replace(spec, devices=devices)


def test_leaves_are_those_of_the_transcript():
    own = board(BOARDS[0])
    assert leaves(own.told.document.to_bytes()) == own.told.leaves
