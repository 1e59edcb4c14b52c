"""What a process is given, and what cannot be one group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.discovery import environment
from harness.discovery.model import Gpu, Health, MigRecord
from harness.words.errors import InputError

MIG = Gpu(1000, "MIG-00000000-0000-0000-0000-000000000001", gpu_class="a100-80g-mig-3g.40gb", mig=MigRecord(0, "GPU-0", 81920, 0, "3g.40gb"))
OLD = Gpu(1001, "MIG-GPU-00000000-0000-0000-0000-000000000002/7/0", mig=MigRecord(0, "GPU-0", 81920, 1, "1g.10gb"))
CARDS = [Gpu(number, f"GPU-{number}", gpu_class="t4-15g") for number in (2, 3)]


@pytest.mark.spec("DM15")
@pytest.mark.parametrize("name", ["tensor_parallel", "pipeline_parallel", "gpus", "nodes"])
def test_a_replica_on_instances_is_one_of_everything(name: str) -> None:
    (reason,) = environment.refusals(MIG.gpu_class, **{name: 2})
    assert reason.startswith(f"{name} is 2, and a100-80g-mig-3g.40gb takes 1: ")
    assert environment.refusals(MIG.gpu_class, **{name: 1}) == environment.refusals("a100-80g", **{name: 8}) == []


@pytest.mark.spec("DM15")
def test_each_number_that_is_too_large_is_told() -> None:
    assert len(environment.refusals(MIG.gpu_class, tensor_parallel=2, pipeline_parallel=2, gpus=4, nodes=2)) == 4


@pytest.mark.spec("DM15")
def test_a_group_of_instances_is_refused_again_when_it_is_placed() -> None:
    for group in ([MIG, OLD], [CARDS[0], MIG]):
        with pytest.raises(InputError, match="cannot be one group: a process opens one MIG instance"):
            environment.variables(group)


@pytest.mark.spec("DM16")
def test_of_instances_one_or_none_is_offered() -> None:
    assert [environment.offers(MIG.gpu_class, count) for count in (0, 1, 7)] == [[], [1], [1]]
    assert environment.offers("t4-15g", 3) == [1, 2, 3]


@pytest.mark.spec("DM17")
@pytest.mark.parametrize("gpu", [MIG, OLD])
def test_an_instance_is_given_by_its_uuid_as_it_is_spelled_and_by_nothing_else(gpu: Gpu) -> None:
    assert environment.variables([gpu]) == {"CUDA_VISIBLE_DEVICES": gpu.uuid}


def test_cards_are_given_together() -> None:
    assert environment.variables(CARDS) == {"CUDA_VISIBLE_DEVICES": "GPU-2,GPU-3"}


@pytest.mark.parametrize(
    ("group", "message"),
    [
        (CARDS[:1] * 2, "2 is named twice"), ([replace(MIG, uuid="MIG-`reboot`")], 'MIG-`reboot`" is no UUID'),
        ([replace(MIG, uuid="MIG-a b")], "no UUID"),
        ([], "no device"), ([Gpu(0, "GPU-0", health=Health(problems=("it is lost",)))], "0 cannot be used: it is lost"), ([Gpu(0)], "0 has no UUID"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(group: list[Gpu], message: str) -> None:
    with pytest.raises(InputError, match=message):
        environment.variables(group)
