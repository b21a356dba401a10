"""The cases of validation: four topologies x three costs x two payloads under four arms;
co-routines; deep pipelines; an unbalanced tree and applications, which the simulator was not made
with.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import topologies
from harness.errors import UserError
from harness.machines.place import find_place
from harness.measurement.spec import Run, cell_slug, run_of

EXPERIMENT = "validation"

SIZES: dict[str, dict[str, int]] = {
    "pipeline": {"operators": 20},
    "data-parallel": {"width": 20},
    "mix": {"width": 4, "depth": 5},
    "bushy": {"width": 3, "depth": 4},
}
DEEP_PIPELINES = {"pipeline-100": {"operators": 100}, "pipeline-1000": {"operators": 1000}}
"""Pipelines of more operators than caches hold the records of, by their names in validation."""
UNBALANCED = {"unbalanced-tree": {"depth": 8}}
APPLICATIONS = {"login-failures": {"records": 10_000}, "vwap": {"records": 10_000}}
"""Graphs of typed operators, all compiled. The simulator predicts them with what their operators
cost in a run under manual (harness/measurement/profiling.py)."""
GRAPHS: dict[str, dict[str, int]] = SIZES | DEEP_PIPELINES | UNBALANCED | APPLICATIONS
"""All graphs with their parameters, besides cost and payload."""

COSTS = (1, 100, 10_000)  # FLOP a tuple and operator
PAYLOADS = (128, 4096)  # bytes
OWN = 0
"""Cost and payload of an application, whose operators and streams have their own."""


@dataclass(frozen=True)
class CaseArm:
    """Model, threads, policy and replicas of a run, with the names of `run_of`."""

    model: str
    threads: int | None = None
    policy: str = ""
    replicas: int | None = None

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, as `run_of` takes them."""
        return {"threads": self.threads, "policy": self.policy, "replicas": self.replicas}


ARMS = {
    "manual": CaseArm("manual"),
    "dedicated": CaseArm("dedicated"),
    "dynamic-1": CaseArm("dynamic", 1),
    "dynamic-2": CaseArm("dynamic", 2),
    "coroutine-2": CaseArm("coroutine", 2),
    "coroutine-2-random": CaseArm("coroutine", 2, policy="random"),
    "coroutine-2-replicas-2": CaseArm("coroutine", 2, replicas=2),
}
COROUTINE_TOPOLOGIES = ("data-parallel", "bushy")
COROUTINE_PAYLOADS = (128,)
"""Topologies and payloads of the cells that have arms of co-routines, too. Queues, copies and
operators are those of the other models."""
DEEP_ARMS = ("dynamic-2", "coroutine-2")
DEEP_COSTS = (1, 100)
"""Arms and costs of deep pipelines, with the payload of co-routines: a higher cost there adds only
the operators' own work."""
UNBALANCED_ARMS = tuple(name for name in ARMS if not name.endswith("random"))
APPLICATION_ARMS = ("dedicated", "dynamic-1", "dynamic-2", "coroutine-2")
"""Arms of the unbalanced tree, with the payload of co-routines, and of applications: manual is not
predicted there, since the costs are from it, and simulated typed operators have no replicas."""

LONG_FLOP = 10_000
LONG_CAPACITY = 64
"""Tuples a queue where operators cost `LONG_FLOP` or more, measured and predicted alike: long
queues of expensive tuples take seconds to fill, and the time to settle is not validated. The other
cases use the model's own rule."""

PREDICTED_S = {OWN: 0.2, 1: 0.2, 100: 0.5, 10_000: 2.0}
"""Virtual seconds of a prediction's warm-up, and of its window, by cost: several turns of all
threads on two CPUs and thousands of tuples, but no more, since a second in which 50 million cheap
tuples pass takes long to simulate."""

PREDICTIONS = 3
"""Number of runs that predict a case, each with its own seed: where many threads share few CPUs a
run may reach one of several steady states, as a measured one may. Their median is the prediction.
"""


