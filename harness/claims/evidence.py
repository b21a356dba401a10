"""One cell of an experiment on one machine: its rows, the arm that a claim's word means, and the
numbers read of it.

Words for arms: `manual`, `dedicated`; `elastic`, P17's "dynamic elastic" and M19's thread
elasticity: the arm of the law that IBM Streams had if there is one, else of the law that P17
prints, else of our default law; `static`, the best fixed level of the dynamic model; `static-N`, N
scheduler threads; `multilevel`, M19's own law if there is an arm of it, else our default one;
`multilevel-…`, the arm of that name; `shares`, of the arms of `elastic` whose queues were placed by
hand, evenly, the best one; `share-N`, that with N % of the queues; `coroutine-N-POLICY` and
`coroutine-elastic-…`, the arm of that name; `policy-POLICY`, of the fixed levels of co-routines
with that policy the best one; `storm`, of the arms of Storm, by default and tuned, the best one;
`every`, all arms of the cell.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from harness.claims.reading import Missing, RangedNumber
from harness.claims.tables import Tables, Venue, hosts, is_empty
from harness.spark.stationary import is_of_some_runs, stationary

if TYPE_CHECKING:
    import pandas as pd

ELASTIC = ("dynamic-elastic-streams", "dynamic-elastic-pldi17", "dynamic-elastic")
"""Arms that `elastic` can mean; the first one that exists counts. The law that P17 measured, the
law that it prints, ours.
"""

MULTILEVEL = ("multilevel-middleware19", "multilevel")
"""Arms that `multilevel` can mean; the first one that exists counts."""

STORM = "storm"
"""Word for the best arm of Storm, and the beginning of their names."""

BEST_OF = ("static", "shares", STORM)
"""Words that mean the best of several arms."""

OF_POLICY = "policy-"
"""Beginning of words that mean the best of the fixed levels of co-routines with a policy."""

BY_SHARE = tuple(f"{name}-queued-" for name in ELASTIC)
"""Beginnings of the names of arms whose queues were placed by hand; the first one that exists
counts.
"""

NEVER_SETTLED = "never settled"


def is_best_of(arm: str) -> bool:
    """Return true if a word means the best of several arms."""
    return arm in BEST_OF or arm.startswith(OF_POLICY)


@dataclass(frozen=True)
class Wanted:
    """Cell that a claim asks for: of an experiment, with these parameters, on a machine ("": the
    one that is judged).
    """

    experiment: str
    parameters: Mapping[str, str]  # topology among them
    sizes: Mapping[str, str]  # the paper's other parameters; a cell may differ in them
    machine: str = ""

    @property
    def name(self) -> str:
        """Name for people: `pipeline, cost 1`."""
        return named(self.parameters) + (f" on {self.machine}" if self.machine else "")


@dataclass(frozen=True)
class Shown:
    """Number that a verdict rests on."""

    cell: str
    arm: str
    quantity: str
    unit: str
    reading: RangedNumber
    is_settled: bool = True  # all runs that were looked at for it became stationary


@dataclass
class WantedCell:
    """Wanted cell on a machine, made by `find`; `shown` grows with the numbers that predicates
    read.
    """

    wanted: Wanted
    venue: Venue
    parameters: Mapping[str, str]
    throughput: pd.DataFrame
    timeline: pd.DataFrame
    latency: pd.DataFrame
    hosts: Collection[
        tuple[str, int]
    ] = ()  # of measured ones: CPU models and numbers of logical CPUs, more than one if mixed
    shown: list[Shown] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name with the cell's size, and the paper's if that differs.

        An example is `pipeline, cost 1, 100 operators (paper: 1000)`.
        """
        sizes = [
            _size(name, self.parameters.get(name), size) for name, size in self.wanted.sizes.items()
        ]
        return ", ".join([self.wanted.name, *sizes])

    @property
    def is_smaller(self) -> bool:
        """True if the cell's size differs from the paper's."""
        return any(self.parameters.get(name) != size for name, size in self.wanted.sizes.items())

    @property
    def points(self) -> int:
        """Number of points at which the constants of all its arms were varied together."""
        column = self.throughput.get("at_points", ())
        return max((len(each) for each in column if _is_list(each)), default=0)

    def at_point(self, point: int) -> WantedCell:
        """Return the cell with the means at one of these points; an arm that no constant reaches
        has its own.
        """
        rows = self.throughput.copy()
        means = [
            at[point] if _is_list(at) and point < len(at) else mean
            for at, mean in zip(rows["at_points"], rows["mean"], strict=True)
        ]
        rows["mean"] = rows["band_lo"] = rows["band_hi"] = means
        return replace(self, throughput=rows, shown=[])

    def with_error(self, factor: float) -> WantedCell:
        """Return the cell with bands of the means within which the ratio of two of them may differ
        from its value by `factor`, up or down.
        """
        rows, each = self.throughput.copy(), math.sqrt(factor)
        rows["band_lo"], rows["band_hi"] = rows["mean"] / each, rows["mean"] * each
        return replace(self, throughput=rows, shown=[])

    def show(
        self, arm: str, quantity: str, unit: str, reading: RangedNumber, is_settled: bool = True
    ) -> None:
        """Keep a number for the report."""
        shown = Shown(self.name, arm, quantity, unit, reading, is_settled)
        if shown not in self.shown:
            self.shown.append(shown)

    def row(self, arm: str) -> pd.Series:
        """Return the throughput row of the arm that a word means. Raises Missing if there is none,
        or if all its runs failed.
        """
        if is_best_of(arm):
            rows = self.rivals(arm)
            return rows.loc[rows["mean"].idxmax()]
        rows = self.throughput[self.throughput["arm"] == self.arm_name(arm)]
        if rows.empty:
            raise Missing(f"no arm {arm} in {self.wanted.name}")
        row = rows.loc[
            rows["n"].idxmax()
        ].copy()  # a run that was lost before it began may have a row of its own
        row["failed"] = rows["failed"].sum()
        if is_empty(row["mean"]) and row["unsettled"]:
            raise Missing(f"{label(row['arm'], rows)} in {self.wanted.name}, and is left out")
        if is_empty(row["mean"]):
            raise Missing(
                f"{row['arm']} has no throughput in {self.wanted.name}: {int(row['failed'])} runs "
                "failed"
            )
        if row["mean"] == 0 and row["unsettled"] == row["n"]:
            raise Missing(
                f"{row['arm']} {NEVER_SETTLED} in {self.wanted.name}, and no tuple arrived while "
                "it was measured"
            )
        return row

    def rivals(self, arm: str) -> pd.DataFrame:
        """Return the throughput rows of all arms of which a word means the best. Raises Missing if
        there is none.
        """
        if arm.startswith(OF_POLICY):
            return self.by_policy(arm.removeprefix(OF_POLICY))
        if arm == STORM:
            return self.storm()
        return self.static() if arm == "static" else self.by_share()

    def storm(self) -> pd.DataFrame:
        """Return the throughput rows of Storm. Raises Missing if there is none."""
        table = self.throughput
        rows = table[table["arm"].str.startswith(STORM) & table["mean"].notna()]
        if rows.empty:
            raise Missing(f"no arm {STORM} in {self.wanted.name}")
        return rows.sort_values("arm")

    def by_policy(self, policy: str) -> pd.DataFrame:
        """Return the throughput rows of co-routines with a policy, fewest threads first. Raises
        Missing if there is none.
        """
        table = self.throughput
        rows = table[
            table["arm"].str.fullmatch(f"coroutine-[0-9]+-{policy}") & table["mean"].notna()
        ]
        if rows.empty:
            raise Missing(f"no arm with the policy {policy} in {self.wanted.name}")
        return rows.sort_values("threads")

    def static(self) -> pd.DataFrame:
        """Return the throughput rows of the fixed levels, lowest first. Raises Missing if there is
        none.
        """
        table = self.throughput
        rows = table[table["arm"].str.fullmatch("dynamic-[0-9]+") & ~table["elastic"].astype(bool)]
        rows = rows[rows["mean"].notna()].sort_values("threads")
        if rows.empty:
            raise Missing(f"no arm of a fixed level in {self.wanted.name}")
        return rows

    def by_share(self) -> pd.DataFrame:
        """Return the throughput rows of arms whose queues were placed by hand, fewest first. Raises
        Missing if there is none.
        """
        rows = self.throughput[
            self.throughput["arm"].str.startswith(self._by_share())
            & self.throughput["mean"].notna()
        ]
        if rows.empty:
            raise Missing(f"no arm with a share of the queues in {self.wanted.name}")
        return rows.sort_values("queued")

    def arm_name(self, word: str) -> str:
        """Return the arm that a word means; if none of the choices exists, the first one."""
        choices = {"elastic": ELASTIC, "multilevel": MULTILEVEL}.get(word)
        if choices:
            here = set(self.throughput["arm"])
            return next((name for name in choices if name in here), choices[0])
        if word.startswith("share-"):
            return f"{self._by_share()}{word.removeprefix('share-')}pct"
        return word.replace("static-", "dynamic-")

    def _by_share(self) -> str:
        """Return the beginning of the names of arms whose queues were placed by hand, for the first
        law that has some.
        """
        arms = self.throughput["arm"].str
        return next(
            (beginning for beginning in BY_SHARE if arms.startswith(beginning).any()), BY_SHARE[0]
        )

    def cpus(self) -> int:
        """Return the logical CPUs of the machine. Raises Missing if the tables do not say."""
        if not self.venue.cpus:
            raise Missing(f"the number of CPUs of {self.venue.name} is not known")
        return self.venue.cpus


