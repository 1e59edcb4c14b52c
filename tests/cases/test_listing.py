"""`-L`: names that break patterns, rows that are torn, lists beside a query."""

from __future__ import annotations

import pytest

from tests.cases.boards import A100, H100, T4, UUID, swap, text_of
from tests.cases.conftest import Ask, Take

ODD = f"""GPU 0: TITAN X (Pascal) (UUID: {UUID.format(2)})
GPU 1: NVIDIA RTX PRO 6000 Blackwell Server Edition (UUID: {UUID.format(3)})
  MIG 1g.24gb+gfx
"""


def listed(board: str, **changes: str) -> str:
    """The list that belongs to a board's query."""
    text = text_of(board)
    names = [line.split(">")[1].split("<")[0] for line in text.splitlines() if "<product_name>" in line]
    uuids = [line.split(">")[1].split("<")[0] for line in text.splitlines() if "<uuid>" in line]
    rows = "".join(f"GPU {number}: {name} (UUID: {uuid})\n" for number, (name, uuid) in enumerate(zip(names, uuids, strict=True)))
    return swap(rows, *changes.items()) if changes else rows


def test_names_with_parentheses_are_names_and_a_torn_row_is_told_by_its_line(take: Take, ask: Ask):
    """BL-022."""
    taken = take(ODD)
    assert taken.status == 0
    assert "note: line 3: unreadable MIG row: 'MIG 1g.24gb+gfx'" in taken.out
    nvml, _ = ask(taken)
    names = [nvml.call("nvmlDeviceGetName", nvml.device(index)).out["name"] for index in range(nvml.count())]
    assert names == ["TITAN X (Pascal)", "NVIDIA RTX PRO 6000 Blackwell Server Edition"]


def test_a_row_of_a_gpu_without_a_handle_is_kept_and_is_no_gpu(take: Take):
    """BL-022: the list is stored whole, its error row with it; the GPU in error is told."""
    taken = take(ODD + "Unable to determine the device handle for gpu 0000:04:00.0: Unknown Error\n")
    assert "Unable to determine the device handle for gpu 0000:04:00.0: Unknown Error" in (taken.space.captures / "x" / "transcript.txt").read_text()
    assert "GPU 2 (0000:04:00.0) is not there: 'Unknown Error'" in taken.out


@pytest.mark.parametrize(
    "text",
    [listed(T4).replace("\n", "\r\n"), "\ufeff" + listed(T4), listed(T4).rstrip("\n"), "\n" + listed(T4) + "\n", "\t" + listed(T4),
     "$ nvidia-smi -L\n" + listed(T4), listed(T4).replace(")\n", ") (S/N: 0000000000001)\n")],
)  # fmt: skip
def test_a_list_keeps_its_gpus_however_it_was_passed_on(text: str, take: Take):
    """Line ends of Windows, a byte order mark, blanks, a prompt, words behind the row."""
    taken = take(text)
    assert (taken.status, taken.rendered("L")) == (0, listed(T4))


def test_two_lists_in_one_file_are_kept_as_edited(take: Take):
    taken = take(listed(T4) * 2)
    assert taken.status == 0
    assert "edited: kept, not compared" in taken.out
    assert "GPU numbers repeat" in taken.out


def test_a_list_whose_numbers_go_back_is_refused(take: Take):
    """A list that was sorted by something else: a number is what a client asks by, so none is moved."""
    taken = take("".join(f"GPU {number}: Tesla T4 (UUID: {UUID.format(number)})\n" for number in (1, 0)))
    assert taken.status == 3
    assert taken.err.count("\n") == 1
    assert not list(taken.space.root.iterdir())


def test_a_list_that_skips_a_number_says_which_gpu_it_left_out(take: Take):
    taken = take("".join(f"GPU {number}: Tesla T4 (UUID: {UUID.format(number)})\n" for number in (0, 2)))
    assert taken.status == 0
    assert "the list skips GPUs 1" in taken.out


def test_a_list_beside_its_query_is_rendered_beside_it(take: Take):
    taken = take(text_of(H100), listed(H100))
    assert (taken.status, taken.rendered(), taken.rendered("L")) == (0, text_of(H100), listed(H100))


@pytest.mark.parametrize(
    ("change", "told"),
    [({"Tesla T4": "Tesla T40"}, ["Tesla T4 ", "Tesla T40 "]), ({UUID.format(0): UUID.format(9)}, [UUID.format(0), UUID.format(9)])],
)
def test_a_list_of_another_node_is_refused_with_both_sides(change: dict[str, str], told: list[str], take: Take):
    """A query and a list that disagree are never joined."""
    taken = take(text_of(T4), listed(T4, **change))
    assert taken.status == 3
    assert all(word in taken.err for word in told)
    assert not list(taken.space.root.iterdir())


def test_a_list_with_more_gpus_than_its_query_is_refused_with_both_sides(take: Take):
    taken = take(text_of(A100), listed(A100) + f"GPU 1: Tesla T4 (UUID: {UUID.format(9)})\n")
    assert taken.status == 3
    assert "has 1 GPU (" in taken.err
    assert "has 2 GPUs (" in taken.err
