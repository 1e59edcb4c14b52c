"""One profile, every binary: what nvidia-smi prints of it and what the builtin renderer does, in one process."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.stages import binaries, smi
from harness.stages import compile as compiling
from harness.stages.render import serving, views
from harness.stages.render.session import BoundLibrary, Given
from harness.stages.render.source import NvmlSource
from harness.stores import profiles
from harness.stores.profiles import Profile
from harness.tables import drivers, sections
from harness.tables.drivers import Driver
from harness.tables.layout import ARCHITECTURES
from mocklib import binding, image
from mocklib.spec import FieldValue, ImageSpec
from tests.smi import drawn

ROOT = Path(__file__).resolve().parents[2]
SECOND_NS = 1_000_000_000
ARCHITECTURE, CUDA = "architecture", "system.cuda_version"
LIMIT_S = 20.0
CLOCK = re.compile(rb"(?m)^(\t<timestamp>|Timestamp +: ).*$")
"""The one line that is the host's clock in what a binary prints."""


@dataclass(frozen=True)
class Difference:
    """A view in which binary and builtin print other bytes, or the binary ends otherwise than it does of its own will."""

    branch: int
    view: str
    real: bytes
    builtin: bytes
    status: int = 0

    def __str__(self) -> str:
        lines = list(zip(self.real.split(b"\n"), self.builtin.split(b"\n"), strict=False))
        number = next((place for place, (one, other) in enumerate(lines) if one != other), len(lines))
        shown = [f"  {side} {text!r}" for side, data in (("binary ", self.real), ("builtin", self.builtin))
                 for text in data.split(b"\n")[number : number + 3]]  # fmt: skip
        ended = f", exit status {self.status}" if self.status else ""
        return f"{self.branch}, view {self.view}{ended}, line {number + 1}:\n" + "\n".join(shown)


class Remembering:
    """A library that is asked each question once: views of one image share the answers."""

    def __init__(self, library: BoundLibrary) -> None:
        self._library = library
        self._known: dict[Any, Any] = {}

    def _asked(self, key: Any, ask: Any) -> Any:
        if key not in self._known:
            self._known[key] = ask()
        return self._known[key]

    def call(self, name: str, device: Any = None, args: Mapping[str, Any] | None = None) -> Given:
        """As ``source.Library``."""
        return self._asked((name, device, *(args or {}).items()), lambda: self._library.call(name, device, args))  # type: ignore[no-any-return]

    def field_value(self, device: Any, identifier: int, scope: int) -> Given:
        """As ``source.Library``."""
        return self._asked((identifier, scope, device), lambda: self._library.field_value(device, identifier, scope))  # type: ignore[no-any-return]

    def slot(self, number: int, shape: str, device: Any = None, key: int | None = None) -> Given:
        """As ``source.Library``."""
        return self._asked((number, shape, device, key), lambda: self._library.slot(number, shape, device, key))  # type: ignore[no-any-return]

    def handle(self, index: int) -> Any:
        """As ``source.Library``."""
        return self._asked(index, lambda: self._library.handle(index))


