"""The JSON Schemas take what the strict readers take and refuse what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from harness.stages.compare import rules
from harness.stores import captures, profiles, sidecars
from harness.stores.schema import editor, files, kept, keys
from harness.stores.schema.keys import Key
from harness.tables import drivers, strictyaml
from harness.words.errors import InputError
from tests.unit.stores import key_samples

ROOT = Path(__file__).resolve().parents[3]
ALL_KEYS = [(key, False) for key in (*keys.device_keys().values(), *kept.DEVICE)] + [(key, True) for key in (*keys.NODE, *kept.NODE)]


@pytest.fixture(scope="module")
def validators() -> dict[str, Any]:
    return {name: jsonschema.Draft202012Validator(editor.schema(name)) for name in editor.FILES}


def as_json(value: Any) -> Any:
    """A document as an editor's checker sees it: keys are text."""
    return json.loads(json.dumps(value))


def test_each_schema_is_one_of_the_dialect_it_names() -> None:
    for name in editor.FILES:
        schema = editor.schema(name)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        jsonschema.Draft202012Validator.check_schema(schema)


def test_the_same_schema_is_made_each_time() -> None:
    assert [json.dumps(editor.schema(name)) for name in editor.FILES] == [json.dumps(editor.schema(name)) for name in editor.FILES]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("profile", "profiles/*-x*.yaml"),
        ("driver", "profiles/drivers/*.yaml"),
        ("sidecar", "captures/*/sidecar.yaml"),
        ("rules", "golden/rules.yaml"),
    ],
)
def test_the_shipped_files_are_valid(validators: dict[str, Any], name: str, pattern: str) -> None:
    for path in sorted(ROOT.glob(pattern)):
        errors = [f"{path}: {error.json_path}: {error.message}" for error in validators[name].iter_errors(as_json(strictyaml.load_file(path).value))]
        assert errors == []


def test_another_mocks_profiles_are_valid(validators: dict[str, Any], foreign_configs: list[Path]) -> None:
    for path in foreign_configs:
        assert [error.message for error in validators["profile"].iter_errors(as_json(strictyaml.load_file(path).value))] == []


@pytest.mark.parametrize(("key", "node"), ALL_KEYS, ids=lambda given: given.path if isinstance(given, Key) else "")
def test_every_key_is_taken_by_both_and_its_wrong_values_by_neither(validators: dict[str, Any], key: Key, node: bool) -> None:
    for value in (*key_samples.samples(key), None):
        document = key_samples.document(key, value, node=node)
        profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
        assert validators["profile"].is_valid(as_json(document)), value
    for value in WRONG:
        document = key_samples.document(key, value, node=node)
        assert validators["profile"].is_valid(as_json(document)) == taken(document), value


WRONG: tuple[Any, ...] = (
    -1,
    1.5,
    2**64,
    True,
    "",
    "x",
    "N/A",
    "0x1f",
    "101",
    "-",
    [],
    [1],
    [None],
    {},
    {"x": 1},
    [{}],
    [{"pid": 1, "typ": "C"}],
    [300],
)


def taken(document: dict[str, Any]) -> bool:
    """Whether the strict reader takes a profile."""
    try:
        profiles.parse(yaml.safe_dump(document).encode(), "p.yaml")
    except InputError:
        return False
    return True


HEAD = {"version": "1", "system": {"driver_version": "550.1"}}


@pytest.mark.parametrize(
    "document",
    [
        {}, {"version": "1"}, {"version": "", "system": {"driver_version": "1.2"}}, {"version": 1, "system": {"driver_version": "1.2"}},
        {**HEAD, "system": {"driver_version": 550.1}}, {**HEAD, "system": {"driver_version": "550.1", "cuda_version": "12"}},
        {**HEAD, "sytem": {}}, {**HEAD, "format": 2}, {**HEAD, "devices": {}}, {**HEAD, "devices": [{}]}, {**HEAD, "devices": [{"index": "0"}]},
        {**HEAD, "device_defaults": {"architecture": "amper"}}, {**HEAD, "device_defaults": {"states": {"serial": "gone"}}},
        {**HEAD, "device_defaults": {"states": {"serail": "gpu_lost"}}}, {**HEAD, "clock": {"at": "yesterday"}},
        {**HEAD, "device_defaults": {"power": {"smoothing": {"profiles": {5: {}}}}}}, {**HEAD, "nvlink": {"bw_mode": {"mode": 256}}},
        {**HEAD, "nvlink": {"firmware": {"sme": "1:2:3"}}}, {**HEAD, "pcie_topology": {"root_complexes": [{"numa_node": 0}]}},
    ],
)  # fmt: skip
def test_a_wrong_profile_is_refused_by_both(validators: dict[str, Any], document: dict[str, Any]) -> None:
    assert not taken(document)
    assert not validators["profile"].is_valid(as_json(document))


RULE = {"path": "gpu/a", "kind": "volatile", "reason": "moves"}
OF_BINARY = {"path": "gpu/a", "kind": "binary", "reason": "so", "versions": ["535.54.03", "535.274.02"], "prints": "never"}


