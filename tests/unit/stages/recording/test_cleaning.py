"""Identifiers out of texts and answers together: one value, one placeholder, whatever it stands in."""

from __future__ import annotations

from harness.stages.recording import cleaning
from harness.text import answers as answers_text
from harness.text import scrub
from mocklib.answers import Asked
from mocklib.binding import Answer

FIRST = Asked("nvmlSystemGetDriverVersion")
UUID, SERIAL, CHASSIS = "GPU-3f2a9c71-5b0e-4d1a-9f67-8c2e1d0b4a55", "1320716012345", "7261548003917"
PDI, GUID, CLUSTER, HOST = 0x9A1B3C4D5E6F7081, 0x7F3E2D1C0B9A8875, bytes.fromhex("b1946ac92492d2347c6235b4d2611184"), "rack17-node03"
QUERY = f"""<gpu id="0">
<serial>{SERIAL}</serial>
<uuid>{UUID}</uuid>
<pdi>0x{PDI:016x}</pdi>
<chassis_serial_number>{CHASSIS}</chassis_serial_number>
<gpu_fabric_guid>0x{GUID:016x}</gpu_fabric_guid>
<clusterUuid>{CLUSTER.hex()[:8]}-{CLUSTER.hex()[8:12]}-{CLUSTER.hex()[12:16]}-{CLUSTER.hex()[16:20]}-{CLUSTER.hex()[20:]}</clusterUuid>
<process_name>/home/ann/train --host={HOST}</process_name>
</gpu>
"""
ANSWERS = {
    Asked("nvmlDeviceGetSerial", 0): Answer(0, {"serial": SERIAL}),
    Asked("nvmlDeviceGetUUID", 0): Answer(0, {"uuid": UUID}),
    Asked("nvmlDeviceGetPdi", 0, (("pdi.version", 1),)): Answer(0, {"pdi.version": 16777232, "pdi.value": PDI}),
    Asked("nvmlDeviceGetPlatformInfo", 0, (("platformInfo.version", 2),)): Answer(
        0,
        {
            "platformInfo.ibGuid": GUID.to_bytes(8, "big") + bytes(8),
            "platformInfo.chassisSerialNumber": CHASSIS.encode() + bytes(3),
            "platformInfo.slotNumber": 7,
        },
    ),
    Asked("nvmlDeviceGetGpuFabricInfo", 0): Answer(0, {"gpuFabricInfo.clusterUuid": CLUSTER, "gpuFabricInfo.status": 0}),
    Asked("nvmlDeviceGetHostname_v1", 0): Answer(0, {"hostname.value": HOST}),
    Asked("nvmlSystemGetProcessName", None, (("pid", 4711),)): Answer(0, {"name": f"/home/ann/train --host={HOST}"}),
    Asked("nvmlDeviceGetName", 0): Answer(0, {"name": "Made <Up> & Co\nBoard"}),
    Asked("nvmlDeviceGetMemoryInfo", 0): Answer(0, {"memory.total": PDI ^ 1}),
    Asked("nvmlDeviceGetMigMode", 0): Answer(3),
}
TABLE = f"""  0   N/A  N/A  4711  C  ...nn/train --host={HOST}   12MiB
{SERIAL}, {UUID}, {UUID[:12]}
"""


def text_of(answers: dict[Asked, Answer]) -> str:
    return repr([answer.out for answer in answers.values()])


