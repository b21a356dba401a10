"""Arms that may be the best for a graph, with the throughput that bounds allow each.

A region of operators without queues between them is executed by one thread at a time, a pool by its
threads, everything by the CPUs, and all operators in Python by one thread at a time, if the
interpreter has its lock. The nearest of these bounds ranks the arms; runs decide.

Parts of a graph that no stream connects are as fast as their own regions let them be, so bounds are
those of the parts, added up. If the sources of all parts have rates, these fix their proportion.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from harness.advise.costs import GraphCosts, GraphPart
from harness.advise.placements import Placement, can_be_named, names_of, placed, placements
from harness.compare.contest import SHORT_QUEUE
from harness.errors import UserError
from harness.experiments.arms import in_words
from harness.experiments.experiment import Arm
from harness.graph import Graph
from harness.graph.parts import parts_of
from harness.graph.schedule import Schedule
from harness.machines.place import Place
from harness.measurement.spec import arm_name
from harness.models import Coroutine, Dynamic, Manual, Model, Queue, model_on
from harness.models.port_queues import port_queues
from harness.models.replicas import replicable

FOUND_BY_LAW = "found-by-multilevel"
HOPELESS = 0.4  # share of the highest bound; an arm below it is not tried, but for a model's best
HEADROOM = 2.0
"""Throughput over the rate of paced sources from which on more of it is no better: queues are short
where threads work half of the time (a guess; the mean wait of M/D/1 is then half a service)."""

NEGLIGIBLE = 0.02  # of a bound: of arms that differ by less, the one with fewer threads comes first


@dataclass(frozen=True)
class Candidate:
    """An arm, in words for a sentence, with the bound of its throughput: tuples of all sources
    together [tuples/s].
    """

    arm: Arm
    words: str
    bound_per_s: float

    def rank(self, enough_per_s: float) -> tuple[int, bool, int]:
        """Return the order of arms: the highest bound first, where all that are enough are equal;
        of about equal ones those with usual queues and batches, and then that with the fewest
        threads.
        """
        bound = min(max(self.bound_per_s, 1e-9), enough_per_s, 1e15)
        steps = math.log(bound) / math.log1p(NEGLIGIBLE)
        model = self.arm.model
        usual = getattr(model, "queue_capacity", None) is None and model.batch is None
        return -round(steps), not usual, self.arm.threads or 0


def candidates(graph: Graph, costs: GraphCosts, place: Place) -> list[Candidate]:
    """Return all arms that are worth a run, the most promising first."""
    threaded = _of_kind(graph, Queue.THREADED)
    costs = replace(costs, threaded=threaded, parts=_parts(graph, costs))
    arms = list(_arms(graph, costs, place))
    offered = Schedule.of(graph).mean_per_s
    enough = math.inf if offered is None else HEADROOM * offered
    if offered is not None:  # a tuple waits for those that are moved with it
        arms += [_one_at_a_time(each) for each in arms if each.arm.model != Manual()]
    best = min(max(arm.bound_per_s for arm in arms), enough)
    seen: set[str] = set()
    found: dict[str, Candidate] = {}
    for each in sorted(arms, key=lambda each: each.rank(enough)):
        first_of_model = each.arm.model.name not in seen
        if each.bound_per_s >= HOPELESS * best or first_of_model:
            found.setdefault(each.arm.name, each)
        seen.add(each.arm.model.name)
    return list(found.values())


def _parts(graph: Graph, costs: GraphCosts) -> list[GraphPart]:
    """Return the parts of a graph whose rates do not depend on each other."""
    if Schedule.of(graph).mean_per_s is not None:
        return [GraphPart(list(costs.operators), math.inf)]
    found = []
    for names in parts_of({name: each.behind for name, each in costs.operators.items()}):
        sources = (graph.operators[name] for name in names if costs.operators[name].is_source)
        rate = Schedule(tuple(sources)).mean_per_s
        found.append(GraphPart(names, math.inf if rate is None else rate))
    return found


def found_by_law(place: Place, threads: int, queued: Set[str]) -> Candidate:
    """Return the arm with the threads and queues that a law of the multilevel model has found. It
    is tried whatever its bound.
    """
    options = {"threads": min(threads, place.cpus), "queued": names_of(sorted(queued))}
    (made,) = _made(place, "dynamic", options, math.inf, FOUND_BY_LAW)
    return made


def choose(ranked: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return so many candidates: the best of each model, and then those with the highest bounds."""
    firsts: dict[str, Candidate] = {}
    for each in ranked:
        firsts.setdefault(each.arm.model.name, each)
    rest = [each for each in ranked if each not in firsts.values()]
    return [*firsts.values(), *rest][: max(count, 2)]


