"""Identifiers leave the bytes; everything else, shapes and joins stay."""

from __future__ import annotations

import re

import pytest

from harness.text import placeholders, scrub
from tests.unit.text import samples

UUID = "3e91d07a-b452-4f68-9c1d-6a20f5e8b73f"


def scrubbed(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    once = scrub.scrub({"q": data})
    assert scrub.scrub(once.files).files == once.files
    assert scrub.residue(once.files["q"]) == []
    return once.files["q"].decode()


def element(tag: str, value: str) -> str:
    text = scrubbed(f"\t\t<{tag}>{value}</{tag}>\n")
    match = re.fullmatch(rf"\t\t<{tag}>(.*)</{tag}>\n", text)
    assert match
    return match[1]


@pytest.mark.parametrize(
    ("tag", "value", "placeholder"),
    [
        ("uuid", f"GPU-{UUID}", "GPU-00000001-0000-0000-0000-000000000001"),
        ("uuid", f"GPU-{UUID.upper()}", "GPU-00000001-0000-0000-0000-000000000001"),
        ("uuid", f"gpu-{UUID}", "gpu-00000001-0000-0000-0000-000000000001"),
        ("clusterUuid", UUID, "00000001-0000-0000-0000-000000000001"),
        ("mig_uuid", f"MIG-GPU-{UUID}/1/0", "MIG-GPU-00000001-0000-0000-0000-000000000001/1/0"),
        ("anything", f"MIG-{UUID}", "MIG-00000001-0000-0000-0000-000000000001"),
        ("anything", UUID.replace("-", ""), "00000001000000000000000000000001"),
        ("uuid", "GPU-12345678", "GPU-00000001"),
        ("uuid", "FABRIC:77.ab", "GGGGGG:00.gh"),
        ("serial", "1739402683820", "0000000000001"),
        ("board_serial_number", "SGH1234ABCD", "GGG0000GGGH"),
        ("chassis_serial_number", "1820000000001", "0000000000001"),
        ("unheard_of", "1739402683820", "0000000000001"),
        ("pdi", "0xc52d7e08a91f3621", "0x0000000000000001"),
        ("gpu_fabric_guid", "0xC52D7E08A91F3621", "0x0000000000000001"),
        ("gpu_fabric_guid", "c52d7e08a91f3621", "0000000000000001"),
        ("unheard_of", "0xc52d7e08a91f3621", "0x0000000000000001"),
        ("process_name", "/home/alice/run.py --user=alice", "/home/user1/run.py --user=user1"),
        ("process_name", "/Users/al/x", "/Users/u1/x"),
        ("process_name", r"C:\Users\John Doe\app.exe", r"C:\Users\user0001\app.exe"),
        ("process_name", "/data/HOME/alice-2/x", "/data/HOME/user001/x"),
        ("process_name", "python ~alice/x.py", "python ~user1/x.py"),
        ("process_name", "/scratch/alice/run.py", "/scratch/user1/run.py"),
        ("process_name", "/mnt/scratch2//alice-2/env/bin/python", "/mnt/scratch2//user001/env/bin/python"),
        ("process_name", "/local_scratch/al/x --log=/scratch/al/y", "/local_scratch/u1/x --log=/scratch/u1/y"),
        ("process_name", "sudo -u alice python", "sudo -u user1 python"),
        ("process_name", "/usr/bin/sudo -n -E -u alice.b x", "/usr/bin/sudo -n -E -u user1.x x"),
        ("process_name", "runuser -ualice -- x", "runuser -uuser1 -- x"),
        ("process_name", "ssh alice@gpu-node12.corp.example.com", "ssh user1@host000001.xxxx.xxxxxxx.xxx"),
        ("process_name", "train --master_addr=10.1.2.33 --host node7", "train --master_addr=00.0.0.01 --host host1"),
        ("process_name", "curl https://node7.internal:8080/x", "curl https://host1.xxxxxxxx:8080/x"),
        ("process_name", r"\\fileserver\share\x.exe", r"\\host000001\share\x.exe"),
        ("hostname", "node7", "host1"),
        ("job_owner", "alice", "user1"),
    ],
)
def test_an_identifier_becomes_a_placeholder_of_its_shape(tag, value, placeholder):
    assert element(tag, value) == placeholder


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("serial", "N/A"),
        ("serial", "0000000000000"),
        ("serial", "REDACTED"),
        ("serial", "XXXXXXXXXXXXX"),
        ("serial", ""),
        ("chassis_serial_number", ""),
        ("uuid", "GPU-00000000-0000-0000-0000-000000000000"),
        ("uuid", "GPU-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"),
        ("uuid", "GPU-..."),
        ("uuid", "[REDACTED]"),
        ("uuid", "Unknown Error"),
        ("clusterUuid", "00000000-0000-0000-0000-000000000000"),
        ("pdi", "0x0000000000000000"),
        ("gpu_fabric_guid", "N/A"),
    ],
)
def test_absent_and_masked_values_stay(tag, value):
    assert element(tag, value) == value


