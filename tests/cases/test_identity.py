"""Who a GPU is: PCI address, driver version, name; nothing is cut, compared as a number or guessed from a name."""

from __future__ import annotations

import pytest

from harness.stages.importing import naming
from harness.words.version import DriverVersion
from tests.cases.boards import A100, GT1030, T4, UUID, drop, put, swap, text_of
from tests.cases.conftest import Ask, On, Take

FAR = "00000019:06:00.0"


def moved(board: str, was: str, address: str, domain: str, device_id: str) -> str:
    """A board at another PCI address."""
    text = swap(text_of(board), (was, address))
    return put(put(text, "pci_domain", domain), "pci_device_id", device_id)


def test_a_domain_of_its_own_is_in_every_spelling_of_the_address(take: Take, ask: Ask):
    """BL-017: eight digits, four digits, upper case; the handle is found by either and by lower case."""
    given = moved(A100, "00000000:06:00.0", FAR, "0019", "31C210DE")
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, device = ask(taken)
    told = nvml.call("nvmlDeviceGetPciInfo_v3", device).out
    assert (told["pci.busId"], told["pci.busIdLegacy"]) == (FAR, "0019:06:00.0")
    assert (told["pci.domain"], told["pci.bus"], told["pci.device"], told["pci.pciDeviceId"]) == (0x19, 6, 0, 0x31C210DE)
    for spelled in (FAR, "0019:06:00.0", FAR.lower(), "19:06:00.0"):
        answer = nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": spelled})
        assert (answer.code, answer.out.get("device")) == (0, device), spelled
    assert nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": "0000:06:00.0"}).code == 6


def test_letters_of_an_address_are_printed_as_the_driver_prints_them(take: Take, ask: Ask):
    """BL-017: a desktop's 0B.  No driver prints 0b: a text that has it was changed, so it is kept as it stands and no call makes it another."""
    address, bus, device = ("00000000:00:1E.0", "00000000:{}:00.0"), ("<pci_bus>00<", "<pci_bus>{}<"), ("<pci_device>1E<", "<pci_device>00<")
    upper, lower = (swap(text_of(T4), *((old, new.format(bus_id)) for old, new in (address, bus, device))) for bus_id in ("0B", "0b"))
    taken = take(upper)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, upper, {})
    assert ask(taken)[0].call("nvmlDeviceGetPciInfo_v3", ask(taken)[1]).out["pci.busId"] == "00000000:0B:00.0"
    taken = take(lower)
    assert (taken.status, taken.rendered()) == (0, lower)
    assert {"gpu[0]/@id", "gpu[0]/pci/pci_bus", "gpu[0]/pci/pci_bus_id"} <= set(taken.unmodelled)


def test_two_gpus_that_differ_by_domain_alone_are_two(take: Take, ask: Ask):
    """BL-017: a fixed prefix cut off would make them one."""
    first = text_of(A100)
    block = first[first.index("\t<gpu ") : first.index("</gpu>\n\n") + len("</gpu>\n\n")]
    second = swap(
        block,
        ("00000000:06:00.0", "00000001:06:00.0"),
        ("<pci_domain>0000", "<pci_domain>0001"),
        ("GPU-00000000-0000-0000-0000-000000000000", UUID.format(1)),
    )
    second = swap(second, ("<minor_number>0<", "<minor_number>1<"))
    given = swap(first, (block, block + second), ("<attached_gpus>1<", "<attached_gpus>2<"))
    taken = take(given)
    assert (taken.status, taken.rendered(), taken.unmodelled) == (0, given, {})
    nvml, _ = ask(taken)
    found = [nvml.call("nvmlDeviceGetHandleByPciBusId_v2", None, {"pciBusId": f"{domain}:06:00.0"}).out["device"] for domain in ("0000", "0001")]
    assert found == [nvml.device(0), nvml.device(1)]


@pytest.mark.parametrize("version", ["418.87.01", "367.36.02", "545.29.06", "455.32.00", "536.40", "595.84"])
def test_a_driver_version_is_text_of_any_number_of_parts(version: str, take: Take, ask: Ask):
    """BL-038."""
    given = swap(text_of(GT1030 if int(version[:3]) < 510 else A100), ("470.74" if int(version[:3]) < 510 else "570.148.08", version))
    taken = take(given)
    assert (taken.status, taken.rendered()) == (0, given)
    assert ask(taken)[0].call("nvmlSystemGetDriverVersion").out == {"version": version}


def test_driver_versions_are_compared_part_by_part():
    """BL-038."""
    ordered = ["367.36.02", "418.87.01", "535.98", "535.104.05", "536.40", "595.84", "595.91.07"]
    assert sorted(ordered, key=DriverVersion) == ordered


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("NVIDIA L40", "NVIDIA L4"),
        ("NVIDIA GH200 480GB", "NVIDIA H200"),
        ("NVIDIA RTX A6000", "NVIDIA A6000"),
        ("Nobody's Board", "Somebody's Board"),
    ],
)
def test_nothing_hangs_on_a_part_of_a_name(one: str, other: str, take: Take):
    """BL-054: the same readings under two names differ in the name alone, and in no other line."""
    texts = []
    for name in (one, other):
        given = put(text_of(A100), "product_name", name)
        taken = take(given)
        assert (taken.status, taken.rendered()) == (0, given)
        profile = taken.path.read_text()
        assert profile.count(name) == 1
        texts.append(profile.replace(name, "?"))
    assert texts[0] == texts[1]
    assert naming.slug(one) != naming.slug(other)


def test_a_board_that_says_no_architecture_has_that_of_its_elements(take: Take):
    """BL-054: what else a board prints says what it is; a name of another family changes nothing in it."""
    taken = take(put(drop(text_of(A100), "product_architecture"), "product_name", "Tesla V100-SXM2-32GB"))
    assert taken.value("architecture") == "ampere"


def test_a_profile_goes_to_another_driver_with_what_that_driver_prints(take: Take, on: On):
    """BL-016: the renderer takes the profile's own version; another version is another layout, told by the report, and never an empty diff."""
    older, newer = on(A100, "535.274.02"), on(A100, "580.105.08")
    assert "<driver_version>535.274.02</driver_version>" in older
    assert ("<clocks_event_reasons_counters>" in older, "<clocks_event_reasons_counters>" in newer) == (False, True)
    assert "driver 535.274.02" in take(older).out