def neighbours(ranked: Sequence[Candidate], model: Model) -> list[Candidate]:
    """Return the candidates that differ from a model in one option, by one step among those that
    are ranked.
    """
    alike = [each for each in ranked if each.arm.model.name == model.name]
    found: dict[str, Candidate] = {}
    for option in {name for each in alike for name in each.arm.model.changed}:
        sizes: dict[str, list[tuple[float, Candidate]]] = {"below": [], "above": []}
        own = _size(model, option)
        for each in alike:
            other = _size(each.arm.model, option)
            if _others(each.arm.model, option) != _others(model, option) or other == own:
                continue
            sizes["above" if other > own else "below"].append((other, each))
        for side, nearest in (("below", max), ("above", min)):
            if sizes[side]:
                _, near = nearest(sizes[side], key=lambda each: each[0])
                found.setdefault(near.arm.name, near)
    return list(found.values())


def _size(model: Model, option: str) -> float:
    """Return the value of an option as a number: of named queues how many there are."""
    value = getattr(model, option)
    if option == "queued":
        return math.inf if value == "all" else len(value.split(",")) if value != "none" else 0
    return math.inf if value is None else float(value)


def _others(model: Model, option: str) -> dict[str, object]:
    return {name: value for name, value in model.changed.items() if name != option}


def levels(cpus: int) -> list[int]:
    """Return numbers of threads, or of replicas, to try: powers of two, and all CPUs."""
    return sorted({2**power for power in range(cpus.bit_length())} | {cpus})


# -- arms ------------------------------------------------------------------------------------------


def _arms(graph: Graph, costs: GraphCosts, place: Place) -> Iterator[Candidate]:
    cpus = place.cpus
    by_name = {name for name in costs.operators if can_be_named(name)}
    all_queued = set(_of_kind(graph, Queue.SCHEDULED))
    nothing = placed(costs, frozenset())
    everything = placed(costs, all_queued)
    yield from _made(place, "manual", {}, _bound(costs, nothing, 0.0, cpus, 0))
    hop_ns = costs.hop_ns.get("dedicated", costs.hop_ns.get("dynamic", 0.0))
    yield from _made(
        place, "dedicated", {}, _bound(costs, everything, hop_ns, cpus, len(all_queued))
    )
    yield from _dynamic(costs, place, all_queued, all_queued & by_name, everything)
    yield from _coroutines(graph, costs, place, everything)


def _of_kind(graph: Graph, kind: Queue) -> frozenset[str]:
    """Return the operators with a port that has a queue of this kind under the dynamic model."""
    ports = zip(graph.input_ports(), port_queues_of(graph), strict=True)
    return frozenset(port.operator for port, queue in ports if queue is kind)


def port_queues_of(graph: Graph) -> list[Queue]:
    """Return the kind of queue of each input port under the dynamic model. A graph with loops of
    its own has none: only co-routines run it.
    """
    try:
        return [queue.kind for queue in port_queues(graph, Dynamic(1))]
    except UserError:
        return [Queue.RESUMED for _ in graph.input_ports()]


def _dynamic(
    costs: GraphCosts,
    place: Place,
    all_queued: set[str],
    may_queue: set[str],
    everything: Placement,
) -> Iterator[Candidate]:
    if not all_queued:
        return
    hop_ns = costs.hop_ns.get("dynamic", 0.0)
    few = [each for each in placements(costs, may_queue, hop_ns) if each.queued]
    for placement in [everything, *few]:
        is_all = set(placement.queued) == all_queued
        if is_all and placement is not everything:
            continue
        # one CPU may be left to the thread of the source
        for threads in {*levels(place.cpus), max(place.cpus - 1, 1)}:
            bound = _bound(costs, placement, hop_ns, place.cpus, threads)
            options: dict[str, object] = {"threads": threads}
            name = f"dynamic-{threads}"
            if not is_all:
                options["queued"] = names_of(placement.queued)
                name = f"{name}-{_counted(placement.queued)}"
            for option, label in (({}, ""), ({"queue_capacity": SHORT_QUEUE}, "-short")):
                yield from _made(place, "dynamic", options | option, bound, name + label)


