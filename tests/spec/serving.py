"""A node of some keys of the reference, served in this process: what its calls answer and what nvidia-smi -q -x would print of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.tables import drivers
from harness.tables.drivers import Driver
from mocklib.binding import Nvml
from mocklib.spec import ImageSpec
from tests.parity.mutations_library import Served, clock, leaves

DRIVER = "580.105.08"
NUMBER = re.compile(r"-?[0-9]{1,10}|0x[0-9a-f]+")


@functools.cache
def driver_of(version: str) -> Driver:
    """The driver node that serves a version."""
    return drivers.load().resolve(version)


def compiled(keys: str = "", node: str = "", devices: str = "[{index: 0}]", driver: str = DRIVER, system: str = "") -> ImageSpec:
    """The image of a node: ``keys`` of its boards, ``devices`` and further keys of the ``node`` and of its ``system``, as YAML."""
    text = f"version: '1.0'\nsystem: {{driver_version: {driver!r}, {system}}}\ndevice_defaults: {{{keys}}}\ndevices: {devices}\n{node}\n"
    return compiling.compile_profile(profiles.parse(text.encode()), driver_of(driver))


@dataclass(frozen=True)
class Case:
    """What a row of the ledger says of a node with some keys.

    ``says``: ``"function argument=number"`` -> its code, or some of what it writes; ``field 82`` and ``field 185 1`` (scope) -> its value or the code
    as ``"code 3"``.  ``prints``: the path below ``gpu`` -> its text; None: there is no such element.
    """

    row: str
    keys: str
    says: Mapping[str, Any] = field(default_factory=dict)
    prints: Mapping[str, str | None] = field(default_factory=dict)
    node: str = ""
    devices: str = "[{index: 0}]"
    driver: str = DRIVER
    system: str = ""


def rows(cases: list[Case]) -> Any:
    """A parameter ``case`` for each case, marked with its row."""
    found = [pytest.param(case, id=f"{case.row}-{case.keys[:40]}", marks=pytest.mark.spec(case.row)) for case in cases]
    return pytest.mark.parametrize("case", found)


class Node:
    """A library of this process that serves one node after another."""

    def __init__(self, library: Path, folder: Path) -> None:
        self.served = Served(library, folder)

    @contextmanager
    def serve(self, spec: ImageSpec) -> Iterator[Nvml]:
        """The library, initialised with the image."""
        with self.served.image(spec):
            yield self.served.nvml

    def hold(self, case: Case) -> None:
        """Every answer and every printed element of a case is what it says."""
        spec = compiled(case.keys, case.node, case.devices, case.driver, case.system)
        with self.serve(spec) as nvml:
            got = {asked: answer(nvml, asked, wanted) for asked, wanted in case.says.items()}
            assert got == dict(case.says), got
            if case.prints:
                text = self.served.text(driver_of(case.driver), clock(spec))
                found = printed(text)
                shown = {path: found.get(path) for path in case.prints}
                assert shown == dict(case.prints), shown


def printed(text: bytes) -> dict[str, str]:
    """Path below the first GPU -> text; elements of the node under their own path with a slash before it."""
    found: dict[str, str] = {}
    for path, value in leaves(text):
        head, _, rest = path.partition("/")
        found.setdefault(rest if head.startswith("gpu") else f"/{path}", value)
    return found


def answer(nvml: Nvml, asked: str, wanted: Any, gpu: int = 0) -> Any:
    """The code where a code is wanted, else the members that are wanted; of the GPU with the index ``gpu``."""
    function, *words = asked.split()
    if function == "field":
        (entry,) = nvml.field_values(nvml.device(gpu), [(int(words[0]), int(words[1]) if len(words) > 1 else 0)])
        return f"code {entry.code}" if entry.code else entry.value
    arguments = {name: int(text, 0) if NUMBER.fullmatch(text) else text for name, _, text in (word.partition("=") for word in words)}
    handle = nvml.device(gpu) if function.startswith("nvmlDevice") and "GetHandleBy" not in function and nvml.count() else None
    got = nvml.call(function, handle, arguments)
    if isinstance(wanted, int):
        return got.code
    return {name: got.out.get(name, f"code {got.code}") for name in wanted}
