"""Which lines of a text can hold an identifier at all: found in one sweep, so that only those few are looked at closely.

`nvidia-smi -q -x` of eight GPUs has 6 500 lines, 700 of them different; some 60 are suspects.
"""

from __future__ import annotations

import bisect
import itertools
import re
from collections.abc import Iterable, Sequence

_WORDS = (
    b"host ",
    b" name  ",
    b"sn ",
    *(
        b"uuid serial guid pdi hostname host= host: host_name host> node user home %2f %5c server owner login logname settings master asset"
        b" scratch sudo runuser s/n sn: sn= &# @ ~ \\\\ :// process command cmd arg> args argv path exe"
    ).split(),
)
_HEX = bytes.maketrans(b"0123456789abcdef", b"h" * 16)
_SHAPES = (b"hhhhhhhh-", b"hxhhhhhhhh", b"h" * 16)
_DIGITS = bytes.maketrans(b"0123456789", b"h" * 10)
_SERIAL = b"h" * 13
WORD = re.compile(rb"[0-9a-z_]+")
"""A word of a text in lower case; what lies between words ends an identifier known from elsewhere."""


class Sweep:
    """A text made of ``lines``, in lower case and with their places, to be searched as a whole."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self.text = b"\n".join(lines).lower()
        self.starts = list(itertools.accumulate((len(line) + 1 for line in lines), initial=0))

    def suspects(self) -> set[int]:
        """The numbers of the lines that hold a word or shape that an identifier needs."""
        found: set[int] = set()
        self._collect(self.text, _WORDS, found)
        self._collect(self.text.translate(_HEX), _SHAPES, found)
        self._collect(self.text.translate(_DIGITS), (_SERIAL,), found)
        return found

    def having(self, words: Iterable[bytes]) -> set[int]:
        """The numbers of the lines that hold one of ``words`` (lower case) as a whole word."""
        wanted = frozenset(words)
        found: set[int] = set()
        if wanted and not wanted.isdisjoint(WORD.findall(self.text)):
            found.update(self._line(match.start()) for match in WORD.finditer(self.text) if match.group() in wanted)
        return found

    def _collect(self, text: bytes, needles: Iterable[bytes], found: set[int]) -> None:
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                line = self._line(at)
                found.add(line)
                at = text.find(needle, self.starts[line + 1])

    def _line(self, offset: int) -> int:
        return bisect.bisect_right(self.starts, offset) - 1
