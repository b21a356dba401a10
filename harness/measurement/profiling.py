"""Measure what operators of users cost and send (`harness.engine.profiled`).

Of a topology, that is done once for each state of the code on this machine, and kept in a file. A
profile of a graph file is kept where it was asked for: nobody knows what such a file depends on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from operator import mul
from pathlib import Path
from typing import Any

from harness.engine import Sample
from harness.engine.profiled import Profiled
from harness.errors import RunFailed, UserError
from harness.files.closure import closure, digest
from harness.files.given import load_strict_json, read_given_text
from harness.files.places import kept
from harness.files.whole import write_whole
from harness.graph import Graph
from harness.graph.kinds import LOOP
from harness.machines.host.interpreter import has_interpreter_lock
from harness.measurement.host import cpu_model
from harness.measurement.lock import measuring_lock
from harness.measurement.spec import cell_slug
from harness.models import Coroutine, Manual

SETTLE_S = 0.5  # of the run that nobody looks at: windows fill
LOOK_ROUNDS, LOOK_S = 5, 1.0  # rounds in which it is looked at, 1,000 times a second
PROFILE_FOLDER = kept(".millrace") / "profiled"
PROFILE_FORMAT = "millrace-profile/2"
NAMED = ("format", "cell", "operators")
"""Entries of a profile's file that say what it is of."""

INPUT_ENDS = "its input ends within seconds; it needs a longer one, or one that is repeated"

MAX_COST_NS = 1e12  # of a tuple; longer than a run
MAX_SENT = 1e7
"""Most tuples that an operator sends for one: the simulator counts them in fixed-point numbers."""


