"""``answers`` of a profile: read strictly, merged call by call, written a line an answer."""

from __future__ import annotations

import jsonschema
import pytest

from harness.stores import profiles
from harness.stores.schema import answers, editor
from harness.tables import strictyaml
from harness.words.errors import InputError
from mocklib.answers import Asked, Gpu
from mocklib.binding import Answer

HEAD = 'version: "1.0"\nsystem: {driver_version: "550.163.01"}\n'
LINK = "'nvmlDeviceGetNvLinkState {\"link\":0}'"


def errors(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        profiles.parse((HEAD + text).encode(), "p.yaml")
    return str(caught.value).split("\n")


def test_answers_are_read_where_they_stand() -> None:
    text = f"""answers:
  nvmlSystemGetDriverVersion: 'SUCCESS {{"version":"1.2"}}'
device_defaults:
  answers:
    {LINK}: NOT_SUPPORTED
    'nvmlDeviceGetP2PStatus {{"device2":{{"gpu":1}},"p2pIndex":0}}': "4711"
devices:
- index: 0
  answers: {{nvmlDeviceGetMigMode: missing}}
- index: 1
"""
    read = profiles.parse((HEAD + text).encode(), "p.yaml")
    (version,) = read.answers
    assert (version.asked, version.answer) == (Asked("nvmlSystemGetDriverVersion"), Answer(0, {"version": "1.2"}))
    assert version.where == "p.yaml:4: answers.nvmlSystemGetDriverVersion"
    link, peer, mode = read.devices[0].answers
    assert (link.asked, link.answer) == (Asked("nvmlDeviceGetNvLinkState", None, (("link", 0),)), Answer(3))
    assert (peer.asked.arguments, peer.answer) == ((("device2", Gpu(1)), ("p2pIndex", 0)), Answer(4711))
    assert (mode.asked.function, mode.answer) == ("nvmlDeviceGetMigMode", Answer(13, missing=True))
    assert read.devices[1].answers == (link, peer)
    assert all("answers" not in key for device in read.devices for key in (*device.values, *device.states))


def test_a_devices_answer_stands_in_place_of_the_defaults_and_null_takes_one_away() -> None:
    text = f"device_defaults: {{answers: {{{LINK}: NOT_SUPPORTED, nvmlDeviceGetMigMode: missing}}}}\n"
    text += f"devices:\n- index: 0\n  answers: {{{LINK}: UNKNOWN}}\n- index: 1\n  answers: {{{LINK}: null}}\n- index: 2\n  answers: null\n"
    first, second, third = profiles.parse((HEAD + text).encode()).devices
    assert [answer.answer.code for answer in first.answers] == [999, 13]
    assert [answer.asked.function for answer in second.answers] == ["nvmlDeviceGetMigMode"]
    assert [answer.answer.code for answer in third.answers] == [3, 13]


def test_a_gpu_with_a_state_of_its_own_inherits_no_answer_and_may_have_some() -> None:
    text = "device_defaults: {answers: {nvmlDeviceGetMigMode: missing}}\n"
    text += "devices: [{index: 0, state: uncaptured, answers: {nvmlDeviceGetName: UNKNOWN}}, {index: 1, state: gpu_lost}]\n"
    left_out, lost = profiles.parse((HEAD + text).encode()).devices
    assert [answer.asked.function for answer in left_out.answers] == ["nvmlDeviceGetName"]
    assert lost.answers == ()
    assert dict(left_out.values) == {"index": 0}


def test_every_error_is_named_at_once_with_file_line_key_and_the_nearest_function() -> None:
    text = """answers:
  nvmlSystemGetDriverVersoin: NOT_SUPPORTED
  'nvmlSystemGetDriverVersion {': SUCCESS
  'nvmlSystemGetNVMLVersion': 'SUCCESS{"version":"1"}'
device_defaults:
  answers:
    nvmlDeviceGetMigMode: NOT_SUPORTED
    'nvmlDeviceGetNvLinkState {"link": 0}': NOT_SUPPORTED
devices:
- index: 0
  answers:
    nvmlDeviceGetName: 3
    'nvmlDeviceGetP2PStatus {"device2":{"gpu":0},"p2pIndex":0}': NOT_SUPPORTED
    'nvmlDeviceGetP2PStatus {"p2pIndex":0,"device2":{"gpu":0}}': NOT_SUPPORTED
    'nvmlDeviceGetSerial': 'SUCCESS {"serial":true}'
"""
    expected = [
        ("p.yaml:4:", "answers.nvmlSystemGetDriverVersoin", "'nvmlSystemGetDriverVersion'"),
        ("p.yaml:5:", "answers.nvmlSystemGetDriverVersion {", "JSON"),
        ("p.yaml:6:", "answers.nvmlSystemGetNVMLVersion", "SUCCESS{"),
        ("p.yaml:9:", "device_defaults.answers.nvmlDeviceGetMigMode", "'NOT_SUPPORTED'"),
        ("p.yaml:10:", "device_defaults.answers.nvmlDeviceGetNvLinkState", 'write: nvmlDeviceGetNvLinkState {"link":0}'),
        ("p.yaml:14:", "devices.0.answers.nvmlDeviceGetName", "string"),
        ("p.yaml:16:", "devices.0.answers.nvmlDeviceGetP2PStatus", "is the call of"),
        ("p.yaml:17:", "devices.0.answers.nvmlDeviceGetSerial", "true"),
    ]
    found = errors(text)
    assert len(found) == len(expected), found
    for line, parts in zip(found, expected, strict=True):
        assert line.startswith(parts[0]), line
        assert all(part in line for part in parts[1:]), line


@pytest.mark.parametrize("text", ["answers: []", "answers: 3", "device_defaults: {answers: [x]}", "devices: [{index: 0, answers: x}]", "answer: {}"])
def test_answers_of_another_shape_are_refused(text: str) -> None:
    assert "answer" in errors(text)[0]


@pytest.mark.parametrize(
    "text",
    [
        'nvmlDeviceGetHandleBySerial {"serial":"a \'quoted\' # text: \\u00e9 \x7f"}',
        f'nvmlDeviceGetHandleBySerial {{"serial":"{"long " * 300}"}}',
        "nvmlDeviceGetName",
    ],
)
def test_any_call_and_answer_is_written_so_that_it_is_read_back(text: str) -> None:
    value = 'SUCCESS {"x":"' + "a b" * 2000 + "it's\x7f\"}"
    written = f"{HEAD}{answers.lines({text: value, 'nvmlDeviceGetSerial': '4711', 'nvmlDeviceGetBrand': None}, '')}"
    assert strictyaml.load(written, "x").value["answers"] == {text: value, "nvmlDeviceGetSerial": "4711", "nvmlDeviceGetBrand": None}
    assert max(map(len, written.splitlines())) > len(value)


def test_a_profile_with_answers_is_dumped_a_line_an_answer_last_in_each_block() -> None:
    document = {
        "version": "1.0",
        "device_defaults": {"answers": {'nvmlDeviceGetNvLinkState {"link":0}': 'SUCCESS {"isActive":1}'}, "brand": "tesla"},
        "devices": [{"index": 0, "answers": {"nvmlDeviceGetMigMode": "missing"}}, {"index": 1}],
        "answers": {"nvmlSystemGetDriverVersion": "NOT_SUPPORTED"},
    }
    text = profiles.dump(document)
    assert text == (
        'version: "1.0"\n'
        "device_defaults:\n  brand: tesla\n  answers:\n    'nvmlDeviceGetNvLinkState {\"link\":0}': 'SUCCESS {\"isActive\":1}'\n"
        "devices:\n- index: 0\n  answers:\n    nvmlDeviceGetMigMode: missing\n- index: 1\n"
        "answers:\n  nvmlSystemGetDriverVersion: NOT_SUPPORTED\n"
    )
    assert strictyaml.load(text, "x").value == document
    alone = profiles.dump({"device_defaults": {"answers": {"nvmlDeviceGetName": "missing"}}})
    assert alone == "device_defaults:\n  answers:\n    nvmlDeviceGetName: missing\n"


def test_an_editors_schema_takes_answers_and_refuses_what_are_none() -> None:
    check = jsonschema.Draft202012Validator(editor.schema("profile"))
    good = {"nvmlDeviceGetMigMode": "missing", 'nvmlDeviceGetNvLinkState {"link":0}': 'SUCCESS {"isActive":1}', "nvmlDeviceGetName": "4711"}
    bad = [{"GetName": "SUCCESS"}, {"nvmlDeviceGetName": 3}, {"nvmlDeviceGetName": "success"}, {"nvmlDeviceGetName {": "SUCCESS"}, []]
    document = {"version": "1.0", "system": {"driver_version": "1.2"}}
    for held in (good, {"nvmlDeviceGetName": None}, None):
        assert check.is_valid({**document, "answers": held, "device_defaults": {"answers": held}, "devices": [{"index": 0, "answers": held}]})
    for wrong in bad:
        assert not check.is_valid({**document, "answers": wrong}), wrong
        assert not check.is_valid({**document, "devices": [{"index": 0, "answers": wrong}]}), wrong
