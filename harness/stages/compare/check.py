"""``check``: every chosen capture rendered and compared with its golden."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from harness import __version__
from harness.stages.compare import answered, baselines, between, drift, rules
from harness.stages.compare.judge import Actual, Expected, compare
from harness.stages.importing import source
from harness.stages.render import process, serving
from harness.stores import captures, golden_reader, goldens
from harness.tables import drivers
from harness.text import document, outline
from harness.text.document import LINE, Document
from harness.text.listing import Listing
from harness.text.outline import Outline
from harness.words.errors import InputError
from harness.words.state import State

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from harness.stages.compare.case import Case
    from harness.stages.importing.source import Source
    from harness.stages.render.process import Rendered
    from harness.stores.workspace import Workspace
    from harness.tables.drivers import Driver

VERSION = tuple(int(part) for part in __version__.split("."))


def check(
    space: Workspace,
    names: list[str],
    renderer: str = "builtin",
    ruled: list[rules.Rule] | None = None,
    watch: Callable[[Iterable[list[Case]]], Iterable[list[Case]]] = iter,
) -> list[Case]:
    """The cases of the captures ``names``, in their order; a capture of a node that gave both views is a case a view.

    ``ruled``: the rules, those of golden/rules.yaml when None; ``watch``: what the cases of one capture after the other go through as they come.
    Raises InputError for files that are not sound.
    """
    ruled = rules.of(space) if ruled is None else ruled
    serving.library()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        found = list(watch(pool.map(lambda name: _check_one(space, name, renderer, ruled), names)))
    return [case for cases in found for case in cases]


def _check_one(space: Workspace, name: str, renderer: str, ruled: list[rules.Rule]) -> list[Case]:
    capture = captures.load(space.captures, name)
    path = space.golden / f"{name}.yaml"
    golden = goldens.load(path)
    lacking = [view for view in capture.sidecar.views if view not in golden.views]
    if lacking:
        raise InputError(f"{path}: no hashes of view {', '.join(lacking)}, which the capture has")
    moved = frozenset(capture.sidecar.moved) | between.moved(capture, drivers.load(space.root))
    cases = [
        _view(space, name, renderer, ruled, view, text, golden.views[view], moved)
        if text.kind != document.EDITED
        else edited(name, renderer, capture.sidecar.driver, view, text, golden.views[view])
        for view, text in capture.texts.items()
    ]
    if capture.answers is not None:
        cases.append(answered.case(space, capture, golden.views[captures.VIEW_ANSWERS], ruled, VERSION))
    if cases[0].compared:
        if capture.sidecar.driver is None and capture.texts:  # a list does not say it: the profile has the reference's default
            cases = [replace(case, layout=case.layout if "(" in case.layout else f"{case.layout} (assumed)") for case in cases]
        _baselines(space, name, cases[0])
    cases[0].drift += drift.of_capture(space, capture, golden)
    return cases


def edited(name: str, renderer: str, driver: str | None, view: str, text: Source, hashes: goldens.Hashes) -> Case:
    """The case of a view that was changed by hand: its bytes are held against the golden, nothing is rendered."""
    kept = Expected(name, text.kind, source.leaves(text), text.to_bytes(), hashes.scrubbed, hashes.readings.whole, view=view)
    return compare(kept, Actual(renderer, driver or "-", "-", b"", lambda _: [], lambda _: ""), frozenset())


def _baselines(space: Workspace, name: str, case: Case) -> None:
    """Hold the renders accepted for views that no capture covers against what is rendered now; one that differs is drift."""
    accepted = baselines.load(baselines.path_of(space.golden, name))
    for view, digest in accepted.views.items() if accepted is not None else ():
        now = baselines.digest(serving.render(space.profile_path(name), space, view).data)
        case.baselines[view] = "equal" if now == digest else "differs"
        if now != digest:
            case.drift.append(f"{name}: the render of view {view} has sha256 {now}, its baseline {digest}")


def _view(
    space: Workspace,
    name: str,
    renderer: str,
    ruled: list[rules.Rule],
    view: str,
    text: Source,
    hashes: goldens.Hashes,
    moved: frozenset[str] = frozenset(),
) -> Case:
    profile = space.profile_path(name)
    verbatim = verbatim_of(profile, text)
    rendered = serving.render(profile, space, source.printed(text), verbatim)
    driver = drivers.load(space.root).resolve(rendered.driver)
    expected = expected_of(name, view, text, hashes, verbatim, moved)
    return compare(expected, actual(rendered, text, renderer, name, expected.redacted), state_texts(driver), ruled, VERSION)


def expected_of(
    name: str, view: str, text: Source, hashes: goldens.Hashes, verbatim: dict[str, process.Verbatim], moved: frozenset[str] = frozenset()
) -> Expected:
    """The capture's side of one view; ``verbatim``: what its profile keeps because no row explains it."""
    leaves = source.leaves(text)
    apart = source.apart(leaves, verbatim)
    return Expected(
        id=name,
        kind=text.kind,
        leaves=leaves,
        data=text.to_bytes(),
        scrubbed=hashes.scrubbed,
        readings=hashes.readings.whole,
        redacted=apart.redacted,
        unmodelled=apart.unmodelled,
        deferred=apart.deferred,
        view=view,
        moved=moved,
    )


def actual(rendered: Rendered, text: Source, renderer: str, name: str, redacted: frozenset[str] = frozenset()) -> Actual:
    """The render's side, written with the line ends that the capture came with; ``redacted``: paths of readings that the giver hid."""
    filled = delivered(fill(rendered.data, text, redacted), text) if redacted else None
    return Actual(
        renderer=renderer,
        driver=rendered.driver,
        layout=rendered.layout,
        data=delivered(rendered.data, text),
        read=lambda data: source.leaves(source.read(data, f"render of {name}")),
        hash_readings=lambda data: golden_reader.read(data).whole,
        assumed=rendered.assumed_paths(),
        filled=filled,
    )


def delivered(data: bytes, text: Source) -> bytes:
    """``data`` as the capture's way to us would have left it: CR LF, or no last line end, are no work of nvidia-smi's, nor is it that a `-q` text
    lacks the empty lines at its ends.
    """
    if isinstance(text, Outline):
        data = text.delivered(data)
    elif text.layout.end == 0:
        data = data.removesuffix(b"\n")
    return data.replace(b"\n", b"\r\n") if text.layout.eol == "\r\n" else data


def fill(data: bytes, text: Source, redacted: frozenset[str]) -> bytes:
    """``data``, a render, with the capture's text in place of its readings at the paths ``redacted``: all else must be the capture's bytes."""
    if isinstance(text, Listing):
        return data
    render = document.read(data, "render") if isinstance(text, Document) else outline.read(data, "render")
    hidden = {path: node for path, node in text.root.walk() if path in redacted}
    for path, node in render.root.walk():
        if path in hidden and node.is_leaf:
            node.text, node.form, node.escape = hidden[path].text, hidden[path].form, hidden[path].escape
    return render.to_bytes()


def state_texts(driver: Driver) -> frozenset[str]:
    """What the driver prints for states."""
    return frozenset(printed for code, printed in driver.texts.items() if printed and State.of_code(code) is not None)


def verbatim_of(profile: Path, text: Source) -> dict[str, process.Verbatim]:
    """What the profile keeps because no row explains it, each element in the form in which the capture has it."""
    kept = serving.kept(profile)
    nodes = {} if isinstance(text, Listing) else dict(text.root.walk())
    return {path: (content, nodes[path].form if path in nodes else LINE) for path, content in kept.items()}
