"""Identifiers: gone from everything an import writes, stable, joined and told apart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.cli import guard
from mocklib.binding import Nvml
from tests.cases.boards import H100, Content, process, put, text_of
from tests.cases.conftest import Ask, Take

REAL = "GPU-3e91d07a-b452-4f68-9c1d-6a20f5e8b7{:02x}"
SECRETS = ["3e91d07a", "173940268", "c52d7e08a91f36", "1820000012345", "7e57ab1e-0000", "alice", "node12.corp.example.com"]


def real(text: str) -> tuple[str, str]:
    """Query and list of a node as a site has them."""
    uuids = iter(range(8))
    text = re.sub(r"<uuid>.*?<", lambda _: f"<uuid>{REAL.format(next(uuids))}<", text)
    serials = iter(range(8))
    text = re.sub(r"<serial>.*?<", lambda _: f"<serial>173940268{next(serials):04d}<", text)
    ids = iter(range(8))
    text = re.sub(r"<pdi>.*?<", lambda _: f"<pdi>0xc52d7e08a91f36{next(ids):02x}<", text)
    text = put(text, "clusterUuid", "7e57ab1e-0000-4000-8000-00000000beef")
    rack: Content = {"chassis_serial_number": "1820000012345", "slot_number": "25", "tray_index": "15", "host_id": "1",
                     "peer_type": "Switch Connected", "module_id": "7", "gpu_fabric_guid": "0xc52d7e08a91f36ff"}  # fmt: skip
    text = put(text, "platformInfo", rack)
    text = put(text, "processes", [process(4101, "/home/alice/train.py --host=node12.corp.example.com", "10 MiB")])
    rows = "".join(f"GPU {number}: NVIDIA H100 80GB HBM3 (UUID: {REAL.format(number)})\n" for number in range(8))
    return text, rows


def test_nothing_that_an_import_writes_holds_an_identifier_and_all_stay_apart_and_joined(take: Take, ask: Ask):
    """BL-075: uuid, serial, PDI, chassis serial, fabric GUID, cluster UUID, user and host, in query and list."""
    query, rows = real(text_of(H100))
    taken = take(query, rows)
    assert taken.status == 0
    for path in taken.space.root.rglob("*"):
        if path.is_file():
            held = path.read_bytes().lower()
            assert not [secret for secret in SECRETS if secret.encode() in held], path
    assert not [secret for secret in SECRETS if secret in taken.out.lower()]
    nvml, _ = ask(taken)
    uuids = names(nvml, "nvmlDeviceGetUUID", "uuid")
    assert len(set(uuids)) == len(set(names(nvml, "nvmlDeviceGetSerial", "serial"))) == 8
    assert [uuid in taken.rendered() and f"(UUID: {uuid})" in taken.rendered("L") for uuid in uuids] == [True] * 8
    assert {len(uuid) for uuid in uuids} == {len(REAL.format(0))}


def names(nvml: Nvml, call: str, out: str) -> list[str]:
    return [str(nvml.call(call, nvml.device(index)).out[out]) for index in range(nvml.count())]


def test_placeholders_are_the_same_each_time_and_a_scrubbed_text_is_scrubbed_to_itself(take: Take):
    """BL-075: stable, unique per original."""
    query, _ = real(text_of(H100))
    once = take(query).rendered()
    again = take(once)
    assert (again.status, again.rendered()) == (0, once)
    assert "scrubbed: nothing to scrub" in again.out


def test_the_check_finds_what_looks_real_in_a_file_and_nothing_in_a_workspace(take: Take, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """BL-075: on a fresh text and on what is stored; the place is told, the value is not."""
    query, rows = real(text_of(H100))
    (tmp_path / "q.xml").write_text(query)
    assert guard.run(["scrub", "--check", str(tmp_path / "q.xml")]) == 1
    said = capsys.readouterr()
    assert "q.xml:" in said.out + said.err
    assert not [secret for secret in SECRETS if secret in (said.out + said.err).lower()]
    assert guard.run(["scrub", "--check", str(take(query, rows).space.root / "captures"), str(take(query, rows).space.root / "golden")]) == 0


def test_our_binding_gives_text_whatever_the_bytes_are(ask: Ask):
    """BL-083: never bytes, in no release; the releases of nvidia-ml-py are held against it in the clients' tests."""
    nvml, device = ask(H100)
    calls = {"nvmlDeviceGetName": "name", "nvmlDeviceGetUUID": "uuid", "nvmlDeviceGetSerial": "serial", "nvmlDeviceGetVbiosVersion": "version"}
    assert all(isinstance(nvml.call(call, device).out[out], str) for call, out in calls.items())
    assert isinstance(nvml.call("nvmlSystemGetDriverVersion").out["version"], str)
    assert isinstance(nvml.call("nvmlSystemGetNVMLVersion").out["version"], str)
    assert isinstance(nvml.error_string(999), str)
