"""A driver node from a capture: what it gains, loses, moves, and what stays with the board."""

from __future__ import annotations

import copy
import re

import pytest

from harness.stages import compile as compiling
from harness.stages import derive, derive_node
from harness.tables import drivers, strictyaml
from harness.text import document, transcript
from harness.words.version import DriverVersion


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


def captured(repository, name, *swaps):
    data = transcript.load((repository / "captures" / name / "transcript.txt").read_text()).to_bytes()
    for old, new in swaps:
        assert old.encode() in data
        data = data.replace(old.encode(), new.encode())
    return document.read(data)


def settled(tmp_path, learnt, version):
    folder = tmp_path / "profiles" / "drivers"
    folder.mkdir(parents=True)
    (folder / f"{learnt.version}.yaml").write_text(learnt.text)
    tree = drivers.load(tmp_path)
    return tree, tree.resolve(version)


T4, H100, GT = "t4-x1_595.91.07", "h100-sxm5-x8_580.105.08", "geforce-gt-1030-x1_470.74"
UNSEEN = ("<driver_version>595.91.07", "<driver_version>595.99.01")


def learn(repository, tree, name, *swaps):
    given = captured(repository, name, *swaps)
    return given, derive_node.learn(given, tree.resolve(given.get("driver_version") or ""), tree)


def test_an_unseen_version_gets_a_node_even_when_nothing_differs(repository, tree, tmp_path):
    _, learnt = learn(repository, tree, T4, UNSEEN)
    assert (learnt.version, learnt.changes) == ("595.99.01", ())
    _, driver = settled(tmp_path, learnt, "595.99.01")
    assert not driver.assumed


def test_a_node_under_another_branch_takes_the_private_table_that_a_binary_of_its_own_showed(repository, tree, tmp_path):
    given, learnt = learn(repository, tree, T4, ("<driver_version>595.91.07", "<driver_version>535.43.02"))
    _, driver = settled(tmp_path, learnt, "535.43.02")
    measured = tree.resolve("535.274.02")
    assert tree.resolve("535.43.02").slots != measured.slots
    assert driver.slots == measured.slots
    assert {route.basis for route in driver.routes.values() if route.kind == "slot"} == {"slot"}
    assert {row for row, route in driver.routes.items() if route.kind == "slot" and route.target not in driver.slots} == set()
    assert driver.routes["module_id"] == measured.routes["module_id"]
    assert {driver.routes["module_id"].kind, driver.routes["addressing_mode"].kind} == {"call", "slot"}
    assert "nvmlDeviceGetAddressingMode" not in learnt.text  # no binary of 535 exports it: the row goes through the private table
    assert 'parent: "525.147.05"' in learnt.text
    assert derive.derive(given, driver).text


def test_what_tells_the_key_of_an_element_that_came_is_asked_as_the_donor_asks_it(repository, tree, tmp_path):
    """display_mode and display_attached tell one key: where both are printed, the first is the driver's word for deprecated."""
    given, learnt = learn(repository, tree, H100, ("<driver_version>580.105.08", "<driver_version>575.51.03"))
    assert tree.resolve("575.51.03").layout.child("gpu").child("display_attached") is None
    _, driver = settled(tmp_path, learnt, "575.51.03")
    assert driver.routes["display.mode"].kind == "literal"
    assert derive.derive(given, driver).verbatim == {}


def test_an_element_of_no_row_is_placed_and_kept_verbatim(repository, tree, tmp_path):
    given, learnt = learn(repository, tree, T4, UNSEEN, ("<serial>", "<brand_new>7</brand_new>\n\t\t<serial>"))
    assert learnt.of("add") == ("gpu/brand_new",)
    _, driver = settled(tmp_path, learnt, "595.99.01")
    made = derive.derive(given, driver)
    assert made.verbatim == {"gpu[0]/brand_new": "7"}


def test_an_element_that_is_gone_is_removed(repository, tree):
    _, learnt = learn(repository, tree, T4, UNSEEN, ("\t\t<sparse_operation_mode>N/A</sparse_operation_mode>\n", ""))
    assert learnt.of("remove") == ("gpu/sparse_operation_mode",)


def test_an_element_another_driver_has_brings_its_row(repository, tree, tmp_path):
    block = "\t\t<voltage>\n\t\t\t<graphics_volt>900.000 mV</graphics_volt>\n\t\t</voltage>\n\t\t<fabric>"
    given, learnt = learn(repository, tree, T4, UNSEEN, ("\t\t<fabric>", block))
    assert learnt.of("add") == ("gpu/voltage",)
    _, driver = settled(tmp_path, learnt, "595.99.01")
    assert driver.routes["voltage.graphics_uv"].basis == "assumed"
    made = derive.derive(given, driver)
    assert made.counts["unmodelled"] == 0
    assert "graphics_uv: 900000" in made.text


