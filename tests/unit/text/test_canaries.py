"""Random identifiers of every kind, put where real ones stand and where nobody expects them: none is in what is written."""

from __future__ import annotations

import random
import re
import string

import pytest

from harness.stores import captures, goldens
from harness.text import document, listing, scrub, transcript
from tests.unit.text import samples

SEEDS = range(12)


class Canaries:
    """Makes identifiers that occur nowhere else, and remembers them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.made: list[str] = []

    def _keep(self, value: str) -> str:
        self.made.append(value)
        return value

    def _of(self, letters: str, count: int) -> str:
        return "".join(self.random.choice(letters) for _ in range(count))

    def uuid(self) -> str:
        value = "-".join(self._of("0123456789abcdef", count) for count in (8, 4, 4, 4, 12))
        return self._keep(self.random.choice((value, value.upper())))

    def serial(self) -> str:
        return self._keep("16" + self._of(string.digits, 11))

    def chassis(self) -> str:
        return self._keep("SG" + self._of(string.ascii_uppercase + string.digits, 8) + "7")

    def wide(self) -> str:
        return self._keep(self._of("123456789abcdef", 16))

    def name(self) -> str:
        return self._keep("q" + self._of("bcdfghjklmnpqrstvwz", 6))


def elements(made: Canaries, gpu: str) -> str:
    """The identifiers of one GPU, in the elements that are theirs."""
    return (
        f"\t\t<serial>{made.serial()}</serial>\n\t\t<uuid>GPU-{gpu}</uuid>\n\t\t<pdi>0x{made.wide()}</pdi>\n\t\t<platformInfo>\n"
        f"\t\t\t<chassis_serial_number>{made.chassis()}</chassis_serial_number>\n\t\t\t<gpu_fabric_guid>0x{made.wide()}</gpu_fabric_guid>\n"
        f"\t\t</platformInfo>\n\t\t<fabric>\n\t\t\t<clusterUuid>{made.uuid()}</clusterUuid>\n\t\t</fabric>\n"
    )


def strays(made: Canaries, gpu: str) -> str:
    """The same and others in comments, attributes, elements nobody knows and process names."""
    user, host = made.name(), made.name()
    return (
        f"<!-- node of {user}@{host}.example.com, serial {made.serial()}, GPU-{gpu.upper()}, {gpu.replace('-', '')} -->\n"
        f'\t\t<unheard_of serial="{made.chassis()}" who="MIG-GPU-{gpu}/1/0">0x{made.wide()}</unheard_of>\n'
        f"\t\t<other_thing>{made.serial()}</other_thing>\n\t\t<lost>MIG-{made.uuid()}</lost>\n\t\t<hostname>{host}</hostname>\n"
        f"\t\t<processes>\n\t\t\t<process_info>\n\t\t\t\t<process_name>/home/{user}/x --id={made.uuid()} --user {user} --host={host} "
        f"/Users/{made.name()}/y</process_name>\n\t\t\t</process_info>\n\t\t</processes>\n"
        f"\t\t<cut>GPU-{made.uuid()[:8]}-...</cut>\n\t\t<odd_uuid>\n\t\t\t{made.chassis()}\n\t\t</odd_uuid>\n"
    )


def node(made: Canaries) -> dict[str, bytes]:
    """Both views of a node of two GPUs, full of canaries."""
    text, rows = samples.query(2), []
    for place, uuid in enumerate(samples.UUIDS):
        gpu = made.uuid()
        serial = re.search(rf"\t\t<serial>.*</serial>\n\t\t<uuid>{uuid}</uuid>\n", text)
        assert serial
        text = text.replace(serial.group(), elements(made, gpu) + strays(made, gpu))
        rows += [f"GPU {place}: NVIDIA A100-SXM4-40GB (UUID: GPU-{gpu})", f"  MIG 1g.5gb      Device  0: (UUID: MIG-{made.uuid()})"]
    return {"q-x": text.encode(), "L": ("\n".join(rows) + f"\n# {made.name()}@{made.name()}: serial number {made.serial()}\n").encode()}


@pytest.mark.parametrize("seed", SEEDS)
def test_no_canary_is_in_anything_written(seed, tmp_path):
    made = Canaries(seed)
    raw = node(made)
    result = scrub.scrub(raw)
    texts: dict[str, captures.Text] = {"q-x": document.read(result.files["q-x"]), "L": listing.read(result.files["L"])}
    golden = goldens.make("x", "own", raw, result.files, "nobody", "canaries")
    views = {view: captures.View(part.raw, part.scrubbed, len(raw[view])) for view, part in golden.views.items()}
    sidecar = captures.Sidecar(
        "x", "own", None, views, scrubbed=result.report, notes=tuple(note.what for text in texts.values() for note in text.notes)
    )
    captures.write(tmp_path / "captures", captures.Capture(sidecar, texts))
    goldens.write(tmp_path, golden)
    written = {path.name: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert sorted(written) == ["listing.txt", "sidecar.yaml", "transcript.txt", "x.yaml"]
    assert len(made.made) == 39
    for name, text in [*written.items(), *((view, data.decode()) for view, data in result.files.items())]:
        plain = text.lower().replace("-", "")
        assert [canary for canary in made.made if canary.lower().replace("-", "") in plain] == [], name
        assert scrub.residue(text.encode()) == [] or name in {"sidecar.yaml", "x.yaml"}


@pytest.mark.parametrize("seed", SEEDS)
def test_views_of_a_node_stay_joined(seed):
    files = scrub.scrub(node(Canaries(seed))).files
    query, listed = document.read(files["q-x"]), listing.read(files["L"])
    assert [gpu.get("uuid").lower() for gpu in query.gpus] == [gpu.uuid.lower() for gpu in listed.gpus]
    assert len({gpu.uuid for gpu in listed.gpus}) == 2


def test_character_references_hide_nothing():
    raw = samples.query().replace("31 C", "&#71;PU-112&#50;3344-5566-7788-99aa-&#x62;bccddeeff04 &#38; /ho&#109;e/al&#105;ce/")
    found = scrub.scrub({"q": raw.encode()}).files["q"]
    assert b"<gpu_temp>GPU-00000001-0000-0000-0000-000000000001 &#38; /home/user1/</gpu_temp>" in found
    assert "alice" not in transcript.dump(document.read(found))
