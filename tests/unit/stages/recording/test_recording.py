"""A recording in a workspace: whole or not at all, by mode, without an identifier, taken over elsewhere as it is."""

from __future__ import annotations

import io
import json
import random
import shutil

import pytest
from rich.console import Console

from harness.reports import recorded
from harness.stages.answers import replaying
from harness.stages.compare import check
from harness.stages.importing import bundle, folder
from harness.stages.recording import cleaning, pipeline
from harness.stages.review import deciding, differing
from harness.stores import captures, goldens, pending, profiles
from harness.stores.workspace import Workspace
from harness.tables import views
from harness.words.errors import InputError
from mocklib.answers import Asked
from mocklib.binding import Answer
from tests.unit.stages.recording.conftest import T4, node_of

ALL = views.load()
NOWHERE = captures.Source()
SERIAL, PDI = Asked("nvmlDeviceGetSerial", 0), Asked("nvmlDeviceGetPdi", 0, (("pdi.version", 1),))


@pytest.fixture
def space(tmp_path):
    (tmp_path / "space").mkdir()
    return Workspace(tmp_path / "space")


@pytest.fixture
def record(space, printed, nvidia_smi, t4_answers):
    """``record(mode, name)``: the node into ``space``, as it is by then."""

    def run(mode="new", name=None, answers=None, wanted=ALL):
        program = nvidia_smi(printed) if wanted else None
        return pipeline.run(space, node_of(program, answers or t4_answers), wanted, name, mode, NOWHERE)

    return run


def files(space):
    return {str(path.relative_to(space.root)): path.read_bytes() for path in sorted(space.root.rglob("*")) if path.is_file()}


def still(data):
    return [line for line in data.splitlines() if not line.startswith((b"id", b"recorded", b"sha256", b"| "))]


def test_a_recording_is_capture_profile_and_golden_and_its_mock_answers_alike(record, space, t4_answers):
    done = record()
    assert (done.outcome, done.id) == ("wrote", T4)
    assert done.made.parity
    assert done.made.explained + sum(done.made.residual.values()) == len(t4_answers)
    capture = captures.load(space.captures, T4)
    assert capture.answers == t4_answers
    assert {"q-x", "L", "answers"} == set(capture.sidecar.views) == set(goldens.load(space.golden / f"{T4}.yaml").views)
    assert all(case.parity for case in check.check(space, [T4]))


def test_the_same_node_gives_the_same_bundle_but_for_lines_that_say_that_they_move(record, space, tmp_path):
    record()
    first = files(space)
    shutil.rmtree(space.root)
    space.root.mkdir()
    record()
    second = files(space)
    assert first.keys() == second.keys()
    assert all(still(first[name]) == still(second[name]) for name in first)


def test_mode_new_takes_the_next_free_id_and_refuses_one_that_is_there(record, space):
    assert [record().id, record().id] == [T4, f"{T4}_2"]
    before = files(space)
    with pytest.raises(InputError, match=r"exists; choose another id .*; --mode refresh proposes what differs, once leaves it alone"):
        record(name=T4)
    assert files(space) == before


def test_mode_once_leaves_a_recording_that_is_there_alone(record, space):
    assert record("once").outcome == "wrote"
    before = files(space)
    assert (record("once").outcome, record("once", name=T4).outcome) == ("left alone", "left alone")
    assert files(space) == before


def test_mode_refresh_proposes_what_differs_and_nothing_else(record, space, t4_answers):
    record()
    before = files(space)
    assert record("refresh").outcome == "same"
    assert files(space) == before
    changed = {**t4_answers, Asked("nvmlDeviceGetNumGpuCores", 0): Answer(0, {"numCores": 2560})}
    done = record("refresh", answers=changed)
    assert done.outcome == "proposed"
    assert pending.ids(space) == [T4]
    assert {name: data for name, data in files(space).items() if not name.startswith(".pending")} == before
    proposal = pending.load(space, T4)
    assert proposal.by == "record"
    assert "other answers" in proposal.why
    shown = {change.change.file: change for change in differing.of(space, proposal)}
    answered = shown[f"captures/{T4}/answers.txt"]
    (line,) = answered.lines
    assert (line.path, line.old, line.new) == ("gpu/nvmlDeviceGetNumGpuCores", "NOT_SUPPORTED", 'SUCCESS {"numCores":2560}')
    deciding.accept(space, [T4], "somebody")
    assert captures.load(space.captures, T4).answers == changed
    assert [(case.findings, case.drift) for case in check.check(space, [T4]) if not case.parity] == []


def test_mode_none_asks_and_reports_and_writes_nothing(record, space, nvidia_smi, printed):
    done = record("none")
    assert (done.outcome, done.id, done.made.parity) == ("not written", T4, True)
    assert files(space) == {}
    assert list(space.root.iterdir()) == []


