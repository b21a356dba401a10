"""One run: built once, by `run_of`, for every caller, and passed on unchanged, to the measuring
process as JSON.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any

from harness.engine.open import Described, describe
from harness.machines.host.cpu import SHORTEST_S
from harness.machines.machine import LOCAL
from harness.machines.place import Place, find_place
from harness.models import OPTIONS, Model, Multilevel, model_on
from harness.models.option import options_of

# what a run may take besides warming up and measuring; generous: 10,000 threads start in a few
# seconds
START_AND_STOP_S = 60.0
# the same of a peer: more than all limits of its engine together, which say what was late
PEER_START_AND_STOP_S = 360.0

PERIOD_S = 1.0  # of control laws, unless another one is asked for
DURATION_S = 2.0  # of the measured window, likewise

VIRTUAL_PERIOD_S, VIRTUAL_DURATION_S = 0.002, 0.02
"""Defaults of simulated runs. Virtual time has no noise and no ticks, and a tenth of a virtual
second takes seconds to simulate (docs/explanation/simulator.md).
"""

MIN_QUANTA_PER_PERIOD = 2
"""That a virtual period of co-routines has at least: a co-routine may keep its thread for all of
one, and a period then tells nothing of the others.
"""

# of a simulated run, whose length in real time nobody knows; it has a bound on events besides
SIMULATION_TIMEOUT_S = 3600.0

EVENTS = 50_000_000
"""Most events of a simulated run that goes on until it is stationary, unless another number is
given. They take about ten seconds of CPU time.
"""

# that the measured window of a run with an elastic pool has at least; a guess (P17 §5: 25 s,
# periods of 10)
WINDOW_PERIODS = 5
# that laws have to settle in, or ten times the measured window, if that is longer (a guess, not
# tuned)
ADAPTATION_PERIODS = 40
# the same of laws that also place queues: that of IBM Streams takes 100 and more (M19 Figure 6)
PLACING_PERIODS = 120
ADAPTATION_S = 600.0  # but no more than this, or twice as long with queues to place

# characters of a cell's name: files may have 255 bytes, endings and temporary names included
MAX_SLUG = 200


def virtual_period_s(model: Model | PeerModel) -> float:
    """Return the period of control laws in a simulated run unless one is asked for [virtual s]."""
    return max(VIRTUAL_PERIOD_S, MIN_QUANTA_PER_PERIOD * getattr(model, "quantum_ms", 0.0) / 1000)


def until_stationary(run: Run) -> Run:
    """Return a simulated run that goes on until it is stationary, for `EVENTS` at most, in place of
    a time. Runs with a control law, and those with a warm-up of fixed length or a number of tuples,
    are as they were.
    """
    is_timed = run.tuples is None and run.warmup == "auto"
    if not run.simulated or getattr(run.model, "elastic", False) or not is_timed:
        return run
    return replace(run, events=EVENTS)


@dataclass(frozen=True)
class PeerModel:
    """Another runtime that executes a graph in place of ours (`harness.peers`)."""

    name: str
    label: str  # NAME VERSION
    queue_capacity: int | None = None  # tuples a queue; None: as its program has it


@dataclass(frozen=True)
class Run:
    """One run: what is run, under which model, where, for how long, and which repeat of which cell
    it is. `run_of` builds it.

    With `tuples` the run is *bounded*: every source sends exactly so many tuples, nothing is
    warm-up, and the measured window is the whole run. Without, it is *timed*: `warmup`, then
    `duration_s`; one whose sources end before is measured as a whole. All times are virtual if the
    run is simulated.
    """

    topology: str  # or the name of the graph in `graph_file`
    parameters: Mapping[str, str | int]  # those given; topologies fill in their defaults
    model: Model | PeerModel
    place: Place = field(default_factory=Place)
    duration_s: float = DURATION_S  # of the measured window
    period_s: float = PERIOD_S  # between two steps of a law
    warmup: float | str = "auto"  # seconds, or "auto": until stationary
    tuples: int | None = None  # that each source sends
    # simulated: goes on until stationary, for so many at most, in place of `duration_s`
    events: int | None = None
    # of the machine, in place of its own: the run is a variant
    constants: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    repeat: int = 0  # 0-based
    order_in_block: int = 0  # position in the block's randomised order
    final: bool = False  # compares arms that earlier runs of the block chose (`finals`)
    experiment: str = "adhoc"
    cell: str = ""  # "": made from topology and parameters
    arm: str = ""  # "": made from the model
    # "": the topology; else as `load_graph_file` takes it, relative to the working directory
    graph_file: str = ""
    digest: str = ""  # of the graph file, which must not have changed; "": it may have
    allow_threads: int | None = None  # of real ones, at most; None: as `thread_room.MOST_THREADS`
    full_speed: bool = False  # sources send as fast as they can, whatever the graph says of rates
    live: bool = False  # somebody watches: each sample is announced, too (`measurement.live`)
    explained: bool = False  # the record says what threads spent their time on (`time_use`)
    profile: str = ""  # simulated: file of what users' operators cost; "": of a topology, its own

    @property
    def simulated(self) -> bool:
        """True if the run is simulated, in virtual time."""
        return self.place.simulated

    @property
    def described(self) -> Described | None:
        """Machine and software that it is simulated on, with the constants that it replaces; None:
        real threads.
        """
        if not self.simulated:
            return None
        return describe(self.place.machine, self.place.software, self.constants)

    @property
    def asked(self) -> str:
        """A digest of what runs of one arm have in common: records that have it answer the same
        question.
        """
        of_run = {"repeat", "order_in_block", "constants", "graph_file", "allow_threads"}
        of_run |= {"live", "explained", "final"}
        common = {name: value for name, value in self.to_mapping().items() if name not in of_run}
        return hashlib.sha256(json.dumps(common, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def model_of_repeat(self) -> Model:
        """The model; a law of it that draws lots draws others in each repeat. Raises UserError for
        a law that is unknown.
        """
        from harness.elasticity import Decides, law_class  # late: who only names runs needs no law

        model = self.model
        if not isinstance(model, Multilevel):
            return model
        if not any(
            setting.name == "seed" for setting in law_class(model.law, Decides.QUEUES).SETTINGS
        ):
            return model
        return replace(
            model,
            law_settings=tuple(
                {"seed": self.seed + self.repeat, **dict(model.law_settings)}.items()
            ),
        )

    @property
    def simulation_seed(self) -> int:
        """Seed of a simulated run's random choices: another one in each repeat. Variants share that
        of the nominal run.
        """
        return self.seed + self.repeat

    @property
    def shortest_s(self) -> float:
        """The shortest period that says something: of real threads, whose CPU time is counted in
        ticks.
        """
        return 0.0 if self.simulated else SHORTEST_S

    def to_mapping(self) -> dict[str, Any]:
        """Return what `run_of` makes this run from: words and numbers by name, without those that
        are as by default.

        The lengths of a simulated run are always there, since their defaults are others than those
        of a real one.
        """
        where = {
            "machine": self.place.machine,
            "simulated": self.place.simulated,
            "software": self.place.software,
        }
        unless = {"machine": LOCAL, "simulated": False, "software": ""}
        asked = {name: value for name, value in where.items() if value != unless[name]}
        always = {"topology", "parameters", "duration_s"} | (
            {"period_s"} if self.simulated else set()
        )
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name in ("model", "place") or (
                each.name not in always and value == _default(each)
            ):
                continue
            asked[each.name] = dict(value) if isinstance(value, Mapping) else value
        if isinstance(self.model, PeerModel):
            asked |= {"model": self.model.name, "peer": self.model.label}
            return (
                asked
                if self.model.queue_capacity is None
                else asked | {"queue_capacity": self.model.queue_capacity}
            )
        asked["model"] = self.model.name
        for name, value in self.model.changed.items():
            asked[name] = dict(value) if isinstance(value, tuple) else value  # settings of a law
        return asked

    def to_json(self) -> str:
        """Return the run as one line of JSON, which `from_json` reads."""
        return json.dumps(self.to_mapping())

    @classmethod
    def from_json(cls, text: str) -> Run:
        """Return the run that `to_json` wrote. Raises ValueError or TypeError for text that is
        none, UserError for a wrong value.
        """
        return run_of(**json.loads(text))

    @property
    def warmup_limit_s(self) -> float:
        """Seconds after which an automatic warm-up gives up; for a fixed one, its length."""
        if self.simulated and self.warmup == "auto":
            return 10 * self.duration_s
        return (
            min(max(10 * self.duration_s, 3.0), 60.0)
            if self.warmup == "auto"
            else float(self.warmup)
        )

    @property
    def warmup_sample_s(self) -> float:
        """Length of a sample of the warm-up; of a fixed one, which nobody watches, all of it."""
        if self.warmup != "auto":
            return self.warmup_limit_s
        return self.duration_s / 5 if self.simulated else min(max(self.duration_s / 5, 0.1), 0.5)

    @property
    def adaptation_limit_s(self) -> float:
        """Seconds after which the adaptation of a run with an elastic part gives up."""
        if self.warmup != "auto":
            return float(self.warmup)
        places = isinstance(self.model, Multilevel)
        periods, most_s = (
            (PLACING_PERIODS, 2 * ADAPTATION_S) if places else (ADAPTATION_PERIODS, ADAPTATION_S)
        )
        return min(max(periods * self.period_s, 10 * self.duration_s), most_s)

    @property
    def elastic_window_s(self) -> float:
        """Length of the measured window if the pool is elastic."""
        return max(self.duration_s, WINDOW_PERIODS * self.period_s)

    @property
    def timeout_s(self) -> float | None:
        """Seconds after which the process of this run is taken for hung; None for a bounded run,
        which ends when it ends.

        A graph may be elastic by itself, so that every run gets the time of an elastic one.
        """
        if self.tuples is not None:
            return None
        if self.simulated:
            return SIMULATION_TIMEOUT_S
        is_peer = isinstance(self.model, PeerModel)
        return (
            max(self.warmup_limit_s, self.adaptation_limit_s)
            + self.elastic_window_s
            + (PEER_START_AND_STOP_S if is_peer else START_AND_STOP_S)
        )


def _default(each: Field[Any]) -> object:
    return each.default if each.default is not MISSING else each.default_factory()


def run_of(
    topology: str,
    parameters: Mapping[str, str | int],
    model: str,
    *,
    machine: str = LOCAL,
    simulated: bool = False,
    software: str = "",
    cpus: int | None = None,
    peer: str = "",
    duration_s: float | None = None,
    period_s: float | None = None,
    **given: Any,
) -> Run:
    """Return the run that words and numbers ask for: options of the model, and fields of `Run`, by
    their names.

    This is the one place that decides what is not said: where the run is made, how many threads it
    has, how long it is measured and the period of laws. `peer`: NAME VERSION of another runtime,
    whose name is then `model`. Raises UserError for an unknown machine, software or model, for an
    option that the model does not have, or for a value out of range.
    """
    place = find_place(machine, simulated, software, cpus)
    options = {name: given.pop(name) for name in OPTIONS.keys() & given.keys()}
    executes = (
        PeerModel(model, peer, options.get("queue_capacity"))
        if peer
        else model_on(place, model, options)
    )
    if duration_s is None:
        duration_s = VIRTUAL_DURATION_S if place.simulated else DURATION_S
    if period_s is None:
        period_s = virtual_period_s(executes) if place.simulated else PERIOD_S
    return Run(
        topology, parameters, executes, place, duration_s=duration_s, period_s=period_s, **given
    )


def cell_slug(topology: str, parameters: Mapping[str, str | int]) -> str:
    """Return a name for a cell that can be a file's: `pipeline,operators=100,cost=1,payload=128`.
    The rate of a source is part of it if there is one.
    """
    shown = {name: value for name, value in parameters.items() if (name, value) != ("rate", 0)}
    parts = [topology, *(f"{name}={value}" for name, value in shown.items())]
    slug = re.sub(r"[^A-Za-z0-9_.=,-]", "-", ",".join(parts))
    if len(slug) <= MAX_SLUG:
        return slug
    return f"{slug[: MAX_SLUG - 9]},{zlib.crc32(','.join(parts).encode()):08x}"


def level_of(model: Model | PeerModel) -> int | None:
    """Return the scheduler threads of a model; None for a model without, or if they may change."""
    return None if getattr(model, "elastic", False) else getattr(model, "threads", None)


def arm_name(model: Model | PeerModel) -> str:
    """Return a name for an arm: its model and level, and its options that are not at their
    defaults.

    The level is the scheduler threads if they are fixed (`dynamic-2`), or the law that changes them
    unless it is the default one (`dynamic-elastic`, `dynamic-elastic-pldi17`, `multilevel`). An
    option's part is as its declaration says: `dynamic-1-queued-30pct`, `coroutine-2-random-5ms`,
    `coroutine-2-replicas-3`.
    """
    if isinstance(model, PeerModel):
        return model.name
    level = level_of(model)
    parts = [
        model.name,
        "" if level is None else str(level),
        "elastic" if "elastic" in model.changed else "",
        model.changed.get("law", ""),
    ]
    options = options_of(model)
    parts += [
        re.sub("[^A-Za-z0-9_.,-]", "-", options[name].in_arm(name, value))
        for name, value in model.changed.items()
    ]
    return "-".join(part for part in parts if part)
