"""What a whole sanitized run found: reports of any process, and the NVML libraries that processes opened."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

OURS = b"MOCK_NVML_EPOCH"
"""A variable that our library reads and no other does, nor a peer of the bench: a file with it is our library in some flavour."""
HEAD = re.compile(r"(?:ERROR|WARNING): (?:Address|Thread|UndefinedBehavior|Leak)Sanitizer.*|.*runtime error: .*|FATAL: ThreadSanitizer.*")


@dataclass(frozen=True)
class Loads:
    """Processes that opened our library with the runtime, those that opened it without (``path`` -> number), and those with other libraries."""

    sanitized: int
    plain: dict[str, int]
    others: int


def reports(log: Path) -> dict[str, str]:
    """The report of each process that made one: file's name -> its first telling line, and the first place in our library."""
    found = {}
    for path in sorted(log.iterdir()):
        text = path.read_text("utf-8", "replace")
        head = HEAD.search(text)
        place = next((line.strip() for line in text.splitlines() if "libnvidia-ml" in line), "")
        found[path.name] = " ".join(filter(None, ((head.group() if head else text.strip()[:200]), place)))
    return found


def loads(lines: Iterable[str], runtime: str) -> Loads:
    """What the lines of ``World.loaded`` say; a library whose file is gone by now and asks for no runtime counts as plain."""
    sanitized: set[str] = set()
    plain: Counter[str] = Counter()
    others = 0
    for line in lines:
        pid, wanted, _, path = line.rstrip("\n").split(" ", 3)
        if wanted == runtime:
            sanitized.add(pid)
        elif not Path(path).is_file() or OURS in Path(path).read_bytes():
            plain[path] += 1
        else:
            others += 1
    return Loads(len(sanitized), dict(plain), others)
