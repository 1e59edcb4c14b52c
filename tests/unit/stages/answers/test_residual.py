"""Settle: which answers a profile keeps and where, on a mock that is made up here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.stages.answers import replaying, residual
from harness.stores import profiles
from harness.stores.workspace import Workspace
from harness.tables import strictyaml
from harness.words.errors import InputError
from mocklib.answers import Asked, Recording
from mocklib.binding import Answer
from tests.parity import proved

SPACE = Workspace(Path(__file__).resolve().parents[4])
VERSION, MODE, LINK = "nvmlSystemGetDriverVersion", "nvmlDeviceGetMigMode", "nvmlDeviceGetNvLinkState"
HEAD = 'format: 1\nversion: "1.0"\nsystem:\n  driver_version: "580.105.08"\n  num_devices: 2\n'
PROFILE = HEAD + "device_defaults:\n  pci:\n    device_id: 0x233010DE\n  brand: tesla\ndevices:\n- index: 0\n  board_id: 0x10\n- index: 1\n"


def link(gpu: int | None, number: int) -> Asked:
    return Asked(LINK, gpu, (("link", number),))


BASE: Recording = {
    Asked(VERSION): Answer(0, {"version": "580.105.08"}),
    **{call: Answer(3) for gpu in (0, 1) for call in (Asked(MODE, gpu), link(gpu, 0), link(gpu, 1))},
}
"""What the keys of PROFILE give."""
Serve = Callable[[Recording], list[str]]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Serve:
    """``serve(base)``: a mock whose keys give ``base`` and which serves the answers of a profile; the texts it was asked for."""
    texts: list[str] = []

    def start(base: Recording) -> list[str]:
        def record_mock(profile: str, _space: Workspace) -> Recording:
            texts.append(profile)
            read = profiles.parse(profile.encode())
            kept = {held.asked: held.answer for held in read.answers}
            for place, device in enumerate(read.devices):
                kept |= {Asked(held.asked.function, place, held.asked.arguments): held.answer for held in device.answers}
            return {**base, **{asked: answer for asked, answer in kept.items() if asked in base}}

        monkeypatch.setattr(replaying, "record_mock", record_mock)
        return texts

    return start


def settled(profile: str, recording: Recording) -> residual.Settled:
    return residual.settle(profile, recording, SPACE)


def test_a_profile_whose_keys_give_the_recording_stays_as_it_is(serve: Serve) -> None:
    texts = serve(BASE)
    found = settled(PROFILE, BASE)
    assert (found.text, found.explained, found.kept) == (PROFILE, 7, 0)
    assert len(texts) == 1


def test_what_all_gpus_have_stands_once_and_the_rest_with_its_gpu(serve: Serve) -> None:
    texts = serve(BASE)
    other: Recording = {
        **BASE,
        Asked(VERSION): Answer(999),
        Asked(MODE, 0): Answer(0, {"currentMode": 0, "pendingMode": 1}),
        Asked(MODE, 1): Answer(0, {"currentMode": 0, "pendingMode": 1}),
        link(0, 0): Answer(13, missing=True),
        link(1, 1): Answer(13),
    }
    found = settled(PROFILE, other)
    assert found.text == HEAD + (
        "device_defaults:\n  pci:\n    device_id: 0x233010DE\n  brand: tesla\n"
        "  answers:\n    nvmlDeviceGetMigMode: 'SUCCESS {\"currentMode\":0,\"pendingMode\":1}'\n"
        "devices:\n- index: 0\n  board_id: 0x10\n  answers:\n    'nvmlDeviceGetNvLinkState {\"link\":0}': missing\n"
        "- index: 1\n  answers:\n    'nvmlDeviceGetNvLinkState {\"link\":1}': FUNCTION_NOT_FOUND\n"
        "answers:\n  nvmlSystemGetDriverVersion: UNKNOWN\n"
    )
    assert (found.explained, dict(found.residual), found.kept) == (2, {VERSION: 1, MODE: 2, LINK: 2}, 5)
    assert len(texts) == 2, "at most one more pass"
    assert settled(found.text, other).text == found.text, "settled again it is the same"
    assert settled(found.text, BASE).text == PROFILE, "answers it had are made anew"


def test_an_answer_that_the_recording_lacks_is_not_invented(serve: Serve) -> None:
    serve(BASE)
    fewer: Recording = {asked: answer for asked, answer in BASE.items() if asked.function != LINK}
    assert settled(PROFILE, fewer).text == PROFILE


def test_an_answer_that_the_list_no_longer_asks_is_kept(serve: Serve) -> None:
    serve(BASE)
    more: Recording = {**BASE, Asked("nvmlDeviceGetSerial", 1): Answer(4)}
    found = settled(PROFILE, more)
    assert "- index: 1\n  answers:\n    nvmlDeviceGetSerial: NO_PERMISSION\n" in found.text


def test_gpus_that_are_not_listed_get_an_entry_and_those_with_a_state_inherit_nothing(serve: Serve) -> None:
    serve(BASE)
    recording: Recording = {**BASE, Asked(MODE, 1): Answer(15)}
    found = strictyaml.load(settled(HEAD, recording).text, "x").value
    assert found["devices"] == [{"index": 0}, {"index": 1, "answers": {MODE: "GPU_IS_LOST"}}]
    lost = HEAD + "devices:\n- index: 0\n- index: 1\n  state: gpu_lost\n"
    here: Recording = {asked: answer for asked, answer in BASE.items() if asked.gpu != 1}
    found = strictyaml.load(settled(lost, {**here, Asked(MODE, 0): Answer(15)}).text, "x").value
    assert found["device_defaults"] == {"answers": {MODE: "GPU_IS_LOST"}}


def test_a_mock_that_cannot_give_the_recording_is_told_with_both_answers(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(BASE)
    monkeypatch.setattr(replaying, "record_mock", lambda _profile, _space: BASE)
    wrong: Recording = {**BASE, link(1, 0): Answer(0, {"isActive": 1}), **{Asked(MODE, gpu): Answer(4) for gpu in (0, 1)}}
    with pytest.raises(InputError) as caught:
        settled(PROFILE, wrong)
    said = str(caught.value)
    assert said.startswith("the mock of the profile cannot give 3 answers of the recording: gpu0 nvmlDeviceGetMigMode is NO_PERMISSION, not NOT_")
    assert 'gpu1 nvmlDeviceGetNvLinkState {"link":0} is SUCCESS {"isActive":1}, not NOT_SUPPORTED' in said


def test_answers_of_more_gpus_than_the_profile_has_are_refused(serve: Serve) -> None:
    serve(BASE)
    with pytest.raises(InputError, match="answers of GPU 7 and the profile 2 GPUs"):
        settled(PROFILE, {**BASE, Asked(MODE, 7): Answer(3)})


@pytest.mark.parametrize("name", proved.boards(SPACE))
def test_a_derived_profile_is_written_as_it_was_read(name: str, serve: Serve) -> None:
    serve({})
    text = SPACE.profile_path(name).read_text("utf-8")
    found = settled(text, {}).text
    assert strictyaml.load(found, name).value == strictyaml.load(text, name).value
    assert "  unmodelled:" in text or found == text, "a profile with unmodelled elements has all its numbers in decimal"
