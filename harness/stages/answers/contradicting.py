"""Contradictions: readings of a text that are not what their row makes of the recording's answer.  Each is a fault of our rows or layouts."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.stages import derive_gpus
from harness.stages.answers.recorded import RecordedLibrary
from harness.stages.derive_walk import LIST, LITERAL, STATE, Walker
from harness.stages.importing import source
from harness.stages.render.reading import Place
from harness.stages.render.source import NvmlSource
from harness.text import answers as answers_text
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from harness.stages.derive_walk import Reading
    from harness.tables.drivers import Driver
    from harness.tables.formats import Format, Raw
    from harness.tables.rows import Route
    from harness.text.document import Document
    from mocklib.answers import Recording

_ASKED = frozenset(("call", "fieldvalue", "sum", "difference"))
_UNSAID = (LookupError, ValueError, TypeError, AttributeError, ArithmeticError, StopIteration)
"""What ends the reading of an answer that was not asked (NotAskedError), or of a value of a type that its call never gives: nothing is said of it."""
_ENTRY = {"pid": "accounted_process.pid", "memory_clock": "supported_clocks.memory"}
"""Argument of a route inside a list -> the row of the same entry that has it."""


@dataclass(frozen=True)
class Contradiction:
    """One reading: ``path`` of the element, ``gpu`` index (None: the node), ``row`` id, the text ``printed`` and the text that the row makes of
    the answer (``answered``), the ``call``, and its ``answer`` as a recording spells it.
    """

    path: str
    gpu: int | None
    row: str
    printed: str
    answered: str
    call: str
    answer: str

    def __str__(self) -> str:
        """One line for a report."""
        return f"{self.path}: row {self.row} makes {self.answered!r} of {self.call} = {self.answer}; nvidia-smi printed {self.printed!r}"


def find(
    recording: Recording, document: Document, driver: Driver, second: Document | None = None, moved: Collection[str] = ()
) -> tuple[Contradiction, ...]:
    """The readings of ``document``, printed by ``driver``, that the answers of ``recording`` make otherwise.

    Asked are the rows with a public or a field route; a call that was not asked says nothing.  A reading at a path of ``moved``, or that ``second``
    (the text taken after the answers) has otherwise, was in motion and contradicts nothing.
    """
    still = None if second is None else dict(source.leaves(second))
    judge = Judge(recording, document, driver)
    found = []
    for reading in judge.readings:
        if reading.path in moved or (still is not None and still.get(reading.path, reading.text) != reading.text):
            continue
        answered = judge.answered(reading)
        if answered is not None and answered != reading.text:
            found.append(judge.told(reading, answered))
    return tuple(found)


class Judge:
    """Answers rows of one text from a recording."""

    def __init__(self, recording: Recording, document: Document, driver: Driver) -> None:
        self.readings = Walker(document, driver).readings()
        self._driver = driver
        self._library = RecordedLibrary(recording)
        self._indices = derive_gpus.of_query(document, driver).indices
        self._entries = {(reading.gpu, reading.entry[:1], reading.row): reading for reading in self.readings if reading.entry}

    def asks(self, reading: Reading) -> Route | None:
        """The route of a reading whose row has a public or a field one and that says what it is."""
        route = self._driver.routes.get(reading.row or "")
        if route is None or route.kind not in _ASKED or route.basis not in ("public", "field"):
            return None
        return None if reading.kind in (LITERAL, LIST) or reading.state is State.REDACTED else route

    def answered(self, reading: Reading) -> str | None:
        """The text that the row makes of the answer; None where no answer speaks of it."""
        route = self.asks(reading)
        if route is None:
            return None
        place = self._place(reading, route)
        self._library.calls.clear()
        try:
            return None if place is None else self._text(reading, route, place)
        except _UNSAID:
            return None

    def told(self, reading: Reading, answered: str) -> Contradiction:
        """The contradiction of a reading that was just answered."""
        asked, answer = self._library.calls[-1]
        index = None if reading.gpu is None else self._indices[reading.gpu]
        return Contradiction(
            reading.path, index, reading.row or "", reading.text, answered, answers_text.call(asked), answers_text.answer_text(answer)
        )  # fmt: skip

    def _text(self, reading: Reading, route: Route, place: Place) -> str | None:
        form = self._driver.form(reading.row or "")
        asking = NvmlSource(self._library, self._driver, 0)
        if route.kind == "call" and not route.gate and isinstance(listed := self._listed(asking, route, place), list):
            return self._of_list(reading, listed)
        given = asking.read(reading.row or "", place)
        if not self._library.calls:
            return None
        if given.raw is None:
            return self._driver.text_of(given.code)
        return _printed(form, given.raw)

    def _listed(self, asking: NvmlSource, route: Route, place: Place) -> Any:
        """The list that a row's call gives, where it gives one."""
        answer = asking.answer(route, place)
        return None if answer.code else answer.out.get(route.out)

    def _of_list(self, reading: Reading, listed: list[Any]) -> str | None:
        if reading.kind == STATE or not reading.entry:
            return f"({len(listed)} entries)"
        number = reading.entry[-1]
        return _printed(self._driver.form(reading.row or ""), listed[number]) if number < len(listed) else "(no such entry)"

    def _place(self, reading: Reading, route: Route) -> Place | None:
        if reading.gpu is None:
            return Place()
        if reading.gpu >= len(self._indices):
            return None
        index = self._indices[reading.gpu]
        return Place(index, index, dict(self._arguments(reading, route)))

    def _arguments(self, reading: Reading, route: Route) -> Iterator[tuple[str, int]]:
        """What a route's arguments take of the entry around the element."""
        for _, value in route.args:
            name = str(value)[1:] if isinstance(value, str) else ""
            beside = self._entries.get((reading.gpu, reading.entry[:1], _ENTRY.get(name)))
            if beside is not None and isinstance(beside.raw, int):
                yield name, beside.raw


def _printed(form: Format, raw: Raw) -> str:
    """The text of a value; why there is none, in brackets."""
    try:
        return form.text(raw)
    except InputError as error:
        return f"({error})"
