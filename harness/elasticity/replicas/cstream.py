"""C-Stream's adaptation: threads by utilisation and replicas for the bottleneck, one of each at a
time.

Threads, as in `threads.utilisation`: one more if U > `high`, one less if U < `low` (§4.1).

Replicas (§4.2, Algorithm 9). A port is *congested* if its queue was full for a share of `tau` of
the period or more; an operator's output is if any port is to which it sends. A *bottleneck* is an
operator of one input and one output whose input is congested and whose output is not. The first
bottleneck in the graph's order gets one replica more. Of a replicated operator the paper averages
the input over its replicas' ports; here replicas share one port, whose share is that average.

The paper contradicts itself: §4.2.2 adds a replica for all bottlenecks, Algorithm 9 returns one.
Its Figure 10 (b) goes one by one, and so does this law. It never removes replicas. The paper does
not describe its "simple blacklisting techniques" (§4.2.2) for operators that replicas do not help.
This law gives an operator up under two conditions. It is a bottleneck again, has got replicas since
it was one before, and takes in less than `gain` more tuples. And it did not lack threads: U was at
most `high`, or the level was the highest.

Source: Şahin and Gedik, TOPC 2018, §4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.elasticity.law import Decides, Decision, Law, Reading, Setting
from harness.elasticity.replicas.rates import replicas_of
from harness.elasticity.threads.utilisation import Utilisation
from harness.errors import UserError


class CStream(Law):
    """Law of C-Stream §4 with the numbers of its experiments (§5.2)."""

    name = "cstream"
    summary = (
        "a thread more or less by how busy they are, a replica more for the bottleneck "
        "(C-Stream §4)"
    )
    decides = Decides.REPLICAS
    NEEDS = frozenset(("layout", "utilisation", "full", "replicas", "tuples"))
    SETTINGS = (
        *Utilisation.SETTINGS,
        Setting(
            "tau",
            0.01,
            0.0,
            1.0,
            "",
            "a port is congested if its queue was full for this share of the period",
        ),
        Setting("blacklist", True, 0, 1, "", "give up operators that replicas do not help"),
        Setting(
            "gain",
            0.01,
            0.0,
            1.0,
            "",
            "share of tuples that a replica must bring an operator, or it is given up",
        ),
    )

    def begin(self) -> None:
        """Prepare both parts. Raise UserError if low > high."""
        if self.set["low"] > self.set["high"]:
            raise UserError(
                f"low must be at most high, {self.set['high']:g}, not {self.set['low']:g}"
            )
        self._threads = Utilisation(
            self.bounds, self.cpu, {name: self.set[name] for name in ("low", "high")}
        )
        self._given_up: set[int] = set()
        # replicas and tuples/s of an operator when it was last a bottleneck
        self._before: dict[int, tuple[int, float]] = {}
        operators = range(self.layout.operators)
        self._into = [
            [link.port for link in self.layout.links if link.target == operator]
            for operator in operators
        ]
        self._out_of = [
            [link.port for link in self.layout.links if link.source == operator]
            for operator in operators
        ]

    def decide(self, reading: Reading) -> Decision:
        """Return the threads and replicas of the next period; each is decided on its own."""
        decision = self._threads.decide(reading)
        replicas = replicas_of(reading, self.layout)
        found = self._bottleneck(reading, replicas)
        if found is None:
            return Decision(
                decision.threads,
                f"{decision.reason}; no bottleneck",
                decision.state,
                replicas=_plain(replicas),
            )
        replicas[found] += 1
        return Decision(
            decision.threads,
            f"{decision.reason}; {self._name(found)} is a bottleneck → {replicas[found]} replicas",
            "replicating",
            replicas=_plain(replicas),
        )

    def _name(self, operator: int) -> str:
        return self.layout.names[operator] if self.layout.names else f"operator {operator}"

    def _bottleneck(self, reading: Reading, replicas: np.ndarray) -> int | None:
        """Return the operator that Algorithm 9 finds, without those that are given up; None if
        there is none."""
        if len(reading.full) != self.layout.inputs:
            return None
        tau = self.set["tau"]
        for operator in self.layout.replicable:
            if operator in self._given_up or replicas[operator] >= self.layout.most_replicas:
                continue
            congested = any(reading.full[port] >= tau for port in self._into[operator])
            if not congested or any(reading.full[port] >= tau for port in self._out_of[operator]):
                continue
            if self.set["blacklist"] and self._is_no_use(
                operator, int(replicas[operator]), reading
            ):
                self._given_up.add(operator)
                continue
            return operator
        return None

    def _is_no_use(self, operator: int, replicas: int, reading: Reading) -> bool:
        """Return True if replicas did not help an operator that is a bottleneck again.

        Record its present rate.
        """
        if len(reading.tuples) != self.layout.operators:
            return False
        rate = reading.tuples[operator] / reading.elapsed_s
        before, rate_before = self._before.get(operator, (replicas, rate))
        busy = reading.utilisation
        short = (
            busy is not None and busy > self.set["high"] and reading.threads < self.bounds.maximum
        )
        if replicas > before and rate <= rate_before * (1.0 + self.set["gain"]) and not short:
            return True
        if not short:
            self._before[operator] = (replicas, rate)
        return False


def _plain(replicas: np.ndarray) -> Sequence[int]:
    return tuple(int(count) for count in replicas)


LAW = CStream
