"""Rates that other runtimes reached on another machine of the same kind: `peers.tsv` says on
which, and how.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.benchmarks.arms import Cell

TABLE = Path(__file__).with_name("peers.tsv")


@dataclass(frozen=True)
class Peer:
    """A peer's rate in a cell; without `queue`s between operators it solves an easier problem."""

    name: str
    tuples_per_s: float
    queue: bool
    steady: bool


@cache
def peers() -> dict[Cell, list[Peer]]:
    """The peers of each cell, the fastest first."""
    table: dict[Cell, list[Peer]] = {}
    with TABLE.open(encoding="utf-8") as lines:
        for row in csv.DictReader(
            (line for line in lines if not line.startswith("#")), delimiter="\t"
        ):
            cell = Cell(row["topology"], int(row["size"]), int(row["cost"]))
            peer = Peer(
                row["peer"],
                float(row["tuples_per_s"]),
                row["handover"] == "queue",
                row["steady"] == "yes",
            )
            table.setdefault(cell, []).append(peer)
    for of_cell in table.values():
        of_cell.sort(key=lambda peer: -peer.tuples_per_s)
    return table


def best_peers(cell: Cell) -> list[Peer]:
    """The fastest peer of a cell, and the fastest one with queues if that is another."""
    known = peers().get(cell, [])
    return [*known[:1], *[peer for peer in known if peer.queue][:1]][
        : 1 if known and known[0].queue else 2
    ]
