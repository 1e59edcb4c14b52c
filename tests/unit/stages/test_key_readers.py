"""No key is accepted and then dropped: each one moves a field that some call answers from, or is named as not served when it is given."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml

from harness.stages import compile as compiling
from harness.stores import profiles
from harness.stores.schema import kept, keys, readers
from harness.stores.schema.keys import Key
from harness.tables import drivers
from mocklib import fields
from mocklib.image import ImageSpec
from tests.unit.stores import key_samples

UNSERVED = frozenset((*kept.UNREAD, *kept.DESCRIPTIVE))
SERVED = [(key, False) for key in keys.device_keys().values() if key.path not in UNSERVED and key.path != "minor_number"]
SERVED += [(key, True) for key in keys.NODE]
KEPT = [(key, False) for key in kept.DEVICE] + [(key, True) for key in kept.NODE]


def compiled(document: dict[str, Any]) -> ImageSpec:
    profile = profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
    return compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version))


def moved(first: ImageSpec, second: ImageSpec) -> set[str]:
    """The fields in which two images of one device differ, the tracks that they move along, and their marks."""
    return {name for name in first.devices[0] if served(first, name) != served(second, name)} | first.marks[0] ^ second.marks[0]


def served(spec: ImageSpec, name: str) -> Any:
    """A field with the track that it moves along."""
    value = spec.devices[0][name]
    return (value.value, spec.tracks[value.rate]) if value.kind == 2 else value


@pytest.mark.parametrize(("key", "node"), SERVED, ids=lambda given: given.path if isinstance(given, Key) else "")
def test_a_key_moves_a_field_that_a_call_answers_from(key: Key, node: bool) -> None:
    one, other = (compiled(key_samples.document(key, value, node=node)) for value in key_samples.samples(key))
    found = moved(one, other)
    assert ({key.path} & set(fields.MARKS) or set(readers.fields_of(key.path))) & found, f"{key.path} moves {found or 'nothing'}"
    assert readers.of_key(key.path), f"{key.path}: no function, field id or slot gives {readers.fields_of(key.path)}"


@pytest.mark.parametrize(("key", "node"), KEPT, ids=lambda given: given.path if isinstance(given, Key) else "")
def test_a_key_that_is_kept_moves_nothing_and_is_named(key: Key, node: bool) -> None:
    documents = [key_samples.document(key, value, node=node) for value in key_samples.samples(key)]
    one, other = map(compiled, documents)
    assert {name for name in moved(one, other) if readers.of_field(name)} == set()
    assert one.system == other.system
    for document in documents:
        told = kept.unserved(document)
        assert [*told.later, *told.descriptive] == [key.path]


@pytest.mark.parametrize("path", sorted(UNSERVED & set(keys.device_keys())))
def test_a_key_whose_field_no_call_reads_is_named(path: str) -> None:
    key = keys.device_keys()[path]
    told = kept.unserved(key_samples.document(key, key_samples.samples(key)[0]))
    assert [*told.later, *told.descriptive] == [path]
    assert [reader for name in readers.fields_of(path) for reader in readers.of_field(name)] == []


def test_keys_of_the_node_and_of_its_devices_are_told_in_one_line() -> None:
    document = {
        "nvlink": {"version": 4, "multi_node": True},
        "device_defaults": {"features": {}, "fan": {"controls": None}, "mig": {"instances": [{"id": 1}]}},
        "devices": [{"index": 0, "mig": {"gpu_instances": [{"id": 1}]}}],
    }
    said = "accepted, not served yet: nvlink.multi_node, mig.gpu_instances, mig.instances; descriptive, asked for by no call: features"
    assert str(kept.unserved(document)) == said


@pytest.mark.parametrize("document", [None, [], {}, {"devices": [1, None]}, {"device_defaults": []}, {"nvlink": 3, "excluded": True}])
def test_a_document_that_gives_no_such_key_is_not_told_of(document: Any) -> None:
    assert str(kept.unserved(document)) == ""


def test_no_key_is_in_two_tables() -> None:
    listed = [*keys.device_keys(), *(key.path for key in kept.DEVICE)]
    assert sorted(listed) == sorted(set(listed))


READ_BY_SLOTS = {"nvlink_lanes"}
"""Fields of C that a slot of the private table answers from, and no function of nvml.h."""


def test_the_tables_say_which_fields_handlers_in_c_read() -> None:
    sources = (fields.HERE / "src").glob("*.c")
    read = {name for path in sources if path.name != "default.c" for name in re.findall(r"\bNVP_F_(\w+)", path.read_text("utf-8"))}
    told = {
        name
        for path in (fields.TABLES / "functions").glob("*.yaml")
        for entry in fields.load_yaml(path).values()
        if isinstance(entry, dict)
        for name in entry.get("reads", ())
    }
    assert read == {name.replace(".", "_") for name in told if not name.startswith(("system.", "nvlink.node_"))} | READ_BY_SLOTS
