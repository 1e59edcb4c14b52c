"""A driver node's file that gains something: what stood in it stays as it was written, comments too."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from harness.stores import profiles
from harness.tables import strictyaml

_KEY = re.compile(r"([a-z_]+):")


def rewrite(text: str, spec: Mapping[str, Any]) -> str:
    """The file ``text`` as it is to be for ``spec``, whose keys begin with those of ``text``: what is new is written behind what is there.

    A part that cannot be extended where it stands (a list on one line) is written anew, its leading comment kept.
    """
    old = strictyaml.load(text, "driver node").value
    head, sections = _sections(text)
    written = [head]
    for key, section in sections.items():
        if key in spec:
            written.append(section if old[key] == spec[key] else _section(key, section, old[key], spec[key]))
    written += [profiles.dump({key: value}) for key, value in spec.items() if key not in sections]
    made = "".join(written)
    return made if strictyaml.load(made, "driver node").value == dict(spec) else profiles.dump(spec)


def _sections(text: str) -> tuple[str, dict[str, str]]:
    """What stands before the first key, and each key's lines with the comments before it."""
    head = ""
    sections: dict[str, str] = {}
    waiting, key = "", ""
    for line in text.splitlines(keepends=True):
        found = _KEY.match(line)
        if found:
            key = found[1]
            sections[key], waiting = waiting + line, ""
            if len(sections) == 1:
                head, sections[key] = sections[key][: -len(line)], line
        elif line.startswith("#") or not line.strip():
            waiting += line
        elif key:
            sections[key], waiting = sections[key] + waiting + line, ""
    if waiting and key:
        sections[key] += waiting
    return head, sections


def _section(key: str, section: str, old: Any, new: Any) -> str:
    """A key's lines with what ``new`` has more than ``old`` behind them."""
    more: Any = None
    if isinstance(old, list) and isinstance(new, list) and new[: len(old)] == old:
        more = new[len(old) :]
    elif isinstance(old, dict) and isinstance(new, dict) and {name: new.get(name) for name in old} == old:
        more = {name: value for name, value in new.items() if name not in old}
    lines = section.splitlines(keepends=True)
    first = next((line for line in lines[_opening(lines) + 1 :] if line.strip() and not line.lstrip().startswith("#")), None)
    if more and first is not None:
        indent = first[: len(first) - len(first.lstrip())]
        added = profiles.dump({key: more}).partition("\n")[2]
        return section + textwrap.indent(textwrap.dedent(added), indent)
    return "".join(lines[: _opening(lines)]) + profiles.dump({key: new})


def _opening(lines: list[str]) -> int:
    """The number of the line that has the key."""
    return next(number for number, line in enumerate(lines) if _KEY.match(line))
