"""Residual answers of a profile as readings: by the name of their function or by the whole call, and behind the element that asks it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from harness.text import answers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from harness.stores.profiles import Profile
    from harness.stores.schema.answers import Residual
    from harness.tables.drivers import Driver
    from harness.tables.rows import Route

PREFIX = "nvml"
"""What the name of every function starts with, and no key and no element does."""


def named(profile: Profile, name: str) -> Iterator[tuple[int | None, str, str]]:
    """GPU (of those shown; None: the node), call and answer of each residual answer that ``name`` names: a call, or a function, also with ``*``."""
    blocks: list[tuple[int | None, tuple[Residual, ...]]] = [(None, profile.answers)]
    blocks += [(number, device.answers) for number, device in enumerate(profile.shown)]
    for gpu, held in blocks:
        for residual in held:
            call = answers.call(residual.asked)
            if name == call or fnmatchcase(residual.asked.function, name):
                yield gpu, call, answers.answer_text(residual.answer)


def behind(profile: Profile, gpu: int | None, route: Route | None, driver: Driver) -> str:
    """The residual answer that the route of a row asks for, as a line; empty where the profile's keys answer it."""
    if route is None or route.kind not in ("call", "fieldvalue") or (gpu is not None and gpu >= len(profile.shown)):
        return ""
    function, arguments = route.target, dict(route.args)
    if route.kind == "fieldvalue":
        function, arguments = "nvmlDeviceGetFieldValues", {"fieldId": driver.field_ids.get(route.target, -1), "scopeId": route.scope}
    held = profile.answers if gpu is None else profile.shown[gpu].answers
    for residual in held:
        if residual.asked.function == function and dict(residual.asked.arguments) == arguments:
            return answers.line(residual.asked, residual.answer)
    return ""
