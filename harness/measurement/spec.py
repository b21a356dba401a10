"""What one run is asked to do."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass

START_AND_STOP_S = 60.0  # what a run may take besides warming up and measuring; generous: 10,000 threads start in a few seconds

MAX_SLUG = 200  # characters of a cell's name: files may have 255 bytes, endings and temporary names included


@dataclass(frozen=True)
class RunSpec:
    """One run: a topology with its parameters, a threading model with its options, and how long to measure.

    With `tuples` the run is *bounded*: every source sends exactly so many tuples, nothing is warm-up, and the measured window
    is the whole run. Without, it is *timed*: `warmup`, then `duration_s`.
    """

    topology: str  # or the name of the graph in `graph_file`
    parameters: Mapping[str, str | int]  # those given; topologies fill in their defaults
    model: str
    threads: int | None = None  # scheduler threads, of dynamic only
    queue_capacity: int | None = None  # tuples a queue
    machine: str = "local"
    duration_s: float = 1.0  # of the measured window
    warmup: float | str = "auto"  # seconds, or "auto": until stationary
    seed: int = 0
    tuples: int | None = None  # that each source sends
    repeat: int = 0  # 0-based
    order_in_block: int = 0  # position in the block's randomised order
    experiment: str = "adhoc"
    cell: str = ""  # "": made from topology and parameters
    arm: str = ""  # "": made from model and threads
    graph_file: str = ""  # "": the topology; else as `graph_file.load_graph_file` takes it, relative to the working directory
    digest: str = ""  # of the graph file, which must not have changed; "": it may have

    def to_json(self) -> str:
        """The spec as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> RunSpec:
        """The spec that `to_json` wrote. Raises ValueError or TypeError for anything else."""
        return cls(**json.loads(text))

    @property
    def warmup_limit_s(self) -> float:
        """Seconds after which an automatic warm-up gives up; for a fixed one, its length."""
        return min(max(10 * self.duration_s, 3.0), 60.0) if self.warmup == "auto" else float(self.warmup)

    @property
    def timeout_s(self) -> float | None:
        """Seconds after which the process of this run is taken for hung; None for a bounded run, which ends when it ends."""
        return None if self.tuples is not None else self.warmup_limit_s + self.duration_s + START_AND_STOP_S


def cell_slug(topology: str, parameters: Mapping[str, str | int]) -> str:
    """A name for a cell that can be a file's: `pipeline,operators=100,cost=1,payload=128`."""
    parts = [topology, *(f"{name}={value}" for name, value in parameters.items())]
    slug = re.sub(r"[^A-Za-z0-9_.=,-]", "-", ",".join(parts))
    if len(slug) <= MAX_SLUG:
        return slug
    return f"{slug[: MAX_SLUG - 9]},{zlib.crc32(','.join(parts).encode()):08x}"


def arm_name(model: str, threads: int | None) -> str:
    """A name for an arm: the model, with its scheduler threads if it has them (`dynamic-2`)."""
    return model if threads is None else f"{model}-{threads}"
