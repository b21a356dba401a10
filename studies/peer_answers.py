"""Answers for a reader who chooses a runtime: the three best in each of a dozen situations.

    make peers && make figures ARGS='peers peer_rates --size paper'
    python -m studies.peer_answers -o results/reference/peer-answers.md

A situation is a cell of the experiments `peers` and `peer_rates`. At full speed the best have the
highest throughput, at a rate the lowest 99th percentile of latency among those that keep up with
it. One whose interval overlaps with that of the first is called a tie with it. Where many compete
the luckiest looks best, so the comparison of ours with the others has an interval that allows for
the choice on both sides.

Promises are those of the page on peers. Lines of code are those of a peer's program with what it
shares with other programs of its language, which runs all these graphs, checks them and measures,
and those of the function that builds our graph, as our engine has the rest: they tell what a user
writes only roughly.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import topologies
from harness.errors import UserError
from harness.files.closure import ROOT
from harness.peers import all_peers
from harness.peers.peer import SHARED_SOURCES
from harness.plots import means
from harness.plots.peer_rates import KEPT_UP, with_latency

PAGE = ROOT / "docs/how-to/peers.md"
BEST = 3  # arms that are shown of a situation
PROGRAMS = (".go", ".rs", ".java", ".hpp", ".cpp", ".py")
COMMENTS = ("//", "#", "/*", "*", '"""')
EXPERIMENTS = ("peers", "peer_rates")
TABLES = ("throughput", "latency")


@dataclass(frozen=True)
class Situation:
    """A reader's situation: the cell that stands for it. `rate`: tuples/s of its source; 0: at full
    speed.
    """

    title: str
    topology: str
    cell: Mapping[str, int | str]
    rate: int = 0


PIPELINE = {"operators": 10, "cost": "100", "payload": 128}
SITUATIONS = (
    Situation("a chain of cheap operators", "pipeline", PIPELINE | {"cost": "1"}),
    Situation("a chain of operators of 100 FLOP", "pipeline", PIPELINE),
    Situation("a chain of expensive operators", "pipeline", PIPELINE | {"cost": "10000"}),
    Situation("many operators", "pipeline", PIPELINE | {"operators": 100}),
    Situation("small tuples", "pipeline", PIPELINE | {"payload": 8}),
    Situation("large tuples", "pipeline", PIPELINE | {"payload": 4096}),
    Situation("cheap operators side by side", "data-parallel", {"width": 10, "cost": "1"}),
    Situation("expensive operators side by side", "data-parallel", {"width": 10, "cost": "10000"}),
    Situation("chains side by side", "mix", {"width": 10, "depth": 10, "cost": "100"}),
    Situation("a low rate", "pipeline", PIPELINE, rate=10_000),
    Situation("a medium rate", "pipeline", PIPELINE, rate=200_000),
    Situation("a high rate", "pipeline", PIPELINE, rate=500_000),
)


def answers(table: pd.DataFrame) -> str:
    """Return the page from the throughput table with latencies (`with_latency`)."""
    promises = promised(PAGE.read_text(encoding="utf-8"))
    parts = [
        "# Which runtime in which situation",
        "Made by `python -m studies.peer_answers`, whose help says how to read it. Latency at full "
        f"speed is that of full queues. {_measured_by(table)}",
        _alone(table),
    ]
    for number, situation in enumerate(SITUATIONS, start=1):
        rows = of_situation(table, situation)
        parts.append(f"## {number}. {situation.title[0].upper()}{situation.title[1:]}")
        parts.append(_answer(rows, situation, promises) if len(rows) else "Not measured.")
    return "\n\n".join(parts) + "\n"


def _measured_by(table: pd.DataFrame) -> str:
    """Return the programs that were measured, as a sentence: those of each experiment's commits."""
    told = [
        f"{name}: {', '.join(sorted({commit[:8] for commit in rows['commit'].dropna()}))}"
        for name, rows in table.groupby("experiment", sort=True)
    ]
    return f"The programs are those of commits ({'; '.join(told)}); others may be faster."


def of_situation(table: pd.DataFrame, situation: Situation) -> pd.DataFrame:
    """Return the rows of a situation's cell that have a mean; at a rate, of arms that keep up."""
    rows = table[
        (table["topology"] == situation.topology)
        & (table["rate"] == situation.rate)
        & (table["experiment"] == EXPERIMENTS[situation.rate > 0])
        & table["mean"].notna()
    ]
    for name, value in situation.cell.items():
        rows = rows[rows[name] == value]
    if not situation.rate:
        return rows.sort_values("mean", ascending=False)
    return rows[rows["mean"] >= KEPT_UP * rows["rate"]].sort_values("p99")


def _answer(rows: pd.DataFrame, situation: Situation, promises: Mapping[str, str]) -> str:
    best = rows.head(BEST)
    head = (
        "arm",
        "tuples/s [95 % interval]",
        "tuples per CPU second",
        "latency, median",
        "99 %",
        "what it loses",
        "lines of code",
    )
    lines = [
        (
            row["arm"] + (" (a tie)" if place and is_tie(best.iloc[0], row, situation) else ""),
            _rate(row),
            _count(row["mean"] * row["duration_mean"] / row["cpu_seconds_mean"])
            if row["cpu_seconds_mean"]
            else "-",
            _time(row["p50"]),
            _time(row["p99"]),
            "nothing" if pd.isna(row["peer"]) else promises.get(row["arm"], "not known"),
            str(lines_of(row["arm"], situation.topology, pd.isna(row["peer"]))),
        )
        for place, (_, row) in enumerate(best.iterrows())
    ]
    return "\n".join([*_markdown(head, lines), "", _comparison(rows, situation)])


