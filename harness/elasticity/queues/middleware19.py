"""M19's law: it adds queues and threads in turn, as long as they bring throughput (M19 Figure 7).

The thread level is the primary adjustment. After a change of level the law searches for queues
again (`middleware19_search`), unless one of two optimisations says that a search is not worth it
(§3.3). T is the throughput of a period, N its level. At first no operator has a queue, N is the
lowest level, and the first period is the baseline of a search up. Then, each period:

  a search is under way      a step of it. If it is over: with a change, the record is [N, N];
                             without, the record's range takes in N. From the next period on the
                             thread law steps again
  N is new, from N'          satisfied:  T / T' - 1 > satisfaction · (N / N' - 1): no search
                             history:    N within the record's range: no search
                                         N above it: a search up, T its baseline
                                         N below it: a search down, T its baseline
  otherwise, or no search    a step of the thread law; if it says that the load has changed: no
                             queue, no record, and the first period that shows that state (below) is
                             the baseline of a search up

M19 leaves some points open. This law fills them so:

  * The thread law is P17's, with the steps and the idea of a change in load of the system that M19
    measured (`streams`): up by doubling to the maximum, down by bisection, which gives the levels
    that §3.3 names, 8, 16, 32, 64, 96, 80; and 20 % in six periods in a row, since at P17's 5 % any
    noise would start a new search. Its fault at the maximum is mended.
  * A search that changes something makes its T the level's first T in the thread law; a search up
    also makes all higher levels untrusted, or the law would not climb any more.
  * Satisfaction is judged by the new level's own first period, and only if the level grew.
  * M19's periods of 5 s are longer than queues take to drain. In shorter periods, costs right after
    all queues were dropped are those of the tuples that the queues still hold. Groups made of such
    costs hold few operators, and the search would end with those. So the law waits (`Drain`).
  * Without `history` each change of the level makes a search: up if it grew, down if it fell.
  * A search down keeps only what brings more than SENS, as the same algorithm in reverse does.

M19 tells of three choices that it did not take, or that did not matter; each is a setting:

  every          a longer period (§3.1.1): a decision looks at the mean of so many of the run's
  all_first      begin with all queues (§3.2), with as many threads as the run begins with, and with
                 a search down
  queues_first   the threading model is the primary adjustment (§3.2): for each number of queues
                 that the search looks at, threads are searched anew (`middleware19_threads`), and
                 their last T is its throughput

Source: Ni, Schneider, Pavuluri, Kaus and Wu, Middleware 2019, §3.2 and §3.3, Figures 5 to 7.
"""

from __future__ import annotations

import random
from dataclasses import replace

from harness.elasticity.cpu_limit import CpuLimit, LastPeriod
from harness.elasticity.law import P17_CPU_LIMIT, Decides, Decision, Law, Reading, Setting
from harness.elasticity.queues.drain import Drain
from harness.elasticity.queues.groups import places, places_of_operators
from harness.elasticity.queues.middleware19_search import Search
from harness.elasticity.queues.middleware19_threads import ThreadSearch
from harness.elasticity.threads.streams import Streams


