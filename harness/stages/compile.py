"""Compile: a profile becomes what the library serves.  Schema, defaults, merging and driver differences end here."""

from __future__ import annotations

import datetime
import struct
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from harness.stages import (
    compile_absent,
    compile_answers,
    compile_device,
    compile_dynamic,
    compile_failure,
    compile_motion,
    compile_nvlink,
    compile_randoms,
)
from harness.stages.compile_randoms import FIXED_SEED
from harness.stages.timeline import file as timeline_file
from harness.stores.profiles import Device, Profile
from harness.stores.schema import codec
from harness.tables import linkids, serving
from harness.tables.drivers import Driver
from harness.text import rawbytes
from harness.words.errors import InputError
from mocklib import fields
from mocklib.image import Clock, FieldId, FieldValue, ImageSpec, LinkId, Slot, Source, Track
from mocklib.spec import FIELDLESS

FUNCTION_NOT_FOUND = 13
NOT_SUPPORTED = 3


def compile_profile(profile: Profile, driver: Driver, seed: int = FIXED_SEED) -> ImageSpec:
    """The image of ``profile`` for ``driver`` (the tree's answer for ``profile.driver_version``).

    A key that is not given is NOT_SUPPORTED unless the reference gives it a default; a state of ``states`` answers its code.  InputError
    names the profile, device and key that cannot be compiled.  ``seed`` is that of the node's state: what dynamic metrics are drawn from where the
    profile gives no seed.
    """
    devices, tracks = [], list[Track]()
    for index, device in enumerate(compile_nvlink.of_node(profile.devices, driver.version.parts)):
        try:
            devices.append(_device(device, index, seed, tracks))
        except InputError as error:
            raise InputError(f"{profile.source}: device {index}: {error}") from error
    made = ImageSpec(
        system=_system(profile, driver),
        devices=devices,
        modes=[_modes(device) for device in profile.devices],
        marks=[_marks(device) for device in profile.devices],
        absences=[compile_absent.absence(device) for device in profile.devices],
        field_ids=field_ids(driver),
        link_ids=link_ids(driver),
        slots=_slots(driver),
        gates=gates(driver),
        entries=fields.entries(driver.version.parts),
        clock=_clock(profile),
        source=_source(profile),
        answers=compile_answers.recorded(profile),
        tracks=tuple(tracks),
        seed=seed,
    )
    served = timeline_file.played(profile, made)
    if profile.own_driver is None:
        return served
    return replace(served, answers=tuple(one for one in served.answers if compile_answers.carried(one.asked, one.answer, driver, served.gates)))


def _device(device: Device, index: int, seed: int, tracks: list[Track]) -> dict[str, FieldValue]:
    """The fields of one GPU, in motion; the tracks that they move along are added to ``tracks``."""
    if device.state is not None:
        return compile_absent.device_fields(device)
    still = compile_device.device_fields(replace(device, values=compile_dynamic.standing(device.values)), index)
    return compile_motion.moved(device.values, still, compile_randoms.of_device(seed, index), tracks)


def _modes(device: Device) -> frozenset[str]:
    """Mode bits in force: present unless the GPU has a state of its own, ecc while ECC is on."""
    if device.state is not None:
        return frozenset()
    on = device.values.get("ecc.mode_current") == "enabled" and "ecc.mode_current" not in device.states
    held = ("ecc", on), ("armed", compile_failure.armed(device.values))
    return frozenset(("present", *(mode for mode, holds in held if holds)))


def _marks(device: Device) -> frozenset[str]:
    """What hides the GPU from an nvmlInit: it was removed, drains, or is excluded (ledger O02 to O07)."""
    return frozenset(mark for mark in fields.MARKS if device.values.get(mark))


def _system(profile: Profile, driver: Driver) -> dict[str, FieldValue]:
    """The node's fields; NVML version and branch default to the driver's (ledger B03, B06), CUDA to 12.4 (B05)."""
    system = profile.system
    major, minor = cuda_version(profile)
    branch = profile.driver_version.split(".")[0]
    values = {
        "system.driver_version": FieldValue(profile.driver_version),
        "system.nvml_version": FieldValue(system.get("nvml_version") or f"{major}.{profile.driver_version}"),
        "system.cuda_version": FieldValue(major * 1000 + minor * 10),
        "system.driver_branch": FieldValue(system.get("driver_branch") or f"r{branch}_00"),
    }
    if system.get("init_status") is not None:
        values["system.init_status"] = FieldValue(int(system["init_status"]))
    if system.get("hic"):
        values["system.hic"] = FieldValue(b"".join(_host_card(card) for card in system["hic"]))
    values["nvlink.most_links"] = FieldValue(linkids.most_links(driver.version.parts))
    values |= compile_nvlink.node_fields(profile.devices)
    return {name: value for name, value in values.items() if name in fields.system_fields()}


