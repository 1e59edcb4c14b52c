"""The text of a recording: what stands in a line, and one clear message for each kind of damage."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.text import answer_values, answers
from harness.words.errors import InputError
from mocklib.answers import RETURN_CODES, Asked, Gpu
from mocklib.binding import Answer
from mocklib.gen.header import find_header

EXAMPLE = {
    Asked("nvmlSystemGetDriverVersion"): Answer(0, {"version": "580.105.08"}),
    Asked("nvmlDeviceGetClockInfo", 0, (("type", 0),)): Answer(0, {"clock": 345}),
    Asked("nvmlDeviceGetP2PStatus", 0, (("device2", Gpu(1)), ("p2pIndex", 0))): Answer(0, {"p2pStatus": 0}),
    Asked("nvmlDeviceGetMigMode", 0): Answer(3),
    Asked("nvmlSystemGetCPER_v1"): Answer(13, missing=True),
    Asked("nvmlSystemGetHicVersion"): Answer(13),
    Asked("nvmlDeviceGetName", 12): Answer(0, {"name": "caf\udce9 \u00e9"}),
    Asked("nvmlDeviceGetPdi", 0, (("pdi.version", 1),)): Answer(0, {"pdi.version": 16777232, "pdi.value": (1 << 64) - 1}),
    Asked("nvmlDeviceGetGpuFabricInfo", 0): Answer(0, {"gpuFabricInfo.clusterUuid": b"\x00\xff"}),
    Asked("nvmlDeviceGetRetiredPages", 0, (("cause", 1),)): Answer(7, {"pageCount": 5}),
    Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 82), ("scopeId", 0))): Answer(0, {"valueType": 0, "value": 0.1}),
    Asked("nvmlDeviceGetBridgeChipInfo", 0): Answer(1234, {"bridgeHierarchy.bridgeChipInfo": [{"type": 0, "fwVersion": 1}]}),
}
TEXT = r"""format: 1
node nvmlSystemGetDriverVersion = SUCCESS {"version":"580.105.08"}
gpu0 nvmlDeviceGetClockInfo {"type":0} = SUCCESS {"clock":345}
gpu0 nvmlDeviceGetP2PStatus {"device2":{"gpu":1},"p2pIndex":0} = SUCCESS {"p2pStatus":0}
gpu0 nvmlDeviceGetMigMode = NOT_SUPPORTED
node nvmlSystemGetCPER_v1 = missing
node nvmlSystemGetHicVersion = FUNCTION_NOT_FOUND
gpu12 nvmlDeviceGetName = SUCCESS {"name":"caf\udce9 \u00e9"}
gpu0 nvmlDeviceGetPdi {"pdi.version":1} = SUCCESS {"pdi.version":16777232,"pdi.value":18446744073709551615}
gpu0 nvmlDeviceGetGpuFabricInfo = SUCCESS {"gpuFabricInfo.clusterUuid":{"hex":"00ff"}}
gpu0 nvmlDeviceGetRetiredPages {"cause":1} = INSUFFICIENT_SIZE {"pageCount":5}
gpu0 nvmlDeviceGetFieldValues {"fieldId":82,"scopeId":0} = SUCCESS {"valueType":0,"value":0.1}
gpu0 nvmlDeviceGetBridgeChipInfo = 1234 {"bridgeHierarchy.bridgeChipInfo":[{"type":0,"fwVersion":1}]}
"""
DAMAGE = [
    ("gpu0 nvmlSystemGetDriverVersion = NOT_SUPPORTED", "nvmlSystemGetDriverVersion is a call of the node, not of gpu0"),
    ("node nvmlDeviceGetName = NOT_SUPPORTED", "nvmlDeviceGetName is asked of a GPU, not of the node"),
    ('gpu0 nvmlDeviceGetClockInf {"type":0} = SUCCESS', "is no function of NVML (did you mean 'nvmlDeviceGetClockInfo'?)"),
    ("gpu0", "line ends too early"),
    ("gpu0  nvmlDeviceGetName = SUCCESS", "has two spaces"),
    ("", "a line starts with `node` or `gpuN`"),
    ("gpu01 nvmlDeviceGetName = SUCCESS", 'a line starts with `node` or `gpuN`, not "gpu01"'),
    ("gpu4000 nvmlDeviceGetName = SUCCESS", "a node has at most 4000 GPUs"),
    ("gpu nvmlDeviceGetName = SUCCESS", "a line starts with"),
    ("gpu0 nvmlDeviceGetName SUCCESS", "after the call stands ` = `"),
    ("gpu0 nvmlDeviceGetName = SUCCES", "(did you mean 'SUCCESS'?)"),
    ("gpu0 nvmlDeviceGetName = MISSING", "no return code of NVML"),
    ("gpu0 nvmlDeviceGetName = 3", "write: NOT_SUPPORTED"),
    ("gpu0 nvmlDeviceGetName = 4294967296", "no return code of NVML"),
    ("gpu0 nvmlDeviceGetName = SUCCESS ", "line ends too early"),
    ("gpu0 nvmlDeviceGetName = SUCCESS {}", "write: SUCCESS"),
    ("gpu0 nvmlDeviceGetName = SUCCESS []", "stand in braces"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name": "x"}', "not as nvparity writes it"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"x"} ', "after the answer stands nothing"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"x"', "no JSON"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"x","name":"y"}', "'name' stands twice"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":null}', "'name' is null"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":true}', "'name' is true"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":NaN}', "NaN is no number"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":1e999}', "is no double"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":18446744073709551616}', "more than 64 bits"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":' + "9" * 5000 + "}", "more than 64 bits"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"\\u0000"}', "no text of a C string"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"\\ud800"}', "no text of a C string"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":"\\udcc3\\udca9"}', "no text of a C string"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":{"hex":"0"}}', "pairs of hexadecimal digits"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":{"hex":"0A"}}', "not as nvparity writes it"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":{"gpu":-1}}', "holds the index of a GPU"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":{"gpu":true}}', "holds the index of a GPU"),
    ('gpu0 nvmlDeviceGetName {"length":0.5} = SUCCESS', "neither an integer, a text nor a handle"),
    ('gpu0 nvmlDeviceGetName {"length":[1]} = SUCCESS', "neither an integer, a text nor a handle"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":' + "[" * 13 + "]" * 13 + "}", "more than 12 braces"),
    ('gpu0 nvmlDeviceGetName = SUCCESS {"name":' + "[" * 200000, "more than 12 braces"),
    ("gpu0 nvmlDeviceGetName = SUCCESS\r", "no return code of NVML"),
    ("gpu0 nvmlDeviceGetName = SUCCESS # why", "no JSON"),
    ("gpu0 nvmlDeviceGetName = missing {}", "no return code of NVML"),
]


def test_each_kind_of_answer_has_its_line() -> None:
    assert answers.dump(EXAMPLE) == TEXT
    assert list(answers.load(TEXT, "answers.txt").items()) == list(EXAMPLE.items())


@pytest.mark.parametrize(("line", "message"), DAMAGE, ids=[f"{number}" for number in range(len(DAMAGE))])
def test_damage_is_named_with_its_line(line: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        answers.load(f"format: 1\nnode nvmlSystemGetDriverVersion = NOT_SUPPORTED\n{line}\n", "a.txt")
    assert str(raised.value).startswith("a.txt:3: ")
    assert len(str(raised.value)) < 500


def test_a_call_answered_twice_names_both_lines() -> None:
    with pytest.raises(InputError, match=r"a\.txt:3: gpu0 nvmlDeviceGetName is answered already in line 2"):
        answers.load("format: 1\ngpu0 nvmlDeviceGetName = NOT_SUPPORTED\ngpu0 nvmlDeviceGetName = SUCCESS\n", "a.txt")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no `format:`"),
        ("node nvmlSystemGetDriverVersion = NOT_SUPPORTED\n", "no `format:`"),
        ("format: 99\n", "needs a newer nvparity"),
        ("format: 1 \n", "a.txt:1: the first line is `format: 1` and nothing else"),
        ("format: 1\nnode nvmlSystemGetDriverVersion = NOT_SUPPORTED", "a.txt:2: the last line has no line end"),
    ],
)
def test_a_head_or_end_that_is_off_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        answers.load(text, "a.txt")


def test_a_file_or_line_beyond_its_limit_is_refused_unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "SIZE_LIMIT", 100)
    with pytest.raises(InputError, match="101 characters"):
        answers.load("x" * 101, "a.txt")
    monkeypatch.setattr(answers, "LINE_LIMIT", 50)
    with pytest.raises(InputError, match="a line of 60 characters"):
        answers.load(f"format: 1\nnode {'x' * 60}\n", "a.txt")


def test_a_line_without_subject_is_a_call_and_its_answer() -> None:
    asked, answer = answers.one('nvmlDeviceGetNvLinkState {"link":0} = SUCCESS {"isActive":1}')
    assert (asked, answer) == (Asked("nvmlDeviceGetNvLinkState", None, (("link", 0),)), Answer(0, {"isActive": 1}))
    assert answers.call_of('nvmlDeviceGetNvLinkState {"link":0}', "p.yaml:3") == asked
    assert answers.answer_of('SUCCESS {"isActive":1}', "p.yaml:3") == answer
    assert answers.line(asked, answer) == 'nvmlDeviceGetNvLinkState {"link":0} = SUCCESS {"isActive":1}'
    with pytest.raises(InputError, match=r"p\.yaml:3: after the call stands nothing"):
        answers.call_of("nvmlDeviceGetName = SUCCESS", "p.yaml:3")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, True, 1 << 64, "\0", "\ud800", {"gpu": 1}, object()])
def test_a_value_no_answer_can_have_is_never_written(value: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        answer_values.text({"value": value})


def test_the_names_of_codes_are_those_of_the_header() -> None:
    declared = re.findall(r"^\s*NVML_(?:ERROR_)?([A-Z_]+)\s*=\s*(\d+),?\s*//", find_header().read_text("utf-8"), re.MULTILINE)
    start = declared.index(("SUCCESS", "0"))
    named = {int(number): name for name, number in declared[start : declared.index(("UNKNOWN", "999"), start) + 1]}
    assert named == RETURN_CODES


def test_the_lines_that_the_page_shows_are_a_recordings() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "answers.md").read_text("utf-8")
    (shown,) = re.findall(r"```\n(node .*?)```", page, re.DOTALL)
    assert answers.dump(answers.load(f"format: 1\n{shown}", "docs/answers.md")) == f"format: 1\n{shown}"
