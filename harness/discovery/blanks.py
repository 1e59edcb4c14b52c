"""White space in texts that any driver, page or terminal left.

The source's regular expressions take that of ASCII without the vertical tab, its trimming that of Unicode (Go's regexp and strings.TrimSpace); the
default takes every kind of both.  Form feed, vertical tab and a carriage return alone stand also as `harness.text.rawbytes` spells them.
"""

from __future__ import annotations

BETWEEN = {False: r"\s", True: r"\t\n\f\r \uf70c\uf70d"}
"""Compatible or not -> the characters between words, as a regular expression has them in brackets."""
_AROUND = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\uf70b\uf70c\uf70d" + "".join(map(chr, range(0x2000, 0x200B)))


def trim(text: str) -> str:
    """``text`` without the white space around it."""
    return text.strip(_AROUND)