def test_one_value_has_one_placeholder_in_texts_and_answers():
    done = cleaning.clean({"q-x": QUERY.encode(), "table": TABLE.encode()}, ANSWERS)
    query, answers = done.files["q-x"].decode(), done.answers
    assert f"<serial>{answers[Asked('nvmlDeviceGetSerial', 0)].out['serial']}</serial>" in query
    assert f"<uuid>{answers[Asked('nvmlDeviceGetUUID', 0)].out['uuid']}</uuid>" in query
    assert f"<pdi>0x{answers[Asked('nvmlDeviceGetPdi', 0, (('pdi.version', 1),))].out['pdi.value']:016x}</pdi>" in query
    platform = answers[Asked("nvmlDeviceGetPlatformInfo", 0, (("platformInfo.version", 2),))].out
    assert f"<gpu_fabric_guid>0x{platform['platformInfo.ibGuid'][:8].hex()}</gpu_fabric_guid>" in query
    assert platform["platformInfo.ibGuid"][8:] == bytes(8)
    assert len(platform["platformInfo.chassisSerialNumber"]) == 16
    assert f"<chassis_serial_number>{platform['platformInfo.chassisSerialNumber'].rstrip(bytes(1)).decode()}</chassis_serial_number>" in query
    cluster = answers[Asked("nvmlDeviceGetGpuFabricInfo", 0)].out["gpuFabricInfo.clusterUuid"].hex()
    assert f"<clusterUuid>{cluster[:8]}-" in query
    process = answers[Asked("nvmlSystemGetProcessName", None, (("pid", 4711),))].out["name"]
    assert f"<process_name>{process}</process_name>" in query
    assert answers[Asked("nvmlDeviceGetHostname_v1", 0)].out["hostname.value"] in process
    table = done.files["table"].decode()
    assert answers[Asked("nvmlDeviceGetSerial", 0)].out["serial"] in table
    assert answers[Asked("nvmlDeviceGetHostname_v1", 0)].out["hostname.value"] in table


def test_nothing_of_an_identifier_is_left():
    done = cleaning.clean({"q-x": QUERY.encode(), "table": TABLE.encode()}, ANSWERS)
    told = b"".join(done.files.values()).decode() + text_of({key: answer for key, answer in done.answers.items() if "Memory" not in key.function})
    for secret in (SERIAL, UUID[4:], UUID[4:12], CHASSIS, f"{PDI:x}", str(PDI), f"{GUID:x}", CLUSTER.hex(), HOST, "ann/"):
        assert secret not in told, secret
    assert repr(GUID.to_bytes(8, "big"))[2:-1] not in told
    assert repr(CLUSTER)[2:-1] not in told
    assert set(done.report) == {"serial", "uuid", "hex", "user", "host"}


def test_what_is_no_identifier_stays_as_it_was_answered():
    done = cleaning.clean({}, ANSWERS)
    kept = [Asked("nvmlDeviceGetName", 0), Asked("nvmlDeviceGetMemoryInfo", 0), Asked("nvmlDeviceGetMigMode", 0)]
    assert [done.answers[asked] for asked in kept] == [ANSWERS[asked] for asked in kept]
    assert list(done.answers) == list(ANSWERS)
    assert done.answers[Asked("nvmlDeviceGetPlatformInfo", 0, (("platformInfo.version", 2),))].out["platformInfo.slotNumber"] == 7


def test_an_identifier_is_one_in_the_answer_of_a_function_that_nobody_thought_of():
    odd = {
        Asked("nvmlDeviceGetCpuAffinity", 0, (("cpuSetSize", 2),)): Answer(0, {"cpuSet": [PDI, PDI ^ 1]}),
        Asked("nvmlDeviceGetFieldValues", 0, (("fieldId", 9), ("scopeId", 0))): Answer(0, {"valueType": 3, "value": int(SERIAL)}),
        Asked("nvmlDeviceGetVgpuSchedulerState", 0): Answer(0, {"pSchedulerState.schedulerParams": GUID.to_bytes(8, "big") + bytes(8)}),
        Asked("nvmlDeviceGetNvlinkSupportedBwModes", 0): Answer(0, {"supportedBwMode.bwModes": b"at " + UUID.encode() + bytes(4)}),
    }
    files = {"q-x": QUERY.encode()}
    done = cleaning.clean(files, {**odd, **ANSWERS})
    first, second, third, fourth = (done.answers[asked].out for asked in odd)
    assert first["cpuSet"] == [done.answers[Asked("nvmlDeviceGetPdi", 0, (("pdi.version", 1),))].out["pdi.value"], PDI ^ 1]
    assert second["value"] == int(done.answers[Asked("nvmlDeviceGetSerial", 0)].out["serial"])
    platform = done.answers[Asked("nvmlDeviceGetPlatformInfo", 0, (("platformInfo.version", 2),))].out
    assert third["pSchedulerState.schedulerParams"] == platform["platformInfo.ibGuid"]
    assert fourth["supportedBwMode.bwModes"] == b"at " + done.answers[Asked("nvmlDeviceGetUUID", 0)].out["uuid"].encode() + bytes(4)
    again = cleaning.clean(done.files, done.answers)
    assert (again.answers, again.report) == (done.answers, {})


