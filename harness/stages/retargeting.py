"""Re-targeting: a profile served as another driver.

Values and states stay.  Symbols and gates, layout, private table, field ids and texts are those of the driver asked for.  What was said of the
profile's own driver alone goes: NVML's version and the branch follow the new one, texts that no row explains (``origin.unmodelled``) are not
printed, and a recorded answer (of ``answers`` or a time line) is given only to a call that the new driver has under the same meaning.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.stages import compile as compiling
from harness.stages import compile_answers, compile_defaults, compile_device
from harness.tables import drivers, rows
from harness.tables.layout import ARCHITECTURES
from harness.words.errors import InputError, UsageError, did_you_mean
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stores.profiles import Device, Profile
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import Driver, DriverTree
    from harness.tables.layout import Element

ARCHITECTURE = "architecture"
"""The key, and the row that later drivers print of it."""
_FOLLOWS = ("nvml_version", "driver_branch")
"""Keys of ``system`` that name the driver; where they are not given the compiler takes them from its version."""


_LONGEST = 40
"""Digits of a branch's name that are taken for a number; Python makes none of thousands."""


@dataclass(frozen=True)
class Retargeted:
    """A profile for the driver that was asked for.

    profile  what is served; the profile itself where it is of that very driver
    driver   the tree's answer for the version asked for
    lacking  rows that this driver prints of the boards and the profile's own does not, of which it has no data: they answer NOT_SUPPORTED
    origin   the version that the profile is of
    dropped  recorded answers that are said of the profile's own driver alone, and texts that no row explains: how many are left out
    """

    profile: Profile
    driver: Driver
    lacking: tuple[str, ...]
    origin: str
    dropped: int = 0

    @property
    def changed(self) -> bool:
        """Whether the profile is of another driver than it is served as; such a one is compared with no capture."""
        return self.driver.version.text != self.origin

    @property
    def line(self) -> str:
        """What reports say of it; empty where the profile is of that very driver."""
        if not self.changed:
            return ""
        assumed = f" (layout assumed: that of {self.driver.node})" if self.driver.assumed else ""
        lacking = f"; {len(self.lacking)} rows without data are not supported: {', '.join(self.lacking)}" if self.lacking else ""
        dropped = f"; {self.dropped} recorded answers and unmodelled texts left out" if self.dropped else ""
        return f"{self.profile.source}: re-targeted from {self.origin} to {self.driver.version}{assumed}{lacking}{dropped}"


def version_of(wanted: str, tree: DriverTree) -> DriverVersion:
    """The version that ``wanted`` names: itself, or for a branch (550) that of the branch's binary.

    Raises UsageError, with the nearest name, for what is neither.
    """
    binaries = tree.binaries()
    if wanted.isascii() and wanted.isdecimal() and len(wanted) <= _LONGEST:
        if int(wanted) in binaries:
            return binaries[int(wanted)]
        branches = ", ".join(map(str, binaries))
        own = [version.text for version in tree.versions() if str(version.branch) == wanted]
        hint = f"; name a version, such as {own[-1]}" if own else did_you_mean(wanted, map(str, binaries))
        raise UsageError(f"driver {wanted[:40]!r}: no binary of that branch is known, they are of {branches}{hint}")
    try:
        return DriverVersion(wanted)
    except InputError as error:
        known = [*(version.text for version in tree.versions()), *(version.text for version in binaries.values()), *map(str, binaries)]
        raise UsageError(f"{error}, nor a branch such as 550{did_you_mean(wanted, known)}") from error


