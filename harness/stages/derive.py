"""Derive: a capture becomes the profile that says what it says.  Nothing invented, nothing averaged; what no row explains is counted."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from harness.stages import compile as compiling
from harness.stages import compile_derived, compile_device, derive_architecture, derive_gpus, derive_lists, derive_served, derive_shape
from harness.stages.derive_walk import LITERAL, STATE, UNMODELLED, VALUE, Reading, Walker
from harness.stores import profiles
from harness.stores.profiles import Device
from harness.stores.schema import codec, keys
from harness.tables import rows
from harness.tables.drivers import Driver
from harness.text.outline import Queried
from harness.words.errors import InputError
from harness.words.fileformat import FORMAT
from harness.words.state import State
from mocklib import fields

HEADING_ROW, BUS_ID = "gpu.id", "pci.bus_id"


@dataclass
class Gpu:
    """What one GPU block says: profile values and states by key, and the element each came from."""

    values: dict[str, Any] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)


@dataclass(frozen=True)
class Derived:
    """A profile made from a capture.

    text        the profile, YAML
    readings    every leaf, in file order
    notes       what a report should say of GPUs that the capture has no block of
    """

    text: str
    readings: tuple[Reading, ...]
    notes: tuple[str, ...] = ()

    @property
    def unmodelled(self) -> tuple[Reading, ...]:
        """The leaves no key holds."""
        return tuple(reading for reading in self.readings if reading.kind == UNMODELLED)

    @property
    def verbatim(self) -> dict[str, str]:
        """Path -> text of the leaves no key holds."""
        return {reading.path: reading.text for reading in self.unmodelled}

    @property
    def counts(self) -> dict[str, int]:
        """Leaves by kind: value, state, literal, list, unmodelled; ``elements`` is their sum, attributes included."""
        found = dict.fromkeys((VALUE, STATE, LITERAL, "list", UNMODELLED), 0)
        for reading in self.readings:
            found[reading.kind] += 1
        return {"elements": len(self.readings), **found}


def derive(document: Queried, driver: Driver, capture: str = "") -> Derived:
    """The profile of ``document`` as printed by ``driver``; ``capture`` is the id that ``origin`` names.

    InputError when the capture does not name its driver.
    """
    walker = Walker(document, driver)
    readings = _listed([derive_lists.settle(reading) for reading in walker.readings()])
    node = derive_gpus.of_query(document, driver)
    system, clock, origin, gpus = _gather(readings, node)
    _tell(gpus, walker, origin)
    _tell_places(gpus, readings, origin)
    readings = derive_served.settle(readings, [Device(gpu.values, gpu.states) for gpu in gpus], driver)
    if "driver_version" not in system:
        raise InputError("the capture does not say its driver version: no profile can be made from it")
    for gpu in gpus:
        _keep_states(gpu, driver)
    written: dict[str, Any] = {"format": FORMAT, "version": "1.0", "system": system}
    if clock:
        written["clock"] = clock
    written.update(derive_shape.devices([(gpu.values, gpu.states) for gpu in gpus], node.indices, derive_gpus.entries(node)))
    held = {key for gpu in gpus for key in (*gpu.values, *gpu.states)} | {f"system.{key}" for key in system} | {"clock.at", "system.cuda_version"}
    elements = {key: place for key, place in sorted(origin.items()) if key in held}
    written["origin"] = {"capture": capture, "driver": driver.version.text, "layout": _layout(driver), "keys": elements}
    return Derived(profiles.dump(written), tuple(readings), node.notes)


def _listed(readings: list[Reading]) -> list[Reading]:
    """``readings`` with the members of entries that nothing names counted as not modelled."""
    orphans = {}
    for gpu in {reading.gpu for reading in readings if reading.entry}:
        orphans.update(derive_lists.orphans([reading for reading in readings if reading.gpu == gpu]))
    return [_refused(reading, orphans[reading.path]) if reading.path in orphans else reading for reading in readings]


def _layout(driver: Driver) -> str:
    return f"{driver.node} (assumed)" if driver.assumed else driver.node.text


def _gather(readings: list[Reading], node: derive_gpus.Gpus) -> tuple[dict[str, Any], dict[str, Any], dict[str, str], list[Gpu]]:
    """System keys, clock, key -> element, and what each GPU says."""
    system: dict[str, Any] = {}
    clock: dict[str, Any] = {}
    origin: dict[str, str] = {}
    gpus = [Gpu() for _ in node.indices]
    table = rows.load()
    for place, reading in enumerate(readings):
        if reading.row is None or reading.kind in (LITERAL, UNMODELLED):
            continue
        key = table[reading.row].field
        if reading.gpu is None:
            if reading.kind == STATE:
                readings[place] = _refused(reading, "no key of the node holds a state")
                continue
            if reading.row == "system.num_devices" and reading.kind == VALUE and reading.raw != node.count:
                readings[place] = _refused(reading, f"the capture holds {node.count} GPUs, which are those that can be served")
                continue
            _system(reading, system, clock)
            origin.setdefault(key, reading.place)
        elif not derive_lists.is_list(reading.row):
            why = _put(gpus[reading.gpu], reading, key)
            if why:
                readings[place] = _refused(reading, why)
            else:
                origin.setdefault(key, reading.place)
    for number, gpu in enumerate(gpus):
        own = [reading for reading in readings if reading.gpu == number]
        for key, (value, place_of) in derive_lists.lists(own).items():
            if isinstance(value, State):
                gpu.states[key] = value
            else:
                gpu.values[key] = value
            origin.setdefault(key, place_of)
    return system, clock, {key: place for key, place in origin.items() if key}, gpus


def _tell(gpus: list[Gpu], walker: Walker, origin: dict[str, str]) -> None:
    """The architecture where the driver prints none and the elements say it."""
    row = derive_architecture.ROW
    for number, gpu in enumerate(gpus):
        told = walker.told(number)
        if told is not None:
            gpu.values[row] = codec.to_profile(keys.device_keys()[row], told.number)
            origin.setdefault(row, told.place)


def _tell_places(gpus: list[Gpu], readings: list[Reading], origin: dict[str, str]) -> None:
    """The address on the PCI bus by the heading of a GPU of which the text prints no address (`-q -d`)."""
    for reading in readings:
        if reading.row == HEADING_ROW and reading.kind == VALUE and reading.gpu is not None and reading.raw is not None:
            own = gpus[reading.gpu]
            if BUS_ID not in own.values and BUS_ID not in own.states:
                own.values[BUS_ID] = codec.to_profile(keys.device_keys()[BUS_ID], reading.raw)
                origin.setdefault(BUS_ID, reading.place)


def _refused(reading: Reading, why: str) -> Reading:
    return Reading(reading.path, reading.place, reading.gpu, reading.entry, reading.row, reading.text, UNMODELLED, None, None, why)


def _system(reading: Reading, system: dict[str, Any], clock: dict[str, Any]) -> None:
    """The log's own elements: driver and CUDA version, number of GPUs, the time."""
    if reading.kind != VALUE:
        return
    if reading.row == "system.driver_version":
        system["driver_version"] = str(reading.raw)
    elif reading.row == "system.cuda_version" and isinstance(reading.raw, int):
        system["cuda_version_major"], system["cuda_version_minor"] = reading.raw // 1000, reading.raw % 1000 // 10
    elif reading.row == "system.num_devices" and isinstance(reading.raw, int):
        system["num_devices"] = reading.raw
    elif reading.row == "timestamp" and isinstance(reading.raw, int):
        clock.update({"mode": "frozen", "at": compiling.instant_text(reading.raw)})