def test_presence_that_hangs_on_the_board_stays_a_predicate(repository, tree, tmp_path):
    _, learnt = learn(repository, tree, T4, UNSEEN)
    _, driver = settled(tmp_path, learnt, "595.99.01")
    h100 = captured(repository, H100, ("<driver_version>580.105.08", "<driver_version>595.99.01"))
    paths = {reading.path for reading in derive.derive(h100, driver).unmodelled}
    assert not [path for path in paths if "ecc_errors" in path or "temperature" in path]


def test_a_capture_that_contradicts_an_architecture_predicate_settles_it(repository, tree, tmp_path):
    parity = "\t\t\t\t<sram_uncorrectable_parity>0</sram_uncorrectable_parity>\n\t\t\t\t<sram_uncorrectable_secded>0</sram_uncorrectable_secded>\n"
    given, learnt = learn(
        repository, tree, "a100-sxm4-40gb-x1_570.148.08", ("<driver_version>570.148.08", "<driver_version>570.1"),
        (parity, "\t\t\t\t<sram_uncorrectable>0</sram_uncorrectable>\n"),
    )  # fmt: skip
    _, driver = settled(tmp_path, learnt, "570.1")
    volatile = driver.layout.child("gpu").child("ecc_errors").child("volatile")
    assert volatile.child("sram_uncorrectable").when is None
    assert volatile.child("sram_uncorrectable_parity") is None
    left = {reading.why.partition(" answers nothing without ")[0] for reading in derive.derive(given, driver).unmodelled}
    assert left == {"nvmlDeviceGetSramEccErrorStatus"}  # one call, and its other members are not in this capture


def test_a_text_its_row_cannot_read_makes_the_element_verbatim(repository, tree, tmp_path):
    given, learnt = learn(repository, tree, T4, ("<board_id>0x1e<", "<board_id>thirty<"))
    assert learnt.of("replace") == ("gpu/board_id",)
    _, driver = settled(tmp_path, learnt, "595.91.07")
    assert derive.derive(given, driver).verbatim == {"gpu[0]/board_id": "thirty"}


def test_a_section_that_gained_an_element_is_asked_as_its_driver_asks_it(repository, tree, tmp_path):
    given, learnt = learn(
        repository, tree, GT, ("<driver_version>470.74", "<driver_version>512.78"),
        ("<used>875 MiB</used>", "<reserved>110 MiB</reserved>\n\t\t\t<used>875 MiB</used>"),
    )  # fmt: skip
    _, driver = settled(tmp_path, learnt, "512.78")
    assert driver.routes["memory.used_bytes"].target == "nvmlDeviceGetMemoryInfo_v2"
    assert "nvmlDeviceGetMemoryInfo_v2" not in compiling.gates(driver)
    assert derive.derive(given, driver).counts["unmodelled"] == 0


def test_a_row_that_moved_to_another_element_is_not_read_twice(repository, tree, tmp_path):
    given, learnt = learn(
        repository, tree, GT, ("<driver_version>470.74", "<driver_version>520.1"),
        ("<gpu_part_number>N/A<", "<board_part_number>900-1</board_part_number>\n\t\t<gpu_part_number>1D01-300-A1<"),
    )  # fmt: skip
    _, driver = settled(tmp_path, learnt, "520.1")
    made = derive.derive(given, driver)
    assert made.counts["unmodelled"] == 0
    assert "gpu_part_number: 1D01-300-A1" in made.text.replace('"', "")


def test_learning_once_is_enough(repository, tree, tmp_path):
    given, learnt = learn(repository, tree, T4, UNSEEN, ("<serial>", "<brand_new>7</brand_new>\n\t\t<serial>"))
    again, driver = settled(tmp_path, learnt, "595.99.01")
    assert derive_node.learn(given, driver, again) is None


def test_a_capture_changed_by_hand_teaches_nothing(repository, tree):
    given = captured(repository, T4, UNSEEN)
    given.kind = document.EDITED
    assert derive_node.learn(given, tree.resolve("595.99.01"), tree) is None


def test_a_masked_text_takes_no_row_from_the_driver(repository, tree):
    text = captured(repository, "t4-x1_595.91.07", ("<pci_device_id>1EB810DE<", "<pci_device_id>[REDACTED]<"))
    assert derive_node.learn(text, tree.resolve("595.91.07"), tree) is None


