"""Experiments behind reasons: each that a claim names exists, and cells say what was seen."""

from __future__ import annotations

import re

from harness.claims.claim import papers
from studies import reasons


def test_every_experiment_that_a_claim_names_exists():
    named = {
        run.split()[0]
        for paper in papers().values()
        for claim in paper.claims
        for text in claim.reasons.values()
        for run in re.findall(r"`python -m studies\.reasons (.+?)`", text)
    }
    assert named
    assert named <= set(reasons.EXPERIMENTS)


def test_a_run_that_never_settled_counts_by_hops_and_has_a_star():
    settled = {"settled": True, "sink_tuples_per_s": 2000.0}
    others = {"settled": False, "sink_tuples_per_s": 9000.0}
    others["simulation"] = {"passed_tuples_per_s": 3000.0}
    assert reasons.throughput([settled]) == "2.0"
    assert reasons.throughput([settled, others]) == "2.0 to 3.0 *"