def label(name: str, rows: pd.DataFrame) -> str:
    """Return the name of an arm, or of the best of several, with its runs that failed, never
    settled, or are alone in its mean as the others did not settle.
    """
    counts = ("unsettled", "failed", "n")
    some = rows[rows.apply(is_of_some_runs, axis=1) & rows["mean"].notna()]
    settled, of = int(some["n"].sum() - some["unsettled"].sum()), int(some["n"].sum())
    unsettled, failed, runs = (int(rows[column].sum()) for column in counts)
    unsettled -= of - settled
    remarks = (
        [NEVER_SETTLED if unsettled == runs else f"{unsettled} of {runs} runs {NEVER_SETTLED}"]
        if unsettled
        else []
    )
    remarks += [f"mean of {settled} of {of} runs, which settled"] if of else []
    remarks += [f"{failed} of {runs + failed} runs failed"] if failed else []
    return name + (f" ({', '.join(remarks)})" if remarks else "")


def find(tables: Tables, wanted: Wanted, venue: Venue) -> WantedCell:
    """Return the cell on that machine; of several that fit, the one nearest to the paper's size.

    Raises Missing if there is none. A measured machine has the CPUs that the cell was measured
    with.
    """
    throughput = tables.of(wanted.experiment, "throughput")
    rows = venue.rows(throughput) if len(throughput) else throughput
    if rows.empty:
        raise Missing(
            f"no runs of {wanted.experiment}" + (f" on {wanted.machine}" if wanted.machine else "")
        )
    cells = {cell: parameters_of(cell) for cell in sorted(rows["cell"].unique())}
    fitting = {
        cell: own
        for cell, own in cells.items()
        if all(own.get(k) == v for k, v in wanted.parameters.items())
    }
    if not fitting:
        raise Missing(f"no cell {wanted.name} in {wanted.experiment}")
    chosen = min(fitting, key=lambda cell: _distance(fitting[cell], wanted.sizes))
    cell = WantedCell(
        wanted, venue, fitting[chosen], *_of_cell(tables, wanted.experiment, venue, chosen)
    )
    if not venue.simulated:
        cell.hosts = hosts(cell.throughput)
        cell.venue = replace(venue, cpus=max((cpus for _, cpus in cell.hosts), default=None))
    return cell


