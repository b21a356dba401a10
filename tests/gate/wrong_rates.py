"""The table of wrong answers in results/reference/gate-wrong-answers.md.

python -m tests.gate.wrong_rates [CALLS]        prints it, after some minutes
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from multiprocessing import Pool

import numpy as np

from harness.gate.verdict import Verdict
from tests.gate.kept_back import COSTS, SCALED, shares
from tests.gate.test_wrong_answers import FACTOR, Made, verdicts

CALLS, BLOCKS, PROCESSES = 400, 27, 4
SHARES = [(0.1, 0.2), (0.2, 0.4), (0.2, 0.0), (0.3, 0.0), (0.4, 0.2)]


def rows() -> Iterator[tuple[str, str, Made]]:
    """Yield each row's title, its wrong verdict, and its values."""
    for kind, made in SCALED.items():
        yield (
            f"{kind}: head is slower by the factor",
            "ok or regressed",
            lambda draw, is_head, made=made: made(draw, np.where(is_head, FACTOR, 1.0)),
        )
    for before, after in SHARES:
        for cost in COSTS:
            ratio = 0.97 if after < before else None
            lower = ", mean 3 % lower" if ratio else ""
            yield (
                f"share of slow processes {before:.0%} → {after:.0%}{lower}, amounts {cost}",
                "regressed" if ratio else "ok",
                lambda draw, is_head, of=(before, after, cost, 1.2, ratio): shares(
                    draw, is_head, *of
                ),
            )


def row(asked: tuple[int, int]) -> str:
    """Return a row as Markdown: the place of it, and the number of calls."""
    place, calls = asked
    title, wrong, made = list(rows())[place]
    said = verdicts(made, calls=calls, seed=100 + place, blocks=BLOCKS)
    ok = (said[Verdict.OK] + said[Verdict.IMPROVED]) / calls
    regressed = said[Verdict.REGRESSED] / calls
    return f"| {title} | {wrong} | {ok:.1%} | {regressed:.1%} |"


def main(calls: int) -> None:
    """Print the table."""
    print("| head and base | wrong | ok | regressed |\n| --- | --- | ---: | ---: |", flush=True)
    places = range(len(list(rows())))
    with Pool(PROCESSES) as pool:
        for line in pool.imap(row, [(place, calls) for place in places]):
            print(line, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CALLS)
