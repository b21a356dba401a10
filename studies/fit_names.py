"""The numbers that PacketAnalysis uses for names, computed from their source: letter_pairs.csv and
the weights of its regression.

    python -m pip download --no-deps wordfreq==3.1.1
    python -m studies.fit_names wordfreq-3.1.1-py3-none-any.whl

Prints the pairs of letters, as in letter_pairs.csv, then the weights, then the shares of labels
outside the fit that the weights take for the other kind. wordfreq (Speer,
doi:10.5281/zenodo.7199437) lists words by their frequency of use.
"""

from __future__ import annotations

import gzip
import random
import sys
import zipfile
from collections.abc import Sequence
from itertools import pairwise
from string import ascii_lowercase, digits

import numpy as np

from harness.applications.packet_analysis import features_of

FREQUENT, RARER = 20_000, 60_000
"""Numbers of words: pairs are counted in the most frequent words, up to the first number; labels
are made of those between both."""

FITTED, TRIED = 20_000, 10_000
"""Numbers of labels of each kind: the weights are fitted to the first, and tried on others, the
second."""

MIN_LENGTH = 7
"""Least number of characters of a label; shorter ones are not classified."""


def words_of(wheel: str) -> list[str]:
    """Return the English words in a wheel of wordfreq that have at least three letters, all from a
    to z, the most frequent first."""
    with zipfile.ZipFile(wheel) as archive:
        packed = gzip.decompress(archive.read("wordfreq/data/large_en.msgpack.gz"))
    _, *groups = _unpacked(packed, 0)[0]
    letters = set(ascii_lowercase)
    return [
        word for group in groups for word in group if len(word) > 2 and letters.issuperset(word)
    ]


def _unpacked(packed: bytes, at: int) -> tuple[object, int]:
    """Return the value at a position of MessagePack, and the position after it; for the kinds of
    values in lists of words."""
    kind = packed[at]
    at += 1
    if kind < 0x80:
        return kind, at
    if kind in {0xDC, 0xDD} or 0x80 <= kind < 0xA0:
        size = {0xDC: 2, 0xDD: 4}.get(kind, 0)
        count = (
            int.from_bytes(packed[at : at + size], "big")
            if size
            else (kind & 15) * (2 if kind < 0x90 else 1)
        )
        at += size
        values = []
        for _ in range(count):
            value, at = _unpacked(packed, at)
            values.append(value)
        return values, at
    size = {0xD9: 1, 0xDA: 2}.get(kind, 0)
    if not size and not 0xA0 <= kind < 0xC0:
        raise ValueError(f"a list of words has no value of kind {kind:#x}")
    length = int.from_bytes(packed[at : at + size], "big") if size else kind & 31
    return packed[at + size : at + size + length].decode(), at + size + length


def pairs_in(words: Sequence[str]) -> list[list[int]]:
    """Return the number of times that each letter follows each other letter."""
    counts = [[0] * 26 for _ in range(26)]
    for word in words:
        for one, other in pairwise(word):
            counts[ord(one) - 97][ord(other) - 97] += 1
    return counts


def natural_label(words: Sequence[str], draw: random.Random) -> str:
    """Return a word: alone, behind another one, or before a number."""
    while True:
        form = draw.randrange(3)
        label = (
            (draw.choice(words) if form == 1 else "")
            + draw.choice(words)
            + (str(draw.randrange(1000)) if form == 2 else "")
        )
        if len(label) >= MIN_LENGTH:
            return label


def made_up_label(draw: random.Random) -> str:
    """Return random letters, letters and digits, or hexadecimal digits."""
    return "".join(
        draw.choices(
            draw.choice((ascii_lowercase, ascii_lowercase + digits, digits + "abcdef")),
            k=draw.randint(MIN_LENGTH, 20),
        )
    )


def fitted(natural: Sequence[str], made_up: Sequence[str]) -> tuple[float, ...]:
    """Return the weights, to four places, of a logistic regression of a label being made up.
    Newton's method on its likelihood."""
    inputs = _inputs([*natural, *made_up])
    outcome = np.repeat([0.0, 1.0], [len(natural), len(made_up)])
    weights = np.zeros(inputs.shape[1])
    for _ in range(50):
        chance = 1.0 / (1.0 + np.exp(-inputs @ weights))
        curvature = inputs.T @ (inputs * (chance * (1.0 - chance))[:, None])
        step = np.linalg.solve(curvature, inputs.T @ (outcome - chance))
        weights += step
        if np.abs(step).max() < 1e-9:
            break
    return tuple(round(float(weight), 4) for weight in weights)


def taken_for_made_up(labels: Sequence[str], weights: Sequence[float]) -> float:
    """Return the share of labels that are more likely made up than not."""
    return float(np.mean(_inputs(labels) @ np.array(weights) > 0.0))


def _inputs(labels: Sequence[str]) -> np.ndarray:
    return np.array([(1.0, *features_of(label)) for label in labels])


def fit(words: Sequence[str]) -> tuple[tuple[float, ...], float, float]:
    """Return the weights, and the shares of natural and of made-up labels that they take for the
    other kind."""
    draw, rarer = random.Random(1), words[FREQUENT:RARER]
    natural = [natural_label(rarer, draw) for _ in range(FITTED + TRIED)]
    made_up = [made_up_label(draw) for _ in range(FITTED + TRIED)]
    weights = fitted(natural[:FITTED], made_up[:FITTED])
    return (
        weights,
        taken_for_made_up(natural[FITTED:], weights),
        1.0 - taken_for_made_up(made_up[FITTED:], weights),
    )


def main() -> None:
    """Print the numbers for the wheel that is given."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m studies.fit_names WHEEL")
    words = words_of(sys.argv[1])
    for row in pairs_in(words[:FREQUENT]):
        print(",".join(map(str, row)))
    weights, of_natural, of_made_up = fit(words)
    print(weights)
    print(
        f"taken for made up: {of_natural:.1%} of natural labels; for natural: {of_made_up:.1%} of "
        "made-up ones"
    )


if __name__ == "__main__":
    main()
