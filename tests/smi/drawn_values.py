"""Values of every kind of a profile's keys, drawn within their range and at its edges."""

from __future__ import annotations

from random import Random
from typing import Any

from harness.stores.schema.keys import Key

U32, U64 = 2**32 - 1, 2**64 - 1
MIB = 1 << 20
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_./:()[]"
ESCAPED = "&<>\"'"
RAW = 0xF700
"""Where ``rawbytes`` keeps a byte that is no UTF-8."""


def number(random: Random, least: int, most: int) -> int:
    """A number of ``least`` to ``most``: an edge, a small one, one near a power of two or of ten, or one of any size."""
    way = random.randrange(8)
    if way == 0:
        made = random.choice((least, most, least + 1, most - 1, 0, 1))
    elif way < 4:
        made = random.randrange(0, 200)
    elif way == 4:
        made = (1 << random.randrange(0, 65)) + random.randrange(-1, 2)
    elif way == 5:
        made = 10 ** random.randrange(0, 20) * random.randrange(1, 10) + random.randrange(-6, 6)
    else:
        made = random.randrange(0, 1 << random.randrange(1, 65))
    if least < 0 and random.randrange(3) == 0:
        made = -made
    return min(max(made, least), most)


def text(random: Random, longest: int = 40) -> str:
    """A text: empty, plain, with characters that XML escapes, other than ASCII, or with bytes that are no UTF-8."""
    way = random.randrange(12)
    if way == 0:
        return ""
    letters = {1: LETTERS + ESCAPED * 5, 2: ESCAPED, 3: LETTERS + "\u00e9\u20ac\u6f22\U0001f600", 4: LETTERS + "\n\t  "}.get(way, LETTERS)
    made = [random.choice(letters) for _ in range(random.randrange(1, longest + 1))]
    if way == 5:
        made = [chr(RAW + random.choice((0x80, 0xE9, 0xFF, 0x01, 0x1B))) if random.randrange(4) == 0 else char for char in made]
    return "".join(made)


def hexadecimal(random: Random) -> str:
    """Up to 32 hexadecimal digits."""
    return random.choice(("", "0" * 32, "f" * 32, f"{random.getrandbits(128):032x}"))


def clock_table(random: Random) -> list[dict[str, Any]]:
    """Memory clocks, each with its graphics clocks; none at all now and then."""
    return [
        {"freq_mhz": number(random, 0, U32), "graphics_clocks": [number(random, 0, U32) for _ in range(random.choice((0, 1, 2, 5, 130)))]}
        for _ in range(random.choice((0, 1, 1, 2, 3)))
    ]


def process(random: Random) -> dict[str, Any]:
    """One process; ids are few, so that some come twice."""
    made: dict[str, Any] = {"pid": random.choice((random.randrange(1, 6), random.randrange(1, 100000), number(random, 0, U32)))}
    if random.randrange(4):
        made["type"] = random.choice(("C", "G", "M", "C+G", "M+C", "M+C+G"))
    if random.randrange(4):
        made["name"] = text(random, random.choice((20, 60, 400)))
    optional = {
        "used_memory_mib": lambda: number(random, 0, U64 // MIB), "protected_memory_mib": lambda: number(random, 0, U64 // MIB),
        "max_memory_mib": lambda: number(random, 0, U64 // MIB), "sm_util": lambda: random.randrange(101), "mem_util": lambda: random.randrange(101),
        "enc_util": lambda: random.randrange(101), "dec_util": lambda: random.randrange(101), "gpu_instance_id": lambda: number(random, 0, U32),
        "compute_instance_id": lambda: number(random, 0, U32), "accounted": lambda: bool(random.randrange(2)),
    }  # fmt: skip
    for name, draw in optional.items():
        if random.randrange(2):
            made[name] = draw()
    return made


def accounted(random: Random) -> dict[str, Any]:
    """One record of accounting."""
    made: dict[str, Any] = {"pid": random.choice((random.randrange(1, 6), number(random, 0, U32)))}
    optional = {"gpu_util": 100, "mem_util": 100, "max_memory_mib": U64 // MIB, "time_ms": U64}
    for name, most in optional.items():
        if random.randrange(3):
            made[name] = number(random, 0, most)
    return made


def pages(random: Random) -> dict[str, Any]:
    """Retired pages; times that the calendar has."""
    count = random.choice((0, 1, 2, 5))
    made: dict[str, Any] = {"count": count}
    if random.randrange(4):
        made["addresses"] = [number(random, 0, U64) for _ in range(count)]
        if random.randrange(2):
            made["timestamps"] = [random.choice((0, 1, 1_700_000_000, U32, random.randrange(1 << 33))) for _ in range(count)]
    return made


def _mhz_range(random: Random) -> dict[str, Any]:
    return {"min_mhz": number(random, 0, U32), "max_mhz": number(random, 0, U32)}


def _workload(random: Random) -> list[dict[str, Any]]:
    return [{"id": each, "priority": random.randrange(9)} for each in sorted(random.sample(range(255), random.randrange(4)))]


def _word(random: Random, key: Key) -> str:
    words = [word for word, _ in key.words]
    return random.choice(words if key.path == "architecture" else [*words, "N/A"])


def value(random: Random, key: Key) -> Any:
    """A value of ``key``."""
    made = {
        "uint": lambda: number(random, *key.limits),
        "int": lambda: number(random, *key.limits),
        "text": lambda: text(random),
        "word": lambda: _word(random, key),
        "mode": lambda: _word(random, key),
        "flag": lambda: bool(random.randrange(2)),
        "health_flag": lambda: bool(random.randrange(2)),
        "hex": lambda: hexadecimal(random),
        "uuid": lambda: hexadecimal(random),
        "percent": lambda: random.choice(("N/A", "0", "100", str(random.randrange(101)))),
        "ratio": lambda: random.randrange(101),
        "hostname": lambda: random.choice(("", "node-1", "a.b")),
        "workload_profiles": lambda: _workload(random),
        "numbers": list,  # empty: the schema holds them against the profiles that are supported
        "mhz_range": lambda: _mhz_range(random),
        "clock_table": lambda: clock_table(random),
        "processes": lambda: [process(random) for _ in range(random.choice((0, 1, 2, 3, 8)))],
        "accounted": lambda: [accounted(random) for _ in range(random.choice((0, 1, 2, 4)))],
        "pages": lambda: pages(random),
    }
    return made[key.kind]()
