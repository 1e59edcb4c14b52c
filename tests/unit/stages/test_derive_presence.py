"""What one board prints and another of the same driver does not becomes a predicate that tells them apart, or stays as it was."""

from __future__ import annotations

import pytest

from harness.stages import derive, derive_node
from harness.tables import drivers
from tests.unit.stages.test_derive_node import T4, UNSEEN, captured, settled

ROW = "\t\t<gpu_part_number>1EB8-895-A1</gpu_part_number>\n"
SPARSE = "\t\t<sparse_operation_mode>N/A</sparse_operation_mode>\n"
UNKNOWN = "\t\t<brand_new>7</brand_new>\n"
ECC_OFF = ("<current_ecc>Enabled<", "<current_ecc>Disabled<")


@pytest.fixture(scope="module")
def tree():
    return drivers.load()


def without(line):
    return (line, "")


def one_after_the_other(repository, tree, tmp_path, first, second):
    """Learn the swaps ``first`` of the T4, then ``second`` beside it; the driver, both documents."""
    one, other = (captured(repository, T4, UNSEEN, *swaps) for swaps in (first, second))
    learnt = derive_node.learn(one, tree.resolve("595.99.01"), tree)
    both, driver = settled(tmp_path / "a", learnt, "595.99.01")
    more = derive_node.learn(other, driver, both, [one])
    assert more is not None
    return settled(tmp_path / "b", more, "595.99.01")[1], one, other


def when(driver, name):
    (found,) = [element.when for path, element in driver.layout.walk() if path == f"nvidia_smi_log/gpu/{name}"]
    return str(found)


@pytest.mark.parametrize("lacking_first", [True, False])
def test_an_element_that_one_board_lacks_is_there_when_its_row_answers(lacking_first, repository, tree, tmp_path):
    pair = [(without(ROW),), ()]
    driver, *_ = one_after_the_other(repository, tree, tmp_path, *(pair if lacking_first else pair[::-1]))
    assert when(driver, "gpu_part_number") == "answered(gpu_part_number)"


def test_boards_whose_row_answers_alike_are_told_apart_by_architecture(repository, tree, tmp_path):
    ampere = ("<product_architecture>Turing<", "<product_architecture>Ampere<")
    driver, *_ = one_after_the_other(repository, tree, tmp_path, (without(SPARSE), ampere), ())
    assert when(driver, "sparse_operation_mode").startswith("arch")


def test_boards_that_no_other_predicate_tells_apart_are_told_apart_by_a_mode(repository, tree, tmp_path):
    driver, *_ = one_after_the_other(repository, tree, tmp_path, (without(SPARSE), ECC_OFF), ())
    assert when(driver, "sparse_operation_mode") == "mode(ecc)"


def test_an_element_of_no_row_hangs_on_its_capture_alone(repository, tree, tmp_path):
    driver, one, other = one_after_the_other(repository, tree, tmp_path, (), (("\t\t<serial>", f"{UNKNOWN}\t\t<serial>"), ECC_OFF))
    assert when(driver, "brand_new") == "None"
    assert derive.derive(one, driver).verbatim == {}
    assert derive.derive(other, driver).verbatim == {"gpu[0]/brand_new": "7"}


def test_what_nothing_tells_apart_stays_as_the_later_capture_has_it(repository, tree, tmp_path):
    driver, *_ = one_after_the_other(repository, tree, tmp_path, (), (without(SPARSE),))
    assert "sparse_operation_mode" not in [element.name for _, element in driver.layout.walk()]


def test_a_predicate_that_a_third_board_contradicts_is_replaced(repository, tree, tmp_path):
    driver, one, other = one_after_the_other(repository, tree, tmp_path, (without(ROW), ECC_OFF), ())
    assert when(driver, "gpu_part_number") == "answered(gpu_part_number)"
    third = captured(repository, T4, UNSEEN, (ROW.strip(), "<gpu_part_number>N/A</gpu_part_number>"), ("\t\t<serial>", f"{UNKNOWN}\t\t<serial>"))
    again = drivers.load(tmp_path / "b")
    learnt = derive_node.learn(third, again.resolve("595.99.01"), again, [one, other])
    assert when(settled(tmp_path / "c", learnt, "595.99.01")[1], "gpu_part_number") == "mode(ecc)"