def is_tie(first: pd.Series, other: pd.Series, situation: Situation) -> bool:
    """Return True if the intervals of two throughputs overlap. Latencies have none."""
    return not situation.rate and not other["hi"] < first["lo"] and pd.notna(other["hi"])


def _comparison(rows: pd.DataFrame, situation: Situation) -> str:
    """Return the best of ours against the best of the others in a sentence."""
    ours, theirs = rows[rows["peer"].isna()], rows[rows["peer"].notna()]
    if ours.empty or theirs.empty:
        return f"Only {'peers' if ours.empty else 'arms of ours'} are there to compare."
    tries = f"best of {len(ours)} of ours, best of {len(theirs)} peers"
    if situation.rate:
        share = ours["p99"].min() / theirs["p99"].min()
        return f"99th percentile of ours: {share:.2f} of that of the peers ({tries}; no interval)."
    share = means.best_over_best(ours, theirs)
    if pd.isna(share.lo):
        return f"Ours over the peers: {share} ({tries}; too few runs for an interval)."
    verdict = (
        "**a tie**" if share.is_tie else "ours is faster" if share.lo > 1 else "the peer is faster"
    )
    return f"Ours over the peers: {share}, {verdict} ({tries}, which the interval allows for)."


def _alone(table: pd.DataFrame) -> str:
    """Return the table of source and sink alone: what all cells of an arm have in common."""
    rows = table[
        (table["operators"] == 0) & table["mean"].notna() & (table["experiment"] == EXPERIMENTS[0])
    ]
    if rows.empty:
        return "Source and sink alone: not measured."
    lines = [
        (
            row["arm"],
            _rate(row),
            f"{1e9 * row['cpu_seconds_mean'] / (row['mean'] * row['duration_mean']):,.0f}",
        )
        for _, row in rows.sort_values("mean", ascending=False).iterrows()
    ]
    head = ("source and sink alone", "tuples/s [95 % interval]", "CPU ns a tuple")
    return "\n".join(_markdown(head, lines))


def promised(page: str) -> dict[str, str]:
    """Return what each peer loses, from the table of promises on the page of peers."""
    part = page[page.index("## What each promises") :].split("\n## ", 2)[0]
    found = {}
    for names, order, pressure, loss in re.findall(
        r"^\| (`.*?) \| (.*?) \| (.*?) \| (.*?) \|$", part, re.MULTILINE
    ):
        lost = [
            f"{what}: {text.removeprefix('no: ')}"
            for what, text, kept in (
                ("order", order, order.startswith("yes")),
                ("back-pressure", pressure, not pressure.startswith("no")),
                ("exactness", loss, loss.startswith("none")),
            )
            if not kept
        ]
        for name in re.findall("`([^`]+)`", names):
            found[name] = "; ".join(lost) or "nothing"
    return found


def lines_of(arm: str, topology: str, ours: bool) -> int:
    """Return the lines of code that are neither empty nor a comment: of a peer's program, or of the
    function that builds our graph.
    """
    if ours:
        return _code_lines(inspect.getsource(topologies.TOPOLOGIES[topology].build))
    return sum(
        _code_lines(path.read_text(encoding="utf-8"))
        for path in all_peers()[arm].sources
        if path.suffix in PROGRAMS
        and path.name != "adaptor.py"
        and SHARED_SOURCES["native"] not in path.parents
    )


def _code_lines(text: str) -> int:
    lines = [line.strip() for line in text.splitlines()]
    return sum(bool(line) and not line.startswith(COMMENTS) for line in lines)


def _rate(row: pd.Series) -> str:
    interval = "" if pd.isna(row["lo"]) else f" [{_count(row['lo'])}, {_count(row['hi'])}]"
    return f"{_count(row['mean'])}{interval}"


def _count(number: float) -> str:
    return f"{float(f'{number:.3g}'):,.0f}"


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return "-" if pd.isna(ns) else f"{ns:.3g} ns"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|---" * len(head) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def tables_of(folder: Path) -> pd.DataFrame:
    """Return the rows of all experiments that are made. Raises UserError if none is."""
    parts = [
        with_latency({name: pd.read_parquet(path / f"{name}.parquet") for name in TABLES})
        for path in (folder / experiment for experiment in EXPERIMENTS)
        if all((path / f"{name}.parquet").exists() for name in TABLES)
    ]
    if not parts:
        raise UserError(
            f"{folder}: has no tables of {' and '.join(EXPERIMENTS)}; make figures makes them"
        )
    return pd.concat(parts, ignore_index=True)


def main(words: Sequence[str] | None = None) -> int:
    """Print the page, or write it."""
    parser = argparse.ArgumentParser(
        prog="python -m studies.peer_answers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--tables",
        metavar="DIR",
        type=Path,
        default=Path("results/paper/tables"),
        help="folder with the tables of each experiment (default: %(default)s)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write there (default: print)")
    args = parser.parse_args(words)
    try:
        page = answers(tables_of(args.tables))
    except UserError as error:
        parser.error(str(error))
    if args.output is None:
        print(page, end="")
    else:
        Path(args.output).write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
