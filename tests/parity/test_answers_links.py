"""Links through the whole chain: the recording of a mock with NVLinks derives into keys that make the same links and explain every answer."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import pytest
import yaml

from harness.stages import compile as compiling
from harness.stages.answers import deriving, replaying, residual
from harness.stores import profiles
from harness.tables import drivers
from mocklib import fields
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer
from mocklib.spec import FieldValue, ImageSpec
from tests.contract import nvlinks
from tests.parity.fixed_point import STILL
from tests.parity.mutations_board import SPACE

pytestmark = pytest.mark.usefixtures("served_library")
NOT_ANSWERED = {
    "nvlink.bytes_per_second": "a counter says how much went over a link until an instant, none says how fast",
    "nvlink.error_rate": "as with bytes: errors are counted until an instant",
    "nvlink_error.injected": "errors that are injected are in the same counts",
    "nvlink_error.links": "which links errors are injected into is in their counts alone",
    "nvlink_error.cleared": "when a count began is asked by no call",
    "nvlink.lanes": "a slot says them, which is never recorded; they follow from the architecture, which 390 has no call for",
    "nvlink.node_bw_mode.supported": "the modes of a node are checked when one is set, and asked by no call",
}
"""Link fields that no getter answers -> why."""
LINK_FIELDS = [name for name in (*fields.device_fields(), *fields.system_fields()) if name.startswith(("nvlink.", "nvlink_error."))]
WORDS = 6
ENDS = ((2, "active"), (1, "inactive"), (0, "active"))
NODES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "volta": ("390.157", "volta", {"version": 2, "bandwidth_per_link_mbps": 25781, "device_links": nvlinks.direct(*ENDS)}, {}),
    "ampere": ("470.256.02", "ampere", {
        "version": 3, "bandwidth_per_link_mbps": 25781, "device_links": nvlinks.direct(*ENDS), "defaults": {"counter_seed": 77},
    }, {}),
    "hopper, switched": ("580.105.08", "hopper", {**nvlinks.SWITCHED, "bw_mode": {"scope": "system", "supported": [0, 2, 3], "mode": 2}}, {
        "nvlink": {"low_power_threshold": 500},
    }),
    "blackwell, all that there is": ("590.48.01", "blackwell", {
        "version": 7, "bandwidth_per_link_mbps": 53125, "nvle_enabled": True, "firmware": {"mse": "36:2014:4784", "netir_dln": "1:2:3"},
        "bw_mode": {"scope": "device", "supported": [1, 2, 4], "mode": 4}, "defaults": {"counter_seed": 77, "error_rate": 0.5, "duty_cycle": 0.5},
        "device_links": nvlinks.direct(*ENDS),
    }, {"nvlink": {"low_power_threshold": 700}, "nvlink_error": {"rate": 2.0, "links": [1], "cleared": [5]}}),
}  # fmt: skip
"""Name -> driver, architecture, links of the node, keys of each GPU."""


def document(name: str) -> str:
    version, architecture, links, device = NODES[name]
    written = {
        "format": 1, "version": "1.0", "system": {"driver_version": version}, "nvlink": links,
        "device_defaults": {"architecture": architecture, "brand": "nvidia", **device},
        "devices": [{"index": index, "pci": {"bus_id": f"0000:{index + 1:02x}:00.0", "device_id": 0x233010DE}} for index in range(2)],
    }  # fmt: skip
    return yaml.safe_dump(written) + STILL


@functools.cache
def recorded(name: str) -> Recording:
    return replaying.record_mock(document(name), SPACE)


def derived(recording: Recording) -> deriving.AnswersDerived:
    return deriving.derive(recording, drivers.load())


def compiled(text: str) -> ImageSpec:
    profile = profiles.parse(text.encode())
    return compiling.compile_profile(profile, drivers.load().resolve(profile.driver_version))


def shown(value: FieldValue) -> object:
    return value.status or value.value


def of_links(spec: ImageSpec, index: int, name: str) -> dict[str, object]:
    """The link fields of a GPU and its node; of a link that is down its state alone, for nothing tells where it leads."""
    found = {name: shown({**spec.devices[index], **spec.system}[name]) for name in LINK_FIELDS}
    words = found["nvlink.links"]
    assert isinstance(words, tuple)
    links = [words[place : place + WORDS] if words[place] else "down" for place in range(0, len(words), WORDS)]
    far = 4 if name == "volta" else WORDS  # the field id of a link's number at the other end came with 450
    found["nvlink.links"] = [link if link == "down" else (*link[:far], *link[5:]) for link in links]
    return found


@pytest.mark.parametrize("name", NODES)
def test_the_links_of_a_recording_come_back_as_keys_that_explain_every_answer(name: str) -> None:
    recording = recorded(name)
    made = derived(recording)
    own, again = compiled(document(name)), compiled(made.text)
    differing = {field for index in (0, 1) for field, value in of_links(own, index, name).items() if of_links(again, index, name)[field] != value}
    if name == "volta":  # which has no call that says what is at the other end: it is the GPU that has the address
        assert made.counts["unheld"] == 2
    else:
        assert made.counts["unheld"] == 0
    assert differing <= NOT_ANSWERED.keys()
    settled = residual.settle(made.text, recording, SPACE)
    assert (settled.explained, dict(settled.residual)) == (len(recording), {})


def test_each_link_field_that_is_said_not_to_be_answered_does_not_come_back() -> None:
    lost = set()
    for name in ("volta", "hopper, switched", "blackwell, all that there is"):
        own, again = compiled(document(name)), compiled(derived(recorded(name)).text)
        lost |= {field for field, value in of_links(own, 0, name).items() if of_links(again, 0, name)[field] != value}
    assert lost == NOT_ANSWERED.keys()


def changed(recording: Recording, gpu: int, function: str, answer: Answer, **arguments: int) -> Recording:
    """The recording with another answer of each call of ``function`` of the GPU that has these arguments."""
    chosen = {asked for asked in recording if asked.function == function and asked.gpu == gpu and arguments.items() <= dict(asked.arguments).items()}
    assert chosen
    return {asked: answer if asked in chosen else given for asked, given in recording.items()}


def node_of(recording: Recording) -> dict[str, Any]:
    """The links of the node that is derived."""
    return dict(yaml.safe_load(derived(recording).text).get("nvlink") or {})


def test_what_two_gpus_say_differently_is_no_key_of_their_node() -> None:
    recording = recorded("ampere")
    assert node_of(recording)["version"] == 3
    other = changed(recording, 1, "nvmlDeviceGetNvLinkVersion", Answer(0, {"version": 4}))
    made = node_of(other)
    assert "version" not in made
    assert [entry["index"] for entry in made["device_links"]] == [0, 1]
    settled = residual.settle(derived(other).text, other, SPACE)
    assert settled.residual["nvmlDeviceGetNvLinkVersion"] > 0


def test_a_gpu_without_links_beside_one_with_links_has_none() -> None:
    recording = {asked: Answer(3) if asked.gpu == 1 and of_a_link(asked) else answer for asked, answer in recorded("ampere").items()}
    made = derived(recording)
    assert [entry["index"] for entry in yaml.safe_load(made.text)["nvlink"]["device_links"]] == [0]
    first, second = compiled(made.text).devices
    assert (first["nvlink.link_count"].value, second["nvlink.link_count"].status, second["nvlink.links"].status) == (3, 3, 3)
    assert made.counts["unheld"] == 0


def of_a_link(asked: Asked) -> bool:
    return "nvlink" in asked.function.lower() or dict(asked.arguments).get("fieldId") in link_ids()


@functools.cache
def link_ids() -> frozenset[int]:
    """The field ids about links that the driver of the recording has."""
    driver = drivers.load().resolve(NODES["ampere"][0])
    return frozenset({entry.id for entry in compiling.link_ids(driver)} | {
        entry.id for entry in compiling.field_ids(driver) if entry.field.startswith("nvlink")
    })  # fmt: skip


def test_a_code_that_every_link_answers_is_a_state_of_its_field() -> None:
    recording = changed(recorded("volta"), 0, "nvmlDeviceGetNvLinkErrorCounter", Answer(4), link=0)
    assert "nvlink.error_rate" not in derived(recording).text, "another link counts"
    recording = changed(recording, 0, "nvmlDeviceGetNvLinkErrorCounter", Answer(4), link=2)
    assert profiles.parse(derived(recording).text.encode()).devices[0].states["nvlink.error_rate"].code == 4
    away = changed(recorded("volta"), 1, "nvmlDeviceGetNvLinkState", Answer(15))
    assert profiles.parse(derived(away).text.encode()).devices[1].states["nvlink.links"].code == 15


ODD: tuple[object, ...] = ("text", -1, 2**64, None, b"\xff", 36, [], {"a": 1}, True, 2**32 - 1)


@pytest.mark.parametrize("name", ["ampere", "blackwell, all that there is"])
def test_odd_answers_of_links_never_make_a_profile_that_does_not_hold(name: str) -> None:
    for odd in ODD:
        recording = {
            asked: dataclasses.replace(answer, out=dict.fromkeys(answer.out, odd)) if "nvlink" in asked.function.lower() else answer
            for asked, answer in recorded(name).items()
        }
        assert compiled(derived(recording).text).devices


def test_more_links_than_a_profile_can_name_stay_answers() -> None:
    up = Answer(0, {"isActive": 1})
    recording = changed(recorded("ampere"), 0, "nvmlDeviceGetNvLinkState", up)
    assert [entry["index"] for entry in node_of(recording)["device_links"]] == [1]
