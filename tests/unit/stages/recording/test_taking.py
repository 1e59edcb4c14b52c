"""Taking a recording: in which order a node is asked, what must be whole, what may be anything."""

from __future__ import annotations

import subprocess

import pytest

from harness.stages.recording import taking, viewing
from harness.tables import views
from harness.words.errors import InputError, MissingError
from mocklib.answers import Asked
from tests.unit.stages.recording.conftest import FIRST, MOMENT, node_of

ALL = views.load()
SERIAL, UUID = "1320716012345", "GPU-3f2a9c71-5b0e-4d1a-9f67-8c2e1d0b4a55"


def test_the_query_comes_first_then_the_answers_the_other_views_and_the_query_again(printed, nvidia_smi, t4_answers):
    program = nvidia_smi(printed)
    calls = program.parent / "calls"

    def ask():
        with calls.open("a") as file:
            file.write("ANSWERS\n")
        return t4_answers

    taking.take(node_of(program, t4_answers, ask), ALL)
    lines = calls.read_text().splitlines()
    assert lines[:3] == ["-q -x", "ANSWERS", "-L"]
    assert lines[-1] == "-q -x"
    assert lines.count("-q -x") == 2
    assert "--query-gpu=timestamp,uuid --format=csv" in lines


def test_a_view_that_may_be_anything_is_recorded_with_what_became_of_it(printed, nvidia_smi, t4_answers):
    take = taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)
    outcomes = {view: take.outcomes[view] for view in ("q-x", "L", "topo-m", "nvlink-s", "mig-lgip", "version")}
    assert outcomes == {"q-x": "whole", "L": "whole", "topo-m": "whole", "nvlink-s": "empty", "mig-lgip": "refused", "version": "unknown"}
    runs = take.given.recorded.runs
    assert (runs["mig-lgip"].status, runs["mig-lgip"].text) == (6, b"No MIG-supported devices found.\n")
    assert take.said["mig-lgip"] == "No MIG-supported devices found."
    assert runs["q-x"].text is None
    assert set(runs) == {*(view.name for view in ALL), taking.AGAIN}
    assert runs["q"].command == ("nvidia-smi", "-q")


def test_a_view_that_does_not_end_is_ended_and_said_to_be_late(printed, nvidia_smi, t4_answers):
    program = nvidia_smi(printed)
    program.write_text(program.read_text().replace('case "$*" in', 'case "$*" in\n"topo -m") exec sleep 60;;'))
    take = taking.take(node_of(program, t4_answers, limit_s=0.5), ALL)
    assert take.outcomes["topo-m"] == "late"
    assert take.given.recorded.runs["topo-m"].status is None


@pytest.mark.parametrize(
    ("arguments", "given", "said"),
    [
        ("-q -x", (0, b"", b""), r"nvidia-smi -q -x \(view q-x\): printed nothing, exit status 0; nothing was written; --views none records"),
        ("-q -x", (9, b"", b"NVIDIA-SMI has failed\n"), r"\(view q-x\): printed nothing, exit status 9: NVIDIA-SMI has failed"),
        ("-q -x", (15, b"Unable to read\n", b""), r"\(view q-x\).*exit status 15"),
        ("-L", (0, b"", b""), r"nvidia-smi -L \(view L\): printed nothing, exit status 0"),
        ("-L", (255, b"Unknown Error\n", b""), r"\(view L\).*exit status 255"),
        ("-q -x", (6, b"No devices were found\n", b""), r"\(view q-x\): printed 'No devices were found' \(exit status 6\)"),
        ("-q -x", (0, b"<x>" * 3_000_000, b""), r"\(view q-x\): printed 9000000 bytes, more than 8388608"),
        ("-L", (0, b"GPU 0: Tesla T4 (UUID: GPU-11111111-2222-3333-4444-555555555555)\n", b""), "-L"),
    ],
)
def test_a_recording_whose_query_or_list_is_not_whole_says_which_and_why(printed, nvidia_smi, t4_answers, arguments, given, said):
    """BL-071: nothing printed, or the list alone failed: the recorder says which, and does not end well with half of it."""
    printed[arguments] = given
    with pytest.raises(InputError, match=said):
        taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)


def test_a_query_that_ends_in_the_middle_or_lacks_a_gpu_is_not_whole(printed, nvidia_smi, t4_answers, t4_query):
    printed["-q -x"] = (0, t4_query[: len(t4_query) // 2], b"")
    with pytest.raises(InputError, match="view q-x"):
        taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)
    printed["-q -x"] = (0, t4_query.replace(b"<attached_gpus>1<", b"<attached_gpus>2<"), b"")
    with pytest.raises(InputError, match=r"view q-x\): 1 GPUs of the 2 that it says are attached"):
        taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)


def test_a_whole_query_is_whole_whatever_the_exit_status(printed, nvidia_smi, t4_answers, t4_query):
    """A board whose infoROM is damaged has everything printed and ends with 14."""
    printed["-q -x"] = (14, t4_query, b"WARNING: infoROM is corrupted at gpu 0000:00:1E.0\n")
    take = taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)
    assert (take.outcomes["q-x"], take.given.recorded.runs["q-x"].status) == ("whole", 14)
    assert take.given.recorded.runs["q-x"].stderr.startswith("WARNING: infoROM")