def of_family(repository, version, *, turing):
    """The GT 1030 of 470, which prints no architecture, on another driver; as a board of the family of ECC counters that came with Turing."""
    data = transcript.load((repository / "captures" / GT / "transcript.txt").read_text()).to_bytes().decode()
    data = data.replace("<driver_version>470.74", f"<driver_version>{version}")
    if turing:
        counters = "".join(f"<{name}>N/A</{name}>\n" for name in ("sram_correctable", "sram_uncorrectable", "dram_correctable", "dram_uncorrectable"))
        data = re.sub(r"<(volatile|aggregate)>.*?</\1>", rf"<\1>\n{counters}</\1>", data, flags=re.DOTALL)
    return document.read(data.encode())


@pytest.mark.parametrize("first", [True, False])
def test_two_families_on_a_driver_without_an_architecture_share_one_node(first, repository, tree, tmp_path):
    one, other = (of_family(repository, "418.43", turing=turing) for turing in (first, not first))
    learnt = derive_node.learn(one, tree.resolve("418.43"), tree)
    both, driver = settled(tmp_path, learnt, "418.43")
    assert derive_node.learn(other, driver, both) is None
    assert [derive.derive(given, driver).counts["unmodelled"] for given in (one, other)] == [0, 0]


def test_the_architecture_is_told_by_the_elements_where_the_driver_prints_none(repository, tree):
    driver = tree.resolve("470.74")
    made = derive.derive(of_family(repository, "470.74", turing=True), driver)
    assert "architecture: turing" in made.text
    assert "architecture: gpu/ecc_errors/volatile/single_bit" in made.text
    assert "architecture" not in derive.derive(of_family(repository, "470.74", turing=False), driver).text


def test_the_architecture_is_not_told_by_the_elements_where_the_driver_prints_it(repository, tree):
    given = captured(repository, T4, ("\t\t<product_architecture>Turing</product_architecture>\n", ""))
    assert "architecture" not in derive.derive(given, tree.resolve("595.91.07")).text


def test_a_node_that_is_there_gains_and_the_tree_keeps_what_it_was(repository, tree):
    given = captured(repository, T4, ("\t\t<fabric>", "\t\t<voltage>\n\t\t\t<graphics_volt>900.000 mV</graphics_volt>\n\t\t</voltage>\n\t\t<fabric>"))
    before = copy.deepcopy(dict(tree.nodes[tree.nearest(DriverVersion("595.91.07"))].spec))
    learnt = derive_node.learn(given, tree.resolve("595.91.07"), tree)
    assert (learnt.version, learnt.gains, learnt.of("add")) == ("595.91.07", True, ("gpu/voltage",))
    assert tree.nodes[tree.nearest(DriverVersion("595.91.07"))].spec == before


def test_a_version_that_a_node_was_seen_on_extends_that_node(repository, tree):
    swaps = ("<driver_version>470.74", "<driver_version>470.256.02"), ("\t\t<serial>", "\t\t<brand_new>7</brand_new>\n\t\t<serial>")
    given = captured(repository, GT, *swaps)
    learnt = derive_node.learn(given, tree.resolve("470.256.02"), tree)
    assert (learnt.version, learnt.gains) == ("470.74", True)


def test_a_text_that_another_drivers_format_alone_can_read_brings_that_format_and_its_route(repository):
    stored = (repository / "captures" / "geforce-gt-1030-x1_470.74" / "transcript.txt").read_text()
    data = transcript.load(stored).to_bytes().decode().replace("470.74", "471.11").replace(">00000000:", ">0000:").replace('"00000000:', '"0000:')
    tree = drivers.load()
    captured = document.read(data.encode())
    learnt = derive_node.learn(captured, tree.resolve("471.11"), tree)
    spec = strictyaml.load(learnt.text, "471.11.yaml").value
    assert spec["formats"] == {"gpu.id": "bus_id_legacy", "pci.bus_id": "bus_id_legacy"}
    assert {route["out"] for route in spec["routes"].values()} == {"pci.busIdLegacy"}
    assert spec.get("changes", []) == []


def test_a_text_that_no_drivers_format_can_read_brings_none(repository):
    stored = (repository / "captures" / "geforce-gt-1030-x1_470.74" / "transcript.txt").read_text()
    data = transcript.load(stored).to_bytes().decode().replace("470.74", "471.11").replace(">00000000:", ">0:")
    tree = drivers.load()
    learnt = derive_node.learn(document.read(data.encode()), tree.resolve("471.11"), tree)
    assert "formats" not in strictyaml.load(learnt.text, "471.11.yaml").value
    assert learnt.of("replace") == ("gpu/pci/pci_bus_id",)
