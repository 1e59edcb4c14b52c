"""The small reader that goldens are made with: path and text of each leaf of a `-q -x`, `-q` or `-L` text or of answers, and their sha256.

It shares no code with the scanner, parser, transcript, tables or renderer, so that a mistake there cannot hide in the hashes: bytes in, a
stack, a list out.  It checks nothing; the reader in `harness.text` does.

A leaf's path has the index of every step among its namesakes; its text is what stands between the tags, entities resolved, without the
white space around it where it goes over lines (that is layout).  Attributes are leaves called ``@name``.  Of `-q` text a leaf is a label, and what
stands behind its colon; a line that is neither a label nor a GPU is no reading.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

Leaves = list[tuple[str, str]]
NODE = "node"
"""Section of what stands outside the GPUs."""
GPU = "gpu"
"""Section of the readings that are a GPU's own, in no block."""

_NOISE = re.compile(r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>", re.DOTALL)
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_TAG = re.compile(
    r"<([A-Za-z_][A-Za-z0-9_.-]*)>([^<]*)</\1>"
    r"|<(/?)([A-Za-z_][A-Za-z0-9_.-]*)((?:\s+[A-Za-z_][A-Za-z0-9_.-]*\s*=\s*(?:\"[^\"]*\"|'[^']*'))*)\s*(/?)>"
)
_ATTRIBUTE = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_ENTITY = re.compile(r"&(amp|lt|gt|quot|apos);")
_CHARACTERS = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_LISTED = re.compile(r"GPU ([0-9]+): (.*?) \(UUID: ([^()\s]+)\)")
_LISTED_MIG = re.compile(r"MIG (?:(\S+) *)?Device +([0-9]+): \(UUID: ([^()\s]+)\)")
_LISTED_WORDS = re.compile(r"\s*(?:Unable to determine the device handle for|No devices were found)", re.IGNORECASE)
"""What `-L` says in place of a row; every other line (a prompt, a torn row) is no reading, as text beside the root of a query is none."""
_TITLE = re.compile(r"^([ \t#]*)=+NVSMI LOG=+[ \t]*$", re.MULTILINE)
_BOARD = re.compile(r"GPU ([0-9A-Fa-fXx:.]+)")
_LABELLED = re.compile(r"([ \t]*)([A-Za-z][A-Za-z0-9 ./()_+&'\[\]-]*?)(?: *: ?(.*))?")
_ANSWERS = re.compile(r"format: [0-9]+\n(?:node|gpu[0-9]+) ")
_ANSWERED = re.compile(r"(?:node|gpu([0-9]+)) (.*?) = (.*)")
"""An answer: subject, call, code and values."""


@dataclass(frozen=True)
class Readings:
    """sha256 (hexadecimal) of the readings of one text: of all of them, of each GPU's, of each section's over all GPUs; and their number."""

    whole: str
    gpus: tuple[str, ...]
    sections: dict[str, str]
    count: int


def sha256(data: bytes) -> str:
    """sha256 of ``data``, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def read(data: bytes) -> Readings:
    """The hashes of the readings of ``data``, the text of any view."""
    found = leaves(data)
    lines = [f"{path}\0{text}\n" for path, text in found]
    gpus: dict[str, list[str]] = {}
    sections: dict[str, list[str]] = {}
    homes: dict[str, tuple[list[str], ...]] = {}
    for (path, _), line in zip(found, lines, strict=True):
        place = path[: path.rfind("/") + 1]
        home = homes.get(place or path)
        if home is None:
            home = homes[place or path] = _homes(place or path, gpus, sections)
        for part in home:
            part.append(line)
    hashes = {section: _hash(part) for section, part in sorted(sections.items())}
    return Readings(_hash(lines), tuple(_hash(part) for part in gpus.values()), hashes, len(lines))


def _homes(place: str, gpus: dict[str, list[str]], sections: dict[str, list[str]]) -> tuple[list[str], ...]:
    """The lists that the leaves of one element (``gpu[0]/pci[0]/``) belong to: its section's, and its GPU's where it is in one."""
    first, _, rest = place.partition("/")
    if not first.startswith("gpu["):
        return (sections.setdefault(NODE, []),)
    section = rest.partition("[")[0] if rest else GPU
    return sections.setdefault(section, []), gpus.setdefault(first, [])


def leaves(data: bytes) -> Leaves:
    """Path and text of each leaf of ``data``, in file order; a character of the text stands for a byte (latin-1)."""
    plain = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").decode("latin-1")
    if _ANSWERS.match(plain):
        return _of_answers(plain)
    if "<nvidia_smi_log" in plain:
        return _of_query(plain)
    title = _TITLE.search(plain)
    return _of_list(plain) if title is None else _of_text(plain[title.end() :].split("\n"), title[1])


def _hash(part: list[str]) -> str:
    return sha256("".join(part).encode("latin-1"))


@dataclass
class _Element:
    """An open element: ``path`` (a slash at its end), where its ``content`` starts, how many ``children`` of each name it has, and where its
    leaves start in the list.
    """

    tag: str
    path: str
    content: int
    children: dict[str, int]
    first: int


def _of_query(data: str) -> Leaves:
    data = _CDATA.sub(lambda match: match[1].replace("&", "&amp;").replace("<", "&lt;"), data)
    data = _NOISE.sub(lambda match: "\n" * match.group().count("\n"), data)
    stack = [_Element("", "", 0, {}, 0)]
    found: Leaves = []
    parent = stack[0]
    for match in _TAG.finditer(data):
        leaf, text, closing, tag, attributes, empty = match.groups()
        if closing:
            _close(stack, tag, data, match.start(), found)
            parent = stack[-1]
            continue
        name = leaf or tag
        children = parent.children
        index = children.get(name, 0)
        children[name] = index + 1
        path = f"{parent.path}{name}[{index}]" if parent is not stack[0] else ""
        if leaf:
            found.append((path, _text(text) if "&" in text or "\n" in text else text))
            continue
        first = len(found)
        found.extend((f"{path}/@{key}", _text(double or single)) for key, double, single in _ATTRIBUTE.findall(attributes))
        if empty:
            found.append((path, ""))
        else:
            parent = _Element(tag, path and f"{path}/", match.end(), {}, first)
            stack.append(parent)
    return found


def _close(stack: list[_Element], tag: str, data: str, end: int, found: Leaves) -> None:
    """Closes the innermost open ``tag``; what opened inside it and never closed was text (a name printed without escapes)."""
    depth = next((depth for depth in range(len(stack) - 1, 0, -1) if stack[depth].tag == tag), 0)
    if not depth:
        return
    element = stack[depth]
    loose = depth < len(stack) - 1
    del stack[depth:]
    if loose:
        del found[element.first :]
    if loose or not element.children:
        found.append((element.path.rstrip("/"), _text(data[element.content : end])))


def _text(content: str) -> str:
    """What an element says: its content, without the white space of layout where it goes over lines."""
    if "\n" in content:
        content = "\n".join(stripped for line in content.split("\n") if (stripped := line.strip(" \t")))
    return _ENTITY.sub(lambda match: _CHARACTERS[match[1]], content) if "&" in content else content


def _of_list(data: str) -> Leaves:
    found: Leaves = []
    gpu = mig = others = 0
    for line in data.split("\n"):
        row, device = _LISTED.search(line), _LISTED_MIG.search(line)
        if device and gpu:
            path = f"gpu[{gpu - 1}]/mig[{mig}]"
            found += [(f"{path}/index", device[2]), (f"{path}/profile", device[1] or ""), (f"{path}/uuid", device[3])]
            mig += 1
        elif row:
            found += [(f"gpu[{gpu}]/index", row[1]), (f"gpu[{gpu}]/name", row[2]), (f"gpu[{gpu}]/uuid", row[3])]
            gpu, mig = gpu + 1, 0
        elif _LISTED_WORDS.match(line):
            found.append((f"line[{others}]", line.strip()))
            others += 1
    return found


@dataclass
class _Label:
    """A line of a `-q` text: its ``path``, its ``text`` (None: a heading), and how many of each label stand below it."""

    path: str
    text: str | None
    below: dict[str, int]


def _of_text(lines: list[str], prefix: str) -> Leaves:
    """The readings below the title of a `-q` text, whose lines ``prefix`` stands before; a heading with nothing below it is one, too."""
    found = [_Label("", "", {})]
    stack, unit, gpus = found[:], "", 0
    for line in lines:
        rest = line[len(prefix) :]
        board, label = _BOARD.fullmatch(rest), _LABELLED.fullmatch(rest)
        if not line.startswith(prefix) or (board is None and label is None):
            continue
        if board is not None:
            found += [_Label(f"gpu[{gpus}]", None, {}), _Label(f"gpu[{gpus}]/@GPU", board[1], {})]
            stack, gpus = [found[0], found[-2]], gpus + 1
            continue
        assert label is not None
        unit = unit or (label[1] if gpus else "")
        depth = len(label[1]) // len(unit) if unit else 0
        if label[1] != unit * depth or depth >= len(stack) or (not depth and (gpus or label[3] is None)):
            continue
        del stack[depth + 1 :]
        number = stack[-1].below.get(label[2], 0)
        stack[-1].below[label[2]] = number + 1
        stack.append(_Label(f"{stack[-1].path}{'/' * bool(depth)}{label[2]}[{number}]", label[3], {}))
        found.append(stack[-1])
    return [(one.path, one.text or "") for one in found[1:] if one.text is not None or not one.below]


def _of_answers(data: str) -> Leaves:
    found = [match.groups() for line in data.split("\n") if (match := _ANSWERED.fullmatch(line))]
    return [(call if gpu is None else f"gpu[{gpu}]/{call}", answer) for gpu, call, answer in found]
