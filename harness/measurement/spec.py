"""What one run is asked to do."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from harness.engine import DEFAULT_SOFTWARE, LOCAL
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.place import find_place
from harness.models import DEFAULT_LAW, DEFAULT_POLICY, QUANTUM_MS, Coroutine, Dynamic, Model, Multilevel, make_model
from harness.models.policy import find_policy

START_AND_STOP_S = 60.0  # what a run may take besides warming up and measuring; generous: 10,000 threads start in a few seconds

PERIOD_S = 1.0  # of control laws, unless another one is asked for
DURATION_S = 2.0  # of the measured window, likewise

VIRTUAL_PERIOD_S, VIRTUAL_DURATION_S = 0.002, 0.02
"""The same of simulated runs. Virtual time has no noise and no ticks, and costs seconds a tenth of a second: docs/design.md."""

QUANTA = 2
"""That a virtual period of co-routines has at least: a co-routine may keep its thread for all of one, and a period then tells
nothing of the others."""

SIMULATION_TIMEOUT_S = 3600.0  # of a simulated run, whose length in real time nobody knows; it has a bound on events besides

WINDOW_PERIODS = 5  # that the measured window of a run with an elastic pool has at least; a guess (P17 §5: 25 s, periods of 10)
ADAPTATION_PERIODS = 40  # that laws have to settle in, or ten times the measured window, if that is longer (a guess, not tuned)
PLACING_PERIODS = 120  # the same of laws that also place queues: that of IBM Streams takes 100 and more (M19 Figure 6)
ADAPTATION_S = 600.0  # but no more than this, or twice as long with queues to place

MAX_SLUG = 200  # characters of a cell's name: files may have 255 bytes, endings and temporary names included


def virtual_period_s(model: str, quantum_ms: float | None = None) -> float:
    """The period of control laws in a simulated run under a model, unless another one is asked for [virtual s]."""
    quantum_s = (quantum_ms or QUANTUM_MS) / 1000 if model == Coroutine.name else 0.0
    return max(VIRTUAL_PERIOD_S, QUANTA * quantum_s)


@dataclass(frozen=True)
class RunSpec:
    """One run: a topology with its parameters, a threading model with its options, and how long to measure.

    With `tuples` the run is *bounded*: every source sends exactly so many tuples, nothing is warm-up, and the measured window
    is the whole run. Without, it is *timed*: `warmup`, then `duration_s`; one whose sources end before is measured as a whole.
    """

    topology: str  # or the name of the graph in `graph_file`
    parameters: Mapping[str, str | int]  # those given; topologies fill in their defaults
    model: str
    threads: int | None = None  # of the pool; if elastic, those to begin with
    queue_capacity: int | None = None  # tuples a queue
    machine: str = LOCAL  # any other one is simulated
    duration_s: float = 1.0  # of the measured window; as all times virtual if simulated
    warmup: float | str = "auto"  # seconds, or "auto": until stationary
    seed: int = 0
    tuples: int | None = None  # that each source sends
    repeat: int = 0  # 0-based
    order_in_block: int = 0  # position in the block's randomised order
    experiment: str = "adhoc"
    cell: str = ""  # "": made from topology and parameters
    arm: str = ""  # "": made from model and threads
    graph_file: str = ""  # "": the topology; else as `graph.file.load_graph_file` takes it, relative to the working directory
    digest: str = ""  # of the graph file, which must not have changed; "": it may have
    elastic: bool = False  # a control law changes the threads of dynamic or coroutine; `threads` is then where it begins
    law: str = ""  # its name; "": the default one
    law_settings: Mapping[str, object] = field(default_factory=dict)
    period_s: float = PERIOD_S  # between two steps of the law
    minimum: int | None = None  # levels of the law; None: as `models.Dynamic` has it
    maximum: int | None = None
    simulated: bool = False
    events: int | None = None  # simulated: the window is as long as so many events take, in place of `duration_s`
    software: str = ""  # whose costs a simulated run has; "": those of this project
    constants: Mapping[str, float] = field(default_factory=dict)  # of the machine, in place of its own: the run is a variant
    queued: str = ""  # of dynamic only: which scheduled ports have queues, as `models.Chosen` has it; "": all
    allow_threads: int | None = None  # of real ones, at most; None: as `thread_room.MOST_THREADS`
    live: bool = False  # somebody watches: each sample is announced, too (`measurement.live`)
    policy: str = ""  # of coroutine only, "": the default one
    quantum_ms: float | None = None  # likewise
    replicas: int | None = None  # of coroutine only, as `models.Coroutine` has it
    peer: str = ""  # NAME VERSION of the runtime that is measured in place of ours (`harness.peers`); `model` is then its name

    def __post_init__(self) -> None:
        if self.machine != LOCAL:
            object.__setattr__(self, "simulated", True)
        if self.simulated:
            object.__setattr__(self, "software", self.software or DEFAULT_SOFTWARE)

    @property
    def asked(self) -> str:
        """A digest of what runs of one arm have in common: records that have it answer the same question."""
        of_run = ("repeat", "order_in_block", "constants", "graph_file", "allow_threads", "live")
        newer = (
            "peer",
            "policy",
            "quantum_ms",
            "replicas",
        )  # left out where nobody asks for one: older records answer the same question
        common = {name: value for name, value in asdict(self).items() if name not in of_run and (name not in newer or value)}
        return hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def simulation_seed(self) -> int:
        """What a simulated run draws its chances from: another one in each repeat. Variants share those of nominal runs."""
        return self.seed + self.repeat

    @property
    def shortest_s(self) -> float:
        """The shortest period that says something: of real threads, whose CPU time is counted in ticks."""
        return 0.0 if self.simulated else SHORTEST_S

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
        if self.simulated and self.warmup == "auto":
            return 10 * self.duration_s
        return min(max(10 * self.duration_s, 3.0), 60.0) if self.warmup == "auto" else float(self.warmup)

    @property
    def adaptation_limit_s(self) -> float:
        """The same of a run in which something is elastic, where the laws adapt instead."""
        if self.warmup != "auto":
            return float(self.warmup)
        places = self.model == Multilevel.name
        periods, most_s = (PLACING_PERIODS, 2 * ADAPTATION_S) if places else (ADAPTATION_PERIODS, ADAPTATION_S)
        return min(max(periods * self.period_s, 10 * self.duration_s), most_s)

    @property
    def elastic_window_s(self) -> float:
        """Length of the measured window if the pool is elastic."""
        return max(self.duration_s, WINDOW_PERIODS * self.period_s)

    @property
    def timeout_s(self) -> float | None:
        """Seconds after which the process of this run is taken for hung; None for a bounded run, which ends when it ends.

        A graph may be elastic by itself, so that every run gets the time of an elastic one.
        """
        if self.tuples is not None:
            return None
        if self.simulated:
            return SIMULATION_TIMEOUT_S
        return max(self.warmup_limit_s, self.adaptation_limit_s) + self.elastic_window_s + START_AND_STOP_S

    def made_model(self) -> Model:
        """The threading model asked for, with the level of a pool that is not elastic; a peer has none.

        Raises UserError if it cannot be.
        """
        model = make_model(
            self.model,
            threads=self.threads,
            queue_capacity=self.queue_capacity,
            elastic=self.elastic,
            law=self.law,
            law_settings=self._settings_of_repeat(),
            minimum=self.minimum,
            maximum=self.maximum,
            queued=self.queued or None,
            policy=self.policy or None,
            quantum_ms=self.quantum_ms,
            replicas=self.replicas,
        )
        if isinstance(model, (Dynamic, Coroutine)) and not getattr(model, "elastic", False) and model.threads is None:
            return replace(model, threads=find_place(self.machine, self.simulated, self.software).cpus)
        return model

    def _settings_of_repeat(self) -> Mapping[str, object]:
        """Those of the law; one that draws lots draws others in each repeat."""
        from harness.elasticity import Decides, law_class  # late: who only names runs needs no law

        if self.model != Multilevel.name:
            return self.law_settings
        draws = any(setting.name == "seed" for setting in law_class(self.law or DEFAULT_LAW, Decides.QUEUES).SETTINGS)
        return {"seed": self.seed + self.repeat, **self.law_settings} if draws else self.law_settings


def cell_slug(topology: str, parameters: Mapping[str, str | int]) -> str:
    """A name for a cell that can be a file's: `pipeline,operators=100,cost=1,payload=128`."""
    parts = [topology, *(f"{name}={value}" for name, value in parameters.items())]
    slug = re.sub(r"[^A-Za-z0-9_.=,-]", "-", ",".join(parts))
    if len(slug) <= MAX_SLUG:
        return slug
    return f"{slug[: MAX_SLUG - 9]},{zlib.crc32(','.join(parts).encode()):08x}"


