"""``nvparity show REF:PATH``: readings by element, key and row, with where they come from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import guard

pytestmark = pytest.mark.usefixtures("served_library")
ROOT = Path(__file__).resolve().parents[3]
T4 = "t4-x1_595.91.07"


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """The T4's profile with another temperature."""
    path = tmp_path / "mine.yaml"
    text = (ROOT / "profiles" / f"{T4}.yaml").read_text("utf-8")
    assert "temperature_gpu_c: 33\n" in text
    path.write_text(text.replace("temperature_gpu_c: 33\n", "temperature_gpu_c: 35\n"), "utf-8")
    return path


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert guard.run(["show", *arguments, "--root", str(ROOT)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    return said.out.splitlines()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("gpu[0]/fb_memory_usage/total", "gpu[0]/fb_memory_usage/total: 15360 MiB"),
        ("gpu/fb_memory_usage/total", "gpu[0]/fb_memory_usage/total: 15360 MiB"),
        ("gpu[*]/fb_*/tot*", "gpu[0]/fb_memory_usage/total: 15360 MiB"),
        ("fb_memory_usage/total", "gpu[0]/fb_memory_usage/total: 15360 MiB"),
        ("driver_version", "driver_version: 595.91.07"),
        ("gpu/@id", "gpu[0]/@id: 00000000:00:1E.0"),
        ("gpu_temp", "gpu[0]/temperature/gpu_temp: 33 C"),
        ("memory.total_bytes", "gpu[0]/memory.total_bytes: 16106127360 bytes"),
        ("gpu[0]/memory.total_bytes", "gpu[0]/memory.total_bytes: 16106127360 bytes"),
        ("power.enforced_limit_mw", "gpu[0]/power.enforced_limit_mw: 70000 mW"),
        ("clocks.graphics_current", "gpu[0]/clocks.graphics_current: 1590 MHz"),
        ("name", "gpu[0]/name: Tesla T4"),
        ("system.driver_version", "system.driver_version: 595.91.07"),
        ("clock.at", "clock.at: 2026-08-21T09:23:10Z"),
        ("display_mode", "gpu[0]/display_mode: Requested functionality has been deprecated (deprecated)"),
        ("gpu/temperature/memory_temp", "gpu[0]/temperature/memory_temp: N/A (not_supported)"),
        ("thermal.temperature_memory_c", "gpu[0]/thermal.temperature_memory_c: (not_supported)"),
        ("num_gpu_cores", "gpu[0]/num_gpu_cores: (not_supported)"),
        ("pci.domain", "gpu[0]/pci.domain: 0 (derived)"),
        ("ecc.errors.volatile.single_bit.total", "gpu[0]/ecc.errors.volatile.single_bit.total: 0 (default)"),
        ("power.power_state", "gpu[0]/power.power_state: (deprecated)"),
        ("gpu.id", "gpu[0]/@id: 00000000:00:1E.0"),
    ],
)
def test_one_reading(path: str, line: str, capsys: pytest.CaptureFixture[str]):
    assert show(capsys, f"t4:{path}") == [line]


def test_a_block_is_all_that_is_in_it(capsys: pytest.CaptureFixture[str]):
    assert show(capsys, "t4:fb_memory_usage") == [
        "gpu[0]/fb_memory_usage/total: 15360 MiB",
        "gpu[0]/fb_memory_usage/reserved: 448 MiB",
        "gpu[0]/fb_memory_usage/used: 0 MiB",
        "gpu[0]/fb_memory_usage/free: 14913 MiB",
    ]
    assert [line.partition(":")[0] for line in show(capsys, "t4:utilization")] == [
        f"gpu[0]/utilization/{name}_util" for name in ("gpu", "memory", "encoder", "decoder", "jpeg", "ofa")
    ]
    assert len(show(capsys, "t4:memory")) == len(show(capsys, "t4:memory.*")) == 4


def test_gpus_that_read_alike_are_one_line(capsys: pytest.CaptureFixture[str]):
    assert show(capsys, "h100:gpu_temp") == [
        "gpu[0,2,5,7]/temperature/gpu_temp: 29 C",
        "gpu[1]/temperature/gpu_temp: 30 C",
        "gpu[3-4]/temperature/gpu_temp: 32 C",
        "gpu[6]/temperature/gpu_temp: 31 C",
    ]
    assert show(capsys, "h100:gpu[2-4]/temperature/gpu_temp") == [
        "gpu[2]/temperature/gpu_temp: 29 C",
        "gpu[3-4]/temperature/gpu_temp: 32 C",
    ]
    assert show(capsys, "h100:gpu[6]/thermal.temperature_gpu_c") == ["gpu[6]/thermal.temperature_gpu_c: 31 C"]


def test_origin_names_capture_driver_element_row_route_basis_and_key(capsys: pytest.CaptureFixture[str]):
    assert show(capsys, "t4:memory.total_bytes", "--origin") == [
        "gpu[0]/memory.total_bytes: 16106127360 bytes",
        f"    printed  capture {T4}, driver 595.91.07, gpu/fb_memory_usage/total: 15360 MiB",
        "    row      memory.total_bytes (Total)",
        "    route    call nvmlDeviceGetMemoryInfo_v2() memory.total; basis public",
        f"    key      memory.total_bytes = 16106127360 bytes, given by the profile, from capture {T4}, driver 595.91.07, gpu/fb_memory_usage/total",
    ]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("ecc.errors.volatile.single_bit.total", "= 0, a default of the configuration reference: the profile does not give it"),
        ("pci.domain", "= 0, derived from other keys of the profile"),
        ("num_gpu_cores", "neither given nor with a default: the call answers NOT_SUPPORTED"),
        ("gpu_part_number", "route    slot gpu_part_number(); basis assumed"),
        ("display_mode", "route    literal deprecated(); basis literal: printed beside display_attached"),
    ],
)
def test_origin_tells_defaults_derived_keys_slots_and_literals_apart(path: str, part: str, capsys: pytest.CaptureFixture[str]):
    assert part in "\n".join(show(capsys, f"t4:{path}", "--origin"))


