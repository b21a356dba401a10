"""The key of a tuple, for splits by key and operators by key in all engines
(harness/native/millrace.h).
"""

from __future__ import annotations

_WORD = 2**64 - 1


def key_of(sequence: int, keys: int) -> int:
    """Return the key, from 0 to `keys` - 1, of the tuple with that sequence number: a hash of it.

    2^64 / golden ratio spreads consecutive numbers; the other multiplier is that of degski's 64-bit
    mixer.
    """
    mixed = ((sequence ^ 0x5DEECE66D) + 1) * 0x9E3779B97F4A7C15 & _WORD
    mixed = (mixed ^ mixed >> 32) * 0xD6E8FEB86659FD93 & _WORD
    return (mixed ^ mixed >> 32) % keys
