"""Answers for a reader who chooses a runtime: the three best in each of a dozen situations.

    make peers && make figures ARGS='peers peer_rates --size paper'
    python -m studies.peer_answers -o results/reference/peer-answers.md

A situation is a cell of the experiments `peers` and `peer_rates`. At full speed the best have the
highest throughput, at a rate the lowest 99th percentile of latency among those that keep up with
it. The three best are of the finalists: three arms of ours and three peers, which earlier runs
chose. The numbers are of their later runs, which did not choose them. One whose interval, or range
of latencies, overlaps with that of the first is called a tie with it. The comparison of ours with
the peers is of the best finalist of each side, and its interval allows for these two choices.

Promises are those of the page on peers. Lines are those of operators and their wiring without
comments, in which a program also counts its tuples. Of a peer they are the files or functions in
`WRITTEN`: not the work itself, the making and checking of tuples, histograms and answers, nor the
reading of the plan, with which Go and asyncio also make their queues. Of ours they are the function
that builds the graph, as its operators are built in. One operator of your own is a function more.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import topologies
from harness.errors import UserError
from harness.files.closure import ROOT
from harness.measurement.finals import FINALISTS
from harness.measurement.interval import FEWEST_FOR_INTERVAL
from harness.plots import means
from harness.plots.draw import read_table
from harness.plots.peer_rates import (
    QUANTILES,
    RANGES,
    is_of_few_runs,
    overlap,
    sustained,
    with_latency,
)

PAGE = ROOT / "docs/how-to/peers.md"
PEERS = ROOT / "harness/peers"
IN_C = re.compile(r"//|/\*|\*/|\*( |$)")  # begins a line that is a comment
EXPERIMENTS = ("peers", "peer_rates")
TABLES = {"throughput": ("final", "rate", "peer"), "latency": (*QUANTILES, *RANGES)}
"""Tables that are read, and columns that older ones lack."""
DEFAULT_PAYLOAD = 128  # bytes, as in most cells


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
    Situation("a high rate", "pipeline", PIPELINE, rate=1_000_000),
)

WRITTEN: Mapping[str, Sequence[str]] = {
    "asyncio": ("asyncio/program.py: source work sink close execute",),
    "asyncio-batched": (
        "asyncio/program.py: Filling hand_on source_of_lists take_list work_on_lists sink_of_lists "
        "close execute",
    ),
    "crossbeam": ("crossbeam/src/single.rs", "crossbeam/src/main.rs"),
    "crossbeam-batched": ("crossbeam/src/blocks.rs", "crossbeam/src/main.rs"),
    "disruptor": ("disruptor/Ring.java", "disruptor/Main.java"),
    "disruptor-batched": ("disruptor/Ring.java", "disruptor/Blocks.java"),
    **dict.fromkeys(
        ("flink", "flink-split", "flink-unchained"),
        ("flink/Main.java", "flink/TupleInformation.java"),
    ),
    "go": ("go/single.go",),
    "go-batched": ("go/block.go",),
    "java": ("java/Threads.java", "java/Main.java"),
    "java-batched": ("java/Threads.java", "java/Blocks.java"),
    **dict.fromkeys(("jet", "jet-fused"), ("jet/Main.java",)),
    **dict.fromkeys(("storm", "storm-batched"), ("storm/Main.java",)),
    **dict.fromkeys(("tbb", "tbb-batched"), ("tbb/flow_graph.hpp",)),
    **dict.fromkeys(("tbb-pipeline", "tbb-pipeline-batched"), ("tbb/pipeline.hpp",)),
    "tokio": ("tokio/src/single.rs", "tokio/src/main.rs"),
    "tokio-batched": ("tokio/src/blocks.rs", "tokio/src/main.rs"),
}
"""Files of each peer with its operators and their wiring; of a file with names, these functions
and classes alone."""


def answers(table: pd.DataFrame) -> str:
    """Return the page from the throughput table with latencies (`with_latency`)."""
    promises = promised(PAGE.read_text(encoding="utf-8"))
    parts = [
        "# Which runtime in which situation",
        "Made by `python -m studies.peer_answers`; its help says how to read it.",
        "Latency at full speed is that of full queues. Our operators are built in, so our lines of "
        "code are those of the wiring.",
        _measured_by(table),
        _alone(table),
    ]
    for number, situation in enumerate(SITUATIONS, start=1):
        rows, all_rows = of_situation(table, situation), _rows_of(table, situation)
        parts.append(f"## {number}. {situation.title[0].upper()}{situation.title[1:]}")
        tries = f"of {_tries(all_rows, rows)}"
        answer = _answer(rows, situation, promises, tries) if len(rows) else "Not measured."
        parts.append(answer)
    return "\n\n".join(parts) + "\n"


def _measured_by(table: pd.DataFrame) -> str:
    """Return the programs that were measured, as a sentence: those of each experiment's commits."""
    told = [
        f"{name}: {', '.join(sorted({commit[:8] for commit in rows['commit'].dropna()}))}"
        for name, rows in table.groupby("experiment", sort=True)
    ]
    return f"The programs are those of commits ({'; '.join(told)}); others may be faster."