def level_of(model: Model) -> int | None:
    """The scheduler threads of a model; None for a model without, or if they may change."""
    return None if getattr(model, "elastic", False) else getattr(model, "threads", None)


def arm_name(model: Model) -> str:
    """A name for an arm: the model, with its scheduler threads if they are fixed (`dynamic-2`), or with the law that changes
    them unless it is the default one (`dynamic-elastic`, `dynamic-elastic-pldi17`, `multilevel`); and where queues are, if not
    everywhere (`dynamic-1-queued-30pct`); and the policy, the quantum and the replicas of co-routines, if others than the
    default ones (`coroutine-2-random`, `coroutine-2-random-5ms`, `coroutine-2-replicas-3`).
    """
    if isinstance(model, Multilevel):
        return model.name + (f"-{model.law}" if model.law != DEFAULT_LAW else "")
    queued = getattr(model, "queued", "all")
    where = "" if queued == "all" else f"-queued-{re.sub('[^A-Za-z0-9_.,-]', '-', queued.replace('%', 'pct'))}"
    if isinstance(model, Coroutine):
        policy = Path(find_policy(model.policy).name).name  # of a user's file, without its folder
        where = "" if policy == DEFAULT_POLICY else f"-{re.sub('[^A-Za-z0-9_.,-]', '-', policy)}"
        where += "" if model.quantum_ms == QUANTUM_MS else f"-{model.quantum_ms:g}ms"
        where += "" if model.replicas == 1 else f"-replicas-{model.replicas}"
    if getattr(model, "elastic", False):
        return f"{model.name}-elastic" + (f"-{model.law}" if model.law != DEFAULT_LAW else "") + where
    level = level_of(model)
    return model.name + ("" if level is None else f"-{level}") + where