@pytest.mark.parametrize(
    ("tag", "value"),
    [
        ("vbios_version", "92.00.45.00.03"),
        ("img_version", "G506.0200.00.04"),
        ("pci_bus_id", "00000000:06:00.0"),
        ("driver_version", "570.148.08"),
        ("timestamp", "Fri Aug 21 10:21:36 2026"),
        ("retired_page_address", "0x000000000003c1b5"),
        ("clocks_event_reasons_counters_sw_power_cap", "1234567890123 us"),
        ("host_vgpu_mode", "SR-IOV"),
        ("host_id", "1"),
        ("process_name", "/srv/models/bin/serve --threads 4"),
        ("process_name", "/usr/lib/xorg/Xorg"),
        ("process_name", "/usr/bin/x"),
        ("process_name", "/usr/bin/sudo"),
        ("process_name", "sudo -H python train.py -u"),
        ("process_name", "python -u train.py"),
        ("process_name", "/scratch/run.sh"),
        ("process_name", "/scratch/shared/env/bin/python"),
        ("process_name", "/scratch/tmp/job"),
        ("process_name", "/usr/lib/scratch/scratch"),
        ("process_name", "/opt/scratch/3.0/bin/scratch"),
        ("process_name", "from-scratch/train/x.py"),
        ("process_name", "/data/models/serve/x"),
        ("process_name", "python3 train.py --server localhost --addr 127.0.0.1"),
        ("board_part_number", "692-2G506-0200-003"),
        ("atomic_caps_inbound", "FETCHADD_32 FETCHADD_64 SWAP_32 SWAP_64 CAS_32 CAS_64 "),
        ("product_name", "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"),
    ],
)
def test_readings_stay(tag, value):
    assert element(tag, value) == value


def test_one_placeholder_for_one_value_wherever_and_however_it_is_spelled():
    bare = UUID.replace("-", "")
    text = scrubbed(
        f"<!-- {UUID.upper()} {bare} serial 1739402683820 user: alice -->\n<uuid>GPU-{UUID}</uuid>\n<x y='GPU-{UUID}' serial=\"1739402683820\"/>\n"
        f"<other>1739402683820 {bare.upper()}</other>\n<process_name>/home/alice/x /tmp/alice.log</process_name>\n"
    )
    assert text == (
        "<!-- 00000001-0000-0000-0000-000000000001 00000001000000000000000000000001 serial 0000000000001 user: user1 -->\n"
        "<uuid>GPU-00000001-0000-0000-0000-000000000001</uuid>\n<x y='GPU-00000001-0000-0000-0000-000000000001' serial=\"0000000000001\"/>\n"
        "<other>0000000000001 00000001000000000000000000000001</other>\n<process_name>/home/user1/x /tmp/user1.log</process_name>\n"
    )


def test_numbers_follow_the_order_of_first_appearance():
    text = scrubbed(samples.query(2))
    assert re.findall(r"<(?:serial|uuid)>(.*)<", text) == [
        *("0000000000001", "GPU-00000001-0000-0000-0000-000000000001"),
        *("0000000000002", "GPU-00000002-0000-0000-0000-000000000002"),
    ]


def test_files_of_a_node_stay_joined():
    found = scrub.scrub({"q-x": samples.query(2).encode(), "L": samples.LIST.encode()})
    assert re.findall(r"GPU \d.*UUID: (.*)\)", found.files["L"].decode()) == re.findall("<uuid>(.*)<", found.files["q-x"].decode())
    assert found.report == {"serial": 2, "uuid": 4}
    assert found.places == {"serial": 2, "uuid": 6}


def test_a_scrubbed_file_scrubbed_with_a_new_one_keeps_its_placeholders():
    old = scrub.scrub({"q": samples.query(1).encode()}).files["q"]
    both = scrub.scrub({"new": f"<uuid>GPU-ab{UUID[2:]}</uuid>".encode(), "old": old})
    assert both.files["old"] == old
    assert b"00000002-" in both.files["new"]


def test_text_on_a_line_of_its_own_belongs_to_the_element_around_it():
    assert scrubbed("<serial>\n\t1A2B3C4D\n</serial>\n") == "<serial>\n\t0G0G0G0H\n</serial>\n"


@pytest.mark.parametrize("four", ["&#52;", "&#052;", "&#0000052;", "&#x34;", "&#x0034;"])
def test_a_character_reference_hides_nothing_however_long(four: str):
    assert scrubbed(f"<serial>165{four}522003820</serial>") == "<serial>0000000000001</serial>"


def test_the_report_holds_no_identifier():
    found = scrub.scrub({"q": samples.query(2).encode()})
    assert UUID not in repr((found.report, found.places))


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xff\x00<\xfe", b"<serial>", b"GPU-", b"@", b"/home/", bytes(range(256)) * 3])
def test_any_bytes_will_do(data):
    found = scrub.scrub({"x": data})
    assert found.files == {"x": data}


def test_residue_names_line_and_family():
    data = samples.query(1).encode()
    assert [(found.line, found.family) for found in scrub.residue(data)] == [(12, "serial"), (13, "uuid")]


@pytest.mark.parametrize("family", placeholders.FAMILIES)
@pytest.mark.parametrize("number", [1, 9, 10, 100, 4096])
def test_a_placeholder_tells_its_number(family, number):
    value = {"uuid": f"GPU-{UUID}", "hex": "0xc52d7e08a91f3621", "user": "benutzer", "host": "node-7.example.com", "address": "192.168.100.100"}
    made = placeholders.make(family, value.get(family, "1739402683820").encode(), number)
    assert placeholders.number_of(family, made) == number
    assert len(made) == len(value.get(family, "1739402683820"))


def test_a_placeholder_grows_where_its_number_does_not_fit():
    assert placeholders.make("serial", b"7", 12) == b"12"
    assert placeholders.make("user", b"x", 1) == b"u1"
