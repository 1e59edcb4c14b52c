"""Residual answers of a profile as the image has them, and what is refused where it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.stages import compile as compiling
from harness.stages.render import serving
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import drivers
from harness.words.errors import InputError
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer
from mocklib.image import ImageSpec, Recorded

ROOT = Path(__file__).resolve().parents[3]
HEAD = 'version: "1.0"\nsystem: {driver_version: "580.105.08"}\n'


def compiled(text: str) -> ImageSpec:
    profile = profiles.parse((HEAD + text).encode(), "p.yaml")
    return compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version))


def test_answers_of_the_node_come_first_then_those_of_each_gpu_by_its_place() -> None:
    text = """answers: {nvmlSystemGetDriverVersion: UNKNOWN}
device_defaults: {answers: {nvmlDeviceGetMigMode: missing, nvmlDeviceGetSerial: 'SUCCESS {"serial":"1"}'}}
devices:
- {index: 3, answers: {nvmlDeviceGetSerial: 'SUCCESS {"serial":"2"}'}}
- {index: 1, answers: {nvmlDeviceGetSerial: null}}
"""
    assert compiled(text).answers == (
        Recorded(Asked("nvmlSystemGetDriverVersion"), Answer(999)),
        Recorded(Asked("nvmlDeviceGetMigMode", 0), Answer(13, missing=True)),
        Recorded(Asked("nvmlDeviceGetMigMode", 1), Answer(13, missing=True)),
        Recorded(Asked("nvmlDeviceGetSerial", 1), Answer(0, {"serial": "2"})),
    )


def test_a_gpu_in_arguments_or_in_the_answer_is_one_of_the_profile() -> None:
    text = "devices:\n- {index: 0}\n- index: 1\n  answers:\n    'nvmlDeviceGetP2PStatus {\"device2\":{\"gpu\":%d},\"p2pIndex\":0}': NOT_SUPPORTED\n"
    (kept,) = compiled(text % 0).answers
    assert kept.asked.arguments[0] == ("device2", Gpu(0))
    with pytest.raises(InputError, match=r"p\.yaml:7: devices\.1\.answers\..*: GPU 2 of a profile of 2"):
        compiled(text % 2)
    handle = "devices: [{index: 0}]\nanswers:\n  'nvmlDeviceGetHandleByIndex_v2 {\"index\":0}': 'SUCCESS {\"device\":{\"gpu\":1}}'\n"
    with pytest.raises(InputError, match=r"p\.yaml:5: answers\..*: GPU 1 of a profile of 1"):
        compiled(handle)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("answers:\n  nvmlDeviceGetName: UNKNOWN\n", "p.yaml:4: answers.nvmlDeviceGetName: nvmlDeviceGetName is asked of a GPU"),
        ("device_defaults:\n  answers:\n    nvmlSystemGetDriverVersion: UNKNOWN\n", "p.yaml:5: device_defaults.answers.nvmlSystemGetDriverVersion:"),
    ],
)
def test_a_call_in_the_wrong_block_is_refused_where_it_stands(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        compiled(text)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("nvmlDeviceGetPowerUsage: 'SUCCESS {\"power\":4294967296}'", "power"),
        ("nvmlDeviceGetPowerUsage: 'SUCCESS {\"powr\":1}'", "did you mean 'power'"),
        ("nvmlDeviceGetPowerUsage: 'SUCCESS {\"power\":\"much\"}'", "power"),
        ("'nvmlDeviceGetClockInfo {\"typ\":0}': 'SUCCESS {\"clock\":1}'", "typ"),
        ("'nvmlDeviceGetClockInfo {\"type\":\"0\"}': NOT_SUPPORTED", "type"),
        ("'nvmlDeviceGetClockInfo {\"type\":4294967296}': NOT_SUPPORTED", "type"),
    ],
)
def test_an_argument_or_value_that_the_signature_has_no_room_for_is_refused_where_it_stands(line: str, said: str) -> None:
    text = f"devices:\n- index: 0\n  answers:\n    nvmlDeviceGetSerial: UNKNOWN\n    {line}\n"
    with pytest.raises(InputError) as caught:
        serving.packed(profiles.parse((HEAD + text).encode(), "p.yaml"), Workspace(ROOT))
    assert str(caught.value).startswith("p.yaml:7: devices.0.answers.nvmlDeviceGet")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
