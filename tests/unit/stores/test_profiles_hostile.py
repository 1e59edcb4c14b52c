"""Profiles that mean harm or are typed badly: every key with every kind of wrong value is refused with file and line, and nothing crashes."""

from __future__ import annotations

import re

import pytest

from harness.stages import compile as compiling
from harness.stages import compile_device
from harness.stores import profiles
from harness.stores.schema import keys
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib import image
from mocklib.image import FieldValue, ImageSpec

pytestmark = pytest.mark.hostile

HEAD = 'version: "1"\nsystem: {driver_version: "570.148.08"}\ndevices:\n- index: 0\n'
LINE = re.compile(r"p\.yaml:\d+: .+")
SCALARS = (
    "-1", "0", "1.5", "1e400", "1_000", "010", "1:30", "18446744073709551615", "18446744073709551616", "4294967296", "256", "0x" + "f" * 20,
    "9" * 5000, ".nan", "-.inf", "null", "true", "abc", '""', '"N/A"', '"a\\0b"', '"\\uFFFF"', '"\\uF700"', '"101"', "٣", '"' + "x" * 5000 + '"',
    '"FFFFFFFF:FF:1F.7"', '"0x"', '"---"',
)  # fmt: skip
COLLECTIONS = (
    "[]", "{}", "[1]", "[[1]]", "[{}]", "{count: -1}", "{count: 3, addresses: [1, 2, 3, 4]}", "{count: 99999999999}", "[{pid: -1}]",
    "[{pid: 4294967295, used_memory_mib: 18446744073709551615}]", "[{pid: 1, protected_memory_mib: 18446744073709551615}]",
    "[{freq_mhz: 4294967296, graphics_clocks: []}]", "[255]",
)  # fmt: skip


def served(text: str) -> bytes:
    """The image of a profile, through everything that may refuse it."""
    profile = profiles.parse(text.encode(), "p.yaml")
    return image.pack(compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version)))


def nested(path: str, value: str) -> str:
    """A device with one key set to the YAML text ``value``."""
    *blocks, name = path.split(".")
    lines = [f"{'  ' * (depth + 1)}{block}:\n" for depth, block in enumerate(blocks)]
    return HEAD + "".join(lines) + f"{'  ' * (len(blocks) + 1)}{name}: {value}\n"


def refusal(text: str) -> list[str]:
    """The lines a profile is refused with; each names the file and a line."""
    with pytest.raises(InputError) as caught:
        served(text)
    found = str(caught.value).split("\n")
    assert [line for line in found if not LINE.fullmatch(line)] == []
    return found


@pytest.mark.parametrize("path", sorted(keys.device_keys()))
def test_no_value_of_a_key_is_more_than_a_refusal_with_file_and_line(path: str) -> None:
    accepted: list[dict[str, FieldValue]] = []
    said: list[str] = []
    for value in (*SCALARS, *COLLECTIONS):
        try:
            (device,) = profiles.parse(nested(path, value).encode(), "p.yaml").devices
        except InputError as error:
            said += str(error).split("\n")
        else:
            accepted.append(compile_device.device_fields(device, len(accepted)))
    assert said
    assert [line for line in said if not LINE.fullmatch(line)] == []
    assert len(image.read(image.pack(ImageSpec(devices=accepted))).devices) == len(accepted)


