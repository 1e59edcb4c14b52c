"""Profiles: the check that names every error at once, merge rules, stable text."""

from __future__ import annotations

import pytest

from harness.stores import profiles
from harness.stores.schema import codec, keys
from harness.words.errors import InputError
from harness.words.state import State

HEAD = 'version: "1.0"\nsystem: {driver_version: "550.163.01"}\n'


def errors(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        profiles.parse(text.encode(), "p.yaml")
    return str(caught.value).split("\n")


def test_all_errors_are_named_at_once_each_with_file_line_path_and_nearest_key():
    text = """version: "1.0"
system:
  driver_versoin: "550.1"
  driver_version: 550.1
device_defaults:
  memory:
    total_byte: 3
    total_bytes: x
  brand: nvidea
  powre: {}
  states: {memory.total_byte: not_supportd}
devices:
- index: 0
  fan: {speed_percent: "101"}
- index: 0
  pci: {bus_id: "0000:07:00"}
"""
    found = errors(text)
    expected = [
        ("p.yaml:3:", "'system.driver_versoin'", "'driver_version'"),
        ("p.yaml:4:", "system.driver_version", "string"),
        ("p.yaml:7:", "'device_defaults.memory.total_byte'", "'total_bytes'"),
        ("p.yaml:8:", "device_defaults.memory.total_bytes", "integer"),
        ("p.yaml:9:", "device_defaults.brand", "'nvidia'"),
        ("p.yaml:10:", "'device_defaults.powre'", "'power'"),
        ("p.yaml:11:", "'not_supportd'", "'not_supported'"),
        ("p.yaml:11:", "'memory.total_byte'", "'memory.total_bytes'"),
        ("p.yaml:14:", "devices.0.fan.speed_percent", "101"),
        ("p.yaml:15:", "devices.1.index", "devices.0"),
        ("p.yaml:15:", "devices.1.minor_number", "devices.0"),
        ("p.yaml:16:", "devices.1.pci.bus_id", "DDDD:BB:DD.F"),
    ]
    assert len(found) == len(expected)
    for line, parts in zip(found, expected, strict=True):
        assert line.startswith(parts[0]), line
        assert all(part in line for part in parts[1:]), line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "mapping"),
        ("", "mapping"),
        ('system: {driver_version: "550.1"}', "'version' is missing"),
        ('version: "1.0"', "'system' is missing"),
        ('version: "1.0"\nsystem: {}', "'system.driver_version' is missing"),
        (HEAD + "devices: [{index: 0, minor_number: 255}]", "255 is outside 0 to 254"),
        (HEAD + 'devices: [{index: 0, pci: {bus_id: "0000:07:00.0"}}, {index: 1, pci: {bus_id: "00000000:07:00.0"}}]', "the address of devices.0"),
        (HEAD + "device_defaults: {serial: 123}", "string"),
        (HEAD + "device_defaults: {persistence_mode: true}", "persistence_mode"),
        (HEAD + "format: 2", "format"),
        (HEAD + "device_defaults: {thermal: {temperature_gpu_c: -1}}", "greater than or equal to 0"),
        (HEAD + 'clock: {at: "yesterday"}', "clock.at"),
        (HEAD + "device_defaults: {processes: [{pid: 1, typ: C}]}", "typ"),
    ],
)
def test_a_profile_that_does_not_hold_is_refused(text, said):
    assert any(said in line for line in errors(text)), errors(text)


def test_many_errors_are_counted_past_the_limit():
    text = HEAD + "device_defaults:\n" + "".join(f"  wrong{number}: 1\n" for number in range(80))
    assert errors(text)[-1] == "p.yaml: 30 more errors"


def test_a_block_of_a_device_replaces_the_defaults_block_whole():
    text = HEAD + "device_defaults: {power: {min_limit_mw: 1, max_limit_mw: 2}}\ndevices: [{index: 0, power: {max_limit_mw: 3}}, {index: 1}]\n"
    first, second = profiles.parse(text.encode()).devices
    assert first.values == {"index": 0, "power.max_limit_mw": 3}
    assert second.values == {"index": 1, "power.min_limit_mw": 1, "power.max_limit_mw": 2}


