"""Simulated runs keep their records bit for bit (`seeded_runs.py` says how they are written
anew).
"""

from __future__ import annotations

import json

import pytest

from tests.simulator.seeded_runs import KEPT, RUNS, kept_of, record_of


@pytest.mark.heavy
@pytest.mark.parametrize("name", RUNS)
def test_a_seeded_run_has_the_record_that_is_kept(name):
    assert kept_of(record_of(RUNS[name])) == json.loads(KEPT.read_text())[name]


def test_every_kept_record_has_its_run():
    assert set(json.loads(KEPT.read_text())) == set(RUNS)
