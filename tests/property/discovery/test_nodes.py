"""Random nodes, written as the four texts of nvidia-smi, come back as they were; any one text missing or torn gives what is documented."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from harness.discovery import classes, doctor, numbers, problems, texts
from harness.discovery.model import UNKNOWN, Gpu
from harness.discovery.texts import Texts
from harness.words.errors import InputError
from tests.unit.discovery.nodes import card, devices, memory, mig, modes, named, process, report

PROFILES = {
    "1g.5gb": 4864,
    "1g.5gb+me": 4864,
    "1g.10gb": 9728,
    "2g.20gb": 19968,
    "3g.40gb": 40192,
    "1c.3g.40gb": 40192,
    "7g.80gb": 80896,
    "1g.24gb-me": 24192,
}
BOARDS = {"NVIDIA A100-SXM4-80GB": 81920, "NVIDIA H100 80GB HBM3": 81559, "Tesla T4": 15360, "NVIDIA GeForce RTX 3090": 24576}
PARTS = ("listing", "report", "gpu_instances", "compute_instances")


@dataclass(frozen=True)
class Made:
    """An instance that was made up: number on its card, profile, GPU and compute instance, used memory, pids."""

    device: int
    profile: str
    gpu_instance: int
    compute_instance: int
    used: int
    pids: tuple[int, ...]


@dataclass(frozen=True)
class Card:
    """A card that was made up; ``current``: text of its MIG mode; ``hollow``: GPU instances without a compute instance."""

    name: str
    bus: int
    current: str
    pending: str
    instances: tuple[Made, ...]
    hollow: tuple[int, ...]

    @property
    def on(self) -> bool:
        return self.current == "Enabled"


@st.composite
def cards(draw: st.DrawFn) -> list[Card]:
    count = draw(st.integers(0, 6))
    buses = draw(st.lists(st.integers(1, 255), min_size=count, max_size=count, unique=True))
    return [draw(one_card(bus)) for bus in buses]


@st.composite
def one_card(draw: st.DrawFn, bus: int) -> Card:
    current = draw(st.sampled_from(["Enabled", "Enabled", "Disabled", "N/A"]))
    pending = draw(st.sampled_from(["Enabled", "Disabled"])) if current != "N/A" else "N/A"
    numbered = draw(st.lists(st.integers(0, 14), max_size=7, unique=True)) if current == "Enabled" else []
    ids = draw(st.lists(st.integers(0, 14), min_size=len(numbered), max_size=len(numbered), unique=True))
    made = tuple(
        Made(device, draw(st.sampled_from(sorted(PROFILES))), ids[at], draw(st.integers(0, 6)), draw(st.integers(0, 500)),
             tuple(draw(st.lists(st.integers(1, 9999), max_size=2, unique=True))))
        for at, device in enumerate(sorted(numbered))
    )  # fmt: skip
    hollow = draw(st.lists(st.integers(20, 24), max_size=2, unique=True)) if current == "Enabled" else []
    return Card(draw(st.sampled_from(sorted(BOARDS))), bus, current, pending, made, tuple(hollow))


def uuid(place: int, device: int | None = None) -> str:
    return f"GPU-{place:08x}-0000-0000-0000-000000000000" if device is None else f"MIG-{place:08x}-0000-0000-0000-{device:012x}"


def written(node: list[Card], width: int, padded: bool) -> Texts:
    """The four texts of ``node`` in one layout: ``width`` of the table of GPU instances, MIG rows of -L ``padded`` or not."""
    listing, blocks, lgi, lci = [], [], [], []
    for place, one in enumerate(node):
        listing.append(f"GPU {place}: {one.name} (UUID: {uuid(place)})")
        head = 15 if padded else 0
        listing += [
            f"  {'MIG ' + made.profile:<{head}} Device {made.device:>{2 if padded else 1}}: (UUID: {uuid(place, made.device)})"
            for made in one.instances
        ]
        blocks.append(block(place, one))
        for made in one.instances:
            lgi.append(f"|{place:>4}  MIG {made.profile:<14}{19:>6}{made.gpu_instance:>9}{'0:1':>12}")
            lci.append(f"|{place:>4}{made.gpu_instance:>7}       MIG {made.profile:<14}{0:>6}{made.compute_instance:>10}{'0:1':>12}     |")
        lgi += [f"|{place:>4}  MIG {'1g.5gb':<14}{19:>6}{number:>9}{'7:1':>12}" for number in one.hollow]
    ruler = f"+{'-' * (width - 2)}+"
    table = [ruler, f"{'| GPU instances:':<{width - 1}}|", *(line for row in lgi for line in (f"{row:<{width - 1}}|", ruler))]
    computing = ["| Compute instances: |", "| GPU  Placement |", *lci]
    text = "\n".join
    return Texts(
        (text(listing) + "\n").encode(),
        report(*blocks),
        text(table).encode() if lgi else b"No GPU instances found: Not Found\n",
        text(computing).encode() if lci else b"No compute instances found: Not Found\n",
    )


def block(place: int, one: Card) -> str:
    entries = [
        mig(made.device, made.gpu_instance, made.compute_instance, f"{PROFILES[made.profile]} MiB", f"{made.used} MiB") for made in one.instances
    ]
    running = [process(str(made.gpu_instance), str(made.compute_instance), str(pid), "5 MiB") for made in one.instances for pid in made.pids]
    inside = (named(one.name, uuid(place)), memory(f"{BOARDS[one.name]} MiB", "3 MiB"), modes(one.current, one.pending), devices(*entries))
    return card(*inside, "<processes>\n", *running, "</processes>\n", identity=f"00000000:{one.bus:02X}:00.0")


def expected(node: list[Card], *, listed: bool, reported: bool, created: bool) -> list[tuple[object, ...]]:
    """What discovery must find of ``node``, of the parts that are there."""
    found: list[tuple[object, ...]] = []
    for place, one in enumerate(node):
        if listed and one.instances:
            found += [_instance(place, made, reported=reported) for made in one.instances]
            continue
        total = BOARDS[one.name] if reported else None
        why = _reason(one, created=created) if reported and one.on else ()
        pids = tuple(pid for made in one.instances for pid in made.pids) if reported else ()
        found.append((place, uuid(place), total, why, None, None, pids))
    return found


def _instance(place: int, made: Made, *, reported: bool) -> tuple[object, ...]:
    ids = (made.gpu_instance, made.compute_instance) if reported else (UNKNOWN, UNKNOWN)
    total = PROFILES[made.profile] if reported else classes.profile_memory_gb(made.profile) * 1024
    pids = made.pids if reported else ()
    return (numbers.instance_index(place, made.device), uuid(place, made.device), total, (), made.profile, ids, pids)


def _reason(one: Card, *, created: bool) -> tuple[str, ...]:
    if one.instances:
        return (problems.UNNAMED,)
    return (problems.NO_COMPUTE_INSTANCE.format(ids=",".join(map(str, one.hollow))),) if one.hollow and created else (problems.NO_INSTANCES,)


def put(whole: Texts, part: str, data: bytes | None) -> Texts:
    """``whole`` with another text as ``part``."""
    changes: dict[str, Any] = {part: data}
    return replace(whole, **changes)


def seen(gpu: Gpu) -> tuple[object, ...]:
    record = (gpu.mig.profile, (gpu.mig.gpu_instance, gpu.mig.compute_instance)) if gpu.mig else (None, None)
    return (gpu.index, gpu.uuid, gpu.memory_total_mb, gpu.health.problems, *record, tuple(one.pid for one in gpu.processes))


@settings(max_examples=100, deadline=None)
@given(cards(), st.sampled_from([54, 57, 59]), st.booleans())
def test_a_node_comes_back_as_it_was_written(node: list[Card], width: int, padded: bool) -> None:
    made = texts.discover(written(node, width, padded))
    assert [seen(gpu) for gpu in made.gpus] == expected(node, listed=True, reported=True, created=True)
    assert made.problems == ()


@settings(max_examples=50, deadline=None)
@given(cards(), st.sampled_from(PARTS))
def test_a_text_that_is_missing_leaves_its_half_empty(node: list[Card], part: str) -> None:
    less = put(written(node, 57, padded=True), part, None)
    made = texts.discover(less)
    there = {"listed": part != "listing", "reported": part != "report", "created": part != "gpu_instances"}
    assert [seen(gpu) for gpu in made.gpus] == expected(node, **there)
    assert len(made.problems) == (part in ("listing", "report"))


@settings(max_examples=50, deadline=None)
@given(cards(), st.sampled_from(PARTS), st.data())
def test_a_text_that_is_torn_raises_nothing_and_adds_nothing(node: list[Card], part: str, data: st.DataObject) -> None:
    whole = written(node, 57, padded=True)
    text: bytes = getattr(whole, part)
    start, end = sorted(data.draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
    torn = put(whole, part, text[:start] + text[end:])
    for compatible in (False, True):
        made = texts.discover(torn, compatible=compatible)
        named = {uuid(place, device) for place, one in enumerate(node) for device in [None, *(made.device for made in one.instances)]}
        if part != "listing":
            assert {gpu.uuid for gpu in made.gpus} <= named | {""}
        if part == "report" and not texts.discover(torn).problems:
            assert len(made.gpus) <= sum(len(one.instances) or 1 for one in node)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(PARTS), st.binary(max_size=400), st.text(max_size=200))
def test_any_bytes_at_all_are_taken(part: str, data: bytes, text: str) -> None:
    for content in (data, text.encode("utf-8", "surrogatepass"), b"<nvidia_smi_log>" + data + b"</nvidia_smi_log>"):
        texts.discover(put(Texts(), part, content))
        with contextlib.suppress(InputError):
            doctor.examine(put(Texts(), part, content))


@settings(max_examples=50, deadline=None)
@given(cards())
def test_the_doctor_names_each_state_in_which_not_all_can_run(node: list[Card]) -> None:
    found = {one.index: one for one in doctor.examine(written(node, 57, padded=True))}
    assert list(found) == [place for place, one in enumerate(node) if one.current != "N/A"]
    for place, report_of in found.items():
        one = node[place]
        assert [instance.device for instance in report_of.instances] == [made.device for made in one.instances]
        assert [row.gpu_instance for row in report_of.gpu_instances] == [*(made.gpu_instance for made in one.instances), *one.hollow]
        wanted = [problems.PENDING] if one.current != one.pending else []
        wanted += [problems.NO_COMPUTE_INSTANCE] if one.hollow else [problems.NO_INSTANCES] if one.on and not one.instances else []
        assert [warning.split(" ")[:3] for warning in report_of.warnings] == [
            text.format(ids=",".join(map(str, one.hollow)), pending="on" if one.pending == "Enabled" else "off", current="").split(" ")[:3]
            for text in wanted
        ]