@dataclass(frozen=True)
class Case:
    """A cell under an arm."""

    topology: str  # of GRAPHS
    cost: int  # or OWN
    payload: int  # or OWN
    arm: str

    @property
    def shape(self) -> str:
        """The topology's name in a run's spec."""
        return "pipeline" if self.topology in DEEP_PIPELINES else self.topology

    def rate(self, record: Mapping[str, Any]) -> float | None:
        """Return the rate of a run that is compared [tuples/s]: throughput at the sinks; for a deep
        pipeline, whose tuples arrive in lumps, the tuples that all operators submit, over the hops
        of a tuple.
        """
        if self.topology not in DEEP_PIPELINES:
            return record["sink_tuples_per_s"]
        submitted = record["submitted_tuples_per_s"]
        return None if submitted is None else submitted / record["hops"]

    @property
    def kind(self) -> str:
        """Relation of the graph to the simulator. *Known* are the four topologies, on which most of
        its faults were found; *replicas* and *deep* were looked at later; *new* are all others.
        """
        if self.topology in UNBALANCED | APPLICATIONS:
            return "new"
        if self.topology in DEEP_PIPELINES:
            return "deep"
        return "known" if ARMS[self.arm].replicas is None else "replicas"

    @property
    def group(self) -> tuple[str, int, int]:
        """The cell: the part that all arms of a comparison of models share."""
        return self.topology, self.cost, self.payload

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the topology, with defaults filled in."""
        given = GRAPHS[self.topology]
        if self.topology not in APPLICATIONS:
            given = given | {"cost": self.cost, "payload": self.payload}
        return topologies.find(self.shape).values(given)

    @property
    def cell(self) -> str:
        """The cell's name in records."""
        return cell_slug(self.shape, self.parameters)

    def __str__(self) -> str:
        return f"{cell_name(self.group)}, {self.arm}"

    def measured(self, duration_s: float, repeat: int) -> Run:
        """Return the run that measures the case: real threads, `duration_s` after an automatic
        warm-up.
        """
        arm = ARMS[self.arm]
        options = arm.options
        if self.cost >= LONG_FLOP and arm.model != "manual":
            options = options | {"queue_capacity": LONG_CAPACITY}
        return run_of(
            self.shape,
            self.parameters,
            arm.model,
            duration_s=duration_s,
            repeat=repeat,
            experiment=EXPERIMENT,
            cell=self.cell,
            arm=self.arm,
            **options,
        )

    def predicted(self, repeat: int, constants: Mapping[str, float] | None = None) -> Run:
        """Return a run that predicts the case, in virtual time: the measured run with another
        length, and a seed that depends on `repeat`.

        `constants`: of the machine, in place of the profile's.
        """
        virtual_s = PREDICTED_S[self.cost]
        measured = self.measured(virtual_s, repeat)
        return replace(
            measured, place=find_place(simulated=True), warmup=virtual_s, constants=constants or {}
        )


def cell_name(group: tuple[str, int, int]) -> str:
    """Return a cell's name for people: `pipeline, cost 10,000, payload 128`, or `vwap`."""
    topology, cost, payload = group
    if topology in APPLICATIONS:
        return topology
    return f"{topology}, cost {cost:,}, payload {payload:,}"


def number_name(number: int) -> str:
    """Return a cost or payload for people."""
    return "own" if number == OWN else f"{number:,}"


def is_case(topology: str, cost: int, payload: int, arm: str) -> bool:
    """Return True if the cell is run under that arm."""
    if topology in APPLICATIONS:
        return arm in APPLICATION_ARMS and cost == payload == OWN
    if OWN in (cost, payload):
        return False
    if topology in DEEP_PIPELINES:
        return arm in DEEP_ARMS and cost in DEEP_COSTS and payload in COROUTINE_PAYLOADS
    if topology in UNBALANCED:
        return arm in UNBALANCED_ARMS and payload in COROUTINE_PAYLOADS
    return ARMS[arm].model != "coroutine" or (
        topology in COROUTINE_TOPOLOGIES and payload in COROUTINE_PAYLOADS
    )


NAMES: dict[str, dict[str, object]] = {
    "topology": {name: name for name in GRAPHS},
    "cost": {str(cost): cost for cost in COSTS},
    "payload": {str(payload): payload for payload in PAYLOADS},
    "model": {arm: arm for arm in ARMS},
}
"""Allowed values of each name in a filter of cases, as they are written."""


def cases(filters: Sequence[str] = ()) -> list[Case]:
    """Return the cases that fit all filters, cell by cell.

    A filter is NAME=VALUE, or several joined by commas. Values of the same name are alternatives.
    Raises UserError for an unknown name or value.
    """
    allowed: dict[str, set[object]] = {}
    for word in [word.strip() for text in filters for word in text.split(",")]:
        name, _, value = word.partition("=")
        if name not in NAMES:
            raise UserError(
                f"--cells takes NAME=VALUE with NAME one of {', '.join(NAMES)}, not {word[:40]!r}"
            )
        if value not in NAMES[name]:
            raise UserError(
                f"--cells: {name} must be one of {', '.join(NAMES[name])}, not {value[:40]!r}"
            )
        allowed.setdefault(name, set()).add(NAMES[name][value])
    return [
        Case(topology, cost, payload, arm)
        for topology in GRAPHS
        for cost in (OWN, *COSTS)
        for payload in (OWN, *PAYLOADS)
        for arm in ARMS
        if is_case(topology, cost, payload, arm)
        and all(
            value in allowed.get(name, (value,))
            for name, value in (
                ("topology", topology),
                ("cost", cost),
                ("payload", payload),
                ("model", arm),
            )
        )
    ]
