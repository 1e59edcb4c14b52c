"""What the doctor says of a node's MIG cards."""

from __future__ import annotations

import pytest

from harness.discovery import doctor, problems
from harness.discovery.listed import ListedMig
from harness.discovery.rows import Row
from harness.discovery.texts import Texts
from harness.words.errors import InputError
from tests.unit.discovery.nodes import card, devices, mig, modes, named, report

LIST = b"GPU 0: a (UUID: GPU-0)\n  MIG 3g.40gb     Device  0: (UUID: MIG-a)\nGPU 2: c (UUID: GPU-2)\n  MIG 1g.5gb     Device  0: (UUID: MIG-c)\n"
LGI = b"|   0  MIG 3g.40gb   9   2   4:4   |\n|   0  MIG 1g.10gb  19   7   0:1   |\n|   2  MIG 1g.5gb  19   8   1:1   |\n"
LCI = b"|   0      2       MIG 3g.40gb   2   0   0:3   |\n|   2      8       MIG 1g.5gb   0   0   0:1   |\n"
REPORT = report(
    card(named(" NVIDIA A100 "), modes("Enabled"), devices(mig(0, 2, 0))),
    card(named("Tesla T4"), modes("N/A"), identity="00000000:02:00.0"),
    card(modes("ENABLED"), devices(mig(0, 8, 0)), identity="00000000:03:00.0"),
)
TEXTS = Texts(LIST, REPORT, LGI, LCI)
BOTH = pytest.mark.parametrize("compatible", [False, True])


def one(
    current: str, pending: str, *inside: str, listing: bytes | None = b"", lgi: bytes | None = b"", lci: bytes | None = b""
) -> list[doctor.MigCard]:
    return doctor.examine(Texts(listing, report(card(modes(current, pending), *inside)), lgi, lci))


@BOTH
@pytest.mark.spec("DM91", "DM93", "DM95", "DM96", "DM99")
def test_each_card_has_its_devices_and_instances_by_its_place_in_the_report(compatible: bool) -> None:
    first, second = doctor.examine(TEXTS, compatible=compatible)
    assert (first.index, first.name, first.enabled, first.pending_enabled) == (0, "NVIDIA A100", True, True)
    assert first.instances == (ListedMig(0, "3g.40gb", "MIG-a"),)
    assert [(row.gpu_instance, row.compute_instance) for row in first.gpu_instances] == [(2, -1), (7, -1)]
    assert first.compute_instances == (Row(0, "3g.40gb", 2, 2, 0, "0:3"),)
    assert (second.index, second.name, [row.gpu_instance for row in second.gpu_instances]) == (2, "", [8])


@BOTH
@pytest.mark.spec("DM95")
def test_rows_of_one_table_in_the_text_of_the_other_are_left_out(compatible: bool) -> None:
    first, _ = doctor.examine(Texts(LIST, REPORT, LGI + LCI, LCI + LGI), compatible=compatible)
    assert ([row.compute_instance for row in first.gpu_instances], [row.compute_instance for row in first.compute_instances]) == ([-1, -1], [0])


def test_a_report_that_lacks_a_card_is_put_to_the_listed_ones_by_uuid() -> None:
    """What nvidia-smi prints of a node whose first GPU is lost: the list keeps the others' numbers, the report leaves the lost one out."""
    listing = b"Unable to determine the device handle for gpu 0000:01:00.0: GPU is lost.\nGPU 1: a (UUID: GPU-b)\n  MIG p Device 0: (UUID: MIG-b)\n"
    lost = Texts(listing, report(card(named("a", "GPU-b"), modes("Enabled"), devices(mig(0, 2, 0)))), LGI.replace(b"|   2", b"|   1"), LCI)
    (found,) = doctor.examine(lost)
    assert (found.index, [one.uuid for one in found.instances], [row.gpu_instance for row in found.gpu_instances]) == (1, ["MIG-b"], [8])
    (found,) = doctor.examine(lost, compatible=True)
    assert (found.index, found.instances) == (0, ())


def test_a_card_that_is_none_of_the_listed_ones_gets_nothing_of_theirs() -> None:
    (found,) = doctor.examine(Texts(LIST, report(card(named("a", "GPU-x1"), modes("Enabled"), devices(mig(0, 2, 0)))), LGI, LCI))
    assert (found.index, found.instances, found.gpu_instances, found.warnings) == (0, (), (), (problems.UNNAMED,))


def test_names_that_the_tables_cut_are_whole_again() -> None:
    lgi = LGI.replace(b"MIG 3g.40gb   9 ", b"MIG 2g.48gb+me... 64 ")
    lci = LCI.replace(b"MIG 3g.40gb ", b"MIG 1c.2g.48gb+... ")
    first, _ = doctor.examine(Texts(LIST, REPORT, lgi, lci))
    assert (first.gpu_instances[0].profile, first.compute_instances[0].profile) == ("2g.48gb+me.all", "1c.2g.48gb+me.all")
    first, _ = doctor.examine(Texts(LIST, REPORT, lgi, lci), compatible=True)
    assert (first.gpu_instances[0].profile, first.compute_instances[0].profile) == ("2g.48gb+me...", "1c.2g.48gb+...")