def _put(gpu: Gpu, reading: Reading, key: str) -> str:
    """Keep one reading under its key; the reason when it cannot be kept."""
    if not key:  # samples of `-q -d`: no key holds them, and without one their calls are not supported
        return "" if reading.state is State.NOT_SUPPORTED else "no key holds it"
    if reading.kind == STATE:
        known = gpu.states.setdefault(key, reading.state or State.NOT_SUPPORTED)
        return "" if known == reading.state and key not in gpu.values else f"{key} has another reading in this GPU"
    if key not in keys.device_keys():
        return ""  # a derived field: settled once all keys are known
    if isinstance(reading.raw, str) and (len(reading.raw) > derive_lists.MAX_TEXT or "\0" in reading.raw):
        return "no key holds a text this long"
    try:
        value = codec.to_profile(keys.device_keys()[key], reading.raw if reading.raw is not None else 0)
    except InputError as error:
        return str(error)
    definition = fields.device_fields().get(key)
    if definition is not None and isinstance(reading.raw, int) and not compile_device.fits(definition, reading.raw):
        return f"{reading.raw} does not fit the bits that NVML has for {key}"
    if key in gpu.states or gpu.values.setdefault(key, value) != value:
        return f"{key} has another reading in this GPU"
    return ""


def _keep_states(gpu: Gpu, driver: Driver) -> None:
    """Drop the states a profile need not say: what is served without them prints the same text."""
    for key, state in list(gpu.states.items()):
        if state is not State.NOT_SUPPORTED or key in ("minor_number", "uuid"):  # whose default is made from the index
            continue
        fed = [name for name, source in compile_derived.STATE_KEYS.items() if source == key] or [key]
        if key not in keys.device_keys() or fed != [key]:
            served = compile_device.device_fields(Device(gpu.values, {}), 0)
            if all(name not in served or served[name].status for name in fed):
                del gpu.states[key]
        elif _prints_absence(key, compile_device.value_of(key, gpu.values), driver):
            del gpu.states[key]


def _prints_absence(key: str, value: Any, driver: Driver) -> bool:
    """Whether a key's default prints as not supported: there is none, or the rows' formats have N/A for it."""
    if value is None:
        return True
    own = [row.id for row in rows.load().values() if row.field == key and row.id in driver.routes]
    texts = {driver.form(row).text(value) for row in own if isinstance(value, (int, str))}
    return texts == {driver.text_of(State.NOT_SUPPORTED.code or 3)}
