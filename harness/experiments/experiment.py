"""The measurements of one figure: cells x arms, on one machine or several.

Experiment  one figure's measurements in the profile's size
Block       one cell on one machine with all arms and all repeats: what one job of the workflow
            measures
Cell, Arm   a topology with its parameters; a threading model
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.machines.place import Place
from harness.measurement.block import Narrowing
from harness.measurement.spec import PERIOD_S, PeerModel, Run
from harness.models import Model
from harness.peers import find_peer

RUN_OVERHEAD_S = 0.7
"""Seconds that a run takes besides its measured window (process start, warm-up, stop) on a 2-core
VM. For estimates only.
"""

ADAPTATION_ESTIMATE = 20
"""Periods that an elastic run takes to settle, about. For estimates only."""

SIMULATION_OVERHEAD_S = 0.05
"""Seconds that a simulated run takes besides its window, without a process of its own: between the
0.02 s of a whole run of 12 operators (cstream_fig6) and the 0.1 s of one of 101 (pldi17_fig10) on a
2-core VM.
"""

EVENTS_A_SECOND = 5e6
"""Events that a simulation handles in a second, about. For estimates only."""

SETTLING_SHARE = 0.04
"""Share of the most events that a simulated run takes to become stationary, in the mean of P17's
figures: 122 runs of the quick profile took about 60 s. For estimates only.
"""

VIRTUAL_SECOND_S = 8.0
"""Seconds that a simulated one takes, about, with `VIRTUAL_CPUS` busy. For estimates only."""

VIRTUAL_CPUS = 176


@dataclass(frozen=True)
class Arm:
    """One threading model of a comparison, with its options; or another runtime."""

    name: str
    model: Model | PeerModel
    duration_s: float | None = None  # of its measured window, None: as long as the block's

    @property
    def elastic(self) -> bool:
        """True if a law changes something while tuples flow."""
        return getattr(self.model, "elastic", False)

    @property
    def threads(self) -> int | None:
        """Scheduler threads, or those that a law begins with; None for models without, or if the
        law decides.
        """
        return getattr(self.model, "threads", None)

    @property
    def settings(self) -> str:
        """All that makes the arm what it is: a name that was given to it says nothing of it."""
        window = "" if self.duration_s is None else f" for {self.duration_s:g} s"
        return f"{self.name}: {self.model}{window}"


@dataclass(frozen=True)
class Cell:
    """One topology with all its parameters; or one graph file with those given, its digest in the
    cell's name.
    """

    name: str
    topology: str
    parameters: Mapping[str, int | str]
    graph_file: str = ""
    digest: str = ""


@dataclass(frozen=True)
class Block:
    """One cell, on one machine: all arms, all repeats; of simulated ones also every arm with each
    variant of the constants.
    """

    experiment: str
    cell: Cell
    arms: Sequence[Arm]
    repeats: int
    duration_s: float
    warmup: float | str
    seed: int
    place: Place = field(default_factory=Place)
    period_s: float = PERIOD_S
    variants: Sequence[Mapping[str, float]] = ()
    allow_threads: int | None = None  # of a run; as `Run` has it
    # simulated: arms that are not elastic run until stationary, for so many at most
    events: int | None = None
    explained: bool = False  # its records say what threads spent their time on
    narrowing: Narrowing | None = None  # rule for more repeats of noisy arms

    @property
    def stem(self) -> str:
        """Name of its file without the ending: the cell, after the machine's name if that is
        simulated.
        """
        return f"{self.place.label}~{self.cell.name}" if self.place.label else self.cell.name

    @property
    def name(self) -> str:
        """Name of the block in listings: experiment, machine and cell."""
        return f"{self.experiment}/{self.stem}"

    @property
    def most_repeats(self) -> int:
        """Number of repeats of an arm that needs the most of them."""
        return max(self.repeats, self.narrowing.repeats if self.narrowing else 0)

    @property
    def runs(self) -> int:
        """Number of runs of the block, at most."""
        return len(self.arms) * (self.most_repeats + len(self.variants))

    @property
    def estimated_s(self) -> float:
        """About how long the block takes [s] if every arm needs the most repeats; runs that settle
        late take longer.
        """
        return (self.most_repeats + len(self.variants)) * sum(
            self._estimated_s(arm) for arm in self.arms
        )

    def _estimated_s(self, arm: Arm) -> float:
        if self.place.simulated and self.events is not None and not arm.elastic:
            return SIMULATION_OVERHEAD_S + SETTLING_SHARE * self.events / EVENTS_A_SECOND
        adaptation_s = self._adaptation_s(arm) if arm.elastic else 0.0
        warmup_s = self.warmup if isinstance(self.warmup, float) else adaptation_s
        overhead_s = SIMULATION_OVERHEAD_S if self.place.simulated else RUN_OVERHEAD_S
        if isinstance(arm.model, PeerModel):
            # a virtual machine starts and stops in about as long as its compiler is given
            overhead_s += 2 * find_peer(arm.model.name).warmup_s
        return overhead_s + (warmup_s + self.window_s(arm)) * self._seconds_a_second(arm)

    def _adaptation_s(self, arm: Arm) -> float:
        """Return about how long a run adapts [s]: a pool of many virtual threads for half of its
        limit.
        """
        about_s = ADAPTATION_ESTIMATE * self.period_s
        return (
            max(about_s, self._run(arm).adaptation_limit_s / 2) if self.place.simulated else about_s
        )

    def _seconds_a_second(self, arm: Arm) -> float:
        """Return how many seconds a second of a run takes: virtual ones take longer with more busy
        threads.
        """
        if not self.place.simulated:
            return 1.0
        return VIRTUAL_SECOND_S * max(
            0.05, min(1.0, (arm.threads or self.place.cpus) / VIRTUAL_CPUS)
        )

    def window_s(self, arm: Arm) -> float:
        """Length of an arm's measured window [s]."""
        run = self._run(arm)
        return run.elastic_window_s if arm.elastic else run.duration_s

    @property
    def order_seed(self) -> int:
        """Seed of the order of the runs: another in each block, so that no arm is the first one
        everywhere.
        """
        return zlib.crc32(f"{self.seed}/{self.name}".encode())

    @property
    def settings(self) -> str:
        """All that decides what the block's records mean, as one line: records of other settings
        are out of date.
        """
        arms = " ".join(arm.settings for arm in self.arms)
        period = f"; period {self.period_s:g} s" if any(arm.elastic for arm in self.arms) else ""
        return (
            f"{self.cell.name}; arms {arms}; repeats {self.repeats}; duration {self.duration_s:g} "
            f"s; warm-up {self.warmup}; "
            f"seed {self.seed}; machine {self.place.machine}{period}{self._simulated}"
            f"{'; explained' if self.explained else ''}"
            f"{f'; {self.narrowing}' if self.narrowing else ''}"
        )

    @property
    def _simulated(self) -> str:
        """Further settings of a simulated block's records; "" for a measured block. The profiles
        and the number of points say what a sensitivity study varies.
        """
        if not self.place.simulated:
            return ""
        events = "" if self.events is None else f"; events {self.events}"
        profiles = f"software {self.place.software}; profiles {' '.join(self.place.digests)}"
        return f"{events}; simulated; {profiles}; points {len(self.variants)}"

    def runs_by_arm(self) -> dict[str, Run]:
        """Return the run of each arm, by the arm's name."""
        return {arm.name: self._run(arm) for arm in self.arms}

    def _run(self, arm: Arm) -> Run:
        return Run(
            self.cell.topology,
            dict(self.cell.parameters),
            arm.model,
            self.place,
            duration_s=arm.duration_s or self.duration_s,
            period_s=self.period_s,
            warmup=self.warmup,
            events=None if arm.elastic or not self.place.simulated else self.events,
            seed=self.seed,
            experiment=self.experiment,
            cell=self.cell.name,
            arm=arm.name,
            graph_file=self.cell.graph_file,
            digest=self.cell.digest,
            allow_threads=self.allow_threads,
            explained=self.explained and not isinstance(arm.model, PeerModel),
        )


@dataclass(frozen=True)
class Experiment:
    """One figure's measurements. `blocks()` in the order of the file, machine by machine."""

    name: str
    path: Path
    _blocks: Sequence[Block]
    left_out: Sequence[
        str
    ] = ()  # peers that it names and that are not built here, each with the reason
    on_request: bool = False  # True if it is made only when it is named

    @property
    def cells(self) -> Sequence[Cell]:
        """The different cells of all machines."""
        return tuple({block.cell.name: block.cell for block in self._blocks}.values())

    @property
    def arms(self) -> Sequence[Arm]:
        """The different arms of all machines."""
        return tuple({arm.name: arm for block in self._blocks for arm in block.arms}.values())

    def blocks(self) -> Sequence[Block]:
        """Return one block for each cell of each machine."""
        return self._blocks

    def block(self, stem: str) -> Block:
        """Return the block with that name of its file: a cell, or `MACHINE~CELL`. Raises UserError
        if there is none.
        """
        for block in self._blocks:
            if block.stem == stem:
                return block
        raise UserError(
            f"{self.path}: no cell is named "
            f"{stem!r}{did_you_mean(stem, (each.stem for each in self._blocks))}"
        )
