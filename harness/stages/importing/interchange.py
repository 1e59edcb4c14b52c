"""An answers document of another tool as an import takes it: exactly the answers it holds, scrubbed as a recording is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.stages.importing.given import Given, Recorded
from harness.stages.recording import cleaning
from harness.stores import golden_reader
from harness.stores.captures import VIEW_ANSWERS
from harness.text import answers, dcgm, dcgm_keys, dcgm_reader
from harness.text.dcgm import Left
from harness.words.errors import InputError, UsageError
from harness.words.version import DriverVersion
from mocklib import argument_sets, asking, getters
from mocklib.answers import Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from harness.stages.importing.doors import Content
    from mocklib.answers import Recording

NAMED = 40
"""Keys that a note names, and reasons that have a note; the rest are counted."""
_DRIVER = Asked("nvmlSystemGetDriverVersion")
_COUNT = Asked("nvmlDeviceGetCount_v2")


def read(contents: Sequence[Content], *, edited: bool) -> Given | None:
    """What an import is given by the one document in ``contents``; None where none of them is one.

    Raises InputError for a document that is not sound, or that does not say its driver; UsageError for one beside other files, or one that is
    called ``edited``: of answers nothing tells what was changed.
    """
    found = [one for one in contents if dcgm.is_one(one.data)]
    if not found:
        return None
    if len(contents) > 1:
        raise UsageError(f"{found[0].name}: an answers document of DCGM's NVML injection is imported alone; leave the other files out")
    if edited:
        raise UsageError(f"{found[0].name}: --kind edited is for what nvidia-smi wrote; an answers document is taken as it stands")
    return given(found[0])


def given(content: Content) -> Given:
    """``content``, a document, as an import takes it.  Raises InputError as `read`."""
    said = dcgm_reader.read(content.data, content.name)
    _check(said, content.name)
    kept, beyond = _of_the_list(said)
    cleaned = cleaning.clean({}, kept)
    told = f"from an answers document of DCGM's NVML injection: {len(kept)} answers"
    notes = (*content.notes, told, *said.notes, *_left((*said.left, *beyond)))
    return Given(
        {VIEW_ANSWERS: content.name},
        {VIEW_ANSWERS: golden_reader.sha256(content.data)},
        {VIEW_ANSWERS: answers.dump(cleaned.answers).encode()},
        {},
        cleaned.report,
        notes,
        Recorded(cleaned.answers, {}, None),
    )


def _check(said: dcgm.Read, name: str) -> None:
    """InputError for a document without a GPU, with another number of them than it says, or without its driver: no profile can be made of it."""
    if not said.uuids:
        raise InputError(f"{name}: no devices in it: no board can be made of it")
    counted = said.recording.get(_COUNT)
    if counted is not None and not counted.code and counted.out["deviceCount"] != len(said.uuids):
        raise InputError(f"{name}: Global.Count says {counted.out['deviceCount']}, and the document has {len(said.uuids)} devices: it is not whole")
    answer = said.recording.get(_DRIVER)
    if answer is None or answer.code:
        told = "is missing" if answer is None else f"answered {answers.answer_text(answer)}"
        raise InputError(
            f"{name}: Global.DriverVersion {told}: what a node answers cannot be told from other drivers; add its answer"
            ' (DriverVersion: {FunctionReturn: 0, ReturnValue: "580.105.08"}) or record the document again'
        )
    try:
        DriverVersion(answer.out["version"])
    except InputError as error:
        raise InputError(f"{name}: Global.DriverVersion: {error}") from error


def _of_the_list(said: dcgm.Read) -> tuple[Recording, tuple[Left, ...]]:
    """The answers of calls that a recording asks of such a node, in its order; the others are not kept: nothing would ask the mock for them."""
    gpus = range(len(said.uuids))
    answered = argument_sets.Answered(tuple(gpus))
    for asked, answer in said.recording.items():
        answered.put(asked, answer)
    found: Recording = {}
    for function in getters.asked_functions():
        for gpu in gpus if asking.is_of_gpu(function) else (None,):
            calls = (Asked(function, gpu, arguments) for arguments in argument_sets.of(getters.getters()[function], gpu, answered))
            found.update({asked: said.recording[asked] for asked in calls if asked in said.recording})
    beyond = [asked for asked in said.recording if asked not in found]
    return found, tuple(Left(".".join(dcgm_keys.place(asked.function) or ()), "a recording does not ask it with these arguments") for asked in beyond)


def _left(left: tuple[Left, ...]) -> Iterator[str]:
    """One note a reason: how many answers were not kept, why, and under which keys."""
    reasons = dcgm.summary(left)
    if len(reasons) > NAMED:
        yield f"not kept, {sum(found.total() for found in list(reasons.values())[NAMED:])} x for {len(reasons) - NAMED} other reasons"
    for why, found in list(reasons.items())[:NAMED]:
        names = [what if count == 1 else f"{what} ({count})" for what, count in found.items()]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        yield f"not kept, {found.total()} x {why}: {', '.join(names[:NAMED])}{more}"
