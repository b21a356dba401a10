"""Millrace's own law of queues and threads: a Bayesian search over placements and levels that knows
the graph.

The graph and the costs of its operators show which placements divide the work well (`cuts`) and how
much each can bring at most (`regions`, `physics`). They do not show other facts, such as the cost
of a queue relative to the work. For these the law keeps a thousand hypotheses with odds, which each
period's throughput updates, and an error of the formula, which measurements correct (`evidence`). A
*look* is a period at a configuration that was chosen to learn about it. The law goes to the
configuration (`options`) that is most worth a look (`outlook`). If no look promises `tolerance`, it
goes to the best one that it has measured.

The law undoes a look that hurts at once: the next configuration is the best one, or one that is
expected to be better. If tuples are so costly that a queue holds the work of a whole period, a
switch disturbs for long. Then looks have to promise more, and their measurements weigh less. While
queues fill or drain (`balance`) and it is unclear whether a look was good, the law waits, at most
`LOOK_WAIT_PERIODS`. It looks at levels up to twice the best one, so that it uses few threads where
few are enough. Before it settles it looks once at queues everywhere.

After it has settled it watches throughput (`watch`) and the shares of the work (`work_shares`). It
begins anew for another load, and also if the work has moved within the graph while throughput is
unchanged.

All numbers were chosen on the bench of placements, with other seeds than it is run with. The
exceptions are those about queues that take long to fill (`SLOW_QUEUE_GAIN`, `BACKLOG`,
`SLOW_QUEUE_PRICE`): a few runs of pipelines of 10,000 FLOP on two CPUs gave them.
"""

from __future__ import annotations

import math

import numpy as np

from harness.elasticity.cpu_limit import CpuLimit, LeaveToOthers, crowded
from harness.elasticity.law import PROFILE_PERIODS, Decides, Decision, Law, Reading, Setting
from harness.elasticity.millrace_constants import LEARNING_PERIODS, MAX_PRINTED_LOG_RATIO
from harness.elasticity.queues.balance import BALANCED_WITHIN, ArrivalShare, believed, undecided
from harness.elasticity.queues.evidence import Fit, MeasuredPeriods, Place, Unrest
from harness.elasticity.queues.limits import Limits
from harness.elasticity.queues.options import ConfigurationTable, Placements
from harness.elasticity.queues.outlook import HURTFUL_LOSS, Survey
from harness.elasticity.queues.physics import HOP, draw
from harness.elasticity.queues.watch import Watch
from harness.elasticity.queues.work_shares import WorkShares, elsewhere

# Looks after which the next one has to promise twice as much. The threshold grows with the square
# of the looks, unlike that of the law of threads.
PLACEMENT_LOOKS_UNTIL_THRESHOLD_DOUBLES = 5.0
# periods in a row below the best configuration after which the law returns to it
MAX_HURTFUL_PERIODS = 2
HYPOTHESES = 1024  # a power of two
MOVED_WORK_SHARE = (
    0.03  # share of the work that must be at other operators for the graph to be divided anew
)
USUAL_FILL = 0.5  # usual fill of a queue, about
# Periods after a switch for which the law may put off its judgement of a look while queues fill or
# drain; a guess, not tuned.
LOOK_WAIT_PERIODS = 2
# Periods after a switch to a measured configuration for which its queues may still drain; a guess,
# not tuned.
DRAIN_WAIT_PERIODS = 3
# Further gain, as a share of throughput, that a look has to promise if the content of a queue takes
# a period to pass.
SLOW_QUEUE_GAIN = 0.1
SEED = 2019


