"""What an import is given: a node's views, told apart, scrubbed together and read; of a recording its answers and what each view gave, too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.stages.importing import source
from harness.stores import captures, golden_reader, goldens
from harness.text import joining, scrub, timeline
from harness.text.document import OWN, Document
from harness.text.listing import Listing
from harness.text.transcript import VIEW_LIST, VIEW_QUERY, VIEW_TEXT
from harness.words.errors import InputError, UsageError

if TYPE_CHECKING:
    from harness.stages.importing.doors import Content
    from harness.stages.importing.source import Source
    from harness.stores.viewruns import ViewRun
    from harness.text.outline import Queried
    from harness.text.timeline_model import TimeLine
    from mocklib.answers import Recording

DRIVER_CALL, NAME_CALL, COUNT_CALL = "nvmlSystemGetDriverVersion", "nvmlDeviceGetName", "nvmlDeviceGetCount_v2"


@dataclass(frozen=True)
class Recorded:
    """What a recording has beside texts: the ``answers``, scrubbed, what each view gave (``runs``), how it was ``taken``, how answers moved
    (``timeline``, where it was sampled).  Answers of another tool's document were ``taken`` nobody knows how: None.
    """

    answers: Recording
    runs: dict[str, ViewRun]
    taken: captures.Taken | None
    timeline: TimeLine | None = None

    @property
    def moved(self) -> tuple[str, ...]:
        """Paths of the readings that moved while it was made."""
        return () if self.taken is None else self.taken.moved

    @property
    def driver(self) -> str | None:
        """The driver's version, as NVML says it."""
        found = self._said(DRIVER_CALL, "version")
        return found[0] if found else None

    @property
    def names(self) -> list[str]:
        """The product names of the GPUs that say one, in order; ``gpu`` for one that does not."""
        names = {asked.gpu: answer.out.get("name") for asked, answer in self.answers.items() if asked.function == NAME_CALL and not answer.code}
        counted = [answer.out.get("deviceCount", 0) for asked, answer in self.answers.items() if asked.function == COUNT_CALL and not answer.code]
        count = max([*counted, *(asked.gpu + 1 for asked in self.answers if asked.gpu is not None)], default=0)
        return [str(names.get(gpu) or "gpu") for gpu in range(count)]

    def _said(self, function: str, member: str) -> list[str]:
        return [str(answer.out[member]) for asked, answer in self.answers.items() if asked.function == function and member in answer.out]


@dataclass(frozen=True)
class Given:
    """The views of one node.

    ``names``: what messages call each; ``raw``: sha256 of each as it came; ``scrubbed``: the bytes after; ``texts``: what those say, of queries and
    lists; ``report``: distinct values replaced; ``packed``: how they came; ``recorded``: what a recording has beside.
    """

    names: dict[str, str]
    raw: dict[str, str]
    scrubbed: dict[str, bytes]
    texts: dict[str, Source]
    report: dict[str, int]
    packed: tuple[str, ...] = field(default=())
    recorded: Recorded | None = None

    @property
    def first(self) -> Source | None:
        """The query, or the list alone; None of answers alone."""
        return next(iter(self.texts.values()), None)

    @property
    def kind(self) -> str:
        """The kind of capture."""
        return OWN if self.first is None else self.first.kind

    @property
    def query(self) -> Document | None:
        """The `-q -x` view."""
        text = self.texts.get(VIEW_QUERY)
        return text if isinstance(text, Document) else None

    @property
    def queried(self) -> Queried | None:
        """The text that the profile is made from: the `-q -x` view, else the `-q` view."""
        text = self.query or self.texts.get(VIEW_TEXT)
        return None if isinstance(text, Listing) else text

    @property
    def driver(self) -> str | None:
        """The driver's version, where a view says it."""
        if self.queried is not None:
            return source.driver_of(self.queried)
        return None if self.recorded is None else self.recorded.driver

    @property
    def products(self) -> list[str]:
        """The product names of the GPUs."""
        if self.first is not None:
            return source.names(self.first)
        return [] if self.recorded is None else self.recorded.names

    def kept(self) -> dict[str, bytes]:
        """Every text that is written in some way, by what messages call it: scrubbed, all of it."""
        runs = {} if self.recorded is None else self.recorded.runs
        texts = {f"view {view}": run.text for view, run in runs.items() if run.text}
        said = {f"stderr of view {view}": run.stderr.encode("utf-8", "backslashreplace") for view, run in runs.items() if run.stderr}
        line = None if self.recorded is None else self.recorded.timeline
        moved = {} if line is None else {"the time line": timeline.dump(line).encode()}
        return {**{self.names[view]: data for view, data in self.scrubbed.items()}, **texts, **said, **moved}

    def hashes(self) -> dict[str, goldens.Hashes]:
        """What the golden keeps of each view."""
        return {
            view: goldens.Hashes(raw, golden_reader.sha256(self.scrubbed[view]), golden_reader.read(self.scrubbed[view]))
            for view, raw in self.raw.items()
        }


