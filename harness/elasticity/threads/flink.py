"""Flink's autoscaler, for one pool: enough threads for the target rate and the backlog, at a given
utilisation.

  true     = rate of the sources / utilisation                 the rate that the threads could do
  wanted   = target / `utilisation` + lag / `catch_up` + target x `restart` / `catch_up`
  level   := ceil(level x max(1 - `most_down`, wanted / true))

`lag` is the number of tuples that the sources were to send and have not sent yet. The level stays
while nothing lags and the true rate is from target / `high` to target / `low`. The law does not
climb again if the last climb has brought less than `effectiveness` of the expected gain (0, Flink's
default: it always does). After a change `stabilization` periods pass. Without a target the level
stays.

Flink scales each vertex of a job graph; a pool is one vertex whose instances are threads. Flink
takes minutes to restart a job. A pool grows at once, so `restart` is 0 here. True rates are too
high if busy time does not include all the work.

Source: the autoscaler of Apache Flink's Kubernetes operator, with its defaults but for `restart`,
`catch_up` (30 min there) and `stabilization` (5 min there): periods are shorter here, too.
"""

from __future__ import annotations

import math

from harness.elasticity.law import Decision, Law, Reading, Setting
from harness.errors import UserError


class Flink(Law):
    """Law for one pool, which is one vertex of Flink's."""

    name = "flink"
    summary = (
        "threads for the target rate at a utilisation, and for what lags behind it (Flink's "
        "autoscaler)"
    )
    NEEDS = frozenset(("layout", "tuples", "utilisation", "target"))
    SETTINGS = (
        Setting("utilisation", 0.7, 0.01, 1.0, "", "of the threads, that it aims at"),
        Setting("low", 0.4, 0.01, 1.0, "", "it takes no threads away while utilisation is above"),
        Setting("high", 1.0, 0.01, 1.0, "", "nor adds any while it would be below"),
        Setting("catch_up", 30.0, 1e-3, 1e6, "s", "in which what lags is to be caught up"),
        Setting("restart", 0.0, 0.0, 1e6, "s", "that a change takes"),
        Setting("stabilization", 3, 0, 1000, "periods", "that pass after a change"),
        Setting("most_down", 0.6, 0.0, 1.0, "", "share of the threads that may go at once"),
        Setting(
            "effectiveness",
            0.1,
            0.0,
            1.0,
            "",
            "share of what it should bring that a climb must bring",
        ),
    )

    def begin(self) -> None:
        """Prepare the law. Raise UserError unless low <= utilisation <= high."""
        low, aim, high = (float(self.set[name]) for name in ("low", "utilisation", "high"))
        if not low <= aim <= high:
            raise UserError(
                f"utilisation must be from low, {low:g}, to high, {high:g}, not {aim:g}"
            )
        self._lag = 0.0  # tuples
        self._waits = 0
        # true rate before the last climb, and the expected one after it
        self._climb: tuple[float, float] | None = None

    def decide(self, reading: Reading) -> Decision:
        """Return the next level."""
        level = self.bounds.clamp(reading.threads)
        if reading.target is None:
            return Decision(level, "no target rate → stay", "settled")
        sent = (
            sum(reading.tuples[source] for source in self.layout.sources) if reading.tuples else 0.0
        )
        self._lag = max(0.0, self._lag + reading.target * reading.elapsed_s - sent)
        if self._waits > 0:
            self._waits -= 1
            return Decision(level, "stabilizes → stay", "waiting")
        if sent < 1.0 or not reading.utilisation:
            return Decision(level, "true rate not known → stay", "idle")
        true = sent / reading.elapsed_s / reading.utilisation
        behind = self._lag > reading.target * reading.elapsed_s * 0.01
        if not behind and reading.target / float(
            self.set["high"]
        ) <= true <= reading.target / float(self.set["low"]):
            return Decision(
                level,
                f"{reading.target / true:.0%} of what {level} threads can do → stay",
                "settled",
            )
        catch_up = float(self.set["catch_up"])
        wanted = reading.target / float(self.set["utilisation"]) + self._lag / catch_up
        wanted += reading.target * float(self.set["restart"]) / catch_up
        factor = max(1.0 - float(self.set["most_down"]), wanted / true)
        aim = self.bounds.clamp(math.ceil(level * factor - 1e-9))
        why = f"{wanted:.6g} of {true:.6g} tuples/s wanted"
        if aim > level and self._is_in_vain(true):
            return Decision(level, f"{why}, but the last climb brought little → stay", "settled")
        if aim == level:
            return Decision(level, f"{why} → stay", "settled")
        self._climb = (true, true * aim / level) if aim > level else None
        self._waits = int(self.set["stabilization"])
        return Decision(
            aim,
            f"{why} → {'up' if aim > level else 'down'}",
            "climbing" if aim > level else "descending",
        )

    def _is_in_vain(self, true: float) -> bool:
        """Return True if the last climb brought less than `effectiveness` of the expected gain."""
        if self._climb is None:
            return False
        before, expected = self._climb
        return true - before < float(self.set["effectiveness"]) * (expected - before)


LAW = Flink
