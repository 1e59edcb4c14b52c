"""Numbers drawn from a seed, the same on every machine and in every version of Python: PCG-DXSM with 128 bits of state.

The generator is the published one (O'Neill, "PCG: A Family of Simple Fast Space-Efficient Statistically Good Algorithms", and its DXSM output);
that its second word is the seed xor 0x9E3779B97F4A7C15 is ledger row U01.
"""

from __future__ import annotations

MASK64, MASK128 = (1 << 64) - 1, (1 << 128) - 1
SECOND_WORD = 0x9E3779B97F4A7C15
_MULTIPLIER = 2549297995355413924 << 64 | 4865540595714422341
_INCREMENT = 6364136223846793005 << 64 | 1442695040888963407
_CHEAP = 0xDA942042E4DD58B5

FIXED_SEED = 1
"""What numbers are drawn from where neither the profile nor a state has a seed."""


class Randoms:
    """One stream of numbers."""

    def __init__(self, high: int, low: int) -> None:
        self._state = (high & MASK64) << 64 | low & MASK64

    def word(self) -> int:
        """The next 64 bits."""
        self._state = (self._state * _MULTIPLIER + _INCREMENT) & MASK128
        high, low = self._state >> 64, self._state & MASK64 | 1
        high ^= high >> 32
        high = high * _CHEAP & MASK64
        high ^= high >> 48
        return high * low & MASK64

    def within(self, least: int, most: int) -> int:
        """A number from ``least`` to ``most``, both included, all as likely; ``least`` where ``most`` is below it."""
        span = most - least + 1
        return least + (self.word() * span >> 64) if span > 1 else least


def randoms(seed: int, stream: int) -> Randoms:
    """The numbers of ``seed``; each ``stream`` of one seed is another piece of them."""
    found = Randoms(seed, seed ^ SECOND_WORD)
    for _ in range(stream):
        found = Randoms(found.word(), found.word() ^ SECOND_WORD)
    return found


def of_device(seed: int, index: int) -> int:
    """The seed of GPU ``index`` of a node whose seed is ``seed``: never 0, so that it is one."""
    return Randoms(seed ^ index, index ^ SECOND_WORD).word() or FIXED_SEED
