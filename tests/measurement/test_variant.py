"""Variants that replace nothing that a run looked at are marked so."""

from __future__ import annotations

from dataclasses import replace

from harness.measurement import block
from harness.measurement.spec import run_of
from harness.models import Manual

GRAPH = {"topology": "data-parallel", "parameters": {"width": 8, "cost": 1}}
NOMINAL = run_of(**GRAPH, model="dynamic", threads=8, machine="xeon", events=20_000, warmup=0.0005)


def test_a_constant_that_a_run_never_uses_is_simulated_and_not_reached():
    alone = replace(NOMINAL, model=Manual())
    ends = [{"transfer.rmw.other_socket": 100.0}, {"transfer.rmw.other_socket": 300.0}]
    records = list(block.run_block({"manual": alone}, 1, 0, variants=ends))
    assert [each["simulation"].get("reached") for each in records] == [None, False, False]


def test_a_constant_that_changes_a_run_is_reached():
    ends = [{"transfer.rmw.other_socket": 100.0, "atomic.fence": 40.0}]
    records = list(block.run_block({"dynamic": NOMINAL}, 1, 0, variants=ends))
    assert [each["simulation"].get("reached") for each in records] == [None, True]