def test_a_recording_that_is_not_whole_leaves_nothing(record, space, printed):
    printed["-L"] = (0, b"", b"")
    with pytest.raises(InputError, match=r"view L\): printed nothing"):
        record()
    assert list(space.root.iterdir()) == []


def test_a_recording_that_ends_in_the_middle_leaves_nothing(record, space, monkeypatch):
    def ended(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(check, "check", ended)
    with pytest.raises(KeyboardInterrupt):
        record(wanted=())
    assert list(space.root.iterdir()) == []


def test_answers_alone_are_a_recording(record, space, t4_answers):
    done = record(wanted=())
    assert (done.outcome, done.id) == ("wrote", T4)
    capture = captures.load(space.captures, T4)
    assert (capture.texts, capture.answers) == ({}, t4_answers)
    assert {path.name for path in (space.captures / T4).iterdir()} == {"sidecar.yaml", "answers.txt"}
    assert all(case.parity for case in check.check(space, [T4]))
    assert profiles.load(space.profile_path(T4)).clock == {"at": "2026-01-31T12:00:00Z"}  # it replays where it was taken


def test_a_sidecar_of_another_driver_than_the_answers_is_told(record, space):
    record(wanted=())
    sidecar = space.captures / T4 / "sidecar.yaml"
    sidecar.write_text(sidecar.read_text("utf-8").replace("driver: 595.91.07", "driver: 535.54.03"), "utf-8")
    (case,) = check.check(space, [T4])
    assert not case.parity
    assert "the sidecar's driver is '535.54.03', the recording's '595.91.07'" in str(case)


def test_a_recording_of_which_no_profile_can_be_made_is_named(record, space):
    record(wanted=())
    answers = space.captures / T4 / "answers.txt"
    answers.write_text(answers.read_text("utf-8").replace('{"deviceCount":1}', '{"deviceCount":300}'), "utf-8")
    with pytest.raises(InputError, match=rf"captures/{T4}: the recording has 300 GPUs"):
        check.check(space, [T4])


def test_a_recording_of_the_mock_of_a_recording_is_the_recording(record, space, tmp_path, t4_answers):
    answers = {
        **t4_answers,
        SERIAL: Answer(0, {"serial": "1320716012345"}),
        Asked("nvmlDeviceGetUUID", 0): Answer(0, {"uuid": "GPU-3f2a9c71-5b0e-4d1a-9f67-8c2e1d0b4a55"}),
        PDI: Answer(0, {"pdi.version": 16777232, "pdi.value": 0x9A1B3C4D5E6F7081}),
        Asked("nvmlSystemGetProcessName", None, (("pid", 77),)): Answer(0, {"name": "/home/ann/run --host=rack17-node03"}),
    }
    first = record(wanted=(), answers=answers)
    assert sum(first.take.given.report.values()) == 5
    mock = replaying.record_mock(space.profile_path(T4), space)
    (tmp_path / "again").mkdir()
    again = Workspace(tmp_path / "again")
    second = pipeline.run(again, node_of(None, mock), (), None, "new", NOWHERE)
    assert not any(second.take.given.report.values())
    assert captures.load(again.captures, T4).answers == mock
    recorded_once = captures.load(space.captures, T4).answers or {}
    assert {asked: answer for asked, answer in recorded_once.items() if asked in mock} == mock
    assert set(recorded_once) - set(mock) == {Asked("nvmlSystemGetProcessName", None, (("pid", 77),))}  # no process of that number is listed


def secrets(random_number: random.Random) -> dict[str, str]:
    digits = "".join(random_number.choice("0123456789") for _ in range(12))
    word = "".join(random_number.choice("bcdfghklmnprstvz") for _ in range(9))
    uuid = f"{random_number.getrandbits(128) | 1 << 127:032x}"
    return {
        "serial": f"1{digits}", "uuid": f"GPU-{uuid[:8]}-{uuid[8:12]}-{uuid[12:16]}-{uuid[16:20]}-{uuid[20:]}",
        "pdi": f"{random_number.getrandbits(64) | 1 << 63:016x}", "user": f"u{word}", "host": f"h{word}",
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_no_identifier_of_any_view_or_answer_is_found_in_the_tree(record, space, printed, t4_answers, t4_query, seed):
    secret = secrets(random.Random(seed))
    process = f"/home/{secret['user']}/run --host={secret['host']}"
    query = t4_query.replace(b"<serial>0000000000001<", f"<serial>{secret['serial']}<".encode())
    query = query.replace(b"GPU-00000000-0000-0000-0000-000000000000", secret["uuid"].encode())
    query = query.replace(b"<pdi>0x0000000000000001<", f"<pdi>0x{secret['pdi']}<".encode())
    assert all(secret[name].encode() in query for name in ("serial", "uuid", "pdi"))
    printed["-q -x"] = (0, query, f"warning on {secret['uuid']}\n".encode())
    printed["-L"] = (0, f"GPU 0: Tesla T4 (UUID: {secret['uuid']})\n".encode(), b"")
    text = f"{secret['serial']}, {secret['uuid']}, 0x{secret['pdi']} {process} ...{secret['user'][3:]}/run\n".encode()
    for arguments in (*(name for name in printed if name not in ("-q -x", "-L") and not name.startswith("--help")), "*"):
        printed[arguments] = (printed[arguments][0], printed[arguments][1] + text, text)
    answers = {
        **t4_answers,
        SERIAL: Answer(0, {"serial": secret["serial"]}),
        Asked("nvmlDeviceGetUUID", 0): Answer(0, {"uuid": secret["uuid"]}),
        PDI: Answer(0, {"pdi.version": 16777232, "pdi.value": int(secret["pdi"], 16)}),
        Asked("nvmlSystemGetProcessName", None, (("pid", 77),)): Answer(0, {"name": process}),
    }
    done = record(answers=answers)
    assert done.made.residue == []
    tree = b"\0".join(files(space).values())
    wanted = [secret["serial"], secret["uuid"][4:], secret["uuid"][4:12], secret["pdi"], str(int(secret["pdi"], 16)), secret["user"], secret["host"]]
    assert [name for name in (*wanted, secret["user"][3:]) if name.encode() in tree] == []
    said = (space.captures / T4 / "answers.txt").read_text()
    assert 'nvmlDeviceGetSerial = SUCCESS {"serial":"0000000000001"}' in said
    assert "0000000000001, " in captures.load(space.captures, T4).runs["topo-m"].text.decode()


def test_a_bundle_made_elsewhere_is_taken_over_as_it_is(record, space, tmp_path):
    record()
    (tmp_path / "home").mkdir()
    home = Workspace(tmp_path / "home")
    names = bundle.find(space.root)
    outcomes = list(folder.recordings(home, space.root, names))
    assert [(one.outcome, one.id, one.status) for one in outcomes] == [("imported", T4, 0)]
    assert files(home) == files(space)
    assert [one.outcome for one in folder.recordings(home, space.root, names)] == ["already there"]


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("answers.txt", '"serial":"0000000000001"', '"serial":"1320716012345"', "another sha256 than the sidecar has"),
        ("transcript.txt", "product_name: Tesla T4", "product_name: Tesla T5", "another sha256 than the sidecar has"),
        ("views/topo-m.txt", "as it is", "1320716012345", "not the text that was recorded"),
        ("views.yaml", "stderr: ''", "stderr: 'on GPU-3f2a9c71-5b0e-4d1a-9f67-8c2e1d0b4a55'", "looks like a real identifier"),
    ],
)
def test_a_bundle_that_was_changed_is_refused_and_nothing_of_it_is_taken(record, space, tmp_path, file, old, new, said):
    record()
    path = space.captures / T4 / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    (tmp_path / "home").mkdir()
    home = Workspace(tmp_path / "home")
    outcomes = list(folder.recordings(home, space.root, bundle.find(space.root)))
    assert [(one.outcome, one.status) for one in outcomes] == [("refused", 3)]
    assert said in outcomes[0].reason
    assert list(home.root.iterdir()) == []


