"""The workflow checks the claims whose experiments a profile has."""

from __future__ import annotations

import re

import pytest

from harness.cli import figures
from harness.experiments.config import load_config
from tests.workflow.conftest import plan, sweep, write_profile

FIG10 = {"pldi17_fig10": [sweep("mix", width=2, depth=2, cost=[1, 100])]}
CROSSOVER = {"crossover": [sweep("pipeline", operators=2, cost=1)]}
REPORTS = ["figures/claims.md", "figures/claims.html"]


def config(folder, experiments, monkeypatch):
    monkeypatch.chdir(folder)
    return load_config(write_profile(folder, experiments))


def test_the_reports_are_a_target_where_a_claim_looks_at_an_experiment(tmp_path, monkeypatch):
    profile = config(tmp_path, FIG10 | CROSSOVER, monkeypatch)
    assert figures._files(profile, "claims") == REPORTS
    assert figures._files(profile, "figures/claims.html") == ["figures/claims.html"]
    assert figures._made(profile, [])[-2:] == REPORTS


def test_a_profile_without_such_an_experiment_has_no_reports(tmp_path, monkeypatch):
    profile = config(tmp_path, CROSSOVER, monkeypatch)
    assert figures._made(profile, []) == ["figures/crossover.png", "figures/crossover.svg"]
    with pytest.raises(
        Exception, match="TARGET 'claims': the workflow makes no such figure or file"
    ):
        figures._files(profile, "claims")


def jobs(text: str) -> dict[str, int]:
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", text, re.MULTILINE)}


@pytest.mark.heavy
def test_only_the_experiments_that_claims_look_at_are_needed_for_them(tmp_path):
    write_profile(tmp_path, FIG10 | CROSSOVER)
    done = plan(tmp_path, "claims")
    assert done.returncode == 0, done.stderr
    assert jobs(done.stdout + done.stderr) == {
        "measure": 2,
        "aggregate": 1,
        "claims": 1,
        "total": 4,
    }
