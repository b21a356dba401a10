"""Lists of words in a sentence."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str]) -> str:
    """Return words for a sentence: `a`, `a and b`, `a, b and c`; "" for none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def listed_names(names: Sequence[str], most: int) -> str:
    """Return names in backquotes for a sentence: all, or the first `most` and how many more there
    are.
    """
    shown = [f"`{name}`" for name in names[:most]]
    return listed([*shown, f"{len(names) - most} more"] if len(names) > most else shown)