def _one_at_a_time(candidate: Candidate) -> Candidate:
    """Return an arm that moves one tuple at a time. What that costs is not known."""
    model = replace(candidate.arm.model, batch=1)
    arm = Arm(f"{candidate.arm.name}-batch-1", model)
    return Candidate(arm, words_of(arm), candidate.bound_per_s)


def _counted(queued: Sequence[str]) -> str:
    return f"{len(queued)}-queue{'' if len(queued) == 1 else 's'}"


def _coroutines(
    graph: Graph, costs: GraphCosts, place: Place, everything: Placement
) -> Iterator[Candidate]:
    hop_ns = costs.hop_ns.get("coroutine", costs.hop_ns.get("dynamic", 0.0))
    able = replicable(graph, Coroutine(threads=1))
    most = min(able.values(), default=1)
    turns = {name for name, each in costs.operators.items() if each.takes_turns}
    for threads in levels(place.cpus):
        single = _bound(costs, everything, hop_ns, place.cpus, threads, pooled=True)
        for replicas in levels(min(threads, most)):
            of = {
                name: min(replicas, graph.operators[name].keys or replicas)
                for name in able
                if name not in turns
            }
            bound = _bound(costs, everything, hop_ns, place.cpus, threads, of, pooled=True)
            # replicas of operators in Python wait for each other, and others must gain by theirs
            if replicas > 1 and turns and bound <= single * (1.0 + NEGLIGIBLE):
                continue
            options = {"threads": threads} | ({"replicas": replicas} if replicas > 1 else {})
            yield from _made(place, "coroutine", options, bound)


def _made(
    place: Place, name: str, options: Mapping[str, object], bound_per_s: float, arm: str = ""
) -> Iterator[Candidate]:
    """Yield an arm, unless its options do not go together."""
    try:
        model: Model = model_on(place, name, dict(options))
    except UserError:
        return
    made = Arm(arm or arm_name(model), model)
    yield Candidate(made, words_of(made), bound_per_s)


def words_of(arm: Arm) -> str:
    """Return an arm for a sentence. Queues are named if they are few."""
    return in_words(replace(arm, name=arm_name(arm.model)))


# -- bounds ----------------------------------------------------------------------------------------


def _bound(
    costs: GraphCosts,
    placement: Placement,
    hop_ns: float,
    cpus: int,
    threads: int,
    replicas: Mapping[str, int] | None = None,
    pooled: bool = False,
) -> float:
    """Return the throughput that a placement allows [tuples/s of the sources]. `threads`: of the
    pool, or of all ports; `pooled`: it executes sources, too.

    Each part is as fast as its slowest region. If the parts together would keep more threads or
    CPUs busy than there are, or the interpreter's lock for more than all the time, they are all
    taken to be slower by the same factor.
    """
    at_once = {  # regions that several threads may be in
        name: costs.operators[name].most_threads
        for name, load in placement.loads.items()
        if load == costs.operators[name].load_ns
    }
    loads = {
        name: load + hop_ns * placement.queue_shares.get(name, 0.0)
        for name, load in placement.loads.items()
    }
    own = 0 if pooled else len(placement.own)
    region_ns = {
        name: load / min((replicas or {}).get(name) or at_once.get(name, 1), max(threads, own, 1))
        for name, load in loads.items()
    }
    per_s = busy = busy_in_pool = locked = 0.0  # of all parts; the last three in threads
    for part in costs.parts:
        heads = [name for name in part.operators if name in loads]
        own_costs = [costs.operators[name] for name in part.operators]
        sent = sum(each.share for each in own_costs if each.is_source)
        slowest_ns = max(region_ns[name] for name in heads)
        if not sent or not slowest_ns:  # nothing is known of it
            continue
        speed = min(1.0 / slowest_ns, part.most_per_s / (1e9 * sent))
        per_s += 1e9 * sent * speed
        busy += speed * sum(loads[name] for name in heads)
        busy_in_pool += speed * sum(
            loads[name] for name in heads if pooled or name not in placement.own
        )
        locked += speed * costs.interpreter_ns_of(part.operators)
    crowded = max(
        1.0, busy / min(cpus, threads + own), busy_in_pool / threads if threads else 0.0, locked
    )
    return per_s / crowded if per_s else math.inf