def parameters_of(cell: str) -> dict[str, str]:
    """Return topology and parameters from a cell's name: `mix,width=10,cost=1`."""
    topology, *pairs = cell.split(",")
    return {"topology": topology} | dict(pair.split("=", 1) for pair in pairs if "=" in pair)


def named(parameters: Mapping[str, str]) -> str:
    """Return parameters for people; topology and load stand without the parameter's name."""
    return ", ".join(
        value if name in ("topology", "load") else f"{name} {value}"
        for name, value in parameters.items()
    )


def _is_list(value: object) -> bool:
    """Return true for a list of a table: null is None or NaN there."""
    return hasattr(value, "__len__")


def _of_cell(tables: Tables, experiment: str, venue: Venue, cell: str) -> Sequence[pd.DataFrame]:
    found = {}
    for name in ("throughput", "timeline", "latency"):
        table = tables.of(experiment, name)
        found[name] = venue.rows(table[table["cell"] == cell]) if len(table) else table
    return list(stationary(found).values())


def _distance(parameters: Mapping[str, str], sizes: Mapping[str, str]) -> tuple[int, float]:
    """Return the distance of a cell from the paper's size: sizes that differ, and the sum of their
    relative gaps.
    """
    pairs = [(parameters.get(name, ""), size) for name, size in sizes.items()]
    gaps = [
        abs(int(own) - int(size)) / int(size)
        for own, size in pairs
        if own.isdigit() and size.isdigit()
    ]
    return sum(own != size for own, size in pairs), sum(gaps)


def _size(name: str, own: str | None, paper: str) -> str:
    shown = f"{own} {name}" if name in ("operators", "workers") else f"{name} {own}"
    return shown if own == paper else f"{shown} (paper: {paper})"