def test_pci_and_platform_merge_key_by_key():
    defaults = "device_defaults: {pci: {device_id: 1}, platform: {host_id: 2}}\n"
    text = HEAD + defaults + "devices: [{index: 0, pci: {subsystem_id: 3}, platform: {slot_number: 4}}]\n"
    (device,) = profiles.parse(text.encode()).devices
    assert device.values == {"index": 0, "pci.device_id": 1, "pci.subsystem_id": 3, "platform.host_id": 2, "platform.slot_number": 4}


def test_presence_decides_not_zero():
    text = HEAD + 'device_defaults: {module_id: 7, serial: "1"}\ndevices: [{index: 0, module_id: 0, serial: ""}]\n'
    (device,) = profiles.parse(text.encode()).devices
    assert (device.values["module_id"], device.values["serial"]) == (0, "")


def test_a_devices_own_value_wins_over_an_inherited_state():
    text = (
        HEAD + "device_defaults: {states: {persistence_mode: gpu_lost, compute_mode: gpu_lost}}\ndevices: [{index: 0, persistence_mode: enabled}]\n"
    )
    (device,) = profiles.parse(text.encode()).devices
    assert device.states == {"compute_mode": State.GPU_LOST}


@pytest.mark.spec("A15")
@pytest.mark.parametrize(("text", "count"), [("", 8), ("devices: [{index: 0}, {index: 1}]", 2)])
def test_the_number_of_devices_is_that_of_the_list_else_eight(text, count):
    assert len(profiles.parse((HEAD + text).encode()).devices) == count


@pytest.mark.spec("A15", "B08")
def test_num_devices_wins_over_the_list():
    text = 'version: "1.0"\nsystem: {driver_version: "550.1", num_devices: 3}\ndevices: [{index: 1, serial: "x"}]\n'
    assert [device.values.get("serial") for device in profiles.parse(text.encode()).devices] == [None, "x", None]


def test_devices_stand_in_the_order_of_their_index():
    text = HEAD + 'devices: [{index: 1, serial: "b"}, {index: 0, serial: "a"}]'
    assert [device.values["serial"] for device in profiles.parse(text.encode()).devices] == ["a", "b"]


def test_dumped_text_is_read_back_and_dumped_the_same():
    document = {
        "version": "1.0",
        "n": profiles.Hexadecimal(31),
        "list": [1, 2, 3],
        "yes": "yes",
        "text": "a: b #c",
        "time": "12:30",
        "deep": {"x": [{"y": "é"}]},
    }
    text = profiles.dump(document)
    from harness.tables import strictyaml

    assert strictyaml.load(text, "x").value == document
    assert profiles.dump(strictyaml.load(text, "x").value).replace('"n": 31', '"n": 0x1F') == text


@pytest.mark.parametrize("key", [key for key in keys.device_keys().values() if key.words], ids=lambda key: key.path)
def test_every_word_of_a_key_is_its_number_and_back(key):
    for word, number in key.words:
        value = {"true": True, "false": False}.get(word, word) if key.kind == "flag" else word
        assert codec.to_nvml(key, value) == number
        assert codec.to_nvml(key, codec.to_profile(key, number)) == number


def test_not_available_text_is_no_value():
    assert codec.to_nvml(keys.device_keys()["inforom.pwr_object"], "N/A") is None
    assert codec.to_nvml(keys.device_keys()["fan.speed_percent"], "N/A") is None


@pytest.mark.spec("B18")
def test_an_architecture_is_read_in_any_case_and_under_its_other_name():
    text = HEAD + 'device_defaults: {architecture: " Ada_Lovelace "}\n'
    value = profiles.parse(text.encode()).devices[0].values["architecture"]
    assert codec.to_nvml(keys.device_keys()["architecture"], value) == 8