def test_an_answer_that_was_not_scrubbed_where_it_was_recorded_is_refused(record, space, tmp_path, t4_answers, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(cleaning, "clean", lambda files, answers, _=None: cleaning.Cleaned(dict(files), answers, {}))
        record(answers={**t4_answers, PDI: Answer(0, {"pdi.version": 16777232, "pdi.value": 0x9A1B3C4D5E6F7081})}, wanted=())
    (tmp_path / "home").mkdir()
    outcomes = list(folder.recordings(Workspace(tmp_path / "home"), space.root, bundle.find(space.root)))
    lines = (space.captures / T4 / "answers.txt").read_text().splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.startswith("gpu0 nvmlDeviceGetPdi "))
    assert f"answers.txt:{number}: holds what looks like a real identifier (hex)" in outcomes[0].reason
    assert str(0x9A1B3C4D5E6F7081) not in outcomes[0].reason
    assert files(Workspace(tmp_path / "home")) == {}


def test_the_summary_names_what_became_of_each_view_and_where_it_was_written(record, space):
    done = record()
    out = io.StringIO()
    recorded.show(done, space.root, Console(file=out, width=300))
    text = out.getvalue()
    for line in ("driver 595.91.07, nvidia-smi 595.91.07, asked not as root", "No MIG-supported devices found.",
                 "not whole: nvlink-s (empty), mig-lgip (refused)", f"wrote captures/{T4}", "parity: "):  # fmt: skip
        assert line in text, line
    told = recorded.to_json(done)
    assert json.loads(json.dumps(told)) == told
    assert (told["outcome"], told["views"]["mig-lgip"]["outcome"], told["answers"]["SUCCESS"] > 100) == ("wrote", "refused", True)
    left = io.StringIO()
    recorded.show(record("once"), space.root, Console(file=left, width=300))
    assert left.getvalue() == f"{T4}: there already, left alone\n"