def _host_card(card: Mapping[str, Any]) -> bytes:
    """nvmlHwbcEntry_t: the card's id and 31 bytes of its version, the rest of it cut (ledger B07)."""
    return struct.pack("=I32s", int(card["id"]), rawbytes.encode(str(card.get("firmware_version") or ""))[:31])


def cuda_version(profile: Profile) -> tuple[int, int]:
    """Major and minor CUDA version: the two number keys, else the text key, else 12.4."""
    system = profile.system
    if system.get("cuda_version_major"):
        return int(system["cuda_version_major"]), int(system.get("cuda_version_minor") or 0)
    major, _, minor = str(system.get("cuda_version") or "12.4").partition(".")
    return int(major), int(minor)


def field_ids(driver: Driver) -> list[FieldId]:
    """The ids the driver knows, with the field and value type of each; an id under two names is listed once."""
    found: dict[tuple[int, int | None], FieldId] = {}
    for name, number in driver.field_ids.items():
        answer = serving.fieldvalues().get(name)
        for scope, field in answer.scopes if answer is not None else ():
            value_type, per = (answer.value_type, answer.per) if answer is not None else (1, 1)
            found.setdefault((number, scope), FieldId(number, scope, field, value_type, per))
    for link in linkids.answers():
        known = link.number(driver.version.parts)
        if known is not None and link.reading is None:
            found.setdefault((known, None), FieldId(known, None, link.field, link.value_type))
    return list(found.values())


def link_ids(driver: Driver) -> list[LinkId]:
    """The ids the driver knows that are of one link, or of all together."""
    found = [(answer.number(driver.version.parts), answer) for answer in linkids.answers() if answer.reading is not None]
    return [
        LinkId(number, "all" if answer.all else answer.link, answer.reading, answer.field, answer.value_type)
        for number, answer in found
        if number is not None and answer.reading is not None
    ]


def _slots(driver: Driver) -> list[Slot]:
    """The private table of the driver; a slot without a field is there only where its shape needs none."""
    slots: list[Slot] = []
    for name, slot in driver.slots.items():
        if slot.shape in FIELDLESS:
            slots.append(Slot(slot.number, slot.shape))
            continue
        field = serving.slot_fields().get(name)
        if field is not None:
            slots.append(Slot(slot.number, slot.shape, field, slot.key))
    return slots


def gates(driver: Driver) -> dict[str, int]:
    """Functions that the driver's library does not export: they answer FUNCTION_NOT_FOUND before anything else (ledger g6)."""
    exports = driver.exports
    return {name: FUNCTION_NOT_FOUND for name in fields.since() if name not in exports}


def _clock(profile: Profile) -> Clock:
    """The profile's clock: frozen at an instant, else real."""
    at = profile.clock.get("at")
    if profile.clock.get("mode", "frozen") == "real" or at is None:
        return Clock()
    return Clock("frozen", codec.instant_ns(str(at)))


def instant_text(seconds: int) -> str:
    """The text that ``codec.instant_ns`` reads."""
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _source(profile: Profile) -> Source | None:
    """How the library recognises the profile's file; None for a profile that is no file, or that is served as another driver."""
    if profile.path is None or profile.own_driver is not None:
        return None
    try:
        status = profile.path.stat()
    except OSError as error:
        raise InputError(f"{profile.source}: cannot be read: {error.strerror}") from error
    return Source(str(profile.path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino, bytes.fromhex(profile.sha256))


def zero_config_spec(board: Profile, driver: Driver, count: int = 8) -> ImageSpec:
    """What the library serves when no profile is given: ``count`` GPUs with ``board``'s readings and the defaults of ledger A14 and A15.

    ``board`` is the A100 profile, ``driver`` the tree's 550.163.01.
    """
    base = board.devices[0]
    own = ("uuid", "minor_number", "pci.bus_id", "board_id", "pdi")
    dropped = {key: value for key, value in base.values.items() if key not in own and not key.startswith("bar1_memory.")}
    devices = tuple(Device({**dropped, **_zero_device(index)}, base.states) for index in range(count))
    system: dict[str, Any] = {"driver_version": driver.version.text, "cuda_version_major": 12, "cuda_version_minor": 4}
    return compile_profile(Profile("zero-config default", None, board.sha256, system, devices), driver)


def _zero_device(index: int) -> dict[str, Any]:
    """Identity of one zero-config GPU (ledger A14); its BAR1 is 256 MiB and unused."""
    total = 256 << 20
    return {
        "uuid": f"GPU-4d4f434b-0000-0000-0000-{index:012d}",
        "minor_number": index,
        "pci.bus_id": f"0000:{index + 1:02X}:00.0",
        "bar1_memory.total_bytes": total,
        "bar1_memory.used_bytes": 0,
        "bar1_memory.free_bytes": total,
    }