def test_a_number_that_the_keys_unit_cannot_hold_is_refused():
    with pytest.raises(InputError, match="multiple"):
        codec.to_profile(keys.device_keys()["clocks_throttle_reasons.counters.sync_boost_us"], 1500)


def test_a_gpu_with_a_state_of_its_own_inherits_nothing():
    text = HEAD + "device_defaults: {brand: tesla, states: {serial: no_permission}}\ndevices:\n- {index: 0}\n- {index: 1, state: uncaptured}\n"
    text += '- {index: 2, state: gpu_lost, pci: {bus_id: "0000:04:00.0"}}\n'
    own, left_out, lost = profiles.parse(text.encode()).devices
    assert (own.state, own.values["brand"], own.states) == (None, "tesla", {"serial": State.NO_PERMISSION})
    assert (left_out.state, dict(left_out.values), left_out.states) == (State.UNCAPTURED, {"index": 1}, {})
    assert (lost.state, dict(lost.values)) == (State.GPU_LOST, {"index": 2, "pci.bus_id": "0000:04:00.0"})
    assert profiles.parse(text.encode()).shown == (own,)


def test_a_gpu_with_a_state_of_its_own_has_no_readings():
    text = HEAD + "devices:\n- {index: 0, state: uncaptured, uuid: GPU-1}\n- {index: 1, state: gpu_lost, uuid: GPU-2, name: x}\n"
    text += "- {index: 2, state: uncapturd}\n- {index: 3, state: not_supported}\n- {index: 4, state: absent}\n"
    text += "- {index: 5, state: gpu_lost, states: {name: not_found}}\n"
    found = errors(text)
    expected = [
        ("p.yaml:4:", "devices.0.uuid: GPU 0 is uncaptured: it has no readings"),
        ("p.yaml:5:", "devices.1.name: GPU 1 is gpu_lost: it has no readings; it may have minor_number, pci.bus_id, serial, uuid"),
        ("p.yaml:6:", "did you mean 'uncaptured'"),
        ("p.yaml:7:", "devices.3.state: 'not_supported'"),
        ("p.yaml:8:", "devices.4.state: 'absent'"),
        ("p.yaml:9:", "devices.5.states: GPU 5 is gpu_lost"),
    ]
    assert len(found) == len(expected), found
    for line, parts in zip(found, expected, strict=True):
        assert line.startswith(parts[0]), line
        assert parts[1] in line, line


def test_what_moves_in_a_recordings_profile_stands_on_one_line():
    origin = {"capture": "t4-x1_550.163.01", "driver": "550.163.01", "layout": "550.163.01"}
    clock = {"mode": "frozen", "at": "2026-01-31T12:00:00Z"}
    document = {"format": 1, "version": "1.0", "system": {"driver_version": "550.163.01", "num_devices": 1}, "clock": clock, "origin": origin}
    text = profiles.recorded(profiles.dump(document))
    assert text.split("\n")[2] == 'recorded: {capture: t4-x1_550.163.01, at: "2026-01-31T12:00:00Z"}'
    other = {**document, "clock": {"mode": "frozen", "at": "2026-02-01T12:00:00Z"}, "origin": {**origin, "capture": "t4-x1_550.163.01_2"}}
    pairs = zip(text.split("\n"), profiles.recorded(profiles.dump(other)).split("\n"), strict=True)
    assert [one[:9] for one, two in pairs if one != two] == ["recorded:"]
    read, plain = profiles.parse(text.encode()), profiles.parse(profiles.dump(document).encode())
    assert (read.clock, read.origin) == (plain.clock, plain.origin)
    assert profiles.recorded(profiles.dump(document)) == text


def test_what_moves_is_said_once_and_an_origin_names_its_capture():
    twice = HEAD + "recorded: {capture: a}\norigin: {capture: b, driver: x, layout: y}\n"
    assert errors(twice) == ["p.yaml:3: recorded.capture and origin.capture say the same thing; take one of them out"]
    assert errors(HEAD + "origin: {driver: x, layout: y}\n") == ["p.yaml:3: 'origin.capture' is missing"]