def test_origin_without_a_path_is_every_element(capsys: pytest.CaptureFixture[str]):
    assert sum(1 for line in show(capsys, "t4", "--origin") if not line.startswith("    ")) == 309


def test_a_key_changed_by_hand_is_told_as_such(mine: Path, capsys: pytest.CaptureFixture[str]):
    told = show(capsys, f"{mine}:gpu_temp", "--origin")
    assert told[0] == "gpu[0]/temperature/gpu_temp: 35 C"
    assert told[1] == "    printed  render of mine.yaml, driver 595.91.07, gpu/temperature/gpu_temp: 35 C"
    assert told[-1] == "    key      thermal.temperature_gpu_c = 35 C, given by the profile in place of the capture's 33"
    assert "from capture" in show(capsys, f"{mine}:memory.total_bytes", "--origin")[-1]


def test_a_file_is_read_as_it_is(query: Path, capsys: pytest.CaptureFixture[str]):
    facts = show(capsys, str(query))
    assert facts[0] == f"{query}: own, view q-x, driver 595.91.07, layout 595.91.07"
    assert facts[1].startswith("  GPU 0: Tesla T4 (GPU-")
    told = show(capsys, f"{query}:gpu_temp", "--origin")
    assert told[0] == "gpu[0]/temperature/gpu_temp: 33 C"
    assert told[-1].endswith("= 33 C, as an import would keep it, from gpu/temperature/gpu_temp")


def test_a_list_is_read_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "a:b.txt"
    path.write_text("GPU 0: Tesla T4 (UUID: GPU-00000001-0000-0000-0000-000000000001)\n")
    assert "view L, no driver is told" in show(capsys, str(path))[0]
    assert show(capsys, f"{path}:uuid") == ["gpu[0]/uuid: GPU-00000001-0000-0000-0000-000000000001"]


def test_json_has_path_text_state_row_route_and_key(capsys: pytest.CaptureFixture[str]):
    assert guard.run(["show", "t4:display_mode", "--json", "-", "--root", str(ROOT)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["version"], made["name"], made["driver"], made["printed"]) == (1, T4, "595.91.07", f"capture {T4}")
    (reading,) = made["readings"]
    assert (reading["path"], reading["gpu"], reading["state"], reading["row"]) == ("gpu[0]/display_mode", 0, "deprecated", "display.mode")
    assert (reading["basis"], reading["key"]["value"], reading["key"]["element"]) == ("literal", "enabled", "gpu/display_attached")


def test_every_key_and_element_can_be_told_as_json(capsys: pytest.CaptureFixture[str]):
    for path in ("**", "*"):
        assert guard.run(["show", f"a100:{path}", "--json", "-", "--root", str(ROOT)]) == 0
        assert json.loads(capsys.readouterr().out)["readings"]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("t4:gpu_tmp", "no element, key or row 'gpu_tmp' (did you mean 'gpu_temp'"),
        ("t4:memory.total_byte", "(did you mean 'memory.total_bytes'"),
        ("t4:gpu[1]/uuid", "no element, key or row 'gpu[1]/uuid'"),
        ("t4:gpu[x]/uuid", "[x] is no index"),
        ("t4:", "an empty path"),
        ("t44:uuid", "'t44' is no id, short name, board or file (did you mean 't4'"),
        ("gtx999", "nvparity import makes one of what nvidia-smi -q -x prints"),
        ("nothing.yaml:uuid", "nothing.yaml: no such profile file"),
    ],
)
def test_what_means_nothing_is_refused_in_one_line_with_the_nearest(reference: str, said: str, capsys: pytest.CaptureFixture[str]):
    assert guard.run(["show", reference, "--root", str(ROOT)]) == 3
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 1)
    assert said in told.err


def test_a_file_that_no_profile_can_be_made_of_is_told_all_the_same(query: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    text = query.read_text("utf-8")
    query.write_text(text.replace("<driver_version>595.91.07</driver_version>\n\t", ""), "utf-8")
    assert show(capsys, f"{query}:gpu_temp", "--origin") == [
        "gpu[0]/temperature/gpu_temp: 33 C",
        "    printed  file query.xml, gpu/temperature/gpu_temp",
        "    row      none: no driver is told: no row",
    ]
    listed = tmp_path / "list.txt"
    listed.write_text("GPU 6: Tesla T4 (UUID: GPU-00000001-0000-0000-0000-000000000001)\n")
    assert show(capsys, f"{listed}:name") == ["gpu[0]/name: Tesla T4"]


def test_a_profile_is_shown_as_another_driver_prints_it(capsys: pytest.CaptureFixture[str]):
    assert guard.run(["show", f"{T4}:graphics_volt", "--driver", "525", "--origin", "--root", str(ROOT)]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "gpu[0]/voltage/graphics_volt: N/A (not_supported)"
    assert "re-targeted from 595.91.07 to 525.147.05" in said.err
    assert guard.run(["show", "-", "--driver", "525", "--root", str(ROOT)]) == 2
