"""The case of a recording's answers: what the mock of its profile answers, held against them call by call, and where they contradict the text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages.answers import contradicting, replaying
from harness.stages.compare import ruling
from harness.stages.compare.case import CHANGED, CONTRADICTION, INVENTED, MISSING, STATE, Finding
from harness.stages.compare.judge import Actual, Expected, compare
from harness.stores import golden_reader
from harness.stores.sidecars import VIEW_ANSWERS
from harness.tables import drivers
from harness.text import answers
from harness.words.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stages.compare.case import Case
    from harness.stages.compare.rules import Rule
    from harness.stores.captures import Capture
    from harness.stores.goldens import Hashes
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import Driver
    from mocklib.answers import Asked, Recording
    from mocklib.binding import Answer


def case(space: Workspace, capture: Capture, hashes: Hashes, ruled: list[Rule], version: tuple[int, ...]) -> Case:
    """The case of ``capture``, a recording: each of its answers against that of the mock of its profile; ``hashes``: its golden's.

    Calls that the recording does not hold say nothing.  Where it has a query, too, its contradictions are findings.
    """
    recording = capture.answers
    if recording is None:
        raise InputError(f"{capture.sidecar.id}: no recording: it has no answers")
    driver = drivers.load(space.root).resolve(driver_of(capture))
    given = asked_alike(recording, replaying.record_mock(space.profile_path(capture.sidecar.id), space))
    expected = Expected(
        id=capture.sidecar.id,
        kind=capture.sidecar.kind,
        leaves=leaves(recording),
        data=answers.dump(recording).encode(),
        scrubbed=hashes.scrubbed,
        readings=hashes.readings.whole,
        view=VIEW_ANSWERS,
    )
    actual = Actual(
        renderer="mock",
        driver=driver.version.text,
        layout=f"{driver.node} (assumed)" if driver.assumed else driver.node.text,
        data=answers.dump(given).encode(),
        read=lambda _: leaves(given),
        hash_readings=lambda data: golden_reader.read(data).whole,
        explain=lambda: list(differences(recording, given)),
    )
    made = compare(expected, actual, frozenset(), ruled, version)
    told = ruling.apply(_contradictions(capture, recording, driver), ruled, capture.sidecar.id, version)
    ruled_now = {place: made.ruled.get(place, 0) + told.used.get(place, 0) for place in {**made.ruled, **told.used}}
    return replace(made, findings=[*made.findings, *told.left], ruled=ruled_now)


def driver_of(capture: Capture) -> str:
    """The driver's version: as a text says it, else as the answer does.  Raises InputError where neither does."""
    if capture.sidecar.driver is not None:
        return capture.sidecar.driver
    for asked, answer in (capture.answers or {}).items():
        if asked.function == "nvmlSystemGetDriverVersion" and isinstance(version := answer.out.get("version"), str):
            return version
    raise InputError(f"{capture.sidecar.id}: neither text nor answers say the driver's version")


def path_of(asked: Asked) -> str:
    """What a finding calls an answer."""
    return answers.call(asked) if asked.gpu is None else f"gpu[{asked.gpu}]/{answers.call(asked)}"


def leaves(recording: Recording) -> list[tuple[str, str]]:
    """The answers as readings: (path, answer)."""
    return [(path_of(asked), answers.answer_text(answer)) for asked, answer in recording.items()]


def asked_alike(recording: Recording, given: Recording) -> Recording:
    """Of ``given`` the calls that ``recording`` holds, in its order, and those of GPUs that it does not have."""
    known = {asked.gpu for asked in recording}
    beyond = {asked: answer for asked, answer in given.items() if asked.gpu not in known}
    return {**{asked: given[asked] for asked in recording if asked in given}, **beyond}


def differences(recording: Recording, given: Recording) -> Iterator[Finding]:
    """What the mock answers otherwise, in the recording's order; answers of GPUs that it does not have are invented."""
    for asked, answer in recording.items():
        got = given.get(asked)
        if got != answer:
            yield _finding(asked, answer, got)
    yield from (_finding(asked, None, answer) for asked, answer in given.items() if asked not in recording)


def _finding(asked: Asked, wanted: Answer | None, got: Answer | None) -> Finding:
    texts = [None if answer is None else answers.answer_text(answer) for answer in (wanted, got)]
    return Finding(None if asked.gpu is None else str(asked.gpu), path_of(asked), _kind(wanted, got), *texts)


def _kind(wanted: Answer | None, got: Answer | None) -> str:
    """Another code is another state, and so is a symbol that one library lacks; what was not asked at all is missing or invented."""
    if got is None or wanted is None:
        return MISSING if got is None else INVENTED
    return STATE if (got.code, got.missing) != (wanted.code, wanted.missing) else CHANGED


def _contradictions(capture: Capture, recording: Recording, driver: Driver) -> Iterator[Finding]:
    if capture.query is None:
        return
    for found in contradicting.find(recording, capture.query, driver, moved=capture.sidecar.moved):
        gpu = None if found.gpu is None else str(found.gpu)
        call = f"{found.call} = {found.answer}"
        yield Finding(gpu, found.path, CONTRADICTION, found.printed, found.answered, row=found.row, call=call)
