"""The override document: what is one, what is refused, and that nothing is lost on the way."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.stages.overriding import document
from harness.stages.overriding.document import Overrides
from harness.words.errors import InputError


@pytest.mark.spec("Y01", "Y03")
def test_a_document_has_a_version_a_bucket_for_all_and_one_a_gpu() -> None:
    text = 'version: 1\nall: {fan: {count: 1}}\ndevices:\n  "3": {performance_state: P8}\n  0: {thermal: null}\n'
    assert document.load(text, "x") == Overrides({"fan": {"count": 1}}, {3: {"performance_state": "P8"}, 0: {"thermal": None}})
    assert document.load("", "x") == document.load("{}", "x") == document.load("version: 1\nall: null\n", "x") == Overrides()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version: 1\nal: {}\n", "x.yaml:2: unknown key 'al' (did you mean 'all'?); at the top stand version, all, devices, node"),
        ("version: 2\n", "x.yaml:1: 2 is no version known here; this one is 'version: 1'"),
        ("version: true\n", "x.yaml:1: True is no version known here; this one is 'version: 1'"),
        ("all: {}\n", "x.yaml:1: 'version' is missing; this one is 'version: 1'"),
        ("[]\n", "x.yaml:1: an override document is a mapping with version, all and devices"),
        ("version: 1\nall: 5\n", "x.yaml:2: all is a mapping of keys"),
        ("version: 1\ndevices: [1]\n", "x.yaml:2: devices is a mapping of GPU index to overrides"),
        ("version: 1\ndevices:\n  all: {}\n", "x.yaml:3: devices.all: 'all' is no index of a GPU (0 to 1023)"),
        ("version: 1\ndevices:\n  -1: {}\n", "x.yaml:3: devices.-1: -1 is no index of a GPU (0 to 1023)"),
        ('version: 1\ndevices:\n  1: {}\n  "1": {}\n', "x.yaml:4: devices.1 is given twice"),
        ("version: 1\nall:\n  states: 5\n", "x.yaml:3: all.states is a mapping of key to state"),
        ("version: 1\nall:\n  states: {3: gpu_lost}\n", "x.yaml:3: all.states.3: a key is text"),
        ('version: 1\ndevices:\n  "0": {states: {"3": gpu_lost}}\n', "x.yaml:3: devices.0.states.3: a key is text"),
        ("version: 1\nnode:\n  system: {init_statu: 9}\n",
         "x.yaml:3: node: unknown key 'system.init_statu' (did you mean 'system.init_status'?); of the node may be overridden system.init_status"),
        ("version: 1\nall:\n  index: 5\n", "x.yaml:3: all.index: is of the profile and cannot be overridden"),
    ],
)
@pytest.mark.spec("Y01")
def test_what_is_no_document_is_refused_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refusal:
        document.load(text, "x.yaml")
    assert str(refusal.value) == said


_NUMBERS = st.integers(-(2**64), 2**64)
_LEAVES = st.none() | st.booleans() | _NUMBERS | st.text("abc01 :#'\"-", max_size=6) | st.lists(_NUMBERS, max_size=3)
_NAMES = st.sampled_from(["a", "b", "thermal", "states_", "x1"])
_TREES = st.recursive(_LEAVES, lambda inner: st.dictionaries(_NAMES, inner, max_size=3), max_leaves=8)
_BUCKETS = st.dictionaries(st.sampled_from(["fan", "power", "processes"]), _TREES, max_size=3)


@pytest.mark.spec("Y01")
@settings(max_examples=60, deadline=None)
@given(_BUCKETS, st.dictionaries(st.integers(0, 1023), _BUCKETS.filter(bool), max_size=3))
def test_a_document_comes_back_whole(shared: dict[Any, Any], devices: dict[int, Any]) -> None:
    overrides = Overrides(shared, devices)
    assert document.load(document.dump(overrides), "x") == overrides
    assert document.of_json(document.to_json(shared), "x") == shared


@pytest.mark.spec("Y01")
def test_integers_above_2_to_53_stay_exact() -> None:
    text = "version: 1\nall: {pdi: 18446744073709551615, memory: {used_bytes: 9007199254740993}}\n"
    overrides = document.load(text, "x")
    assert overrides.all == {"pdi": 2**64 - 1, "memory": {"used_bytes": 2**53 + 1}}
    assert document.of_json(document.to_json(overrides.all), "x") == overrides.all
    assert document.load(document.dump(overrides), "x") == overrides


def test_presets_are_numbers_in_whatever_spelling() -> None:
    wanted = {"power": {"smoothing": {"profiles": {1: {"ramp_up_rate_mw_per_s": 5}}}}}
    assert document.load('version: 1\nall: {power: {smoothing: {profiles: {"1": {ramp_up_rate_mw_per_s: 5}}}}}', "x").all == wanted
    assert document.of_json(document.to_json(wanted), "x") == wanted


@pytest.mark.parametrize("data", [b"[1]", b"{", b'{"a": NaN}', b'{"a": Infinity}', b"[" * 100_000, b"\xff", b"1" * 5000])
def test_a_states_text_that_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(InputError, match="the overrides in it"):
        document.of_json(data, "node.state")


@pytest.mark.parametrize("text", [b'{"states": {"3": "gpu_lost"}}', b'{"states": [1]}', b'{"states": "gpu_lost"}'])
def test_states_of_a_states_text_that_are_none_are_refused(text: bytes) -> None:
    with pytest.raises(InputError, match=r"x: the overrides in it cannot be read: states"):
        document.of_json(text, "x")