def of_situation(table: pd.DataFrame, situation: Situation) -> pd.DataFrame:
    """Return the rows of a situation's cell that have a mean, the best first: of finalists, if
    there are any, and at a rate of arms that keep up.
    """
    rows = _rows_of(table, situation)
    if situation.rate:
        return sustained(rows)
    return means.compared(rows).sort_values("mean", ascending=False)


def _rows_of(table: pd.DataFrame, situation: Situation) -> pd.DataFrame:
    rows = table[
        (table["topology"] == situation.topology)
        & (table["rate"] == situation.rate)
        & (table["experiment"] == EXPERIMENTS[situation.rate > 0])
        & table["mean"].notna()
    ]
    for name, value in situation.cell.items():
        rows = rows[rows[name] == value]
    return rows


def _answer(
    rows: pd.DataFrame, situation: Situation, promises: Mapping[str, str], tries: str
) -> str:
    """Return the table of the best arms, and the sentence that compares ours with the peers."""
    best = rows.head(FINALISTS)
    head = (
        "arm",
        "tuples/s [95 % interval]",
        "tuples per CPU second",
        "latency, median",
        "99 % [least, greatest run]" if situation.rate else "99 %",
        "what it loses",
        "lines of operators and wiring",
    )
    lines = [
        (
            row["arm"] + (" (a tie)" if place and is_tie(best.iloc[0], row, situation) else ""),
            _rate(row),
            _count(row["mean"] * row["duration_mean"] / row["cpu_seconds_mean"])
            if row["cpu_seconds_mean"]
            else "-",
            _time(row["p50"]),
            _time(row["p99"]) + (_range(row) if situation.rate else ""),
            "nothing" if pd.isna(row["peer"]) else promises.get(row["arm"], "not known"),
            str(lines_of(row["arm"], situation.topology, pd.isna(row["peer"]))),
        )
        for place, (_, row) in enumerate(best.iterrows())
    ]
    return "\n".join([*_markdown(head, lines), "", _comparison(rows, situation, tries)])


def is_tie(first: pd.Series, other: pd.Series, situation: Situation) -> bool:
    """Return True if the intervals of two throughputs overlap, or at a rate the ranges of their
    99th percentiles; False for too few runs.
    """
    if situation.rate:
        return not _is_of_few(first, other) and overlap(first, other)
    return not other["hi"] < first["lo"] and pd.notna(other["hi"])


def _is_of_few(one: pd.Series, other: pd.Series) -> bool:
    return is_of_few_runs(one) or is_of_few_runs(other)


def _tries(all_rows: pd.DataFrame, rows: pd.DataFrame) -> str:
    """Return the arms that the best are of, in words: `7 of ours and 23 peers`, and how many runs
    the finalists had, if there are any.
    """
    peers = int(all_rows["peer"].notna().sum())
    arms = f"{len(all_rows) - peers} of ours and {peers} peers"
    if rows.empty or not rows["final"].any():
        return arms
    return f"{arms}, by {int(rows['n'].max())} later runs of {FINALISTS} finalists on each side"


def _comparison(rows: pd.DataFrame, situation: Situation, tries: str) -> str:
    """Return the best of ours against the best of the others in a sentence."""
    ours, theirs = rows[rows["peer"].isna()], rows[rows["peer"].notna()]
    if ours.empty or theirs.empty:
        return f"Only {'peers' if ours.empty else 'arms of ours'} are there to compare."
    if situation.rate:
        own, other = ours.iloc[0], theirs.iloc[0]
        share = own["p99"] / other["p99"]
        verdict = "ours is lower" if share < 1 else "the peer's is lower"
        if _is_of_few(own, other):
            verdict = "too few runs to tell which is lower"
        elif overlap(own, other):
            verdict = "**a tie**, as their ranges overlap"
        return f"99th percentile of ours: {share:.2f} of that of the peers, {verdict} ({tries})."
    share = means.best_over_best(ours, theirs)
    if pd.isna(share.lo):
        return f"Ours over the peers: {share}; too few runs for an interval ({tries})."
    verdict = (
        "**a tie**" if share.is_tie else "ours is faster" if share.lo > 1 else "the peer is faster"
    )
    return f"Ours over the peers: {share}, {verdict} ({tries})."


