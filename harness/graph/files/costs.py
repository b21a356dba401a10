"""Graph of a program in another runtime, from a table of what its operators cost: a .csv file.

Columns
  operator     its name
  ns           time that it takes for a tuple, without moving the tuple on [ns]
  selectivity  tuples that it sends for one that it gets; empty: 1
  stream       operators that its tuples go to: `a;b`, each tuple to both; `a|b`, shared out in
               turn; empty: to nowhere
  keys         may be left out; empty: it keeps no state, so it may have replicas; a number: it has
               a state for each of so many keys; 1: one state
  rate         may be left out; tuples/s of a source; given for all sources or for none, which then
               send as fast as they can

An operator that no stream leads to is a source. A row becomes one work operator. That of a source
is called by a source that only makes tuples, under every model. An operator that sends to nowhere
sends to a sink that only takes tuples.

Work operators send at most one tuple for each that they get. So where `selectivity` is above 1, a
tuple of the graph stands for several of the program, and all behind it take as much longer.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.files.given import read_given_text
from harness.graph.annotations import in_force
from harness.graph.builder import Graph
from harness.graph.operator import Operator, Threading
from harness.graph.values import (
    MAX_BUSY_US,
    MAX_KEYS,
    MAX_OPERATORS,
    MAX_RATE,
    MIN_RATE,
    GraphError,
)

NEEDED = ("operator", "ns", "selectivity", "stream")
COLUMNS = (*NEEDED, "keys", "rate")
NAMES_OF_NS = ("ns_per_tuple",)  # names of the column `ns` besides

MOST_SELECTIVITY = 1e6
CALLED = Threading("manual")


@dataclass(frozen=True)
class CostRow:
    """Row of the table. `shares`: True if its targets share its tuples out; `rate`: of a source
    [tuples/s], None if it has none.
    """

    line: int
    name: str
    ns: float
    selectivity: float
    targets: tuple[str, ...]
    shares: bool
    keys: int
    rate: float | None


def graph_of_costs(path: Path) -> Graph:
    """Return the graph of a table. Raises UserError for a table that breaks a rule, naming line,
    column, rule and value.
    """
    rows = read_costs(path)
    order = _in_order(path, rows)
    weights = _weights(order)
    graph = Graph(path.stem)
    heads: dict[str, Operator] = {}
    fed = {target for row in order for target in row.targets}
    for row in order:
        busy_us = row.ns * weights[row.name] / 1000.0
        if busy_us > MAX_BUSY_US:
            rule = f"must be at most {MAX_BUSY_US:g} µs with all tuples that stand for one"
            raise _wrong(path, row.line, "ns", rule, f"{busy_us:g} µs")
        try:
            heads[row.name] = _add(graph, row, busy_us, row.name in fed)
        except GraphError as error:
            raise UserError(f"{path}, line {row.line}: {error}") from error
    for row in order:
        for place, target in enumerate(row.targets):
            output = heads[row.name].output(place if row.shares else 0)
            graph.connect(output, heads[target])
    return graph


def read_costs(path: Path) -> list[CostRow]:
    """Return the rows of a table. Raises UserError as `graph_of_costs`."""
    lines = csv.reader(io.StringIO(read_given_text(path)), skipinitialspace=True)
    try:
        cells = [
            (lines.line_num, [cell.strip() for cell in line])
            for line in lines
            if any(cell.strip() for cell in line) and not line[0].startswith("#")
        ]
    except csv.Error as error:
        raise UserError(f"{path}, line {lines.line_num}: not CSV: {error}") from error
    if len(cells) < 2:
        raise UserError(f"{path}: must have a row of names, {','.join(NEEDED)}, and one of values")
    columns = _columns(path, *cells[0])
    rows: dict[str, CostRow] = {}
    for line, values in cells[1:]:
        row = _row(path, line, columns, values)
        if row.name in rows:
            rule = f"must differ from that in line {rows[row.name].line}"
            raise _wrong(path, line, "operator", rule, row.name)
        rows[row.name] = row
    if len(rows) > MAX_OPERATORS:
        raise UserError(f"{path}: must have at most {MAX_OPERATORS} operators, not {len(rows)}")
    for row in rows.values():
        for target in row.targets:
            if target not in rows:
                rule = "must name operators of the table"
                raise _wrong(path, row.line, "stream", rule, target, rows)
    found = list(rows.values())
    _check_rates(path, found)
    return found


def _check_rates(path: Path, rows: Sequence[CostRow]) -> None:
    """Raise UserError unless all sources have rates, or none, and no other operator."""
    fed = {target for row in rows for target in row.targets}
    paced = [row for row in rows if row.rate is not None]
    for row in paced:
        if row.name in fed:
            rule = "must be empty where the tuples come from a stream"
            raise _wrong(path, row.line, "rate", rule, f"{row.rate:g}")
    for row in rows:
        if paced and row.rate is None and row.name not in fed:
            raise _wrong(path, row.line, "rate", "must be given for all sources or for none", "")


def _columns(path: Path, line: int, names: Sequence[str]) -> list[str]:
    found = []
    for given in names:
        name = re.sub(r"[\s_]+", "_", given.lower())
        name = "ns" if name in NAMES_OF_NS else name
        if name not in COLUMNS:
            meant = did_you_mean(name, COLUMNS)
            raise UserError(
                f"{path}, line {line}: unknown column {given!r}{meant}; columns are: "
                f"{', '.join(COLUMNS)}"
            )
        if name in found:
            raise UserError(f"{path}, line {line}: column {given!r} is given twice")
        found.append(name)
    for name in NEEDED:
        if name not in found:
            raise UserError(f"{path}, line {line}: column {name!r} is missing")
    return found


def _row(path: Path, line: int, columns: Sequence[str], values: Sequence[str]) -> CostRow:
    if len(values) > len(columns):
        rule = f"must have {len(columns)} values, one for each column"
        raise UserError(
            f"{path}, line {line}: {rule}, not {len(values)}; several targets of a stream are "
            "separated by ; or |"
        )
    cells = dict(zip(columns, [*values, *[""] * (len(columns) - len(values))], strict=True))
    name, stream = cells["operator"], cells["stream"]
    if not name or re.search(r"[;|]", name):
        raise _wrong(path, line, "operator", "must be a name without ; and |", name)
    if ";" in stream and "|" in stream:
        rule = "must separate its operators by ; (each gets all tuples) or by | (they share them)"
        raise _wrong(path, line, "stream", rule, stream)
    targets = tuple(filter(None, map(str.strip, re.split(r"[;|]", stream))))
    if len(set(targets)) < len(targets):
        raise _wrong(path, line, "stream", "must name each operator once", stream)
    selectivity, rate = cells["selectivity"] or "1", cells.get("rate")
    return CostRow(
        line,
        name,
        _number(path, line, "ns", cells["ns"], 1000 * MAX_BUSY_US, "ns"),
        _number(path, line, "selectivity", selectivity, MOST_SELECTIVITY, "tuples"),
        targets,
        "|" in stream,
        int(_number(path, line, "keys", cells.get("keys") or "0", MAX_KEYS, "keys", whole=True)),
        _number(path, line, "rate", rate, MAX_RATE, "tuples/s", MIN_RATE) if rate else None,
    )


def _number(
    path: Path,
    line: int,
    column: str,
    text: str,
    most: float,
    unit: str,
    least: float = 0.0,
    *,
    whole: bool = False,
) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= most or (whole and value != int(value)):
        kind = "a whole number" if whole else "a number"
        rule = f"must be {kind} from {least:g} to {most:.0f} {unit}"
        raise _wrong(path, line, column, rule, text)
    return value


def _in_order(path: Path, rows: Sequence[CostRow]) -> list[CostRow]:
    """Return the rows so that each comes after those that send to it. Raises UserError for a
    cycle.
    """
    by_name = {row.name: row for row in rows}
    waits = dict.fromkeys(by_name, 0)
    for row in rows:
        for target in row.targets:
            waits[target] += 1
    ready = [row for row in rows if not waits[row.name]]
    ordered = []
    while ready:
        row = ready.pop(0)
        ordered.append(row)
        for target in row.targets:
            waits[target] -= 1
            if not waits[target]:
                ready.append(by_name[target])
    if len(ordered) < len(rows):
        left = next(row for row in rows if waits[row.name] and row.targets)
        rule = "must not lead back to where its tuples come from"
        raise _wrong(path, left.line, "stream", rule, ";".join(left.targets))
    return ordered


def _weights(order: Sequence[CostRow]) -> dict[str, float]:
    """Return, by operator, the tuples of the program that a tuple of the graph stands for there.

    Sources without rates are taken to be equally fast.
    """
    real = {row.name: 0.0 for row in order}
    sent = dict(real)
    weights = {}
    for row in order:
        if not sent[row.name]:  # a source, or behind an operator that sends nothing
            real[row.name] = sent[row.name] = row.rate or 1.0
        weights[row.name] = real[row.name] / sent[row.name]
        parts = max(len(row.targets), 1) if row.shares else 1
        for target in row.targets:
            real[target] += real[row.name] * row.selectivity / parts
            sent[target] += sent[row.name] * min(row.selectivity, 1.0) / parts
    return weights


def _add(graph: Graph, row: CostRow, busy_us: float, is_fed: bool) -> Operator:
    """Add the operators of a row, and return its work operator. Raises GraphError."""
    work = {
        "busy_us": busy_us,
        "outputs": len(row.targets) if row.shares else 1,
        "selectivity": min(row.selectivity, 1.0),
        "keys": row.keys,
    }
    if is_fed:
        made = graph.work(row.name, **work)
    else:
        source = graph.source(f"{row.name} source", row.rate)
        with in_force(CALLED):
            made = graph.work(row.name, **work)
        graph.connect(source, made)
    if not row.targets:
        graph.connect(made, graph.sink(f"{row.name} sink"))
    return made


def _wrong(
    path: Path, line: int, column: str, rule: str, value: str, known: Iterable[str] = ()
) -> UserError:
    meant = did_you_mean(value, known)
    return UserError(f"{path}, line {line}, column {column}: {rule}, not {value[:60]!r}{meant}")