def test_no_driver_is_told_by_the_code_of_nvml(printed, nvidia_smi, t4_answers):
    printed["-q -x"] = (9, b"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", b"")

    def ask():
        raise MissingError("libnvidia-ml.so.1: nvmlInit_v2 answers DRIVER_NOT_LOADED")

    with pytest.raises(MissingError, match="DRIVER_NOT_LOADED"):
        taking.take(node_of(nvidia_smi(printed), t4_answers, ask), ALL)


def test_a_message_about_a_view_quotes_no_identifier(printed, nvidia_smi, t4_answers, t4_query):
    torn = t4_query.replace(b"<serial>", f"<serial>{SERIAL}</serial>\n<uuid>{UUID}<".encode() + b"</uuid>\n<serial>", 1)
    printed["-q -x"] = (0, torn, b"")
    with pytest.raises(InputError) as caught:
        taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)
    assert SERIAL not in str(caught.value)
    assert UUID[4:] not in str(caught.value)


def test_readings_that_differ_between_the_two_queries_have_moved(printed, nvidia_smi, t4_answers, t4_query):
    later = t4_query.replace(b"<timestamp>", b"<timestamp>X", 1)
    temperature = next(line for line in t4_query.splitlines() if b"<gpu_temp>" in line)
    later = t4_query.replace(temperature, temperature.replace(b"<gpu_temp>", b"<gpu_temp>1"))
    program = nvidia_smi({**printed, "later": (0, later, b"")})
    number = sorted([*printed, "later"], key=lambda name: name == "*").index("later")
    here = program.parent
    second = f'if [ "$(grep -c -e "^-q -x$" {here}/calls)" = 2 ] && [ "$*" = "-q -x" ]; then exec cat {here}/{number}.out; fi\ncase "$*" in'
    program.write_text(program.read_text().replace('case "$*" in', second))
    take = taking.take(node_of(program, t4_answers), ALL)
    assert take.given.recorded.taken.moved == ("gpu[0]/temperature/gpu_temp",)
    assert take.given.texts["q-x"].to_bytes() == t4_query  # the golden is the first text


def test_the_time_at_which_a_view_was_printed_is_known_by_the_clock(printed, nvidia_smi, t4_answers):
    printed["-q"] = (0, f"Timestamp : {MOMENT}\nLast flush : Fri Jan 30 12:00:00 2026\n".encode(), b"")
    runs = taking.take(node_of(nvidia_smi(printed), t4_answers), ALL).given.recorded.runs
    assert runs["q"].moments == (MOMENT,)
    assert runs["query-gpu"].moments == ("2026/01/31 12:00:00.125",)
    assert runs["q"].start.startswith(FIRST.strftime("%Y-%m-%dT%H:%M:%S"))


def test_without_views_the_answers_are_recorded_alone(t4_answers):
    take = taking.take(node_of(None, t4_answers), ())
    assert (take.given.texts, take.outcomes, take.given.recorded.runs) == ({}, {}, {})
    assert take.given.recorded.answers == t4_answers
    assert (take.given.driver, take.given.products) == ("595.91.07", ["Tesla T4"])


def test_the_version_of_nvidia_smi_is_kept_where_one_view_says_it(printed, nvidia_smi, t4_answers):
    assert taking.take(node_of(nvidia_smi(printed), t4_answers), ALL).given.recorded.taken.nvidia_smi == "595.91.07"
    printed["--version"] = (0, b"NVIDIA-SMI version  : 595.91.08\n", b"")
    assert taking.take(node_of(nvidia_smi(printed), t4_answers), ALL).given.recorded.taken.nvidia_smi == "595.91.08"


def test_nothing_raw_stands_in_a_temporary_file(printed, nvidia_smi, t4_answers, t4_query, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)
    program = nvidia_smi({**printed, "-q -x": (0, t4_query, b"")})
    here = program.parent
    looks = f"exec 3>&1; ls -A {temporary} >> {here}/temporary; readlink /proc/$$/fd/3 >> {here}/streams; exit 0;;"
    program.write_text(program.read_text().replace("exit 0;;", looks))
    taking.take(node_of(program, t4_answers), ALL)
    assert (here / "temporary").read_text().strip() == ""
    assert set((here / "streams").read_text().split("\n")) == {"/memfd:nvparity-stdout (deleted)", ""}
    assert subprocess.run(["ls", "-A", str(temporary)], capture_output=True, check=True).stdout == b""


def test_a_view_that_is_named_comes_with_those_that_must_be_whole(printed, nvidia_smi, t4_answers):
    program = nvidia_smi(printed)
    take = taking.take(node_of(program, t4_answers), views.select("topo-m"))
    assert set(take.outcomes) == {"q-x", "L", "topo-m", taking.AGAIN}


def test_a_text_too_long_to_keep_is_kept_as_none_and_called_so(printed, nvidia_smi, t4_answers, monkeypatch):
    monkeypatch.setattr(viewing, "MAX_TEXT", 1 << 20)
    printed["topo -m"] = (0, b"x" * ((1 << 20) + 1), b"")
    take = taking.take(node_of(nvidia_smi(printed), t4_answers), ALL)
    assert take.given.recorded.runs["topo-m"].text == b""
    assert take.outcomes["topo-m"] == "flooded"
    assert Asked("nvmlSystemGetDriverVersion") in take.given.recorded.answers