def recorded_of(capture: captures.Capture) -> Recorded | None:
    """What ``capture`` has beside texts; None of one without answers."""
    return None if capture.answers is None else Recorded(capture.answers, capture.runs, capture.sidecar.taken, capture.timeline)


def read(given: list[Content], *, edited: bool) -> Given:
    """Tell the files ``given`` apart, scrub them together, read them again.

    Raises InputError for what is no capture or does not fit together, UsageError for more files than views.
    """
    contents: dict[str, bytes] = {}
    views: dict[str, str] = {}
    for one in given:
        text = source.read(one.data, one.name, edited=edited)
        view = source.view(text)
        if view in views:
            raise UsageError(f"{one.name}: {views[view]} is a capture of the same view ({view}); one import takes one text of each view")
        source.check_texts(text, one.data, one.name)
        views[view] = one.name
        contents[view] = one.data
    ordered = {view: contents[view] for view in (VIEW_QUERY, VIEW_TEXT, VIEW_LIST) if view in contents}
    cleaned = scrub.scrub(ordered)
    texts = {view: source.read(cleaned.files[view], views[view], edited=edited) for view in ordered}
    check(texts, views, edited=edited)
    raw = {view: golden_reader.sha256(data) for view, data in ordered.items()}
    return Given(views, raw, dict(cleaned.files), texts, cleaned.report, tuple(note for one in given for note in one.notes))


def check(texts: dict[str, Source], names: dict[str, str], *, edited: bool = False) -> None:
    """Raises InputError where one view contradicts itself or the other; ``names``: what messages call each."""
    query, rows = texts.get(VIEW_QUERY), texts.get(VIEW_LIST)
    for view, text in texts.items():
        if not isinstance(text, Listing) and not edited:
            source.check_identity(text, names[view])
    if VIEW_QUERY in texts and VIEW_TEXT in texts:
        _same_node(texts, names, VIEW_QUERY, VIEW_TEXT)
    if isinstance(query, Document) and isinstance(rows, Listing):
        joining.join(query, rows, (names[VIEW_QUERY], names[VIEW_LIST]))
    elif VIEW_TEXT in texts and VIEW_LIST in texts:
        _same_node(texts, names, VIEW_TEXT, VIEW_LIST)


def _same_node(texts: dict[str, Source], names: dict[str, str], *views: str) -> None:
    """Raises InputError where two views name other drivers, or other GPUs."""
    drivers = [driver for view in views if (driver := source.driver_of(texts[view])) is not None]
    gpus = [source.uuids(texts[view]) or source.names(texts[view]) for view in views]
    if len(set(drivers)) > 1 or gpus[0] != gpus[1]:
        what = "drivers" if len(set(drivers)) > 1 else "GPUs"
        sides = zip(views, drivers if what == "drivers" else [", ".join(listed) or "none" for listed in gpus], strict=False)
        told = "; ".join(f"{names[view]} has {said}" for view, said in sides)
        raise InputError(f"{names[views[0]]} and {names[views[1]]} are not of one node, the {what} differ: {told}; capture both again")
