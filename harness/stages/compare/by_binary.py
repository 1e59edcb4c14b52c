"""``check --renderer smi``: a capture held against what a real nvidia-smi of its branch prints of it, through the mock library.

What cannot be the capture's whatever is served is set aside, by name: the timestamp, for the binary prints the host's clock, and the driver's version
where the binary's is another; both must be what they are said to be.  What no call answers (texts that a profile keeps, MIG devices) the binary
cannot print; a GPU that a capture left out it tells with an error.  Everything else is a finding, but for what a rule of kind binary excuses.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.stages import compile_device
from harness.stages.compare import binary_rules, check, drift
from harness.stages.compare.case import INVENTED, MISSING, Case, Counts, Finding, Printed
from harness.stages.compare.judge import compare
from harness.stages.compare.keyed import key
from harness.stages.importing import source
from harness.stages.render import real
from harness.stores import captures, goldens
from harness.tables import drivers
from harness.text import document, paths, rawbytes
from harness.words.errors import GateError, InputError
from harness.words.version import DriverVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from harness.stages.binaries import Binaries, Binary
    from harness.stages.compare.judge import Expected
    from harness.stages.compare.rules import Rule
    from harness.stages.importing.source import Source
    from harness.stores.captures import Capture
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import Driver

RENDERER = "smi"
TIMES, VERSIONS = ("timestamp", "Timestamp"), ("driver_version", "Driver Version")
"""The elements set aside, by tag and by label."""
HEADING = "/@GPU"
"""The path of the address in the heading of a GPU's block of text."""
ERROR = "error_string"
"""What nvidia-smi prints, outside any GPU's block, of a GPU that it cannot ask."""
NO_DRIVER, NO_BINARY = "its driver is not told", "no binary of its branch"


def cases(
    space: Workspace, names: list[str], binaries: Binaries, ruled: list[Rule], watch: Callable[[Iterable[list[Case]]], Iterable[list[Case]]] = iter
) -> list[Case]:
    """The cases of the captures ``names``, in their order, a case a view; one without a binary of its branch is a case that says so.

    ``watch``: what the cases of one capture after the other go through as they come.  Raises InputError for files that are not sound.
    """
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = list(watch(pool.map(lambda name: _of_capture(space, name, binaries, ruled), names)))
    return [case for each in found for case in each]


def _of_capture(space: Workspace, name: str, binaries: Binaries, ruled: list[Rule]) -> list[Case]:
    capture = captures.load(space.captures, name)
    driver = capture.sidecar.driver
    binary = None if driver is None else binaries.of(DriverVersion(driver).branch)
    if binary is None:
        kind = next(iter(capture.texts.values())).kind if capture.texts else document.OWN
        why = NO_DRIVER if driver is None else NO_BINARY
        return [Case(name, kind, RENDERER, driver or "-", "-", 0, Counts(), Counts(), "n/a", skipped=why)]
    golden = goldens.load(space.golden / f"{name}.yaml")
    made = []
    for view, text in capture.texts.items():
        if text.kind == document.EDITED:
            made.append(check.edited(name, RENDERER, driver, view, text, golden.views[view]))
            continue
        verbatim = check.verbatim_of(space.profile_path(name), text)
        expected = check.expected_of(name, view, text, golden.views[view], verbatim, frozenset(capture.sidecar.moved))
        made.append(_view(space, capture, expected, text, binary, ruled))
    for case in made[:1]:
        case.drift += drift.of_capture(space, capture, golden)
    return made


