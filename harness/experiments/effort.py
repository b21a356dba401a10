"""Time, disk and memory that a figure needs, before anything of it is made. For estimates only."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.experiments.config import Config, clock
from harness.experiments.experiment import Block
from harness.experiments.up_to_date import why_due
from harness.machines.host.cpu import allowed_cpus

RECORD_BYTES = 18_000
"""Size of a record: the mean of 618 records of 12 figures of the quick profile."""

TABLES_BYTES = 200_000
"""Size of the tables of a figure: those of the same 12 figures had 140 to 224 kB."""

SPARK_START_S = 38.0
"""Time in which Spark starts, once for all tables of a workflow, on a 2-core VM. `millrace figures`
has a workflow of its own for the first figure."""

TABLES_S = 2.0
"""Time in which Spark makes the tables of one experiment, on a 2-core VM."""

DRAWING_S = 4.0
"""Time in which a figure is drawn, on a 2-core VM."""

BENCHES_S = {"saso": 180.0, "saso_placement": 4200.0}
"""Time of all scenarios of a bench, on a 2-core VM."""

MEMORY_BYTES = 2_000_000_000
"""Memory while tables are made, where most is needed: Spark's heap of 1 GB, the rest of its virtual
machine, and the Python processes. A guess, not tuned.
"""


@dataclass(frozen=True)
class Effort:
    """Time [s], disk and memory [bytes], and the number of runs."""

    runs: int
    seconds: float
    disk: int
    memory: int = MEMORY_BYTES

    def __str__(self) -> str:
        return (
            f"{self.runs:,} runs, about {clock(self.seconds)}, {self.disk / 1e6:,.1f} MB of disk, "
            f"{self.memory / 1e9:.0f} GB of memory"
        )


def total(efforts: Iterable[Effort]) -> Effort:
    """Return what several figures need, made one after the other."""
    each = list(efforts)
    return Effort(
        sum(effort.runs for effort in each),
        sum(effort.seconds for effort in each),
        sum(effort.disk for effort in each),
        max((effort.memory for effort in each), default=0),
    )


def effort_of(
    blocks: Iterable[Block], figures: int = 1, benches_s: float = 0.0, workflows: int = 1
) -> Effort:
    """Return what figures need that so many workflows make, whose blocks are still to be made.

    Measured blocks need the machine for themselves; simulated ones and benches share its CPUs.
    """
    blocks = list(blocks)
    measured = sum(block.estimated_s for block in blocks if not block.place.simulated)
    shared = benches_s + sum(block.estimated_s for block in blocks if block.place.simulated)
    runs = sum(block.runs for block in blocks)
    drawing = workflows * SPARK_START_S + figures * (TABLES_S + DRAWING_S)
    seconds = measured + shared / allowed_cpus() + drawing
    return Effort(runs, seconds, runs * RECORD_BYTES + figures * TABLES_BYTES)


def effort_of_figure(config: Config, name: str) -> Effort:
    """Return what a figure needs from the beginning."""
    return effort_of(_blocks(config, name), benches_s=_bench_s(config, name))


def effort_left(config: Config, names: Collection[str], workflows: int = 1) -> Effort:
    """Return what is still needed for figures that so many workflows make: blocks that are up to
    date need nothing.
    """
    due = [
        block
        for name in names
        for block in _blocks(config, name)
        if why_due(block, Path(config.records(name, block.stem)))
    ]
    benches_s = sum(
        _bench_s(config, name)
        for name in names
        if name in config.benches and not Path(config.bench(name)).exists()
    )
    return effort_of(due, figures=len(names), benches_s=benches_s, workflows=workflows)


def _blocks(config: Config, name: str) -> Sequence[Block]:
    return () if name in config.benches else config.experiment(name).blocks()


def _bench_s(config: Config, name: str) -> float:
    return BENCHES_S[name] / config.bench_every[name] if name in config.benches else 0.0
