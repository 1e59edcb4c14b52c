"""The tables: what they say, and what a wrong one is told."""

from __future__ import annotations

import pytest

from mocklib import fields
from mocklib.fields import TableError


def test_fields_are_numbered_in_the_order_of_the_table() -> None:
    for table in (fields.system_fields(), fields.device_fields()):
        assert [definition.index for definition in table.values()] == list(range(len(table)))


def test_words_are_spelled_as_a_profile_spells_them() -> None:
    known = fields.device_fields()
    assert known["ecc.mode_current"].words == {"disabled": 0, "enabled": 1}
    assert known["multi_gpu_board"].words == {"false": 0, "true": 1}
    assert known["performance_state"].words is not None
    assert known["performance_state"].words["P8"] == 8


def test_every_need_is_a_mode() -> None:
    assert {definition.need for definition in fields.device_fields().values()} <= {None, *fields.MODES}


@pytest.mark.parametrize(
    ("entry", "said"),
    [({"type": "float"}, "type is one of"), ({"type": "u64", "unit": "W"}, "keys are"), ({"type": "u64", "need": "mig"}, "is none of"),
     ({"type": "u64", "words": "colours"}, "no word list")],
)  # fmt: skip
def test_a_wrong_entry_is_named(entry: dict[str, str], said: str) -> None:
    with pytest.raises(TableError, match=f"fields.yaml: some.field: .*{said}"):
        fields._field("some.field", entry, {}, "device", 0)


def test_functions_are_numbered_by_name_and_first_seen_on_a_branch() -> None:
    since = fields.since()
    assert list(since) == sorted(since)
    assert since["nvmlDeviceGetMemoryInfo_v2"] == ((510,),)
    assert since["nvmlDeviceGetPlatformInfo"] == ((570,),)
    assert since["nvmlRetry_NvRmControl"] == ((460,), (535,))
    assert since["nvmlDeviceGetComputeRunningProcesses_v3"] == ((510,), (535, 98), (535, 104))
    assert fields.function_index()[list(since)[5]] == 5


@pytest.mark.parametrize(
    ("version", "found"),
    [((440, 33, 1), {}), ((450,), {"": 24}), ((450, 36), {"": 24}), ((465, 19, 1), {"": 24}), ((470,), {}), ((530, 30), {}), ((535, 43), {"_v3": 32}),
     ((535, 86, 10), {"_v3": 32}), ((535, 104, 5), {}), ((550, 127, 8), {}), ((616, 1), {})],
)  # fmt: skip
def test_the_entries_that_todays_header_has_otherwise_are_those_of_some_drivers(version: tuple[int, ...], found: dict[str, int]) -> None:
    sizes = dict(zip(fields.ENTRIES, (16, 24, 32), strict=True))
    entries = fields.entries(version)
    assert {name.removeprefix("nvmlDeviceGetMPSComputeRunningProcesses"): sizes[struct] for name, struct in entries.items() if "MPS" in name} == found
    assert len(entries) == (3 if "_v3" in found else len(found))


def test_entries_of_no_known_struct_or_function_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    fields.since()
    for name, struct in (("nvmlDeviceGetNme", None), ("nvmlDeviceGetComputeRunningProcesses", "nvmlMemory_t")):
        monkeypatch.setattr(fields, "load_yaml", lambda _, name=name, struct=struct: {"functions": {name: {450: struct}}})
        with pytest.raises(TableError, match=f"entries.yaml: {name}: "):
            fields.entry_changes.__wrapped__()


def test_the_layout_word_is_one_number_for_one_set_of_tables() -> None:
    assert fields.layout_word() == fields.layout_word()
    assert 0 < fields.layout_word() < 1 << 64
