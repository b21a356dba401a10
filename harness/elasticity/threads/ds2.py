"""DS2 for one shared pool: as many threads as the operators need together to keep up with the
sources' target.

  lambda_i = tuples / useful time                   the true rate of an operator, of one thread
  in_i     = target x tuples_i / tuples of the sources
  pi_i     = in_i / lambda_i
  level   := ceil((1 + `factor`) sum of pi_i)       over the operators that the pool executes

Selectivities are those of the period, so a rate need not be passed from operator to operator. After
a change DS2 lets `warm_up` periods pass, and it moves once `activation` periods in a row have asked
for another level. If the level need not grow and the sources still send less than the target by
more than `ratio`, useful time has promised too much: the level is multiplied by target over rate.
Without a target, or useful time, the level stays: DS2 meets a given rate and does not look for the
highest. Sources have threads of their own, which the pool does not count.

Source: Kalavri et al., OSDI 2018; ceil of the sum is its variant for Timely Dataflow, whose workers
execute all operators.
"""

from __future__ import annotations

import math

from harness.elasticity.law import Decision, Law, Reading, Setting


class Ds2(Law):
    """Law that chooses one level for all operators."""

    name = "ds2"
    summary = (
        "threads for the target rate, from true rates: tuples over useful time (DS2, OSDI 2018)"
    )
    NEEDS = frozenset(("layout", "useful_s", "tuples", "target"))
    SETTINGS = (
        Setting("factor", 0.0, 0.0, 10.0, "", "share of threads more than the rates ask for"),
        Setting("warm_up", 2, 0, 1000, "periods", "that pass after a change"),
        Setting("activation", 1, 1, 1000, "periods", "in a row that must ask for another level"),
        Setting(
            "ratio",
            1.1,
            1.0,
            100.0,
            "",
            "target over rate beyond which it corrects itself; a guess, the paper has no number",
        ),
    )

    def begin(self) -> None:
        """Begin without a change to wait for."""
        self._waits = self._asked = 0

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        level = self.bounds.clamp(reading.threads)
        if self._waits > 0:
            self._waits -= 1
            return Decision(level, "warms up → stay", "waiting")
        if reading.target is None:
            return Decision(level, "no target rate → stay", "settled")
        sent = (
            sum(reading.tuples[source] for source in self.layout.sources) if reading.tuples else 0.0
        )
        if sent < 1.0 or len(reading.useful_s) != self.layout.operators:
            return Decision(level, "true rates not known → stay", "idle")
        pooled = sum(
            useful
            for index, useful in enumerate(reading.useful_s)
            if index not in self.layout.sources
        )
        need = reading.target * pooled / sent * (1.0 + float(self.set["factor"]))
        wanted = self.bounds.clamp(max(1, math.ceil(need - 1e-9)))
        rate = sent / reading.elapsed_s
        why = f"{need:.2f} threads' work"
        if wanted <= level and reading.target > rate * float(self.set["ratio"]):
            wanted = self.bounds.clamp(math.ceil(level * reading.target / rate - 1e-9))
            why = f"{why}, but {rate:.6g} of {reading.target:.6g} tuples/s"
        if wanted == level:
            self._asked = 0
            return Decision(level, f"{why} → stay", "settled")
        self._asked += 1
        if self._asked < self.set["activation"]:
            return Decision(
                level, f"{why} → stay, {self._asked} of {self.set['activation']} times", "noise"
            )
        self._waits, self._asked = int(self.set["warm_up"]), 0
        return Decision(
            wanted,
            f"{why} → {'up' if wanted > level else 'down'}",
            "climbing" if wanted > level else "descending",
        )


LAW = Ds2
