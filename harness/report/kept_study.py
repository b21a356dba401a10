"""Points of a reader's figures beside those of the kept study, `results/reference/study/`.

The kept study is a run of the figures whose tables are kept with the code. A point is an arm in a
cell on one machine, as figures show it: none that is simulated and not stationary. It differs if
the intervals of the two runs do not overlap. A simulated point of one run has no interval, and
differs from 2 % on.

A measured rate depends on the machine. So the measured points of a cell are compared as shares: the
rates of one run are divided by the median, over the arms that both runs have, of its ratios to the
other. Then a faster machine changes nothing, and an arm that gains more than the others does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from harness.experiments.config import Config
from harness.files.places import CODE
from harness.files.whole import write_whole
from harness.plots import places
from harness.plots.data import as_csv
from harness.plots.draw import read_table
from harness.plots.figures import FIGURES
from harness.spark.stationary import without_unsettled

STUDY = CODE / "results/reference/study"
"""Folder of a checkout with the kept tables: PROFILE/FIGURE/TABLE.parquet."""

THROUGHPUT = "throughput"
CELL = ["machine", "simulated", "software", "cell"]
POINT = [*CELL, "model", "arm", "threads", "queue_capacity"]
VALUES = ["mean", "lo", "hi"]

TOLERANCE = 0.02
"""Least relative difference of two simulated points without intervals."""

FEWEST_ARMS = 3
"""Arms of a measured cell that both runs must have: with two, neither can be called different."""


@dataclass(frozen=True)
class Beside:
    """Points of one figure that both runs have, and the rows of those that differ.

    A row has the point's columns; own and kept [tuples/s]; ratio, own over kept, measured ones
    after the division by the cell's median ratio.
    """

    figure: str
    points: int
    differing: pd.DataFrame


def beside(figure: str, own: pd.DataFrame, kept: pd.DataFrame) -> Beside:
    """Compare the throughput table of a figure with the kept one, both as figures show them."""
    own, kept = map(without_unsettled, (own, kept))
    both = own[POINT + VALUES].merge(kept[POINT + VALUES], on=POINT, suffixes=("", "_kept"))
    both = both[both["mean"].gt(0) & both["mean_kept"].gt(0)]
    cells = [_compared(rows) for _, rows in both.groupby(CELL, dropna=False, sort=False)]
    points = pd.concat(cells) if cells else both.assign(ratio=1.0, differs=False)
    rows = points[points["differs"]].rename(columns={"mean": "own", "mean_kept": "kept"})
    rows.insert(0, "figure", figure)
    shown = rows[["figure", *POINT, "own", "kept", "ratio"]]
    order = (shown["ratio"].where(shown["ratio"] > 1, 1 / shown["ratio"])).sort_values()
    return Beside(figure, len(points), shown.loc[order.index[::-1]])


def _compared(cell: pd.DataFrame) -> pd.DataFrame:
    """Return the points of one cell that can be compared, with the columns ratio and differs."""
    simulated = bool(cell["simulated"].iloc[0])
    ratio = cell["mean"] / cell["mean_kept"]
    scale = 1.0 if simulated else ratio.median()
    low, high = cell["lo"] / scale, cell["hi"] / scale
    apart = (low > cell["hi_kept"]) | (high < cell["lo_kept"])
    known = cell[["lo", "hi", "lo_kept", "hi_kept"]].notna().all(axis="columns")
    if simulated:
        apart = apart.where(known, (ratio - 1).abs() >= TOLERANCE)
        known = known | True
    elif len(cell) < FEWEST_ARMS:
        known = known & False
    return cell.assign(ratio=ratio / scale, differs=apart)[known]


def beside_kept_study(config: Config, names: Collection[str], study: Path = STUDY) -> list[Beside]:
    """Compare the figures of a profile that are drawn from throughput with those of the kept study
    in the same profile; those that it does not have are left out.

    Raises UserError for a table that cannot be read.
    """
    found = []
    for name in names:
        kept = study / config.profile / name
        if (kept / f"{THROUGHPUT}.parquet").is_file() and THROUGHPUT in FIGURES[name].tables:
            own = read_table(Path(config.tables(name)), THROUGHPUT, name)
            found.append(beside(name, own, read_table(kept, THROUGHPUT, name)))
    return found


def write_differing(found: Collection[Beside], path: Path) -> None:
    """Write the points that differ as CSV. Raises RunFailed if the file cannot be written."""
    rows = [each.differing for each in found if len(each.differing)]
    write_whole(path, as_csv(pd.concat(rows)).encode() if rows else b"")


def lines(found: Collection[Beside]) -> Iterator[str]:
    """Yield the comparison in words: a line for all figures, and one for each that differs, with
    the point that differs most.
    """
    points, differing = sum(each.points for each in found), sum(len(e.differing) for e in found)
    if not points:
        return
    figures = "one figure" if len(found) == 1 else f"{len(found)} figures"
    yield (
        f"beside the kept study: {points - differing:,} of {points:,} points of {figures} agree "
        "within both intervals"
    )
    for each in found:
        if len(each.differing):
            most = each.differing.iloc[0]
            point = f"{most['arm']} in {most['cell']} on {places.name(most)}"
            among = "" if most["simulated"] else ", beside the other arms of its cell"
            yield (
                f"  {each.figure}: {len(each.differing)} of {each.points} differ, "
                f"most {point}: {most['ratio']:.3f} times as fast{among}"
            )
