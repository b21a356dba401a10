"""Measure what typed operators cost and send (`harness.engine.profiled`).

That is done once for each state of the code on this machine, and kept in a file.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any

from harness.engine import Sample
from harness.engine.profiled import Profiled
from harness.errors import RunFailed
from harness.files.closure import closure, digest
from harness.files.places import kept
from harness.files.whole import write_whole
from harness.graph import Graph
from harness.measurement.host import cpu_model
from harness.measurement.lock import measuring_lock
from harness.models import Manual

SETTLE_S = 0.5  # of the run that nobody looks at: windows fill
LOOK_ROUNDS, LOOK_S = 5, 1.0  # rounds in which it is looked at, 1,000 times a second
PROFILE_FOLDER = kept(".millrace") / "profiled"


def profile(graph: Graph) -> Profiled:
    """Run a typed graph here for some seconds, and look. Raises RunFailed for a run that fails or
    is over before.

    Of the rounds, each operator's dearest and cheapest do not count: others may have taken the CPU
    in the middle of a tuple. Operators that are alike are taken to cost the same.
    """
    from harness.engine import open_engine

    engine = open_engine(graph, Manual(), profile=True, profile_window_s=LOOK_S)
    engine.start()
    try:
        engine.sample(SETTLE_S)
        before = engine.core.sent_by_output()
        samples = [engine.sample(LOOK_S) for _ in range(LOOK_ROUNDS)]
        after = engine.core.sent_by_output()
        over = engine.finished()
    finally:
        totals = engine.stop(drain=False, timeout_s=5.0)
    if over or not totals.correct:
        raise RunFailed(
            f"{graph.name} cannot be profiled: {totals.error or 'its input ends within seconds'}"
        )
    counts = [sum(of) for of in zip(*(sample.processed for sample in samples), strict=True)]
    rounds = [_costs_ns(sample, _alike(graph)) for sample in samples]
    costs = [sum(sorted(of)[1:-1]) / (LOOK_ROUNDS - 2) for of in zip(*rounds, strict=True)]
    spent = sorted(
        sum(map(mul, of, each.processed)) / sum(each.processed)
        for of, each in zip(rounds, samples, strict=True)
    )
    whole = (
        spent[LOOK_ROUNDS // 2] * sum(counts) / sum(map(mul, costs, counts))
    )  # what a tuple takes in all is known better than its parts
    return Profiled(
        cpu=cpu_model(),
        cost_ns=tuple(cost * whole for cost in costs),
        sends=tuple(
            tuple((now - then) / count if count else 0.0 for now, then in zip(*of, strict=True))
            for of, count in zip(zip(after, before, strict=True), counts, strict=True)
        ),
        tuples=tuple(counts),
    )


def _costs_ns(sample: Sample, alike: Sequence[Sequence[int]]) -> list[float]:
    """Return the time of a tuple in each operator [ns]; like operators have their mean."""
    busy_ns = min(sample.cpu_s, sample.elapsed_s) * 1e9
    costs = [0.0] * len(sample.processed)
    for places in alike:
        count = sum(sample.processed[place] for place in places)
        cost = busy_ns * sum(sample.operator_cost[place] for place in places) / max(count, 1)
        for place in places:
            costs[place] = cost
    return costs


def _alike(graph: Graph) -> list[list[int]]:
    """Operators that do the same for parts of the tuples: their names differ in numbers only, and
    their streams not at all.
    """
    found: dict[object, list[int]] = {}
    for place, operator in enumerate(graph.operators.values()):
        found.setdefault(
            (re.sub("[0-9]+", "", operator.name), operator.typed.takes, operator.typed.gives), []
        ).append(place)
    return list(found.values())


def profile_of(topology: str, parameters: Mapping[str, Any], seed: int) -> Profiled:
    """The profile of a topology, taken once for each state of the code on this machine and kept in
    `.millrace/profiled`.

    Threaded ports play no part in it. Waits until nobody measures. Raises RunFailed as `profile`.
    """
    import topologies

    values = {
        name: value
        for name, value in topologies.find(topology).values(parameters).items()
        if name != "placement"
    }
    asked = [cpu_model(), topology, sorted(values.items()), seed, _code(topology)]
    key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
    kept = PROFILE_FOLDER / f"{topology}-{key}.json"
    found = _read(kept)
    if found is None:
        with measuring_lock():
            found = _read(kept) or profile(topologies.build(topology, values, seed)[0])
            _write(kept, found)
    return found


@cache
def _code(topology: str) -> str:
    """A digest of the files that the profile of a topology depends on."""
    return digest(closure(__name__, "harness.runtime.engine", names=frozenset((topology,))))


def _read(path: Path) -> Profiled | None:
    try:
        kept = json.loads(path.read_text("utf-8"))
        return Profiled(
            kept["cpu"],
            tuple(kept["cost_ns"]),
            tuple(map(tuple, kept["sends"])),
            tuple(kept["tuples"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _write(path: Path, found: Profiled) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(found)).encode())