@pytest.mark.spec("DM87", "DM45")
def test_without_a_report_nothing_is_known() -> None:
    with pytest.raises(InputError, match=r"nvidia-smi -q -x: it ended with status 9"):
        doctor.examine(Texts(LIST, missing=(("-q -x", "it ended with status 9"),)))
    with pytest.raises(InputError, match="nvidia-smi's report could not be read"):
        doctor.examine(Texts(LIST, b"<nvidia_smi_log>"))


@pytest.mark.spec("DM87", "DM88", "DM89")
def test_other_texts_that_are_missing_or_torn_leave_their_lists_empty() -> None:
    for texts in (Texts(None, REPORT), Texts(b"\xff", REPORT, b"No GPU instances found: Not Found\n", b"|||")):
        cards = doctor.examine(texts)
        assert [(one.instances, one.gpu_instances, one.compute_instances) for one in cards] == [((), (), ()), ((), (), ())]


@pytest.mark.spec("DM90", "DM35", "DF9")
@pytest.mark.parametrize(
    ("current", "pending", "there"),
    [
        ("Enabled", "Enabled", True), ("Disabled", "Disabled", True), ("disabled", "N/A", True), ("N/A", "Enabled", True), ("N/A", "N/A", False),
        ("N/A", "Disabled", False), ("", "", False), ("Disabled", "Enabled", True),
    ],
)  # fmt: skip
def test_only_cards_that_have_a_mode_are_listed(current: str, pending: str, there: bool) -> None:
    assert bool(one(current, pending)) is there


@pytest.mark.spec("DM90")
def test_a_driver_before_mig_has_no_card_to_list() -> None:
    assert doctor.examine(Texts(report=report(card(named("Tesla K80"))))) == []


@pytest.mark.spec("DM92", "DM93", "DM94")
def test_a_card_as_json_leaves_out_what_is_empty() -> None:
    first, second = (found.to_dict() for found in doctor.examine(TEXTS))
    assert first == {
        "index": 0, "name": "NVIDIA A100", "enabled": True, "pending_enabled": True,
        "instances": [{"device": 0, "profile": "3g.40gb", "uuid": "MIG-a"}],
        "gpu_instances": [
            {"gpu": 0, "profile": "3g.40gb", "profile_id": 9, "gpu_instance": 2, "compute_instance": -1, "placement": "4:4"},
            {"gpu": 0, "profile": "1g.10gb", "profile_id": 19, "gpu_instance": 7, "compute_instance": -1, "placement": "0:1"},
        ],
        "compute_instances": [{"gpu": 0, "profile": "3g.40gb", "profile_id": 2, "gpu_instance": 2, "compute_instance": 0, "placement": "0:3"}],
    }  # fmt: skip
    assert "name" not in second
    assert one("Disabled", "Disabled")[0].to_dict() == {"index": 0, "enabled": False, "pending_enabled": False}


@pytest.mark.spec("DM97", "DF9", "DF10")
def test_a_mode_that_waits_for_a_reset_is_shown_as_it_is() -> None:
    (found,) = one("Disabled", "Enabled")
    assert (found.enabled, found.pending_enabled) == (False, True)


@pytest.mark.spec("DM98")
@pytest.mark.parametrize(
    ("cards", "warnings"),
    [
        (one("Enabled", "Enabled"), [problems.NO_INSTANCES]),
        (one("Enabled", "Enabled", lgi=LGI, lci=b"No compute instances found: Not Found\n"), [problems.NO_COMPUTE_INSTANCE.format(ids="2,7")]),
        (one("Enabled", "Enabled", listing=LIST, lgi=LGI, lci=LCI), [problems.NO_COMPUTE_INSTANCE.format(ids="7")]),
        (one("Enabled", "Enabled", listing=LIST, lgi=LGI, lci=None), []),
        (one("Disabled", "Enabled"), [problems.PENDING.format(pending="on", current="off")]),
        (one("Enabled", "Disabled", listing=LIST), [problems.PENDING.format(pending="off", current="on")]),
        (one("Enabled", "Enabled", devices(mig(0, 1, 0))), [problems.UNNAMED]),
        (one("Disabled", "Disabled"), []),
        (doctor.examine(Texts(LIST, REPORT, LGI[:41], LCI)), []),
    ],
    ids=["none-created", "none-computes", "one-holds-nothing", "no-lci", "pending-on", "pending-off", "unnamed", "off", "sound"],
)
def test_states_in_which_not_all_can_run_are_warned_of(cards: list[doctor.MigCard], warnings: list[str]) -> None:
    assert list(cards[0].warnings) == warnings