class Middleware19(Law):
    """M19 §3."""

    name = "middleware19"
    summary = "queues by groups of cost with binary search, threads by P17's law, in turn (M19 §3)"
    decides = Decides.QUEUES
    NEEDS = frozenset(("layout", "costs"))
    SETTINGS = (
        Setting("sensitivity", 0.05, 0.0, 1.0, "", "SENS: differences up to this share are none"),
        Setting(
            "history", True, 0, 1, "", "no search at levels between two that had the same queues"
        ),
        Setting("satisfied", True, 0, 1, "", "no search where threads alone brought enough"),
        Setting(
            "satisfaction",
            0.6,
            0.0,
            1.0,
            "",
            "enough: this share of what they would bring in proportion",
        ),
        Setting("every", 1, 1, 1000, "periods", "a decision looks at the mean of so many"),
        Setting("all_first", False, 0, 1, "", "begin with all queues, and take them away"),
        Setting("queues_first", False, 0, 1, "", "search for threads within each number of queues"),
        P17_CPU_LIMIT,
        Setting("seed", 0, 0, 999_999, "", "which operators of a group are tried first"),
    )

    def begin(self) -> None:
        """Begin without queues."""
        self._places = places_of_operators(self.layout)
        self._threads = self._new_threads()
        self._dice = random.Random(self.set["seed"])
        self._level = self.bounds.start
        # operators with queues, outside a search
        self._on: set[int] = set(self._places) if self.set["all_first"] else set()
        self._readings: list[Reading] = []  # since the last decision
        self._inner: ThreadSearch | None = None  # if queues are the primary adjustment
        self._searched_queues = False  # likewise
        self._search: Search | None = None
        # a search up begins with the next period that shows the state without queues
        self._due = not self.set["all_first"]
        # all queues are to be put, and then to be searched
        self._to_put, self._to_remove = self.set["all_first"], self.set["all_first"]
        self._drain = Drain(self.layout)
        # lowest and highest level that the queues are known to suit
        self._record: tuple[int, int] | None = None
        # level and throughput [tuples/s] before the present level's first period
        self._came_from: tuple[int, float] | None = None

    def cpu_limit(self) -> CpuLimit:
        """Return P17's limit, which looks at the last period."""
        return LastPeriod(self.set["cpu_limit"])

    def decide(self, reading: Reading) -> Decision:
        """Return the next decision: `adapt` of Figure 7."""
        self._readings.append(reading)
        if len(self._readings) < self.set["every"]:
            return self._now(
                f"{len(self._readings)} of {self.set['every']} periods", "waiting", self._switched
            )
        # shares are added, since a sum of rates could overflow
        mean = sum(each.throughput / len(self._readings) for each in self._readings)
        reading = replace(reading, throughput=mean)
        self._readings = []
        if self._to_put:
            self._to_put = False
            return self._now("begins with all queues", "placed")
        if self.set["queues_first"]:
            return self._within_queues(reading)
        came_from, self._came_from = self._came_from, None
        if self._search is not None:
            self._search.step(reading.throughput)
            return self._searched(self._search)
        if self._due:
            if not self._drain.is_over(reading):
                return self._now(
                    "queues that were dropped still drain, or costs tell of before", "waiting"
                )
            self._due = False
            return self._begin(True, reading, "no queue yet")
        if self._to_remove:
            self._to_remove = False
            return self._begin(False, reading, "all queues")
        if came_from is None:
            return self._step_threads(reading)
        direction, why = self._direction(*came_from, reading.throughput)
        if direction == 0:
            return self._step_threads(reading, f"{why}; ")
        return self._begin(direction > 0, reading, why)

    @property
    def _switched(self) -> set[int]:
        """Operators that a search under way has switched."""
        return self._search.switched if self._search is not None else set()

    # -- queues ------------------------------------------------------------------------------------

    def _direction(self, level: int, throughput: float, now: float) -> tuple[int, str]:
        """Return the direction of the next search, 1 up, -1 down, 0 none, and the reason."""
        here = self._level
        expected = 1.0 + self.set["satisfaction"] * (here / level - 1.0)
        if self.set["satisfied"] and here > level and now > throughput * expected:
            return 0, f"{here} threads alone bring enough"
        if not self.set["history"] or self._record is None:
            return (1 if here > level else -1), f"{here} threads after {level}"
        lowest, highest = self._record
        if lowest <= here <= highest:
            return 0, f"queues suit {lowest} to {highest} threads"
        return (
            (1, f"more than {highest} threads")
            if here > highest
            else (-1, f"less than {lowest} threads")
        )

    def _begin(self, up: bool, reading: Reading, why: str) -> Decision:
        operators = self._places.keys() - self._on if up else self._on
        search = Search(
            operators, reading.costs, up, reading.throughput, self.set["sensitivity"], self._dice
        )
        if not search.over:
            return self._searched(search, f"{why}: ")
        self._learn(changed=False)
        return self._step_threads(reading, f"{why}, {search.reason}; ")

    def _searched(self, search: Search, why: str = "") -> Decision:
        """Return the decision that follows from the present state of a search."""
        reason = f"{why}{search.reason}"
        if not search.over:
            self._search = search
            return self._now(reason, "placing" if search.up else "removing", search.switched)
        self._search = None
        self._on ^= search.switched
        self._learn(search.changed)
        if search.changed:
            self._threads.rebase(search.throughput)
            if search.up:
                self._threads.untrust_above()
        return self._now(
            f"{reason} → {'queues for' if search.changed else 'no change at'} {self._level} "
            "threads",
            "placed",
        )

    def _learn(self, changed: bool) -> None:
        if changed or self._record is None:
            self._record = (self._level, self._level)
        else:
            self._record = (min(self._record[0], self._level), max(self._record[1], self._level))

    # -- threads within queues ---------------------------------------------------------------------

    def _within_queues(self, reading: Reading) -> Decision:
        """Return the next decision if queues are the primary adjustment."""
        if self._due:
            if not self._drain.is_over(reading):
                return self._now("queues that were dropped still drain", "waiting")
            self._due = False
            return self._search_threads("no queue yet")
        if self._inner is None:
            return self._step_threads(reading)
        decision = self._inner.step(reading)
        self._level = decision.threads
        if not self._inner.over:
            return self._now(decision.reason, decision.state, self._switched)
        self._threads, found, self._inner = self._inner.law, self._inner.throughput, None
        if self._searched_queues:
            return self._now(f"{self._level} threads for these queues", "placed")
        if self._search is None:
            self._search = Search(
                self._places.keys() - self._on,
                reading.costs,
                True,
                found,
                self.set["sensitivity"],
                self._dice,
            )
        else:
            self._search.step(found)
        reason = self._search.reason
        if self._search.over:
            self._on ^= self._search.switched
            self._search, self._searched_queues = None, True
        return self._search_threads(reason)

    def _search_threads(self, why: str) -> Decision:
        """Begin to search for threads, from the fewest."""
        self._level = self.bounds.start
        self._inner = ThreadSearch(self._new_threads(), self._level)
        return self._now(f"{why}: threads from {self._level}", "placing", self._switched)

    # -- threads -----------------------------------------------------------------------------------

    def _new_threads(self) -> Streams:
        """Return the thread law as it begins."""
        law = Streams(self.bounds, self.cpu)
        law.sensitivity = self.set["sensitivity"]
        # else a maximum of up to twice the start would count as useless
        law.untrust(self.bounds.start)
        return law

    def _step_threads(self, reading: Reading, why: str = "") -> Decision:
        decision = self._threads.decide(reading)
        if decision.state == "load changed":
            self._drain.begin(places(self._places, self._on))
            self._on, self._record, self._due = set(), None, True
            self._searched_queues = False
            if self.set["all_first"]:
                self._on, self._due, self._to_remove = set(self._places), False, True
            return self._now(f"{why}{decision.reason}, queues anew", decision.state)
        if decision.threads != self._level:
            self._came_from = self._level, reading.throughput
            self._level = decision.threads
        return self._now(f"{why}{decision.reason}", decision.state)

    def _now(
        self, reason: str, state: str, switched: set[int] | frozenset[int] = frozenset()
    ) -> Decision:
        return Decision(self._level, reason, state, places(self._places, self._on ^ switched))


LAW = Middleware19
