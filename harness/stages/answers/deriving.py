"""Derive from answers: a recording becomes the profile that says what the calls said.  Answers win over text, value by value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from harness.stages import derive_shape
from harness.stages.answers import contradicting, devices, gathering, inverting, keys_made, node_keys
from harness.stages.answers.contradicting import Contradiction
from harness.stores import profiles
from harness.tables import strictyaml
from harness.text import answers as answers_text
from harness.words.errors import InputError
from harness.words.fileformat import FORMAT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from harness.stages.answers.gathering import Gathered
    from harness.stages.answers.keys_made import Keys
    from harness.stages.answers.node_keys import NodeKeys
    from harness.stages.derive import Derived
    from harness.tables.drivers import Driver, DriverTree
    from harness.text.document import Document
    from mocklib.answers import Recording

__all__ = ["AnswersDerived", "Contradiction", "derive"]


@dataclass(frozen=True)
class AnswersDerived:
    """A profile made from a recording.

    text            the profile, YAML: keys and states; calls that no key explains are none of it (``residual.settle`` adds them)
    contradictions  readings of a text that the answers make otherwise: faults of our rows and layouts
    notes           what a report should say: a driver whose layout is assumed, GPUs without a handle, text that was left out
    counts          ``answers`` asked, ``values`` and ``states`` that they gave to keys, ``unheld`` fields that no key says as they were answered
    """

    text: str
    contradictions: tuple[Contradiction, ...] = ()
    notes: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)


def derive(
    recording: Recording,
    tree: DriverTree,
    *,
    text: Derived | None = None,
    document: Document | None = None,
    second: Document | None = None,
    moved: Collection[str] = (),
    capture: str = "",
) -> AnswersDerived:
    """The profile of ``recording``; the driver is the one that it names, as ``tree`` resolves it.

    ``text``: what derive made of the same node's text (``document``), whose keys stay where no answer speaks; ``second``: the text taken after
    the answers; ``moved``: paths of readings that differ between the two, which cannot contradict an answer; ``capture``: the id that
    ``origin`` names.  Raises InputError for a recording that does not name its driver.
    """
    beside = None if text is None else strictyaml.load(text.text.encode(), "profile", "profile").value
    version = _version(recording, beside)
    driver = tree.resolve(version)
    told = gathering.gather(recording, driver)
    node = devices.of_recording(recording, profiles.parse(text.text.encode()) if text is not None else None)
    made, of_node = _gpus(told, node, driver)
    notes = [*node.notes]
    if driver.assumed:
        notes.insert(0, f"driver {version} has no node of its own: its layout, field ids and formats are those of {driver.node}")
    system, origin = _system(_of(told, None), version, node.count, beside)
    for said in (*(gpu.origin for gpu in made.values()), of_node.origin):
        for key, call in said.items():
            origin.setdefault(key, call)
    written: dict[str, Any] = {"format": FORMAT, "version": "1.0", "system": system}
    if beside and beside.get("clock"):
        written["clock"] = beside["clock"]
    written.update(derive_shape.devices([(gpu.values, gpu.states) for gpu in made.values()], list(made), node.entries))
    written.update(derive_shape.nested(of_node.values))
    written["origin"] = _origin(capture, driver, origin, beside)
    found = () if document is None else contradicting.find(recording, document, driver, second, moved)
    return AnswersDerived(profiles.dump(written), found, tuple(notes), _counts(recording, made))


def _gpus(told: Mapping[int | None, Gathered], node: devices.Node, driver: Driver) -> tuple[dict[int, Keys], NodeKeys]:
    """The keys of each GPU, and those of the node that they say together: over these each GPU is settled again."""
    made = {index: inverting.settle(_of(told, index).fields, index, node.bases.get(index)) for index in node.present}
    of_node = node_keys.of_gpus(made, _of(told, None), driver.version.parts)
    if of_node.values:
        made = {
            index: inverting.settle(_of(told, index).fields, index, of_node.under(node.bases.get(index)), node_keys.PATHS) for index in node.present
        }
        node_keys.take(made, of_node)
    devices.apart(made)
    return made, of_node


def _of(told: Mapping[int | None, Gathered], index: int | None) -> Gathered:
    return told.get(index) or gathering.Gathered()


def _version(recording: Recording, beside: Any) -> str:
    """The driver version that the node's answer names, else its text."""
    found = next((answer for asked, answer in recording.items() if asked.function == "nvmlSystemGetDriverVersion"), None)
    given = found.out.get("version") if found is not None and not found.code else None
    if given is None and beside:
        given = beside["system"]["driver_version"]
    if not isinstance(given, str):
        said = "was not asked" if found is None else f"answered {answers_text.answer_text(found)}"
        raise InputError(f"the recording does not say its driver version (nvmlSystemGetDriverVersion {said}): no profile can be made from it")
    return given


def _system(told: Gathered, version: str, count: int, beside: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """``system``, and where its keys come from."""
    system: dict[str, Any] = {"driver_version": version, **(beside["system"] if beside else {}), "num_devices": count}
    system["driver_version"] = version
    origin: dict[str, str] = {}
    for name in ("driver_version", "nvml_version", "driver_branch"):
        said = told.fields.get(f"system.{name}")
        if said is not None and not said.code and keys_made.plain(said.value):
            system[name] = said.value
            origin[f"system.{name}"] = answers_text.call(said.asked)
    cuda = told.fields.get("system.cuda_version")
    if cuda is not None and not cuda.code and 0 < cuda.value < 10_000_000 and not cuda.value % 10:
        system["cuda_version_major"], system["cuda_version_minor"] = cuda.value // 1000, cuda.value % 1000 // 10
        origin["system.cuda_version"] = answers_text.call(cuda.asked)
    return system, origin


def _origin(capture: str, driver: Driver, origin: Mapping[str, str], beside: Any) -> dict[str, Any]:
    """``origin``: the call of each key that an answer gave, the element of each that only a text tells."""
    from_text = (beside or {}).get("origin") or {}
    listed = dict(sorted({**(from_text.get("keys") or {}), **origin}.items()))
    layout = f"{driver.node} (assumed)" if driver.assumed else driver.node.text
    made = {"capture": capture or from_text.get("capture") or "", "driver": driver.version.text, "layout": layout, "keys": listed}
    return {**made, **({"unmodelled": from_text["unmodelled"]} if from_text.get("unmodelled") else {})}


def _counts(recording: Recording, made: Mapping[int, Keys]) -> dict[str, int]:
    gpus = made.values()
    return {
        "answers": len(recording),
        "values": sum(len(set(gpu.origin) & set(gpu.values)) for gpu in gpus),
        "states": sum(len(set(gpu.origin) & set(gpu.states)) for gpu in gpus),
        "unheld": sum(len(gpu.unheld) for gpu in gpus),
    }
