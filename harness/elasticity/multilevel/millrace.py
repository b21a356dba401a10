"""Millrace's own law of queues and threads: a Bayesian search over placements and levels that knows the graph.

What it knows before it tries. The graph and the costs of its operators say which placements divide the work well (`cuts`),
and what each can bring at most (`regions`, `physics`); what they do not say, such as what a queue costs beside the work, is a
thousand hypotheses with odds, which each period's throughput changes, beside an error of the formula that measurements
correct (`evidence`). Of the configurations (`options`) it goes to the one most worth a look (`outlook`). When no look promises
`tolerance` it goes to the best one that it has been at.
A look that hurts is taken back at once: the next configuration is the best one, or one that is expected to be better. Where
tuples are so dear that a queue holds the work of a whole period, a switch disturbs for long: looks have to promise more there,
and what they show is believed less. While queues fill or drain (`balance`) it waits, if that leaves open whether a look was
good, but no more than `WAITS` periods. Levels are at most twice the best one, so that few threads stay few where few do; but
before it settles it looks once what queues everywhere bring, and where many threads are worth it what one for each queue does.

Settled, it watches throughput (`watch`) and where the work is (`work_shares`). Another load is one that it knows, and it goes
back to what was best then and to all that it had learnt (`memory`); or a new one, for which half of the hypotheses are kept. If
the work has moved within the graph it searches again, although throughput is what it was. After a long rest it divides the
graph anew if the work has moved little by little, takes a few looks more and then rests twice as long: so its errors do not
last, and looks become ever rarer.

All numbers were chosen on the bench of placements, with other seeds than it is run with; but for those about queues that take
long to fill (`FILLS`, `BACKLOG`, `SLOW_PRICE`), which were chosen by a few runs of pipelines of 10,000 FLOP on two CPUs.
"""

from __future__ import annotations

import math

import numpy as np

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import Decides, Decision, Law, Reading, Setting
from harness.elasticity.multilevel.balance import BALANCED, Balance, believed, undecided
from harness.elasticity.multilevel.evidence import Evidence, Fit, Place, Unrest
from harness.elasticity.multilevel.limits import Limits
from harness.elasticity.multilevel.memory import Load, remember
from harness.elasticity.multilevel.options import Options, Placements
from harness.elasticity.multilevel.outlook import HURTS, Survey
from harness.elasticity.multilevel.physics import HOP, draw, jittered, slower
from harness.elasticity.multilevel.regions import Vector
from harness.elasticity.multilevel.watch import Watch
from harness.elasticity.multilevel.work_shares import MOVED_SHARE, WorkShares, elsewhere

TIRES = 5.0  # looks after which the next one has to promise twice as much
HOLDS = 2.5  # times as much it has to promise once the law has gone to settle
TWICE = 2  # periods in a row that may bring less than the best one
REFINES = 2  # times that it looks for something better beside what promises the most
LEARNS = 9  # settled periods that still count as measurements
RESTS, GROWS = 24, 2.0  # settled periods after which it looks again, and the factor by which they grow each time
LOOKS = 3  # that it takes then, at most
HOPELESS = math.log(2.0)  # of throughput below the mean: what queues that drain may explain; a guess, not tuned
HYPOTHESES = 1024  # a power of two
SAME_MACHINE = 0.5  # share of the hypotheses that are kept when the load changes
UNTOLD = 12.0  # logarithm of a ratio beyond which nobody wants to read it exactly
MOVED = 0.03  # share of the work that must be elsewhere for the graph to be divided anew
FILLED = 0.5  # of a queue, about
WAITS = 2  # periods after a switch in which a look is not judged while queues fill or drain; a guess, not tuned
LONG = 2.0  # periods that queues everywhere may take to fill, for a look at them on busy CPUs; a guess, not tuned
ANEW = 4  # times as many threads, of which a look with queues everywhere says little; a guess, not tuned
DRAINS = 3  # periods after a switch in which queues that are gone may still drain; a guess, not tuned
PROFILED = 4  # periods that the profiler looks back, at most (`simulator/engine.pyx`; `measurement/run.py`)
FILLS = 0.1  # of throughput that a look has to promise, besides, where that takes a period to go through
SEED = 2019