@pytest.mark.parametrize(
    ("entry", "good"),
    [
        (RULE, True), ({**RULE, "kind": "tolerance", "within": "1 C"}, True), ({**RULE, "kind": "gap", "expires": "0.3"}, True),
        ({**RULE, "boards": ["t4-*"], "captures": ["x"]}, True), ({**RULE, "kind": "deferred"}, True),
        ({**RULE, "kind": "tolerance", "within": 2}, True),
        ({**RULE, "within": 1}, False), ({**RULE, "kind": "tolerance"}, False), ({**RULE, "kind": "gap"}, False), ({**RULE, "kind": "gone"}, False),
        ({**RULE, "paths": "x"}, False), ({"path": "gpu/a", "kind": "volatile"}, False), ({**RULE, "captures": []}, False),
        (OF_BINARY, True), ({**OF_BINARY, "when": "arch>=ampere"}, True), ({**OF_BINARY, "prints": "repeats", "of": "gpu/b"}, True),
        ({**OF_BINARY, "prints": "repeats"}, False), ({**OF_BINARY, "of": "gpu/b"}, False), ({**OF_BINARY, "prints": "once"}, False),
        ({**OF_BINARY, "versions": ["535.54.03"]}, False), ({**OF_BINARY, "versions": [535.5, 535.6]}, False),
        ({**OF_BINARY, "path": "gpu/*"}, False), ({**OF_BINARY, "captures": ["x"]}, False),
        ({**OF_BINARY, "shown": ["a", "b"]}, True), ({**OF_BINARY, "shown": ["a"]}, False), ({**OF_BINARY, "view": "L"}, False),
        ({**OF_BINARY, "within": 1}, False), ({**RULE, "versions": ["1.1", "1.2"]}, False),
        ({**RULE, "captures": "x"}, False), ({**RULE, "kind": "gap", "expires": 0.3}, False), ({**RULE, "kind": "tolerance", "within": "C"}, False),
    ],
)  # fmt: skip
def test_rules_are_taken_and_refused_by_both(validators: dict[str, Any], tmp_path: Path, entry: dict[str, Any], good: bool) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(yaml.safe_dump({"format": 1, "rules": [entry]}), encoding="utf-8")
    try:
        rules.load(path)
        read = True
    except InputError:
        read = False
    assert (read, validators["rules"].is_valid({"format": 1, "rules": [entry]})) == (good, good)


SIDECAR = {
    "format": 1, "id": "one", "kind": "own", "driver": "550.1", "source": {"text": "x"}, "scrubbed": {}, "notes": [],
    "views": {"q-x": {"raw": "a", "scrubbed": "b", "bytes": 3}},
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "good"),
    [
        ({}, True), ({"driver": None}, True), ({"kind": "mine"}, False), ({"views": {}}, False), ({"views": {"q": {}}}, False),
        ({"notes": "x"}, False),
        ({"sources": {}}, False), ({"source": {"url": "x"}}, False), ({"scrubbed": {"uuid": -1}}, False), ({"views": {"L": {"raw": "a"}}}, False),
    ],
)  # fmt: skip
def test_sidecars_are_taken_and_refused_by_both(validators: dict[str, Any], tmp_path: Path, change: dict[str, Any], good: bool) -> None:
    document = {**SIDECAR, **change}
    path = tmp_path / "one" / "sidecar.yaml"
    path.parent.mkdir()
    path.write_text(yaml.safe_dump(document), encoding="utf-8")
    try:
        captures.load_sidecar(path)
        read = True
    except InputError:
        read = False
    assert (read, validators["sidecar"].is_valid(document)) == (good, good)


@pytest.mark.parametrize(
    "change",
    [
        {"parrent": "470.74"}, {"format": 2}, {"version": 550.1}, {"elements": {}}, {"elements": [{"a": {"rows": "x"}}]},
        {"elements": [{"a": {"repeat": "gpu"}}]}, {"changes": [{"remove": "a", "rename": "b"}]}, {"slots": {"a": {"number": 1, "shape": "u64"}}},
    ],
)  # fmt: skip
def test_a_wrong_driver_node_is_refused_by_both(validators: dict[str, Any], tmp_path: Path, change: dict[str, Any]) -> None:
    document = {"format": 1, "version": "900.1", "elements": [{"gpu": {"elements": []}}], **change}
    folder = tmp_path / "profiles" / "drivers"
    folder.mkdir(parents=True)
    (folder / "900.1.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(InputError):
        drivers.load(tmp_path).resolve("900.1")
    assert not validators["driver"].is_valid(document)


def test_the_models_name_the_keys_that_the_readers_take() -> None:
    taken_by_rules = {*files.Tolerance.model_fields, *files.Gap.model_fields}
    assert taken_by_rules == set(rules._KEYS)
    assert {*files.Presence.model_fields, *files.Repetition.model_fields} == set(rules._BINARY_KEYS)
    assert set(files.Sidecar.model_fields) == set(sidecars._KEYS)
    assert set(files.Source.model_fields) == set(sidecars._SOURCE_KEYS)
    assert set(files.View.model_fields) == set(sidecars._VIEW_KEYS)
    assert set(files.Recorded.model_fields) == set(sidecars._RECORDED_KEYS)
    assert set(files.Made.model_fields) == set(sidecars._MADE_KEYS)
    assert set(files.Node.model_fields) == set(drivers._NODE_KEYS)
