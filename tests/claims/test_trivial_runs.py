"""Runs in which nothing happens reproduce no claim, unless the claim is that nothing does."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest

from harness.claims import tables as tables_module
from harness.claims.claim import Claim, papers
from harness.claims.evaluate import ClaimVerdict, evaluate
from harness.claims.evidence import Wanted
from harness.claims.tables import Tables, Venue
from tests.claims.made import arm, periods, tables, throughput

VENUES = {"16-core": ("xeon:16", 16), "4-core": ("xeon:4", 4), "cstream": ("cstream", 12)}
"""Machine of a claim -> that of the tables, and its CPUs."""

LAWS = (
    "dynamic-elastic-streams",
    *(f"multilevel-middleware19{ending}" for ending in ("", "-plain", "-history", "-satisfied")),
)
FIXED = ("manual", "dedicated", *(f"dynamic-{2**power}" for power in range(8)))
LOAD = {"phase": 1500, "cycle": 3000, "burst": 8000, "silence": 8000}
OVER_TIME = {"pldi17": LAWS[:1], "mw19": LAWS[1:], "elb": ("manual",)}
"""Beginning of an experiment's name -> the arms that its claims follow over time."""

WITH_A_TIMELINE = re.compile("pldi17_fig11|mw19_fig6|mw19_fig13|elb_.*")
RUNS = 2


@pytest.fixture(autouse=True)
def _cpus(monkeypatch):
    monkeypatch.setattr(tables_module, "_cpus", lambda name, *_: venue(name).cpus)


def venue(machine: str) -> Venue:
    """The simulated machine that a claim means."""
    name, cpus = VENUES.get(machine, (machine, int(machine.partition(":")[2] or 184)))
    return Venue(name, True, "streams-4.2", cpus)


def world(claim: Claim, levels: Sequence[float]) -> Tables:
    """Tables with the claim's cells: arms without a law bring 100 tuples/s; laws less, at the last
    of the levels and without a queue.
    """
    frames, times = [], []
    for machine in claim.machines:
        where = venue(machine)
        for wanted in claim.cells_at(machine):
            if wanted.machine in ("", machine):
                cell = name_of(wanted)
                frames.append(throughput({cell: rows(levels[-1])}, where, wanted.experiment))
                if WITH_A_TIMELINE.fullmatch(wanted.experiment):
                    times += [
                        over_time(wanted, cell, name, where, levels, run)
                        for name in OVER_TIME[wanted.experiment.split("_")[0]]
                        for run in range(RUNS)
                    ]
    return tables(*frames, timeline=times)


def name_of(wanted: Wanted) -> str:
    topology, *pairs = (wanted.parameters | wanted.sizes).items()
    return ",".join([topology[1], *(f"{key}={value}" for key, value in pairs)])


def rows(level: float) -> list[dict]:
    still = {"n": RUNS, "queued": 0.0, "places": 100.0, "sd": 0.0}
    return [arm(name, 100.0, **still) for name in FIXED] + [
        arm(name, 30.0 if name in LAWS[:1] else 20.0, **still) | {"elastic": True, "level": level}
        for name in LAWS
    ]


def over_time(wanted, cell, name, where, levels, run):
    sizes = {key: int(value) for key, value in wanted.sizes.items() if value.isdigit()}
    options = {"arm": name, "cell": cell, "venue": where, "experiment": wanted.experiment}
    rates = [100.0 + period % 2 for period in range(len(levels))]
    found = periods(levels, rates, **options, queued_ports=0.0, parameters=json.dumps(LOAD | sizes))
    found["run_id"] = f"{cell} {name} {where.name} {run}"
    if wanted.experiment.startswith("elb"):
        found = found.assign(active_ports=found["threads_active"], congestion=0.5)
    return found


def reproduced(levels: Sequence[float]) -> set[str]:
    """The claims about laws that hold."""
    about_laws = re.compile("elastic|multilevel|experiment='elb|quantity='noise'")
    claims = [
        claim
        for name in ("P17", "M19", "ELB")
        for claim in papers()[name].claims
        if claim.check is not None and about_laws.search(f"{claim.check!r}{claim.cells!r}")
    ]
    holds = (ClaimVerdict.REPRODUCED, ClaimVerdict.SMALLER, ClaimVerdict.IN_PART)
    return {
        result.claim.id
        for claim in claims
        for result in evaluate([claim], world(claim, levels))
        if not result.beside and result.verdict in holds
    }


IDLE = {"elb-works-starts-with-one", "elb-cheap-3", "elb-bursty-cost-calm"}
"""Claims that a load balancer has few ports."""

LOSES = {
    "p17-5.2-manual-much-faster",
    "m19-4.1-large-payload-elastic-hurts",
    "m19-4.1-side-by-side-elastic-hurts",
}
"""Claims that a law is slower than manual."""


def test_laws_that_stay_where_they_begin_and_lose_reproduce_only_what_says_so():
    assert reproduced([1.0] + [2.0] * 17) == IDLE | LOSES


def test_two_levels_in_turn_reproduce_an_oscillation_at_most():
    assert reproduced([1.0, 2.0] * 9) == IDLE | LOSES | {"elb-cheap-oscillates"}
