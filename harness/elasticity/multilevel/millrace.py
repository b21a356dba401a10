"""Millrace's own law of queues and threads: a Bayesian search over placements and levels that knows the graph.

What it knows before it tries. The graph and the costs of its operators say which placements divide the work well (`cuts`), and
what each can bring at most (`regions`, `physics`); what they do not say, such as what a queue costs beside the work, is a few
hundred hypotheses with odds, which each period's throughput changes, beside an error of the formula that measurements correct
(`evidence`). With

  U(x) = log throughput(x) - PRICE log2 level - QUEUE_PRICE log2 (1 + queues)

the *best* configuration is the one of highest E[U] among those that it has been at, and another one is worth a look by

  gain - loss / HORIZON = E[max(0, U(x) - U(best))] - E[max(0, U(best) - U(x))] / HORIZON

as in `elasticity.millrace` (Mockus 1978; Jones, Schonlau and Welch 1998). A look that hurts is taken back at once: the next
configuration is the best one, or one that is expected to be better than it. Levels are at most `REACH` times those that have
proved not to be too high. It settles when no look promises `tolerance`.

Settled, it watches throughput (`watch`) and where the work is (`work_shares`). Another load is one that it knows, and it goes back to
what was best then; or a new one, for which half of the hypotheses are kept. If the work has moved within the graph it searches
again, although throughput is what it was.

PRICE and the other numbers were chosen on the bench of placements, with other seeds than it is run with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import Bounds, Decision, Reading, Setting
from harness.elasticity.multilevel.evidence import Evidence, Fit, Place
from harness.elasticity.multilevel.law import MultilevelLaw
from harness.elasticity.multilevel.layout import Layout
from harness.elasticity.multilevel.options import Options, Placements
from harness.elasticity.multilevel.physics import Hypotheses, bounds_of, draw, ideal
from harness.elasticity.multilevel.regions import Vector
from harness.elasticity.multilevel.watch import Watch
from harness.elasticity.multilevel.work_shares import WorkShares

PRICE = 0.02  # of a doubling of the level, as a share of throughput
QUEUE_PRICE = 0.001  # of a doubling of the queues
HORIZON = 50.0  # periods over which a look has to pay
REACH = 2  # times the level that has proved not to be too high: how far up it looks
TIRES = 8.0  # looks after which the next one has to promise twice as much
HOLDS = 2.5  # times as much it has to promise once the law has settled
LEARNS = 9  # settled periods that still count as measurements
HURTS = 0.02  # of throughput below the best: a look that is taken back
SAME = 0.003  # of throughput: what is no reason to go elsewhere
HYPOTHESES = 384
NEGLIGIBLE = 1e-4  # odds, relative to the likeliest hypothesis, below which one is not asked
SAME_MACHINE = 0.5  # share of the hypotheses that are kept when the load changes
ALIVE = 24.0  # hypotheses that must be left, in effect; else new ones are drawn around those that are
RECALLS = 16  # loads
UNTOLD = 12.0  # logarithm of a ratio beyond which nobody wants to read it exactly
MOVED = 0.03  # share of the work that must be elsewhere for the graph to be divided anew
SEED = 2019


@dataclass(frozen=True)
class Load:
    """What the law remembers of a load: where it settled, and what that brought."""

    place: Place
    expected: float  # logarithm of throughput
    deviation: float  # its standard deviation from period to period
    seen: Mapping[Place, float]  # what each configuration brought that it has been at

    def explains(self, place: Place, value: float) -> bool:
        """Whether a logarithm of throughput is what it would be under this load."""
        known = self.expected if place == self.place else self.seen.get(place)
        return known is not None and abs(value - known) < max(math.log(1.05), 2.5 * self.deviation)


class Millrace(MultilevelLaw):
    """See the module."""

    name = "millrace"
    summary = "Bayesian search over placements and levels with a model of the graph: our own"
    SETTINGS = (
        Setting("tolerance", 0.004, 0.0001, 0.5, "of throughput", "expected gain for which it looks at another configuration"),
        Setting("change", 0.15, 0.01, 10.0, "of throughput", "least difference that counts as another load"),
        Setting("cpu_limit", 0.8, 0.0, 1.0, "of the CPUs", "use above which it does not climb while others need them too"),
    )

    def __init__(
        self, bounds: Bounds, layout: Layout, cpu: CpuLimit | None = None, settings: Mapping[str, object] | None = None
    ) -> None:
        """As every law that places queues."""
        super().__init__(bounds, layout, cpu, settings)
        self._graph = Placements(layout)
        self._shares = WorkShares(layout)
        self._generator = np.random.default_rng(SEED)
        self._options: Options | None = None
        self._fit: Fit | None = None
        self._loads: list[Load] = []
        self._watch: Watch | None = None
        self._last: frozenset[int] = frozenset()  # placement of the period before
        self._begin()

    def cpu_limit(self) -> CpuLimit:
        """Others come first."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def decide(self, reading: Reading) -> Decision:
        """What to do after a period."""
        level = self.bounds.clamp(reading.threads)
        queued = frozenset(place for place in reading.queued if 0 <= place < len(self.layout.ports))
        switched, self._last = queued != self._last, queued
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples: says nothing → stay", "idle", queued)
        if reading.others_cpu is not None and crowded(float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu):
            return Decision(level, f"others have {reading.others_cpu:.0%} of the CPUs: says nothing → stay", "crowded", queued)
        value = math.log(reading.throughput)
        moved = self._look_at_costs(reading, level, queued)
        options = self._known(value, queued)
        place = queued, level
        if moved:
            self._forget(place, value)
        elif self._settled == place:
            answer = self._stays(place, value)
            if answer is not None:
                return answer
        self._evidence.add(place, value, switched)
        return self._choose(place, "the work has moved: " if moved else "")

    # -- what it knows --------------------------------------------------------------------------------------------------------

    def _look_at_costs(self, reading: Reading, level: int, queued: frozenset[int]) -> bool:
        """Learn where the work is. True if it is somewhere else than it was."""
        if len(reading.costs) != self.layout.operators:
            return False
        busy, pure = len(self.layout.sources) + min(level, len(queued)), 1.0
        if self._options is not None and self._fit is not None:
            hop = float(self._fit.odds @ self._options.hypotheses.hop)
            pure = 1.0 / (1.0 + min(hop, 10.0) * self._options.hops(self._options.row((queued, level))))
        return self._shares.add(reading.costs, reading.elapsed_s, busy, pure)

    def _known(self, value: float, queued: frozenset[int]) -> Options:
        """The options, once a first period has said how dear the work is; divided anew as it becomes clearer where it is."""
        shares = self._shares.shares
        if self._options is None:
            alone = ideal(bounds_of(self._graph.parts(queued).loads(shares)))
            self._work_s = self._graph.flow.submitted * alone / math.exp(min(max(value, -600.0), 600.0))
            self._divide(self._drawn(HYPOTHESES))
        elif self._settled is None and self._shares.looks >= 2.0 * self._divided_at:
            if 0.5 * float(np.abs(self._options.shares - shares).sum()) > MOVED:
                self._divide(self._options.hypotheses)
        assert self._options is not None
        return self._options

    def _divide(self, hypotheses: Hypotheses) -> None:
        """The options for the shares of the work that are believed now."""
        self._options = Options(self._graph, self.bounds, self._shares.shares, hypotheses)
        self._divided_at = self._shares.looks

    def _drawn(self, count: int) -> Hypotheses:
        work_s = min(max(self._work_s, 1e-12), 1e6)
        return draw(self._generator, count, self.layout.cpus, self.layout.payload, work_s)

    # -- searching ------------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._evidence = Evidence()
        self._settled: Place | None = None
        self._looks = 0
        self._recalled = False  # the load is one that was known, and no period has shown yet that it is that one

    def _weigh(self, options: Options) -> tuple[Fit, list[int]]:
        """What the periods say, and the rows of their configurations."""
        rows = [options.row(place) for place in self._evidence.places]
        fit = self._evidence.weigh(options.formula[rows], options.alike(rows, rows))
        if 1.0 / float(np.square(fit.odds).sum()) < ALIVE:
            again = self._generator.choice(len(fit.odds), len(fit.odds), p=fit.odds)
            options.assume(options.hypotheses.take(again).jittered(self._generator))
            fit = self._evidence.weigh(options.formula[rows], options.alike(rows, rows))
        self._fit = fit
        return fit, rows

    def _choose(self, place: Place, why: str = "") -> Decision:
        """Look at another configuration, or settle on the best of those that it has been at."""
        options = self._options
        assert options is not None
        row = options.row(place)
        fit, rows = self._weigh(options)
        options.near(self._best(row, rows, fit, options))
        likely = np.flatnonzero(fit.odds > NEGLIGIBLE * fit.odds.max())
        odds = fit.odds[likely] / fit.odds[likely].sum()
        best = self._best(row, rows, fit, options)
        near = np.flatnonzero(np.array(options.level) <= self._reach(options, best, row))
        at = int(np.searchsorted(near, best))
        alike = options.alike(near, rows)
        expected = fit.expected(options.formula[np.ix_(near, likely)], alike, likely) - self._prices(options)[near, None]
        mean = expected @ odds
        spread = fit.spread(alike, options.alike(near, [best])[:, 0], at)
        gain = _improvement(expected - expected[at], spread[:, None]) @ odds
        worth = gain - (gain - (mean - mean[at])) / HORIZON  # E[max(0, -x)] = E[max(0, x)] - E[x]
        here = int(np.searchsorted(near, row))
        if row != best and mean[here] < mean[at] - HURTS:
            worth[mean < mean[at]] = -np.inf  # it has hurt: no second risk in a row
        worth[at] = 0.0
        look = int(np.argmax(worth))
        threshold = float(self.set["tolerance"]) * (1.0 + self._looks / TIRES) * (HOLDS if self._settled is not None else 1.0)
        if worth[look] > threshold:
            target, state = int(near[look]), "searching"
            what = f"{self._named(target)} may bring {math.expm1(gain[look]):.1%} over {self._named(best)}"
        else:
            target, state = best, "settled"
            what = f"{self._named(best)}: nothing else promises {threshold:.1%} more"
        if target != row and self._climbs(row, target) and not self.cpu.acceptable():
            return Decision(place[1], f"{why}{what}, but the CPU limit refuses → stay", "refused", place[0])
        if target == row and state == "settled":
            self._settle(place, fit)
            return Decision(place[1], f"{why}{what} → stay", state, place[0])
        self._settled = None
        self._looks += 1
        where = "once more" if target == row else "back" if target == best else "there"
        return Decision(options.level[target], f"{why}{what} → {where}", state, options.queued(target))

    def _best(self, row: int, rows: list[int], fit: Fit, options: Options) -> int:
        """Of those that it has been at; the one where it is unless another one is better by more than can be told apart."""
        been = sorted(set(rows))
        mean = fit.expected(options.formula[been], options.alike(been, rows)) @ fit.odds - self._prices(options)[been]
        mean[been.index(row)] += SAME
        return been[int(np.argmax(mean))]

    def _climbs(self, row: int, target: int) -> bool:
        """Whether a configuration may need more of the CPUs."""
        options = self._options
        assert options is not None
        return options.level[target] > options.level[row] or options.busy(target) > options.busy(row)

    def _prices(self, options: Options) -> Vector:
        return PRICE * options.log_level + QUEUE_PRICE * options.log_queues

    def _reach(self, options: Options, best: int, row: int) -> int:
        """The highest level to look at."""
        return max(REACH * options.level[best], options.level[row], self.bounds.minimum)

    def _named(self, row: int) -> str:
        """A configuration in words: the queues by name while they are few."""
        assert self._options is not None
        queued, level = self._options.queued(row), self._options.level[row]
        threads = f"{level} thread{'s' if level > 1 else ''}"
        if not queued:
            return f"no queues with {threads}"
        if len(queued) > 2:
            return f"{len(queued)} queues with {threads}"
        ports = " and ".join(self.layout.ports[place].operator for place in sorted(queued))
        return f"queue{'s' if len(queued) > 1 else ''} before {ports} with {threads}"

    # -- settled --------------------------------------------------------------------------------------------------------------

    def _settle(self, place: Place, fit: Fit) -> None:
        if self._settled != place:
            self._settled = place
            self._watch = Watch(self._evidence.mean(place), fit.noise, float(self.set["change"]))

    def _stays(self, place: Place, value: float) -> Decision | None:
        """What to do while nothing changes; None: the period is one more measurement."""
        watch = self._watch
        assert watch is not None
        off, before = value - watch.expected, watch.suspect
        verdict = watch.see(value)
        if verdict == "same":
            self._recalled = False
            return Decision(place[1], "as expected → stay", "settled", place[0]) if watch.still > LEARNS else None
        if verdict == "burst":
            reason = f"{math.expm1(min(off, UNTOLD)):+.0%}: a burst, or another load? → stay"
            return Decision(place[1], reason, "settled", place[0])
        assert before is not None
        return self._changed(place, watch, before, value)

    def _changed(self, place: Place, watch: Watch, *values: float) -> Decision:
        """Another load: one that it knows, or a new one."""
        value = sum(values) / len(values)
        known = [load for load in self._loads if load.explains(place, value)]
        self._remember(place, watch)
        if known and not self._recalled:  # a load taken for a known one that it is not must not lead from one to the next
            return self._recall(place, known[-1])
        self._forget(place, value)
        for each in values:
            self._evidence.add(place, each, False)
        return self._choose(place, "another load: ")

    def _remember(self, place: Place, watch: Watch) -> None:
        seen = {each: self._evidence.mean(each) for each in set(self._evidence.places) - {place}}
        others = [load for load in self._loads if load.place != place or abs(load.expected - watch.expected) > 0.1]
        self._loads = [*others[1 - RECALLS :], Load(place, watch.expected, watch.deviation, seen)]

    def _forget(self, place: Place, value: float) -> None:
        """A new search: the machine is what it was, the work is not."""
        fit, options = self._fit, self._options
        assert options is not None
        hypotheses = options.hypotheses
        if fit is not None and place in self._evidence.places:
            slower = math.exp(min(max(self._evidence.mean(place) - value, -30.0), 30.0))
            self._work_s *= slower
            kept = self._generator.choice(len(fit.odds), round(SAME_MACHINE * HYPOTHESES), p=fit.odds)
            hypotheses = hypotheses.take(kept).slower(slower).and_(self._drawn(HYPOTHESES - len(kept)))
        self._divide(hypotheses)
        self._begin()

    def _recall(self, place: Place, load: Load) -> Decision:
        """To the configuration of a load that is known; refused, it is asked for again in each period that shows the load."""
        options = self._options
        assert options is not None
        row, target = options.row(place), options.row(load.place)
        why = f"load as before, when {self._named(target)} was best"
        if self._climbs(row, target) and not self.cpu.acceptable():
            return Decision(place[1], f"{why}, but the CPU limit refuses → stay", "refused", place[0])
        self._begin()
        self._evidence.add(load.place, load.expected, False)
        self._settled, self._recalled = load.place, True
        self._watch = Watch(load.expected, load.deviation, float(self.set["change"]), still=LEARNS)
        return Decision(load.place[1], f"{why} → there", "settled", load.place[0])


def _improvement(ahead: Vector, spread: Vector) -> Vector:
    """E[max(0, x)] of a normal x with mean `ahead` and standard deviation `spread`."""
    spread = np.maximum(spread, 1e-9)
    z = np.clip(ahead / spread, -30.0, 30.0)
    below = 0.5 * (1.0 + np.tanh(0.7978845608 * (z + 0.044715 * z**3)))  # the normal distribution, to 0.0004
    return np.maximum(ahead * below + spread * 0.3989422804 * np.exp(-0.5 * z * z), 0.0)


LAW = Millrace
