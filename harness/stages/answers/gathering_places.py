"""What a recording's answers say of where a GPU stands in its node: its root complex, that complex's NUMA node and processors (ledger D14 to D16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from harness.stages.answers.gathering_lists import Answers
from harness.stages.answers.told import Told, holds
from harness.words.state import State
from mocklib.answers import Asked, Gpu

if TYPE_CHECKING:
    from mocklib.binding import Answer

Said = Mapping[Asked, "Answer"]
LEVELS = "nvmlDeviceGetTopologyCommonAncestor"
SINGLE, HOSTBRIDGE, SYSTEM = 10, 30, 50
"""nvmlGpuTopologyLevel_t of two GPUs below one root complex, below two of a NUMA node, and on two NUMA nodes (ledger D16)."""
NODE_SCOPE = 0
_WORD, _LONG = 32, 64


def places(by_gpu: Mapping[int | None, Said]) -> dict[int, int]:
    """GPU -> which of the node's root complexes it is below, numbered by their first GPU.

    Empty where a level is none that root complexes make: a profile does not say bridges between them.
    """
    nodes = {gpu: node for gpu, given in by_gpu.items() if gpu is not None and (node := _numa_node(Answers(gpu, given))) is not None}
    levels = {pair: level for gpu, given in by_gpu.items() if gpu is not None for pair, level in _levels(gpu, given)}
    found: dict[int, int] = {}
    for gpu in sorted(nodes):
        below = next((found[other] for other in found if levels.get((gpu, other)) == SINGLE), None)
        found[gpu] = len(set(found.values())) if below is None else below
    return found if all(_level(pair, found, nodes) == level for pair, level in levels.items()) else {}


def _levels(gpu: int, given: Said) -> Iterator[tuple[tuple[int, int], Any]]:
    """Each other GPU with the level at which they meet."""
    for asked, answer in given.items():
        other = dict(asked.arguments).get("device2") if asked.function == LEVELS and not answer.code else None
        if isinstance(other, Gpu) and other.index != gpu:
            yield (gpu, other.index), answer.out.get("pathInfo")


def _level(pair: tuple[int, int], found: Mapping[int, int], nodes: Mapping[int, int]) -> int | None:
    """The level that root complexes make; None for a GPU of which none is known."""
    one, other = pair
    if one not in found or other not in found:
        return None
    return SYSTEM if nodes[one] != nodes[other] else SINGLE if found[one] == found[other] else HOSTBRIDGE


def told(answers: Answers, known: Mapping[int, int]) -> Iterator[Told]:
    """The fields of one GPU's place; ``known``: root complexes as of ``places``."""
    memory = answers.of("nvmlDeviceGetMemoryAffinity", nodeSetSize=4, scope=NODE_SCOPE)
    node = _numa_node(answers)
    if memory is not None and memory[1].code:
        yield from _code("topology.numa_node", *memory)
    elif memory is not None and node is not None:
        yield Told("topology.numa_node", memory[0], node)
        if answers.gpu is not None and answers.gpu in known:
            yield Told("topology.root", memory[0], known[answers.gpu])
    near = answers.of("nvmlDeviceGetCpuAffinity", cpuSetSize=16)
    if near is not None and near[1].code:
        yield from _code("topology.cpus", *near)
    elif near is not None and (mask := _mask(near[1].out.get("cpuSet"))) is not None:
        yield Told("topology.cpus", near[0], tuple(mask >> shift & 0xFFFFFFFF for shift in range(0, mask.bit_length(), _WORD)))
    if answers.gpu not in known:
        yield from _default(answers)


def _default(answers: Answers) -> Iterator[Told]:
    """The level that a GPU has to all others alike, or the code, where no root complex is known."""
    name = "topology.default_level"
    pairs = [
        (asked, answer) for asked, answer in answers.given.items()
        if asked.function == LEVELS and dict(asked.arguments).get("device2") != Gpu(answers.gpu or 0)
    ]  # fmt: skip
    if len({(answer.code, repr(answer.out.get("pathInfo"))) for _, answer in pairs}) != 1:
        return
    asked, answer = pairs[0]
    if answer.code:
        yield from _code(name, asked, answer)
    elif holds(name, answer.out.get("pathInfo")):
        yield Told(name, asked, answer.out["pathInfo"])


def _code(name: str, asked: Asked, answer: Answer) -> Iterator[Told]:
    if State.of_code(answer.code) is not None:
        yield Told(name, asked, code=answer.code)


def _numa_node(answers: Answers) -> int | None:
    """The one NUMA node that is near; None for none, and for several."""
    found = answers.of("nvmlDeviceGetMemoryAffinity", nodeSetSize=4, scope=NODE_SCOPE)
    mask = None if found is None or found[1].code else _mask(found[1].out.get("nodeSet"))
    return mask.bit_length() - 1 if mask and mask.bit_count() == 1 else None


def _mask(value: Any) -> int | None:
    """A set of bits, 64 a number, the lowest first; None for what is none."""
    if not isinstance(value, list) or not all(isinstance(word, int) and 0 <= word < 2**_LONG for word in value):
        return None
    found: int = sum(word << (place * _LONG) for place, word in enumerate(value))
    return found
