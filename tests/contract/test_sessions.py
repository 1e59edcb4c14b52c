"""Sessions of the encoder and of frame buffer capture, by the count-probe protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mocklib.image import FieldValue
from tests.contract import boards

Serve = Callable[..., Any]
ENCODER, CAPTURE = (31, 700, 1, 1920, 1080, 60, 900), (32, 701, 2, 4, 5, 3840, 2160, 1280, 720, 59, 800)
BOARD = {"encoder_stats__sessions": FieldValue((*ENCODER, *(40,) * 7)), "fbc_stats__sessions": FieldValue((*CAPTURE, *(50,) * 11))}


def served(serve: Serve, **held: FieldValue) -> Any:
    return serve(boards.spec(devices=[boards.device(0, **{**BOARD, **held})]))


@pytest.mark.spec("K07")
def test_sessions_are_given_as_the_profile_lists_them(serve: Serve) -> None:
    nvml, handle = served(serve)
    sessions = nvml.call("nvmlDeviceGetEncoderSessions", handle, {}).out["sessionInfos"]
    names = ("sessionId", "pid", "codecType", "hResolution", "vResolution", "averageFps", "averageLatency")
    assert sessions[0] == {**dict(zip(names, ENCODER, strict=True)), "vgpuInstance": 0}
    assert [session["sessionId"] for session in sessions] == [31, 40]
    sessions = nvml.call("nvmlDeviceGetFBCSessions", handle, {}).out["sessionInfo"]
    members = ("sessionId", "pid", "displayOrdinal", "sessionType", "sessionFlags", "hMaxResolution", "vMaxResolution", "hResolution", "vResolution",
             "averageFPS", "averageLatency")  # fmt: skip
    assert sessions[0] == {**dict(zip(members, CAPTURE, strict=True)), "vgpuInstance": 0}
    assert [session["sessionId"] for session in sessions] == [32, 50]


@pytest.mark.spec("K07")
@pytest.mark.parametrize(("function", "struct"), [("EncoderSessions", "nvmlEncoderSessionInfo_t"), ("FBCSessions", "nvmlFBCSessionInfo_t")])
def test_a_list_that_is_too_short_gets_the_count_alone(serve: Serve, function: str, struct: str) -> None:
    nvml, handle = served(serve)
    room = nvml.ffi.new(f"{struct}[2]")
    for capacity, sessions in ((1, room), (0, nvml.ffi.NULL)):
        count = nvml.ffi.new("unsigned int *", capacity)
        assert getattr(nvml.library, f"nvmlDeviceGet{function}")(nvml.ffi.cast("nvmlDevice_t", handle), count, sessions) == 7
        assert (count[0], room[0].sessionId) == (2, 0)


@pytest.mark.parametrize(("sessions", "code", "count"), [(FieldValue(()), 0, 0), (FieldValue(status=3), 3, 9), (FieldValue(status=15), 15, 9)])
def test_no_session_is_an_empty_list_and_a_state_no_list(serve: Serve, sessions: FieldValue, code: int, count: int) -> None:
    nvml, handle = served(serve, encoder_stats__sessions=sessions, fbc_stats__sessions=sessions)
    for function, struct in (("EncoderSessions", "nvmlEncoderSessionInfo_t"), ("FBCSessions", "nvmlFBCSessionInfo_t")):
        place = nvml.ffi.new("unsigned int *", 9)
        got = getattr(nvml.library, f"nvmlDeviceGet{function}")(nvml.ffi.cast("nvmlDevice_t", handle), place, nvml.ffi.new(f"{struct}[9]"))
        assert (got, place[0]) == (code, count)


@pytest.mark.spec("K08")
def test_the_capacity_is_that_of_the_board_for_every_codec(serve: Serve) -> None:
    nvml, handle = served(serve, encoder_stats__capacity_percent=FieldValue(100))
    answers = [nvml.call("nvmlDeviceGetEncoderCapacity", handle, {"encoderQueryType": kind}) for kind in (0, 1, 2)]
    assert [(answer.code, answer.out) for answer in answers] == [(0, {"encoderCapacity": 100})] * 3
