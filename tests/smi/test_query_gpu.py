"""`--query-gpu` with every field that a binary lists reads what the same binary's `-q -x` reads, on the tracer, where each reading has its own value,
and on boards.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages import binaries, retargeting, smi
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers, strictyaml, views
from harness.text import document
from mocklib import image
from tests.parity import tracer_values

ROOT = Path(__file__).resolve().parents[2]
TRACER = "tracer"
BOARDS = (TRACER, "p100-pcie-12gb-x2_375.66", "geforce-gt-1030-x1_470.74", "t4-x1_595.91.07", "l4-x2_555.42.06", "h100-sxm5-x8_580.105.08")
ADDS = (390, 418)
"""Binaries that add up a Turing board's ECC errors themselves in `-q -x`."""
STATES = {"N/A", "Not Supported"}
"""How fields and elements of a driver print NOT_SUPPORTED: 340 in two ways."""
WORDS = {("power.management", "Enabled"): "Supported", ("power.management", "Disabled"): "N/A"}
"""What fields and elements call by two words."""
COMPUTED = ("ecc.errors.corrected.volatile.total", "ecc.errors.uncorrected.volatile.total", "ecc.errors.corrected.aggregate.total",
            "ecc.errors.uncorrected.aggregate.total", "protected_memory.free", "driver_model.current", "driver_model.pending")  # fmt: skip
"""What the binary makes of other readings in one view and asks in the other, so that the tracer's numbers, which add up to nothing, stand in one; and
a model of Windows that came after the older binaries, which one view calls unknown and the other takes for another.
"""
_UNIT = re.compile(r"(?<=\d)(?: C|x)$")
"""What an element has and its field has not: the unit of temperatures and widths."""


@functools.cache
def table() -> dict[str, dict[str, object]]:
    """The fields of query_fields.yaml: `same` and `alone`."""
    loaded: dict[str, dict[str, object]] = strictyaml.load_file(Path(__file__).with_name("query_fields.yaml")).value
    return loaded


def named(part: str, field: str) -> object:
    """What the table says of ``field``; None where it does not name it."""
    return table()[part].get(re.sub(r"^clocks_(event|throttle)_reasons", "clocks_*_reasons", field))


def image_of(board: str, version: str, tmp_path: Path) -> Path:
    """The image of a board, or of the tracer, served as driver ``version``."""
    space = Workspace(ROOT)
    made = tmp_path / f"{board}.nvpimg"
    if board == TRACER:
        image.write(made, image.pack(tracer_values.spec_of(drivers.load(ROOT).resolve(version))))
    else:
        read = profiles.load(space.profile_path(board))
        image.write(made, serving.packed(retargeting.retarget(read, space, version).profile, space))
    return made


def asked(run: Callable[[tuple[str, ...]], bytes]) -> list[dict[str, str]]:
    """What `--query-gpu` says of each GPU, by field."""
    query = next(view for view in views.load() if view.name == "query-gpu")
    fields = views.fields_of(run(query.fields))
    assert fields
    return [dict(zip(fields, line.split(", "), strict=True)) for line in run(query.command(fields)).decode().splitlines()[1:]]


def elements(text: bytes, gpu: int) -> dict[str, str]:
    """The readings of one GPU's block and, after a slash, of the root."""
    start = f"gpu[{gpu}]/"
    leaves = list(document.read(text, "query").root.leaves())
    own = {path.removeprefix(start): value for path, value in leaves if path.startswith(start)}
    return own | {f"/{path}": value for path, value in leaves if not path.startswith("gpu[")}


def alike(field: str, given: str, element: str) -> bool:
    """Whether a field reads what an element does: states in brackets, addresses as hexadecimal numbers, temperatures and widths without a unit."""
    plain = given.strip()
    if plain.startswith("["):
        inner = plain.strip("[]")
        return inner == element or {inner, element} <= STATES
    if field.startswith("pci.") and field != "pci.bus_id":
        return int(plain, 16) == int(element, 16)
    return WORDS.get((field, plain), plain) in (element, _UNIT.sub("", element))


@pytest.mark.spec("Z19")
@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("branch", [340, 390, 418, 450, 460, 470, 525, 535, 550, 555])
def test_every_field_reads_what_its_element_reads(
    branch: int, board: str, smi_binary: Callable[[int], Path], served_library: Path, tmp_path: Path
) -> None:
    binary = smi_binary(branch)
    made = image_of(board, binaries.version_of(binary, served_library), tmp_path)

    def run(arguments: tuple[str, ...]) -> bytes:
        ran = smi.run_smi(binary, arguments, library=served_library, variables={"NVPARITY_IMAGE": str(made)})
        assert (ran.status, ran.stderr) == (0, b""), ran.stdout[-200:]
        return ran.stdout

    text = run(("-q", "-x"))
    wrong, compared = [], 0
    for gpu, fields in enumerate(asked(run)):
        printed = elements(text, gpu)
        for field, given in fields.items():
            paths = named("same", field)
            assert (paths is None) != (named("alone", field) is None), f"{field}: query_fields.yaml has no element for it"
            path = next((path for path in paths if path in printed), None) if isinstance(paths, list) else None
            if path is None or (field in COMPUTED and (board == TRACER or branch in ADDS)):
                continue
            compared += 1
            if not alike(field, given, printed[path]):
                wrong.append(f"gpu[{gpu}] {field}: {given!r}, {path}: {printed[path]!r}")
    assert "\n".join(wrong) == ""
    assert compared > 40