class Pairs:
    """The binaries at hand, and the mock library open in this process; ``folder`` holds one image at a time."""

    def __init__(self, paths: Mapping[int, Path], library: Path, folder: Path) -> None:
        self.tree = drivers.load(ROOT)
        said = {branch: binaries.version_of(path, library) for branch, path in paths.items()}
        self.versions = {branch: version for branch, version in said.items() if not self.tree.resolve(version).assumed}
        self.binaries = {branch: paths[branch] for branch in self.versions}
        self.folder = folder
        self._nvml = binding.open_library(library)
        self._specs = {branch: self.compiled(_empty(), version) for branch, version in self.versions.items()}

    def compiled(self, profile: Profile, version: str) -> ImageSpec:
        """The image's content of a profile as driver ``version``."""
        system = {**profile.system, "driver_version": version}
        return compiling.compile_profile(replace(profile, system=system), self.tree.resolve(version))

    def specs(self, document: Mapping[str, Any]) -> Iterator[tuple[int, ImageSpec]]:
        """The image's content of a profile for each branch: compiled once, then given the driver's own ids, slots and gates."""
        profile = profiles.parse(profiles.dump(document).encode(), "drawn")
        own = self.compiled(profile, next(iter(self.versions.values())))
        cuda = own.system[CUDA]
        for branch, empty in self._specs.items():
            devices = [_aged(held) for held in own.devices] if branch in drawn.STALE else own.devices
            nvml = FieldValue(f"{int(str(cuda.value)) // 1000}.{self.versions[branch]}")
            system = {**empty.system, CUDA: cuda, "system.nvml_version": nvml}
            served = replace(own, system=system, devices=devices, field_ids=empty.field_ids, link_ids=empty.link_ids, slots=empty.slots)
            yield branch, replace(served, gates=empty.gates, entries=empty.entries)

    def differences(
        self, document: Mapping[str, Any], wanted: tuple[str, ...], branches: tuple[int, ...] = (), seed: int | None = None
    ) -> Iterator[Difference]:
        """The views in which a binary and builtin differ; ``branches``: of these alone; ``seed``: beside -q, of some sections drawn by it."""
        for branch, spec in self.specs(document):
            if not branches or branch in branches:
                more = (self.with_sections(branch, seed),) if seed is not None and "q" in wanted else ()
                yield from self.of(branch, spec, (*wanted, *more))

    def of_profile(self, branch: int, profile: Profile, wanted: tuple[str, ...]) -> Iterator[Difference]:
        """The views in which binary and builtin differ of a profile that is re-targeted to the binary's driver."""
        yield from self.of(branch, self.compiled(profile, self.versions[branch]), wanted)

    def of(self, branch: int, spec: ImageSpec, wanted: tuple[str, ...]) -> Iterator[Difference]:
        """The views in which the binary of a branch and builtin differ on an image of this content."""
        path = self.folder / "drawn.img"
        image.write(path, image.pack(spec))
        driver = self.tree.resolve(self.versions[branch])
        builtin = self.builtin(path, driver, spec.clock.at_ns // SECOND_NS, wanted)
        for view in wanted:
            run = self.real(branch, path, view)
            real, other = (CLOCK.sub(b"", data, count=1) for data in (run.stdout, builtin[view]))
            if real != other or run.status < 0 or run.stderr:
                yield Difference(branch, view, real + run.stderr, other, run.status)

    def real(self, branch: int, path: Path, view: str) -> smi.SmiRun:
        """What the binary of ``branch`` gives of an image."""
        variables = {"NVPARITY_IMAGE": str(path), "MOCK_NVML_STATE": str(self.folder / "real.state")}
        library = serving.library(self.versions[branch])
        arguments = binaries.arguments_of(view)
        return smi.run_smi(self.binaries[branch], arguments, library=library, variables=variables, limit_s=LIMIT_S)

    def with_sections(self, branch: int, seed: int) -> str:
        """The view of some sections of `-d`, drawn by ``seed`` of those that the driver has."""
        return drawn.sections(seed, sections.names(self.tree.resolve(self.versions[branch]).text))

    def builtin(self, path: Path, driver: Driver, now: int, wanted: tuple[str, ...]) -> dict[str, bytes]:
        """What the builtin renderer gives of an image, by view."""
        os.environ["NVPARITY_IMAGE"] = str(path)
        os.environ["MOCK_NVML_STATE"] = str(self.folder / "builtin.state")
        code = self._nvml.init()
        assert code == 0, f"nvmlInit_v2 answers {code}"
        try:
            library = Remembering(BoundLibrary(self._nvml))
            seen = {view: views.seen_by(view, driver) for view in wanted}
            return {view: views.render(view, seen[view], NvmlSource(library, seen[view], now)).data for view in wanted}
        finally:
            self._nvml.shutdown()


def _aged(held: dict[str, FieldValue]) -> dict[str, FieldValue]:
    """A GPU that says an architecture, the oldest where it said none."""
    return {**held, ARCHITECTURE: FieldValue(min(ARCHITECTURES.values()))} if held[ARCHITECTURE].status else held


def _empty() -> Profile:
    return profiles.parse(b'version: "1"\nsystem: {driver_version: "550.163.01", num_devices: 1}\n', "empty")