def _view(space: Workspace, capture: Capture, expected: Expected, text: Source, binary: Binary, ruled: list[Rule]) -> Case:
    """One view printed and compared; a run that came to no good is a finding, and so is a text that is none."""
    origin = str(capture.sidecar.driver)
    facts = Printed(binary.version, origin)
    try:
        printed = real.render(space.profile_path(expected.id), space, source.printed(text), binary)
    except GateError as error:
        return _failed(expected, facts, {"run": str(error)})
    printed = replace(printed, run=replace(printed.run, stdout=_headed(printed.run.stdout, expected)))
    facts = facts_of(printed, origin)
    try:
        render = source.read(printed.run.stdout, f"nvidia-smi {binary.version} of {expected.id}")
    except InputError as error:
        return _failed(expected, facts, {**printed.wrong, "text": str(error)})
    leaves = key(expected.leaves, source.leaves(render)).actual
    facts = replace(facts, leaves=leaves)
    driver = drivers.load(space.root).resolve(binary.version)
    aside = _aside(dict(expected.leaves), leaves, facts, driver)
    side = check.actual(printed.rendered, text, RENDERER, expected.id, expected.redacted | aside)
    lets = _lets(expected, leaves, len(printed.served.profile.devices) - len(facts.architectures))
    side = replace(side, aside=aside, lets=lets)
    case = compare(expected, side, check.state_texts(driver), binary_rules.bound(ruled, facts), check.VERSION)
    case.findings += [_of_run(what, said) for what, said in printed.wrong.items()]
    case.printed = facts
    case.elements = tuple(path for path, _ in expected.leaves)
    return case


def _headed(data: bytes, expected: Expected) -> bytes:
    """``data`` with the capture's headings of GPU blocks where no call answers them: the binary prints the word alone there."""
    kept = [text for path, text in expected.leaves if path.endswith(HEADING) and path in expected.unmodelled]
    headings = (b"GPU " + rawbytes.encode(text) + b"\n" for text in kept)
    return b"".join(next(headings, line) if line == b"GPU \n" else line for line in data.splitlines(keepends=True))


def facts_of(printed: real.Printed, origin: str, leaves: Iterable[tuple[str, str]] = ()) -> Printed:
    """What a case keeps of a run; ``origin``: the driver that what was printed is held against, ``leaves`` of the text."""
    architectures = tuple(compile_device.architecture(device) for device in printed.served.profile.shown)
    stderr = printed.run.stderr.decode("utf-8", "backslashreplace")
    return Printed(printed.binary.version, origin, printed.served.lacking, printed.run.status, stderr, dict(leaves), architectures, printed.view)


def _aside(wanted: Mapping[str, str], got: Mapping[str, str], facts: Printed, driver: Driver) -> frozenset[str]:
    """The elements that both sides have and that are the binary's own: a time that is one, and the version that it is of."""
    found = set()
    for path in TIMES:
        if path in wanted and path in got:
            with contextlib.suppress(InputError):
                driver.form("timestamp").parse(got[path])
                found.add(path)
    pair = (facts.origin, facts.version)
    return frozenset({*found, *(path for path in VERSIONS if facts.retargeted and (wanted.get(path), got.get(path)) == pair)})


def _lets(expected: Expected, leaves: Mapping[str, str], absent: int) -> Callable[[Finding], str | None]:
    """What the binary cannot help: elements that no call answers, and a word on each GPU that is not there."""
    kept = {**dict.fromkeys(expected.unmodelled, "unmodelled"), **dict.fromkeys(expected.deferred, "deferred")}
    errors = [path for path in leaves if paths.distinct(path) == ERROR]

    def counter(finding: Finding) -> str | None:
        if finding.kind == MISSING:
            return kept.get(finding.path)
        if finding.kind == INVENTED and finding.path in errors:
            return "aside" if len(errors) <= absent else None
        if finding.kind == INVENTED and _around(finding.path, expected.deferred):
            return "deferred"
        return None

    return counter


def _around(path: str, deferred: Collection[str]) -> bool:
    """Whether ``path`` is the element that deferred ones are inside of: what it prints without them."""
    return any(other.startswith(f"{path}/") for other in deferred)


def _of_run(what: str, said: str) -> Finding:
    """What is wrong with the run itself."""
    return Finding(None, what, INVENTED, None, said)


def _failed(expected: Expected, facts: Printed, wrong: Mapping[str, str]) -> Case:
    """The case of a run that gave nothing to compare."""
    case = Case(expected.id, expected.kind, RENDERER, facts.version, "-", 0, Counts(), Counts(), "n/a", view=expected.view, printed=facts)
    case.findings = [_of_run(what, said) for what, said in wrong.items()]
    return case