def test_a_text_with_control_characters_stays_as_it_was_answered():
    odd = {Asked("nvmlDeviceGetName", 0): Answer(0, {"name": "a\x01b<\x05\n\x05\x05&>\x02\x03\x04\x06\r"})}
    assert cleaning.clean({}, odd).answers == odd


def test_what_is_scrubbed_is_scrubbed_to_itself():
    files = {"q-x": QUERY.encode(), "table": TABLE.encode()}
    once = cleaning.clean(files, ANSWERS)
    twice = cleaning.clean(once.files, once.answers)
    assert (twice.files, twice.answers, twice.report) == (once.files, once.answers, {})


def test_a_text_of_answers_holds_no_residue_when_they_are_scrubbed_and_some_when_not():
    codes = (Answer(3), Answer(4), Answer(6), Answer(13, {}, missing=True))
    refused = {Asked("nvmlDeviceGetSerial", gpu): answer for gpu, answer in enumerate(codes, 1)}
    cluster = {Asked("nvmlDeviceGetGpuFabricInfo", 0): ANSWERS[Asked("nvmlDeviceGetGpuFabricInfo", 0)]}
    done = cleaning.clean({}, {**ANSWERS, **refused})
    assert scrub.residue(answers_text.dump(done.answers).encode()) == []
    assert [left.family for left in scrub.residue(answers_text.dump(cluster).encode())] == ["uuid"]
    assert {left.family for left in scrub.residue(answers_text.dump(ANSWERS).encode())} >= {"uuid", "serial"}


def test_an_absent_identifier_is_none():
    absent = {
        Asked("nvmlDeviceGetSerial", 0): Answer(0, {"serial": "N/A"}),
        Asked("nvmlDeviceGetPdi", 0): Answer(0, {"pdi.value": 0}),
        Asked("nvmlDeviceGetGpuFabricInfo", 0): Answer(0, {"gpuFabricInfo.clusterUuid": bytes(16)}),
    }
    done = cleaning.clean({}, absent)
    assert (done.answers, done.report) == (absent, {})


def test_a_count_with_as_many_digits_as_a_serial_is_none_in_answers_and_a_serial_is_told_by_its_call():
    counted = {Asked("nvmlDeviceGetViolationStatus", 0, (("perfPolicyType", 0),)): Answer(0, {"violTime.violationTime": 1652923012345})}
    assert cleaning.residue(answers_text.dump({FIRST: Answer(0, {"version": "595.91.07"}), **counted}).encode()) == []
    held = {FIRST: Answer(0, {"version": "595.91.07"}), **counted, Asked("nvmlDeviceGetSerial", 0): Answer(0, {"serial": SERIAL})}
    assert [(one.line, one.family, one.text) for one in cleaning.residue(answers_text.dump(held).encode())] == [(4, "serial", "nvmlDeviceGetSerial")]


def test_what_is_no_recording_is_looked_at_as_any_text():
    assert [one.family for one in cleaning.residue(f"serial: {SERIAL}\n".encode())] == ["serial"]
    assert [one.family for one in cleaning.residue(b"format: 1\nnode nvmlBroken " + SERIAL.encode())] == ["serial"]


def test_numbers_of_a_time_line_are_no_serials():
    head = "format: 1\nrecorded: 2026-08-21T08:54:01.000000000Z\ninterval_ns: 1000000000\ncount: 2\nreadings: 1\n\n"
    assert cleaning.residue(f"{head}gpu0 nvmlDeviceGetTotalEnergyConsumption energy = 1652923012345 +7\n".encode()) == []
    assert cleaning.residue(f'{head}gpu0 nvmlDeviceGetUUID uuid = "{UUID}"\n'.encode())