@pytest.mark.parametrize("path", sorted(path for path, key in keys.device_keys().items() if key.kind in ("uint", "int") and path != "minor_number"))
def test_a_number_fits_what_nvml_has_for_it(path: str) -> None:
    least, most = keys.device_keys()[path].limits
    for value in (least, most):
        profiles.parse(nested(path, str(value)).encode(), "p.yaml")
    for value in (least - 1, most + 1):
        assert path in refusal(nested(path, str(value)))[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('version: ""\nsystem: {driver_version: "570.148.08"}\n', "version"),
        ('version: "1"\nsystem: {driver_version: "9999999.1"}\n', 'a driver version such as "570.148.08"'),
        ('version: "1"\nsystem: {driver_version: "550.1", cuda_version: "12.4.1"}\n', "a CUDA version"),
        ('version: "1"\nsystem: {driver_version: "550.1", cuda_version: "11.8", cuda_version_major: 12, cuda_version_minor: 4}\n', "not the 12.4"),
        ('version: "1"\nsystem: {driver_version: "550.1", num_devices: 1024}\n', "num_devices"),
        ('version: "1"\nsystem: {driver_version: "550.1", num_devices: 3}\ndevices: [{index: 0, minor_number: 2}]\n', "device 2 is not listed"),
        ('version: "1"\nsystem: {driver_version: "550.1"}\ndevices: [{index: []}, {index: {}}]\n', "devices.0.index"),
        ('version: "1"\nsystem: {driver_version: "550.1"}\ndevices: [1, null, []]\n', "should be a mapping"),
        ('version: "1"\nsystem: {driver_version: "550.1"}\ndevices: {a: 1}\n', "should be a list"),
        ('version: "1"\nsystem: {driver_version: "550.1"}\n5: 3\n', "unknown key '5'"),
        ('version: "1"\nsystem: {driver_version: "550.1"}\n.nan: 3\n', "unknown key '.nan'"),
        (HEAD + "  minor_number: []\n", "minor_number"),
        (HEAD + "  states: {name: [], uuid: {}}\n", "devices.0.states.name"),
        (HEAD + 'clock: {at: "2026-02-30T00:00:00Z"}\n', "an instant such as"),
        (HEAD + 'clock: {at: "1969-12-31T23:59:59Z"}\n', "between 1970 and 2554"),
        (HEAD + 'clock: {at: "2600-01-01T00:00:00Z"}\n', "between 1970 and 2554"),
        (HEAD + "  clocks: {locked_graphics: {min_mhz: 900, max_mhz: 300}}\n", "clocks.locked_graphics.min_mhz: 900 is above the 300 of max_mhz"),
        (HEAD + "  clocks: {offsets: {memory: {min_mhz: 1, max_mhz: -1}}}\n", "1 is above the -1 of max_mhz"),
        (HEAD + "  fan: {min_speed_percent: 90, max_speed_percent: 30}\n", "90 is above the 30 of max_speed_percent"),
        (HEAD + "  power: {workload_power_profiles: {supported: [{id: 1}, {id: 2}, {id: 1}]}}\n", "supported.2.id: 1 is listed before"),
        (HEAD + "  fan_sped: 30\n", "did you mean 'fan.speed_percent'?"),
        (HEAD + "  temprature_gpu: 30\n", "did you mean 'thermal.temperature_gpu_c'?"),
    ],
)
def test_what_cannot_be_meant_is_said_with_its_line(text: str, said: str) -> None:
    assert any(said in line for line in refusal(text)), refusal(text)


def test_what_devices_inherit_is_checked_as_if_they_had_it() -> None:
    shared = 'version: "1"\nsystem: {driver_version: "550.1"}\ndevice_defaults: {minor_number: 3, pci: {bus_id: "0000:01:00.0"}}\n'
    found = refusal(shared + "devices:\n- index: 0\n- index: 1\n")
    assert [line.split(": ")[1] for line in found] == ["devices.1.minor_number", "devices.1.pci.bus_id"]


def test_a_thousand_devices_are_refused_in_one_go() -> None:
    found = 'version: "1"\nsystem: {driver_version: "550.1"}\ndevices:\n' + "".join(f"- index: {index}\n" for index in range(1000))
    with pytest.raises(InputError) as caught:
        profiles.parse(found.encode(), "p.yaml")
    lines = str(caught.value).split("\n")
    assert lines[0] == "p.yaml:259: devices.255.minor_number: 255 is outside 0 to 254 (255 is nvidiactl)"
    assert lines[-1] == "p.yaml: 695 more errors"


def test_a_full_node_of_255_devices_is_served() -> None:
    text = 'version: "1"\nsystem: {driver_version: "550.1"}\ndevices:\n' + "".join(f"- index: {index}\n" for index in range(255))
    assert len(image.read(served(text)).devices) == 255


def test_bytes_that_are_not_utf_8_reach_the_image_as_they_are() -> None:
    data = served(HEAD + '  name: "GPU \\uF7F8\\uF701"\n  processes: [{pid: 1, name: "/opt/\\uF7FF"}]\n')
    (device,) = image.read(data).devices
    assert device["name"].value == "GPU \udcf8\x01"
    assert device["processes.compute"].value[0].name == "/opt/\udcff"
    assert b"GPU \xf8\x01" in data