def profile(graph: Graph) -> Profiled:
    """Run a graph here for some seconds on one thread, and look. Raises RunFailed for a run that
    fails or is over before.

    The model is manual; of a graph with loops it is coroutine, which alone runs them. Of the
    rounds, each operator's dearest and cheapest do not count: others may have taken the CPU in the
    middle of a tuple. Operators that are alike are taken to cost the same.
    """
    from harness.engine import open_engine

    loops = any(each.kind is LOOP for each in graph.operators.values())
    model = Coroutine(threads=1) if loops else Manual()
    engine = open_engine(graph, model, profile=True, profile_window_s=LOOK_S)
    engine.start()
    try:
        engine.sample(SETTLE_S)
        before = [engine.core.processed(), engine.core.sent_by_output()]
        samples = [engine.sample(LOOK_S) for _ in range(LOOK_ROUNDS)]
        after = [engine.core.processed(), engine.core.sent_by_output()]
        over = engine.finished()
    finally:
        totals = engine.stop(drain=False, timeout_s=5.0)
    if over or not totals.correct:
        raise RunFailed(f"{graph.name} cannot be profiled: {totals.error or INPUT_ENDS}")
    counts = [sum(of) for of in zip(*(sample.processed for sample in samples), strict=True)]
    rounds = [_costs_ns(sample, _alike(graph)) for sample in samples]
    costs = [sum(sorted(of)[1:-1]) / (LOOK_ROUNDS - 2) for of in zip(*rounds, strict=True)]
    spent = sorted(
        sum(map(mul, of, each.processed)) / sum(each.processed)
        for of, each in zip(rounds, samples, strict=True)
    )
    # what a tuple takes in all is known better than its parts
    whole = spent[LOOK_ROUNDS // 2] * sum(counts) / sum(map(mul, costs, counts))
    return Profiled(
        cpu=cpu_model(),
        cost_ns=tuple(cost * whole for cost in costs),
        sends=tuple(
            tuple((now - then) / taken if taken else 0.0 for now, then in zip(*of, strict=True))
            for taken, *of in zip(
                (now - then for now, then in zip(after[0], before[0], strict=True)),
                after[1],
                before[1],
                strict=True,
            )
        ),
        tuples=tuple(counts),
        interpreter_lock=has_interpreter_lock(),
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
    """Typed operators that do the same for parts of the tuples: their names differ in numbers only,
    and their streams not at all. Any other operator is like no other.
    """
    found: dict[object, list[int]] = {}
    for place, operator in enumerate(graph.operators.values()):
        typed = operator.typed
        name = re.sub("[0-9]+", "", operator.name)
        kind = operator.name if typed is None else (name, typed.takes, typed.gives)
        found.setdefault(kind, []).append(place)
    return list(found.values())


def profile_of(topology: str, parameters: Mapping[str, Any], seed: int) -> Profiled:
    """Return the profile of a topology, taken once for each state of the code on this machine and
    kept in `.millrace/profiled`.

    Threaded ports play no part in it. Waits until nobody measures. Raises RunFailed as `profile`.
    """
    import topologies

    path, values = _file_of(topology, parameters, seed)
    found = _read(path)
    if found is None:
        with measuring_lock():
            found = _read(path) or profile(topologies.build(topology, values, seed)[0])
            _write(path, found)
    return found


def kept_profile(topology: str, parameters: Mapping[str, Any], seed: int) -> Profiled | None:
    """Return the profile of a topology if `profile_of` has taken it, else None."""
    return _read(_file_of(topology, parameters, seed)[0])


def _file_of(
    topology: str, parameters: Mapping[str, Any], seed: int
) -> tuple[Path, dict[str, Any]]:
    """Return the file that keeps the profile of a topology, and the parameters that matter."""
    import topologies

    values = {
        name: value
        for name, value in topologies.find(topology).values(parameters).items()
        if name != "placement"
    }
    asked = [cpu_model(), topology, sorted(values.items()), seed, _code(topology)]
    key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:16]
    return PROFILE_FOLDER / f"{topology}-{key}.json", values


@cache
def _code(topology: str) -> str:
    """Return a digest of the files that the profile of a topology depends on."""
    return digest(closure(__name__, "harness.runtime.engine", names=frozenset((topology,))))


def save_profile(path: str | Path, graph: Graph, cell: str, profiled: Profiled) -> None:
    """Write the profile of a graph, for `load_profile`. `cell`: the name of the graph with its
    parameters. Raises RunFailed if the file cannot be written.
    """
    named = dict(zip(NAMED, (PROFILE_FORMAT, cell, list(graph.operators)), strict=True))
    write_whole(path, json.dumps(named | asdict(profiled), indent=1).encode() + b"\n")


def load_profile(path: str | Path, graph: Graph, cell: str = "") -> Profiled:
    """Return the profile in a file. Raises UserError if the file cannot be read, or has none of
    this graph; `cell`: with these parameters.
    """
    text = read_given_text(path)
    try:
        kept = load_strict_json(text)
    except (RecursionError, ValueError):
        kept = None
    found = _profiled(kept)
    if found is None or kept.get("format") != PROFILE_FORMAT:
        raise UserError(f"{path}: must be a profile that this version of millrace profile writes")
    unknown = [name for name in kept if name not in (*NAMED, *asdict(found))]
    if unknown:
        raise UserError(f"{path}: has an entry that no profile has: {unknown[0]!r:.60}")
    if kept.get("operators") != list(graph.operators) or cell not in ("", kept.get("cell")):
        raise UserError(
            f"{path}: must be a profile of {cell or graph.name}, not {kept.get('cell')!s:.200}"
        )
    for rule in _broken_rules(found, graph):
        raise UserError(f"{path}: {rule}")
    return found


def _broken_rules(found: Profiled, graph: Graph) -> Iterator[str]:
    """Yield what is wrong with a profile of these operators."""
    for name in ("cost_ns", "sends", "tuples"):
        if len(getattr(found, name)) != len(graph.operators):
            yield f"{name} must have an entry for each of {len(graph.operators)} operators"
            return
    for operator, cost_ns, sends, tuples in zip(
        graph.operators.values(), found.cost_ns, found.sends, found.tuples, strict=True
    ):
        of = f"of operator {operator.name!r}"
        if not 0 <= cost_ns <= MAX_COST_NS:
            yield f"cost_ns {of} must be from 0 to {MAX_COST_NS:g} ns, not {cost_ns:g}"
        if len(sends) != operator.outputs:
            yield f"sends {of} must have {operator.outputs} numbers, not {len(sends)}"
        for share in sends:
            if not 0 <= share <= MAX_SENT:
                yield f"sends {of} must be from 0 to {MAX_SENT:g} tuples, not {share:g}"
        if tuples < 0:
            yield f"tuples {of} must be 0 or more, not {tuples}"


def profile_here(graph: Graph, cell: str, notify: Callable[[str], None]) -> Path:
    """Profile a graph on this machine, and return the file that keeps it. Waits until nobody
    measures. Raises RunFailed as `profile`.
    """
    with measuring_lock(notify):
        found = profile(graph)
    path = PROFILE_FOLDER / f"{cell_slug(graph.name, {})}-{found.digest}.json"
    save_profile(path, graph, cell, found)
    return path


def _read(path: Path) -> Profiled | None:
    try:
        return _profiled(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError):
        return None


def _profiled(kept: Any) -> Profiled | None:
    """Return what a file keeps, or None if it is something else."""
    try:
        return Profiled(
            kept["cpu"],
            tuple(map(float, kept["cost_ns"])),
            tuple(tuple(map(float, of)) for of in kept["sends"]),
            tuple(map(int, kept["tuples"])),
            bool(kept["interpreter_lock"]),
        )
    except (KeyError, OverflowError, TypeError, ValueError):
        return None


def _write(path: Path, found: Profiled) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(asdict(found)).encode())