def retarget(profile: Profile, space: Workspace, wanted: str) -> Retargeted:
    """``profile`` as the driver ``wanted`` (a version, or a branch for that of its binary) would serve its boards.

    Raises UsageError for a name that is no driver's.
    """
    tree = drivers.load(space.root)
    driver = tree.resolve(version_of(wanted, tree))
    version = driver.version.text
    if version == profile.driver_version:
        return Retargeted(profile, driver, (), version)
    own = tree.resolve(profile.driver_version)
    system = {name: value for name, value in profile.system.items() if name not in _FOLLOWS} | {"driver_version": version}
    gates = compiling.gates(driver)
    blocks = (profile.answers, *(device.answers for device in profile.devices))
    kept = [tuple(one for one in block if compile_answers.carried(one.asked, one.answer, driver, gates)) for block in blocks]
    unmodelled = profile.origin.get("unmodelled") or {}
    served = replace(
        profile,
        system=system,
        answers=kept[0],
        devices=tuple(
            _aged(_parted(replace(device, answers=mine)), own, driver) for device, mine in zip(profile.devices, kept[1:], strict=True)
        ),
        origin={name: value for name, value in profile.origin.items() if name != "unmodelled"},
        own_driver=profile.driver_version,
    )
    dropped = sum(map(len, blocks)) - sum(map(len, kept)) + len(unmodelled)
    return Retargeted(served, driver, _lacking(served, own, driver), profile.driver_version, dropped)


def _aged(device: Device, own: Driver, driver: Driver) -> Device:
    """The device with the oldest architecture where it has none because its own driver prints none, and ``driver`` prints none either.

    What stands there was printed of the oldest (`derive_architecture`), and nvidia-smi chooses by it which elements a board gets; refused, the
    binaries of 460 and 525 choose by whatever memory held.
    """
    known = device.state is not None or ARCHITECTURE in device.values or ARCHITECTURE in device.states
    if known or any(ARCHITECTURE in one.layout.rows() for one in (own, driver)):
        return device
    return replace(device, values={**device.values, ARCHITECTURE: min(ARCHITECTURES, key=lambda name: ARCHITECTURES[name])})


_PARTS = ("uncorrectable_parity", "uncorrectable_secded")
_BUCKETS = ("l2", "sm", "microcontroller", "pcie", "other")


def _parted(device: Device) -> Device:
    """The device with the parts of its SRAM errors where they follow from the sum: a driver that counts them in one figure counted none.

    Later drivers ask for all parts in one call (nvmlDeviceGetSramEccErrorStatus), which answers all or nothing.  A sum above zero tells no part.
    """
    sums = [f"ecc.sram.{scope}.uncorrectable" for scope in ("volatile", "aggregate")]
    if any(device.values.get(name) != 0 or name in device.states for name in sums) or not compile_defaults.at_least(device.values, "ampere"):
        return device
    parts = {f"ecc.sram.{scope}.{part}": 0 for scope in ("volatile", "aggregate") for part in _PARTS}
    parts |= {f"ecc.sram.uncorrectable_sources.{bucket}": 0 for bucket in _BUCKETS}
    made = {**parts, "ecc.sram.threshold_exceeded": False}
    return replace(device, values={**{name: value for name, value in made.items() if name not in device.states}, **device.values})


def _lacking(profile: Profile, own: Driver, driver: Driver) -> tuple[str, ...]:
    """The rows that ``driver`` prints of a board of the profile and ``own`` does not, of which no such board has a value or a state."""
    lacking: dict[str, bool] = {}
    for place, device in enumerate(profile.devices):
        if device.state is not None:
            continue
        served, _ = compile_device.apart(device, place)
        number = compile_device.architecture(device)
        known = set(_printed(own, number))
        for row in _printed(driver, number):
            field = rows.load()[row].field
            answer = served.get(field) if field else None
            without = answer is not None and answer.status == compiling.NOT_SUPPORTED and field not in device.states
            lacking[row] = lacking.get(row, True) and without and row not in known
    return tuple(row for row, without in lacking.items() if without)


def _printed(driver: Driver, architecture: int | None) -> Iterator[str]:
    """The rows that ``driver`` prints of a board, as far as its architecture (NVML's number) says, but for those of lists."""
    gpu = driver.layout.child("gpu")
    return _rows(gpu, architecture) if gpu is not None else iter(())


def _rows(element: Element, architecture: int | None) -> Iterator[str]:
    """The rows of an element and of those in it that stand on a board of ``architecture``."""
    if element.when is not None and element.when.kind == "arch" and not element.when.holds_for(architecture):
        return
    if element.row is not None:
        yield element.row
    for child in element.children:
        if child.repeat is None:
            yield from _rows(child, architecture)