def _alone(table: pd.DataFrame) -> str:
    """Return the table of source and sink alone: what all cells of an arm have in common."""
    rows = table[
        (table["operators"] == 0) & table["mean"].notna() & (table["experiment"] == EXPERIMENTS[0])
    ]
    if rows.empty:
        return "Source and sink alone: not measured."
    payloads = sorted(rows["payload"].unique())
    cells = rows.assign(
        said=[
            f"{_rate(row)}; "
            f"{1e9 * row['cpu_seconds_mean'] / (row['mean'] * row['duration_mean']):,.0f}"
            for _, row in rows.iterrows()
        ]
    ).pivot(index="arm", columns="payload", values="said")
    order = rows[rows["payload"] == DEFAULT_PAYLOAD].sort_values("mean", ascending=False)["arm"]
    lines = [
        (arm, *(cells[size].fillna("-")[arm] for size in payloads))
        for arm in dict.fromkeys([*order, *cells.index])
    ]
    head = ("source and sink alone", *(f"{size:,.0f} bytes" for size in payloads))
    said = "tuples/s, of finalists with a 95 % interval; CPU ns a tuple."
    return "\n".join([*_markdown(head, lines), "", f"In each cell: {said}"])


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
    """Return the lines of code of operators and wiring that are neither empty nor a comment: of a
    peer what `WRITTEN` lists, of ours the function that builds the graph.
    """
    if ours:
        return code_lines(inspect.getsource(topologies.TOPOLOGIES[topology].build), ".py")
    return sum(map(_written_lines, WRITTEN[arm]))


def _written_lines(entry: str) -> int:
    """Return the lines of an entry of `WRITTEN`."""
    file, _, names = entry.partition(":")
    path = PEERS / file
    text = path.read_text(encoding="utf-8")
    if not names:
        return code_lines(text, path.suffix)
    parts = {part.name: part for part in ast.parse(text).body if hasattr(part, "name")}
    sources = (ast.get_source_segment(text, parts[name]) or "" for name in names.split())
    return sum(code_lines(source, path.suffix) for source in sources)


def code_lines(text: str, suffix: str) -> int:
    """Return the number of lines that are neither empty nor a comment, nor a docstring."""
    lines = dict(enumerate(text.splitlines(), start=1))
    if suffix == ".py":
        for part in ast.walk(ast.parse(textwrap.dedent(text))):
            if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant):
                for number in range(part.lineno, (part.end_lineno or part.lineno) + 1):
                    lines.pop(number, None)
    kept = [line.strip() for line in lines.values()]
    comment = re.compile("#") if suffix == ".py" else IN_C
    return sum(bool(line) and not comment.match(line) for line in kept)


def _rate(row: pd.Series) -> str:
    few = row["n"] < FEWEST_FOR_INTERVAL or pd.isna(row["lo"])
    interval = "" if few else f" [{_count(row['lo'])}, {_count(row['hi'])}]"
    return f"{_count(row['mean'])}{interval}"


def _range(row: pd.Series) -> str:
    """Return the range of the 99th percentiles of several runs."""
    return "" if row["n"] < 2 else f" [{_time(row['p99_least'])}, {_time(row['p99_greatest'])}]"


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
    """Return the rows of all experiments that are made. Raises UserError if none is, or if a table
    cannot be read or lacks a column.
    """
    parts = [
        with_latency({name: _table(folder, experiment, name) for name in TABLES})
        for experiment in EXPERIMENTS
        if all((folder / experiment / f"{name}.parquet").exists() for name in TABLES)
    ]
    if not parts:
        raise UserError(
            f"{folder}: has no tables of {' and '.join(EXPERIMENTS)}; make figures makes them"
        )
    return pd.concat(parts, ignore_index=True)


def _table(folder: Path, experiment: str, name: str) -> pd.DataFrame:
    """Return a table of an experiment. Raises UserError if it cannot be read, or was made by a
    version that wrote fewer columns.
    """
    table = read_table(folder / experiment, name, experiment)
    missing = [column for column in TABLES[name] if column not in table]
    if missing:
        path = folder / experiment / f"{name}.parquet"
        raise UserError(
            f"--tables: {path} has no column {', '.join(missing)}; `millrace aggregate` makes it "
            "anew from the records"
        )
    return table


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