class MillraceQueues(Law):
    """Millrace's law of queues and threads, as the module describes it."""

    name = "millrace"
    summary = "Bayesian search over placements and levels with a model of the graph: our own"
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs"))
    SETTINGS = (
        Setting(
            "tolerance",
            0.004,
            0.0001,
            0.5,
            "of throughput",
            "expected gain for which it looks at another configuration",
        ),
        Setting(
            "change",
            0.15,
            0.01,
            10.0,
            "of throughput",
            "least difference that counts as another load",
        ),
        Setting(
            "cpu_limit",
            0.8,
            0.0,
            1.0,
            "of the CPUs",
            "use above which it does not climb while others need them too",
        ),
    )

    def begin(self) -> None:
        """Begin without queues and without measurements."""
        self._graph = Placements(self.layout)
        self._shares = WorkShares(self.layout)
        self._generator = np.random.default_rng(SEED)
        self._watch: Watch | None = None
        self._last: frozenset[int] = frozenset()  # placement of the last period that was measured
        self._still = 0  # periods since queues were switched
        self._held = 0.0  # share of a period that the content of a queue takes to pass
        self._balance = ArrivalShare()
        self._forget()

    def cpu_limit(self) -> CpuLimit:
        """Return a limit that leaves the CPUs to other processes."""
        return LeaveToOthers(float(self.set["cpu_limit"]))

    def decide(self, reading: Reading) -> Decision:
        """Return the configuration for the next period."""
        self._granted: bool | None = None
        level = self.bounds.clamp(reading.threads)
        queued = frozenset(place for place in reading.queued if 0 <= place < len(self.layout.ports))
        every = max(1, len(self.layout.ports))
        came, went = len(queued - self._last) / every, len(self._last - queued) / every
        self._still = 0 if came or went else self._still + 1
        if reading.throughput <= 0.0:
            return Decision(level, "no tuples: says nothing → stay", "idle", queued)
        if reading.others_cpu is not None and crowded(
            float(self.set["cpu_limit"]), reading.system_cpu, reading.others_cpu
        ):
            return self._make_room((queued, level), reading.others_cpu)
        self._last = queued  # a switch before skipped periods counts for the first measured one
        value = math.log(reading.throughput)
        off = self._balance.off(reading.arrived, self._still)
        waits = self._waits((queued, level), value, off)
        if waits:
            return Decision(level, f"{waits}: says nothing → stay", "idle", queued)
        value, doubt = (value, None) if off is None else believed(value, off)
        backlog = USUAL_FILL * self.layout.queue_capacity * self._graph.flow.submitted
        self._held = min(1.0, backlog / (reading.throughput * reading.elapsed_s))
        place = queued, level
        moved = self._look_at_costs(reading, place)
        if moved:
            self._forget()
        self._know(value, queued)
        if self._settled == place:
            answer = self._stays(place, value)
            if answer is not None:
                return answer
        self._evidence.add(place, value, Unrest(came, went, self._held, doubt))
        return self._choose(place, "the work has moved: " if moved else "")

    def _make_room(self, place: Place, others_cpu: float) -> Decision:
        """Return the decision while other processes have the CPUs.

        The law does not stay at a look then. It goes to the best measured configuration that needs
        no more CPUs.
        """
        reason, target, options = (
            f"others have {others_cpu:.0%} of the CPUs: says nothing",
            place,
            self._options,
        )
        if self._settled is None and options is not None:
            row = options.row(place)
            known = [
                each
                for each in dict.fromkeys(self._evidence.places)
                if not self._climbs(row, options.row(each))
            ]
            target = max(known, key=self._evidence.mean, default=place)
        if target == place:
            return Decision(place[1], f"{reason} → stay", "crowded", place[0])
        assert options is not None
        what = f"{self._named(options.row(target))} is the best so far"
        return Decision(target[1], f"{reason}, and {what} → there", "crowded", target[0])

    # -- what it knows -----------------------------------------------------------------------------

    def _waits(self, place: Place, value: float, off: float | None) -> str:
        """Return the reason to skip a period because queues fill or drain; empty if it counts.

        `off`: see `ArrivalShare`.
        """
        known = self._evidence.measured(place)
        if (
            off is None
            or not self._evidence.places
            or self._still >= (DRAIN_WAIT_PERIODS if known else LOOK_WAIT_PERIODS)
        ):
            return ""
        best = max(self._evidence.mean(each) for each in dict.fromkeys(self._evidence.places))
        if abs(off) < BALANCED_WITHIN if known else not undecided(value, off, best):
            return ""
        return (
            f"queues {'fill' if off < 0.0 else 'drain'} "
            f"({math.expm1(min(off, MAX_PRINTED_LOG_RATIO)):+.0%} at the sinks)"
        )

    def _look_at_costs(self, reading: Reading, place: Place) -> bool:
        """Update the shares of the work. Return True if the work has moved."""
        if len(reading.costs) != self.layout.operators:
            return False
        busy, pure = len(self.layout.sources) + min(place[1], len(place[0])), 1.0
        if self._options is not None:
            pure = 1.0 / (
                1.0 + min(self._hop(), 10.0) * self._options.hops(self._options.row(place))
            )
        return self._shares.add(
            reading.costs,
            reading.elapsed_s,
            busy,
            pure,
            place if self._still >= PROFILE_PERIODS else None,
        )

    def _know(self, value: float, queued: frozenset[int]) -> None:
        """Build the options from the first estimate of the cost of the work; rebuild them when the
        profile shows it elsewhere."""
        shares, looks = self._shares.shares, self._shares.looks
        if self._options is None:
            limits = Limits(self._graph.flow, shares)
            alone = limits.ideal(limits.add(queued))
            work_s = self._graph.flow.submitted * alone / math.exp(min(max(value, -600.0), 600.0))
            machine = (
                self.layout.cpus,
                self.layout.payload,
                min(max(work_s, 1e-12), 1e6),
                self.layout.batch,
            )
            self._hypotheses = draw(self._generator, HYPOTHESES, *machine)
            self._odds = np.full(HYPOTHESES, 1.0 / HYPOTHESES)
        elif (
            looks < 2.0 * self._divided_at
            or self._settled is not None
            or elsewhere(shares, self._options.shares) <= MOVED_WORK_SHARE
        ):
            return
        self._divided_at = looks
        self._options = ConfigurationTable(self._graph, self.bounds, shares, self._hop())

    def _hop(self) -> float:
        """Return the expected cost of a hop over a queue as a share of all work."""
        return math.exp(float(self._odds @ np.log(np.maximum(self._hypotheses[:, HOP], 1e-12))))

    # -- searching ---------------------------------------------------------------------------------

    def _forget(self) -> None:
        """Begin anew: drop all options and measurements."""
        self._options: ConfigurationTable | None = None
        self._evidence = MeasuredPeriods()
        self._settled: Place | None = None
        self._looks = 0
        self._hurt = 0  # periods in a row that brought less than the best configuration

    def _choose(self, place: Place, why: str = "") -> Decision:
        """Look at another configuration, or settle on the best measured one."""
        options = self._options
        assert options is not None
        row = options.row(place)
        tired = 1.0 + (self._looks / PLACEMENT_LOOKS_UNTIL_THRESHOLD_DOUBLES) ** 2
        tolerance = float(self.set["tolerance"])
        threshold = tolerance * tired + SLOW_QUEUE_GAIN * self._held
        survey = Survey(options, self._evidence, self._hypotheses, self._held)
        self._odds, view = survey.fit.odds, survey.outlook(row, tolerance)
        self._hurt = self._hurt + 1 if view.lead > HURTFUL_LOSS else 0
        options.near(view.best)
        if view.worth > threshold:
            options.near(view.look)
        view = survey.outlook(row, tolerance)
        if self._hurt >= MAX_HURTFUL_PERIODS:
            target, state = view.best, "searching"
            what = (
                f"{self._named(view.best)} has brought "
                f"{math.expm1(min(view.lead, MAX_PRINTED_LOG_RATIO)):.1%} more"
            )
        elif view.worth > threshold:
            target, state = view.look, "searching"
            gain = math.expm1(min(view.gain, MAX_PRINTED_LOG_RATIO))
            what = f"{self._named(target)} may bring {gain:.1%} over {self._named(view.best)}"
        elif (everywhere := self._untried_everywhere()) is not None:
            target, state = everywhere, "searching"
            what = (
                f"{self._named(view.best)} is the best so far, and {self._named(everywhere)} "
                "untried"
            )
        else:
            target, state = view.best, "learning"
            what = f"{self._named(target)}: nothing else promises {threshold:.1%} more"
        if target != row and self._climbs(row, target) and not self._may_climb():
            return Decision(
                place[1], f"{why}{what}, but the CPU limit refuses → stay", "refused", place[0]
            )
        if target == row and state == "learning":
            self._settle(place, survey.fit)
            return Decision(place[1], f"{why}{what} → stay", state, place[0])
        self._settled = None
        self._looks += 1
        where = "once more" if target == row else "back" if target == view.best else "there"
        return Decision(
            options.level[target], f"{why}{what} → {where}", state, options.queued(target)
        )

    def _untried_everywhere(self) -> int | None:
        """Return the row of queues everywhere with some threads, unless it was tried or may not be;
        it is tried once a search.

        If a tree cuts batches to pieces, a few queues cost more than they bring, but all queues
        bring more than they cost. Threads may also wait for each other at the operators where they
        meet. Measurements with few queues show neither. With this look the law is never far below
        the dynamic model.
        """
        place = (
            frozenset(range(len(self.layout.ports))),
            self.bounds.clamp(max(1, round(math.sqrt(self.layout.cpus)))),
        )
        if (
            self._options is None
            or not place[0]
            or place in self._evidence.places
            or not self._may_climb()
        ):
            return None
        return self._options.row(place)

    def _may_climb(self) -> bool:
        """Return the answer of the CPU limit, which is asked at most once a period."""
        if self._granted is None:
            self._granted = self.cpu.acceptable()
        return self._granted

    def _climbs(self, row: int, target: int) -> bool:
        """Return True if the target may need more of the CPUs."""
        options = self._options
        assert options is not None
        return options.level[target] > options.level[row] or options.busy(target) > options.busy(
            row
        )

    def _named(self, row: int) -> str:
        """Return a configuration in words, with the names of up to two queues."""
        assert self._options is not None
        queued, level = self._options.queued(row), self._options.level[row]
        threads = f"{level} thread{'s' if level > 1 else ''}"
        if not queued:
            return f"no queues with {threads}"
        if len(queued) > 2:
            return f"{len(queued)} queues with {threads}"
        ports = " and ".join(self.layout.ports[place].operator for place in sorted(queued))
        return f"queue{'s' if len(queued) > 1 else ''} before {ports} with {threads}"

    # -- settled -----------------------------------------------------------------------------------

    def _settle(self, place: Place, fit: Fit) -> None:
        if self._settled != place and self._evidence.calm(place):
            self._settled = place
            self._watch = Watch(self._evidence.mean(place), fit.noise, float(self.set["change"]))

    def _stays(self, place: Place, value: float) -> Decision | None:
        """Return the decision of a settled law; None: the period is one more measurement."""
        watch = self._watch
        assert watch is not None
        off, before = value - watch.expected, watch.suspect
        verdict = watch.see(value)
        if verdict == "same":
            return (
                Decision(place[1], "as expected → stay", "settled", place[0])
                if watch.still > LEARNING_PERIODS
                else None
            )
        if verdict == "burst":
            reason = (
                f"{math.expm1(min(off, MAX_PRINTED_LOG_RATIO)):+.0%}: a burst, or another "
                "load? → stay"
            )
            return Decision(place[1], reason, "noise", place[0])
        assert before is not None
        self._forget()
        self._know(0.5 * (before + value), place[0])
        self._evidence.add(place, before)
        self._evidence.add(place, value)
        return self._choose(place, "another load: ")


LAW = MillraceQueues
