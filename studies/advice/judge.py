"""Judgement of one graph: `millrace advise` in a process of its own, and then all arms.

All arms run in random order, the best quarter runs more often, and the best of these is the rival.
The rival and the advised arm then run again, in turns (`REAL`, `SIMULATED`). Their ratio comes from
these last runs alone: they chose nothing, so the rival has no luck in them.
"""

from __future__ import annotations

import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from harness.compare.entrants import RunTerms, entrant, execute, graph_of
from harness.errors import RunFailed, UserError
from harness.experiments.experiment import Arm
from harness.graph import Graph
from harness.measurement.lock import measuring_lock
from harness.measurement.records import rate_of
from harness.measurement.spec import Run
from harness.measurement.subject import Subject, find_subject
from harness.models import model_on
from studies.advice.exhaustive import arms_of
from studies.advice.graphs import DrawnGraph

REAL, SIMULATED = (2, 4, 8), (1, 2, 3)  # runs of all arms, of the best quarter, of the last two
FEWEST_LEFT = 4  # arms after the first runs
SPARE_S = 600.0  # over its budget, after which a call of advise counts as hung: it may have to wait
NEARLY = 0.95  # of the best: good advice

Show = Callable[[str], None]


@dataclass(frozen=True)
class JudgingTerms:
    """Terms of all judgements: the runs', and the budget of a call of advise [s]."""

    runs: RunTerms
    budget_s: float

    @property
    def options(self) -> list[str]:
        """Options of `millrace advise`."""
        words = ["--machine", self.runs.place.machine, "--budget", f"{self.budget_s:g}s"]
        return words + (["--duration", f"{self.runs.duration_s:g}"] if self.runs.duration_s else [])


@dataclass(frozen=True)
class Judgement:
    """Findings about one graph. `ratio`: throughput of the advised arm over that of the best."""

    number: int
    graph: str
    advised: str
    best: str
    ratio: float
    arms: int
    runs: int
    advice_s: float
    comparison_s: float
    certainty: str

    @property
    def is_good(self) -> bool:
        """True if the advice is nearly the best."""
        return self.ratio >= NEARLY

    def to_mapping(self) -> dict[str, Any]:
        """Return everything, for JSON."""
        return asdict(self)


def judge(number: int, drawn: DrawnGraph, terms: JudgingTerms, show: Show) -> Judgement:
    """Judge one graph. Raises RunFailed if advise fails, or no arm can run the graph."""
    began_s = time.monotonic()
    show("advise")
    advice = _advice(drawn, terms)
    advised_s = time.monotonic()
    found = _Comparison(drawn, replace(terms.runs, seed=drawn.seed), show)
    options = {name: value for name, value in advice["options"].items() if value is not None}
    advised = Arm("advised", model_on(terms.runs.place, advice["model"], options))
    with nullcontext() if terms.runs.place.simulated else measuring_lock(show):
        ratio, best = found.ratio(advised)
    return Judgement(
        number,
        drawn.title,
        shown_arm(advised),
        shown_arm(best),
        ratio,
        len(found.runs),
        found.done,
        advised_s - began_s,
        time.monotonic() - advised_s,
        advice["certainty"],
    )


def shown_arm(arm: Arm) -> str:
    """Return an arm as the options of `--model`."""
    changed = ",".join(f"{name}={value}" for name, value in arm.model.changed.items())
    return f"{arm.model.name}:{changed}" if changed else arm.model.name


def _advice(drawn: DrawnGraph, terms: JudgingTerms) -> dict[str, Any]:
    words = [sys.executable, "-m", "harness", "advise", drawn.topology]
    for name, value in drawn.settings.items():
        words += ["--set", f"{name}={value}"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "advice.json")
        words += ["--seed", f"{drawn.seed}", *terms.options, "--json", str(file)]
        done = subprocess.run(
            words, capture_output=True, text=True, timeout=terms.budget_s + SPARE_S, check=False
        )
        if done.returncode != 0:
            raise RunFailed(f"{' '.join(words[2:])}: {done.stderr.strip()}")
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


class _Comparison:
    """Runs of all arms of a graph. `done`: number of runs so far."""

    def __init__(self, drawn: DrawnGraph, terms: RunTerms, show: Show) -> None:
        self._show = show
        self._times = SIMULATED if terms.place.simulated else REAL
        self._chance = random.Random(f"{drawn.title}/{drawn.seed}")
        self._subject: Subject = find_subject(
            drawn.topology, {n: str(v) for n, v in drawn.settings.items()}, drawn.seed
        )
        self._terms = terms
        self._graph: Graph = graph_of(self._subject, terms)
        self._rates: dict[str, list[float]] = {}
        self.done = 0
        self.arms: dict[str, Arm] = {}
        self.runs: dict[str, Run] = {}
        for arm in arms_of(self._graph, terms.place):
            self._enter(arm)
        if not self.runs:
            raise RunFailed(f"no arm can run {drawn.title}")

    def ratio(self, advised: Arm) -> tuple[float, Arm]:
        """Return the advised arm's throughput over that of the best arm, and that arm."""
        first, more, last = self._times
        self._run(list(self.runs), first, "all arms")
        ranked = self._ranked()
        if len(ranked) > 1:
            self._run(ranked[: max(FEWEST_LEFT, math.ceil(len(ranked) / 4))], more, "the best")
            ranked = self._ranked()
        if not ranked:
            raise RunFailed("no arm ran correctly")
        best = ranked[0]
        if not self._enter(advised):
            raise UserError("the advised arm cannot run the graph")
        if f"{self.runs[best].model}" == f"{self.runs[advised.name].model}":
            del self.runs[advised.name]  # it is the best
            return 1.0, self.arms[best]
        self._rates.pop(best)
        self._run([best, advised.name], last, "the best and the advised arm")
        del self.runs[advised.name]
        return self._mean(advised.name) / self._mean(best), self.arms[best]

    def _enter(self, arm: Arm) -> bool:
        """Return True if an arm can run the graph, and keep its run."""
        try:
            made = entrant(arm, arm.name, self._terms.run_of(arm, self._subject), self._graph)
        except UserError:
            return False
        self.arms[arm.name], self.runs[arm.name] = arm, made.run
        return True

    def _run(self, names: list[str], times: int, what: str) -> None:
        """Run each of some arms so often, in random order."""
        order = names * times
        self._chance.shuffle(order)
        for place, name in enumerate(order, start=1):
            self._show(f"{what}: run {place} of {len(order)}")
            known = self._rates.setdefault(name, [])
            run = replace(self.runs[name], repeat=self.done, order_in_block=place - 1)
            record = execute(run, lambda phase: None)
            self.done += 1
            right = record["error"] is None and record["correct"]
            known.append((rate_of(record) or 0.0) if right else 0.0)

    def _ranked(self) -> list[str]:
        """Return the arms of which each run was correct, the fastest first."""
        able = [name for name, rates in self._rates.items() if min(rates) > 0.0]
        return sorted(able, key=self._mean, reverse=True)

    def _mean(self, name: str) -> float:
        return statistics.fmean(self._rates[name])