class Millrace(Law):
    """See the module."""

    name = "millrace"
    summary = "Bayesian search over placements and levels with a model of the graph: our own"
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs"))
    SETTINGS = (
        Setting("tolerance", 0.004, 0.0001, 0.5, "of throughput", "expected gain for which it looks at another configuration"),
        Setting("change", 0.15, 0.01, 10.0, "of throughput", "least difference that counts as another load"),
        Setting("cpu_limit", 0.8, 0.0, 1.0, "of the CPUs", "use above which it does not climb while others need them too"),
    )

    def begin(self) -> None:
        """As every law that places queues."""
        self._graph = Placements(self.layout)
        self._shares = WorkShares(self.layout)
        self._generator = np.random.default_rng(SEED)
        self._options: Options | None = None
        self._odds: Vector | None = None  # of the hypotheses
        self._loads: list[Load] = []
        self._watch: Watch | None = None
        self._last: frozenset[int] = frozenset()  # placement of the last period that said something
        self._still = 0  # periods since queues were switched
        self._gone = False  # whether some went then
        self._held = 0.0  # share of a period that what a queue holds takes to go through
        self._balance = Balance()
        self._begin()

    def cpu_limit(self) -> CpuLimit:
        """Others come first."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def decide(self, reading: Reading) -> Decision:
        """What to do after a period."""
        self._granted: bool | None = None
        level = self.bounds.clamp(reading.threads)
        queued = frozenset(place for place in reading.queued if 0 <= place < len(self.layout.ports))
        every = max(1, len(self.layout.ports))
        came, went = len(queued - self._last) / every, len(self._last - queued) / every
        self._still, self._gone = (0, went > 0) if came or went else (self._still + 1, self._gone)
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples: says nothing → stay", "idle", queued)
        if reading.others_cpu is not None and crowded(float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu):
            return self._make_room((queued, level), reading.others_cpu)
        self._last = queued  # so a switch before periods that say nothing is one before the first that does
        value = math.log(reading.throughput)
        off = self._balance.off(reading.arrived, self._still)
        waits = self._waits((queued, level), value, off)
        if waits:
            return Decision(level, f"{waits}: says nothing → stay", "idle", queued)
        value, doubt = (value, None) if off is None else believed(value, off)
        backlog = FILLED * self.layout.queue_capacity * self._graph.flow.submitted
        self._held = min(1.0, backlog / (reading.throughput * reading.elapsed_s))
        moved = self._look_at_costs(reading, level, queued)
        self._know(value, queued)
        place = queued, level
        if self._settled == place and not moved:
            answer = self._stays(place, value)
            if answer is not None:
                return answer
        elif moved:
            known = self._another_load(place, value, moved)
            if known is not None:
                return known
        self._evidence.add(place, value, Unrest(came, went, self._held, doubt))
        return self._choose(place, "the work has moved: " if moved else "")

    def _make_room(self, place: Place, others_cpu: float) -> Decision:
        """While others have the CPUs it does not stay at a look, but at the best one known that needs no more of them."""
        reason, target, options = f"others have {others_cpu:.0%} of the CPUs: says nothing", place, self._options
        if self._settled is None and options is not None:
            row = options.row(place)
            known = [each for each in dict.fromkeys(self._evidence.places) if not self._climbs(row, options.row(each))]
            target = max(known, key=self._evidence.mean, default=place)
        if target == place:
            return Decision(place[1], f"{reason} → stay", "crowded", place[0])
        assert options is not None
        what = f"{self._named(options.row(target))} is the best so far"
        return Decision(target[1], f"{reason}, and {what} → there", "crowded", target[0])

    # -- what it knows --------------------------------------------------------------------------------------------------------

    def _waits(self, place: Place, value: float, off: float | None) -> str:
        """Why a period says nothing, if queues fill or drain in it; empty if it says something. `off` as in `Balance`."""
        if off is None:
            settled = self._settled == place and self._recalled is None
            if self._still >= DRAINS or not self._gone or settled or not self._evidence.calm(place):
                return ""
            return "queues that are gone still drain" if value < self._evidence.mean(place) - HOPELESS else ""
        known = self._evidence.measured(place)
        if not self._evidence.places or self._still >= (DRAINS if known else WAITS):
            return ""
        best = max(self._evidence.mean(each) for each in dict.fromkeys(self._evidence.places))
        if abs(off) < BALANCED if known else not undecided(value, off, best):
            return ""
        return f"queues {'fill' if off < 0.0 else 'drain'} ({math.expm1(min(off, UNTOLD)):+.0%} at the sinks)"

    def _look_at_costs(self, reading: Reading, level: int, queued: frozenset[int]) -> bool:
        """Learn where the work is. True if it is somewhere else than it was."""
        if len(reading.costs) != self.layout.operators:
            return False
        busy, pure = len(self.layout.sources) + min(level, len(queued)), 1.0
        if self._options is not None and self._odds is not None:
            pure = 1.0 / (1.0 + min(self._hop(), 10.0) * self._options.hops(self._options.row((queued, level))))
        place = (queued, level) if self._still >= PROFILED else None
        return self._shares.add(reading.costs, reading.elapsed_s, busy, pure, place)

    def _apart(self) -> float:
        """Share of the work that is elsewhere than it was when the graph was divided: it may move too slowly to be seen."""
        if self._options is None:
            return 0.0
        return elsewhere(self._options.shares, self._shares.shares)

    def _know(self, value: float, queued: frozenset[int]) -> None:
        """The options, once a first period has said how dear the work is; divided anew as it becomes clearer where it is."""
        shares = self._shares.shares
        if self._options is None:
            limits = Limits(self._graph.flow, shares)
            alone = limits.ideal(limits.add(queued))
            self._work_s = self._graph.flow.submitted * alone / math.exp(min(max(value, -600.0), 600.0))
            self._hypotheses = self._drawn(HYPOTHESES)
            self._divide(float(np.median(self._hypotheses[:, HOP])))
        elif self._settled is None and self._shares.looks >= 2.0 * self._divided_at and self._apart() > MOVED:
            self._divide(self._hop())

    def _divide(self, hop: float, shares: Vector | None = None) -> None:
        """The options for what a hop costs, and for shares of the work; None: those that are believed now."""
        self._divided_at, self._divided_for = self._shares.looks, hop
        self._options = Options(self._graph, self.bounds, self._shares.shares if shares is None else shares, hop)

    def _hop(self) -> float:
        """What a hop over a queue takes of the time that all work takes, as far as is known."""
        if self._odds is None:
            return self._divided_for
        return math.exp(float(self._odds @ np.log(np.maximum(self._hypotheses[:, HOP], 1e-12))))

    def _drawn(self, count: int) -> Vector:
        work_s = min(max(self._work_s, 1e-12), 1e6)
        return draw(self._generator, count, self.layout.cpus, self.layout.payload, work_s, self.layout.batch)

    # -- searching ------------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._evidence = Evidence()
        self._settled: Place | None = None
        self._chosen: Place | None = None  # where it goes to settle
        self._looks = 0
        self._left = 0  # times that it went from where it had settled, or wanted to
        self._hurt = 0  # periods in a row that brought less than the best configuration
        self._rests = RESTS  # settled periods until it looks once more
        self._rested = 0  # looks that it may take now
        # Where it was when it took the load for a known one, what that brought, and the load before; until it is that load
        self._recalled: tuple[Place, float, Load] | None = None

    def _choose(self, place: Place, why: str = "") -> Decision:
        """Look at another configuration, or settle on the best of those that it has been at."""
        options = self._options
        assert options is not None
        row = options.row(place)
        tolerance = float(self.set["tolerance"])
        stays = HOLDS * 2.0 ** max(0, self._left - 1) if place == self._chosen else 1.0
        rested, self._rested = self._rested > 0, max(0, self._rested - 1)
        tired = 1.0 if rested else (1.0 + (self._looks / TIRES) ** 2) * stays
        threshold = tolerance * tired + FILLS * self._held
        margin = stays * tolerance if place == self._chosen else 0.0
        survey = Survey(options, self._evidence, self._hypotheses, self._held)
        self._odds, view = survey.fit.odds, survey.outlook(row, margin)
        self._hurt = self._hurt + 1 if view.lead > HURTS else 0
        for _ in range(REFINES):
            count = len(options.level)
            options.near(view.best)
            if view.worth > threshold:
                options.near(view.look)
            if len(options.level) == count:
                break
            view = survey.outlook(row, margin)
        if self._hurt >= TWICE:
            target, state = view.best, "searching"
            what = f"{self._named(view.best)} has brought {math.expm1(min(view.lead, UNTOLD)):.1%} more"
        elif view.worth > threshold:
            target, state = view.look, "searching"
            what = f"{self._named(target)} may bring {math.expm1(min(view.gain, UNTOLD)):.1%} over {self._named(view.best)}"
        elif (everywhere := self._untried_everywhere(view.best)) is not None:
            target, state = everywhere, "searching"
            what = f"{self._named(view.best)} is the best so far, and {self._named(everywhere)} untried"
        else:
            target, state = view.best, "learning"
            what = f"{self._named(target)}: nothing else promises {threshold:.1%} more"
        if target != row and self._climbs(row, target) and not self._may_climb():
            return Decision(place[1], f"{why}{what}, but the CPU limit refuses → stay", "refused", place[0])
        self._left += place == self._settled and target != row and not rested
        self._chosen = options.place(target) if state == "learning" else None
        if target == row and state == "learning":
            self._settle(place, survey.fit)
            return Decision(place[1], f"{why}{what} → stay", state, place[0])
        self._settled = None
        self._looks += 1
        where = "once more" if target == row else "back" if target == view.best else "there"
        return Decision(options.level[target], f"{why}{what} → {where}", state, options.queued(target))

    def _untried_everywhere(self, best: int) -> int | None:
        """Queues everywhere with some threads, once a search; not if few keep the CPUs busy and all would fill for long.

        Where a tree cuts batches to pieces a few queues cost more than they bring, and all of them bring more than they cost;
        and threads may be busy with waiting for each other at the operators where they meet: nothing that is seen near the few
        tells. So the law is never far below the dynamic model for not having looked. Where the best configuration has more
        threads than that look, which on a large machine says little of so many, it looks with one for each queue as well.
        """
        options = self._options
        assert options is not None
        every = frozenset(range(len(self.layout.ports)))
        some, many = self.bounds.clamp(max(1, round(math.sqrt(self.layout.cpus)))), self.bounds.clamp(max(1, len(every)))
        tried = [level for queued, level in self._evidence.places if queued == every]
        full = options.queued(best) and 2 * options.busy(best) > self.layout.cpus
        if (full and self._held * len(every) > LONG) or not self._may_climb():
            return None
        if not tried:
            return options.row((every, some))
        if many >= ANEW * some and options.level[best] > some and 2 * max(tried) < many:
            return options.row((every, many))
        return None

    def _may_climb(self) -> bool:
        """What the CPU limit says, which is asked once a period at most."""
        if self._granted is None:
            self._granted = self.cpu.acceptable()
        return self._granted

    def _climbs(self, row: int, target: int) -> bool:
        """Whether a configuration may need more of the CPUs."""
        options = self._options
        assert options is not None
        return options.level[target] > options.level[row] or options.busy(target) > options.busy(row)

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
        if self._settled != place and self._evidence.calm(place):
            before, self._settled = self._watch, place
            self._watch = Watch(self._evidence.mean(place), fit.noise, float(self.set["change"]))
            if before is not None and self._rests > RESTS:  # it comes from a look at rest, and bursts are the machine's
                self._watch.longest = before.longest

    def _stays(self, place: Place, value: float) -> Decision | None:
        """What to do while nothing changes; None: the period is one more measurement."""
        watch = self._watch
        assert watch is not None
        off, before = value - watch.expected, watch.suspect
        verdict = watch.see(value)
        if verdict == "same":
            self._recalled = None
            if watch.still >= self._rests:
                self._rests, self._rested = GROWS * self._rests, LOOKS
                if self._apart() > MOVED:  # too slowly for any period to show it, as while queues fill after a change of load
                    self._divide(self._hop())
                return None
            return Decision(place[1], "as expected → stay", "settled", place[0]) if watch.still > LEARNS else None
        if self._recalled is not None and value < self._recalled[1] - HURTS:
            return self._take_back(place, value, *self._recalled)
        if verdict == "burst":
            reason = f"{math.expm1(min(off, UNTOLD)):+.0%}: a burst, or another load? → stay"
            return Decision(place[1], reason, "noise", place[0])
        assert before is not None
        known = self._another_load(place, 0.5 * (before + value))
        if known is not None:
            return known
        self._evidence.add(place, before)
        self._evidence.add(place, value)
        return self._choose(place, "another load: ")

    def _another_load(self, place: Place, value: float, moved: bool = False) -> Decision | None:
        """To what was best under a load that it knows; else, None, a new search begins.

        If the work has `moved` within the graph a load is known only if its work was there: throughput may be what it was.
        """
        known = [load for load in self._loads if load.explains(self._graph, place, value)]
        if moved:
            known = [load for load in known if elsewhere(self._shares.shares, load.shares) < MOVED_SHARE]
        watch, options = self._watch, self._options
        if self._settled == place and watch is not None and options is not None and self._odds is not None:
            learnt = self._evidence, options.shares, self._work_s, self._hypotheses, self._odds, self._looks
            left = Load(place, watch.expected, watch.deviation, *learnt)
            self._loads = remember(self._loads, left)
            if known and self._recalled is None:  # a load taken for a known one must not lead from one to the next
                return self._recall(place, value, known[-1], left)
        self._forget(place, value)
        return None

    def _forget(self, place: Place, value: float) -> None:
        """A new search: the machine is what it was, the work is not."""
        odds = self._odds
        if odds is not None and place in self._evidence.places:
            factor = math.exp(min(max(self._evidence.mean(place) - value, -30.0), 30.0))
            self._work_s *= factor
            kept = self._generator.choice(len(odds), round(SAME_MACHINE * HYPOTHESES), p=odds)
            known = slower(jittered(self._hypotheses[kept], self._generator), factor)
            self._hypotheses = np.concatenate([known, self._drawn(HYPOTHESES - len(kept))])
        self._odds = None
        self._divide(float(np.median(self._hypotheses[:, HOP])))
        self._begin()

    def _recall(self, place: Place, value: float, load: Load, left: Load) -> Decision:
        """To the configuration of a load that is known; refused, it is asked for again in each period that shows the load.

        `left`: the load that it has been until now.
        """
        options = self._options
        assert options is not None
        row, target = options.row(place), options.row(load.place)
        why = f"load as before, when {self._named(target)} was best"
        if self._climbs(row, target) and not self._may_climb():
            return Decision(place[1], f"{why}, but the CPU limit refuses → stay", "refused", place[0])
        self._resume(load)
        self._divide(self._hop(), load.shares)
        self._settled = self._chosen = load.place
        self._recalled = place, value, left
        self._watch = Watch(load.expected, load.deviation, float(self.set["change"]), still=LEARNS)
        return Decision(load.place[1], f"{why} → there", "settled", load.place[0])

    def _resume(self, load: Load) -> None:
        """What was known under a load."""
        self._begin()
        self._evidence, self._looks, self._work_s = load.evidence, load.looks, load.work_s
        self._hypotheses, self._odds = load.hypotheses, load.odds

    def _take_back(self, place: Place, value: float, before: Place, brought: float, left: Load) -> Decision:
        """Where it was, when it turns out that the load is not the known one and was better off there; a new search begins."""
        self._resume(left)  # what has changed since is measured by it
        self._forget(before, brought)
        self._evidence.add(before, brought)
        self._evidence.add(place, value)
        reason = f"not that load, and {-math.expm1(value - brought):.0%} less: a search begins → back"
        return Decision(before[1], reason, "searching", before[0])


LAW = Millrace
