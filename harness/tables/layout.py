"""Layouts: the ordered tree of elements a driver prints, and the row of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from harness.words.errors import InputError, did_you_mean

REPEATS = ("gpus", "handles", "memory_clocks", "graphics_clocks", "processes", "compute_processes", "accounted_processes", "mig_devices",
           "retired_pages")  # fmt: skip
FORMS = ("line", "block")
ARCHITECTURES = {"kepler": 2, "maxwell": 3, "pascal": 4, "volta": 5, "turing": 6, "ampere": 7, "ada": 8, "hopper": 9, "blackwell": 10, "rubin": 13}
_PREDICATE = re.compile(r"(arch)(<|>=|=)([a-z]+)|(!?)(answered|supported)\(([a-z0-9_.]+)\)|mode\(([a-z_]+)\)")
_KEYS = frozenset(("row", "elements", "when", "repeat", "form", "collapse", "none", "attributes", "blank",
                   "display", "on_request", "bare", "refused", "error"))  # fmt: skip


@dataclass(frozen=True)
class Predicate:
    """A condition on presence, one of a closed set.

    kind  ``arch`` (compares the board's architecture with ``name`` by ``sign``), ``answered`` (the row ``name`` answers a value; with sign
          ``!`` it does not), ``supported`` (the row answers anything but not supported), ``mode`` (the device's mode ``name`` holds)
    """

    kind: str
    name: str
    sign: str = ""

    @classmethod
    def parse(cls, text: str, where: str) -> Predicate:
        """``arch>=ampere``, ``arch<turing``, ``arch=turing``, ``[!]answered(row)``, ``[!]supported(row)``, ``mode(name)``."""
        match = _PREDICATE.fullmatch(text)
        if match is None:
            raise InputError(f"{where}: predicate {text!r} is not arch<name, arch=name, arch>=name, [!]answered(row), [!]supported(row), mode(name)")
        if match[1]:
            if match[3] not in ARCHITECTURES:
                raise InputError(f"{where}: unknown architecture {match[3]!r}{did_you_mean(match[3], ARCHITECTURES)}")
            return cls("arch", match[3], match[2])
        if match[5]:
            return cls(match[5], match[6], match[4])
        return cls("mode", match[7])

    def __str__(self) -> str:
        if self.kind == "arch":
            return f"arch{self.sign}{self.name}"
        return f"{self.sign}{self.kind}({self.name})"

    def holds_for(self, architecture: int | None) -> bool:
        """Whether an ``arch`` predicate holds for the number nvmlDeviceGetArchitecture answers (0xffffffff: newer than all).

        None, no answer, counts as older than every architecture (binary 470 prints the oldest ECC family then).
        """
        number = 0 if architecture is None else architecture
        wanted = ARCHITECTURES[self.name]
        if self.sign == "=":
            return number == wanted
        return number < wanted if self.sign == "<" else number >= wanted


@dataclass(frozen=True)
class Element:
    """One element of a layout.

    name        the tag; of `-q` text the label printed
    row         row id of its text; None for an element with children (in `-q` text a line that has a text may have others below it)
    children    elements inside, in order
    when        predicate on its presence; None = always
    repeat      the list it is repeated for, one of REPEATS; None = once
    form        ``line`` <a>text</a>; ``block`` text on a line of its own
    collapse    row id: when that row answers a state, the element is one line with the state's text instead of its children
    none        text printed as a block when the list inside has no entry (mig_devices: None)
    attributes  (attribute, row id); of `-q` text the word of a heading and the row behind it (``GPU 00000000:53:00.0``)
    blank       an empty line follows the element
    display     the sections of `-q -d` that print it, with all below it
    on_request  printed by `-q` only where -d names a section of it
    bare        an entry of a list that has no line of its own: what is in it stands where it would
    refused     sentence printed in place of the element when the row of its heading answers a state, whose text follows
    error       name of the element that this sentence stands in; without it the sentence stands alone
    Two siblings may share a name when their predicates exclude each other.
    """

    name: str
    row: str | None = None
    children: tuple[Element, ...] = ()
    when: Predicate | None = None
    repeat: str | None = None
    form: str = "line"
    collapse: str | None = None
    none: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    blank: bool = False
    display: tuple[str, ...] = ()
    on_request: bool = False
    bare: bool = False
    refused: str | None = None
    error: str | None = None

    def child(self, name: str) -> Element | None:
        """The child called ``name``, or None."""
        return next((child for child in self.children if child.name == name), None)

    def walk(self, prefix: str = "") -> Iterator[tuple[str, Element]]:
        """Every element below and including this one, with its path from ``prefix``."""
        path = f"{prefix}/{self.name}" if prefix else self.name
        yield path, self
        for child in self.children:
            yield from child.walk(path)

    def place_of(self, row: str) -> str | None:
        """The path, from below this element, of the first element that prints ``row``; None where none does."""
        return next((path.partition("/")[2] for path, element in self.walk() if element.row == row), None)

    def rows(self) -> Iterator[str]:
        """Row ids of all texts and attributes, in order."""
        for _, element in self.walk():
            for _, row in element.attributes:
                yield row
            if element.row is not None:
                yield element.row


def parse_elements(spec: Any, where: str) -> tuple[Element, ...]:
    """Elements from a list of one-key mappings: ``name: row id`` or ``name: {row, elements, when, ...}``."""
    if not isinstance(spec, list):
        raise InputError(f"{where}: elements are a list")
    return tuple(parse_element(item, where) for item in spec)


def parse_element(item: Any, where: str) -> Element:
    """One element from its mapping."""
    if not isinstance(item, dict) or len(item) != 1:
        raise InputError(f"{where}: an element is a mapping with one key, its name: {item!r}")
    name, spec = next(iter(item.items()))
    if isinstance(spec, str):
        return Element(str(name), row=spec)
    if not isinstance(spec, dict):
        raise InputError(f"{where}: element {name!r} needs a row id or a mapping")
    unknown = sorted(str(key) for key in spec if key not in _KEYS)
    if unknown:
        raise InputError(f"{where}: element {name!r}: unknown key {unknown[0]!r}{did_you_mean(unknown[0], _KEYS)}")
    if spec.get("repeat", REPEATS[0]) not in REPEATS:
        raise InputError(f"{where}: element {name!r}: unknown repeat {spec['repeat']!r}{did_you_mean(str(spec['repeat']), REPEATS)}")
    if spec.get("form", FORMS[0]) not in FORMS:
        raise InputError(f"{where}: element {name!r}: unknown form {spec['form']!r}; it is one of {', '.join(FORMS)}")
    when = spec.get("when")
    return Element(
        name=str(name),
        row=spec.get("row"),
        children=parse_elements(spec.get("elements", []), where),
        when=None if when is None else Predicate.parse(str(when), where),
        repeat=spec.get("repeat"),
        form=str(spec.get("form", "line")),
        collapse=spec.get("collapse"),
        none=spec.get("none"),
        attributes=tuple((str(key), str(row)) for key, row in spec.get("attributes", {}).items()),
        blank=spec.get("blank") is True,
        display=tuple(map(str, spec.get("display", ()))),
        on_request=spec.get("on_request") is True,
        bare=spec.get("bare") is True,
        refused=spec.get("refused"),
        error=spec.get("error"),
    )


def dump_element(element: Element) -> dict[str, Any]:
    """The mapping ``parse_element`` reads."""
    spec: dict[str, Any] = {}
    for key in ("row", "repeat", "collapse", "none", "refused", "error"):
        if getattr(element, key) is not None:
            spec[key] = getattr(element, key)
    if element.when is not None:
        spec["when"] = str(element.when)
    if element.form != "line":
        spec["form"] = element.form
    for key in ("blank", "on_request", "bare"):
        if getattr(element, key):
            spec[key] = True
    if element.display:
        spec["display"] = list(element.display)
    if element.attributes:
        spec["attributes"] = dict(element.attributes)
    if element.children:
        spec["elements"] = [dump_element(child) for child in element.children]
    if set(spec) == {"row"}:
        return {element.name: element.row}
    return {element.name: spec}


def with_children(element: Element, children: tuple[Element, ...]) -> Element:
    """``element`` with other children."""
    return replace(element, children=children)
