"""Snakemake in a copy of the project: which jobs an edit brings about."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

from harness.experiments.config import load_config
from harness.files.places import CODE as ROOT
from tests.workflow.conftest import environment, sweep, write_profile

pytestmark = pytest.mark.heavy

MAKING = {
    "harness/models/layout.py": {"measure", "simulate"},
    "harness/runtime/pool.pxi": {"measure"},
    "harness/simulator/native/calendar.hpp": {"simulate"},
    "harness/elasticity/queues/middleware19.py": {"simulate"},
    "harness/elasticity/threads/aimd.py": {"bench_laws"},
    "harness/peers/go/main.go": set(),
}
DRAWING = {
    "harness/plots/gain_panels.py": {"figure mw19_fig9"},
    "harness/plots/thread_panels.py": {"figure crossover", "figure mw19_fig9", "figure saso"},
    "harness/claims/middleware19.yaml": {"claims"},
    "harness/cli/sweep.py": set(),
    "docs/explanation/design.md": set(),
}


def copy(source: str, target: str) -> None:
    """Copy a file; what is compiled is only linked, since nobody edits it."""
    (os.link if source.endswith(".so") else shutil.copy2)(source, target)


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A copy of the project in which everything has been made, with a small profile."""
    for name in ("harness", "topologies", "docs"):
        shutil.copytree(
            ROOT / name,
            tmp_path / name,
            ignore=shutil.ignore_patterns("__pycache__"),
            copy_function=copy,
        )
    for name in ("Snakefile", "setup.py"):
        shutil.copy2(ROOT / name, tmp_path / name)
    for name in ("machines", "software", "schemas"):
        shutil.copytree(ROOT / "config" / name, tmp_path / "config" / name)
    sweeps = [sweep("pipeline", operators=3, cost=1)]
    path = write_profile(
        tmp_path,
        {"crossover": sweeps, "mw19_fig9": sweeps},
        [{"model": "manual"}],
        benches=["saso"],
    )
    experiment = path.parent / "experiments/mw19_fig9.yaml"
    values = yaml.safe_load(experiment.read_text(encoding="utf-8"))
    values["sizes"]["tiny"] |= {
        "machines": ["xeon"],
        "arms": [{"model": "multilevel", "law": "middleware19"}],
    }
    experiment.write_text(yaml.safe_dump(values), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    make_everything()
    return tmp_path


def make_everything() -> None:
    """Results without content, each newer than what it is made of."""
    config, now = load_config("config/quick.yaml"), time.time()
    tables = ("throughput", "samples", "timeline", "latency", "speedup", "quarantine")
    for number, files in enumerate(
        (
            [config.records(block.experiment, block.stem) for block in config.blocks()],
            [
                f"{config.tables(each.name)}/{table}.parquet"
                for each in config.experiments
                for table in tables
            ],
            [config.bench("saso")],
            [config.figure(name, kind) for name in config.drawn for kind in ("png", "svg")],
            [config.figure("claims", kind) for kind in ("md", "html")],
        )
    ):
        for file in map(Path, files):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            os.utime(file, (now + number, now + number))


def planned(folder: Path, *targets: str) -> dict[str, set[str]]:
    """Return what `snakemake --dry-run` would do: by job, the files that are newer than its result."""
    words = ["-m", "snakemake", "--dry-run", "--cores", "1", "--nolock", "--", *targets]
    env = environment(folder) | {"PYTHONPATH": str(folder)}
    done = subprocess.run(
        [sys.executable, *words], cwd=folder, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    jobs: dict[str, set[str]] = {}
    for rule, text in re.findall(r"^rule (\w+):\n((?:    .*\n)+)", done.stdout + done.stderr, re.M):
        about = re.search(r"wildcards: (?:experiment|figure)=(\w+)", text)
        name = f"{rule} {about[1]}" if about and rule in ("figure", "aggregate") else rule
        newer = re.search(r"Updated input files: ([^;\n]*)", text)
        jobs[name] = set(newer[1].split(", ")) if newer else set()
    return jobs


@pytest.mark.parametrize("edits", [MAKING, DRAWING], ids=["making", "drawing"])
def test_an_edit_brings_about_exactly_the_jobs_whose_results_depend_on_the_file(edits, project):
    for file in edits:
        path = project / file
        path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
        os.utime(path, (time.time() + 60, time.time() + 60))
    jobs = planned(project)
    assert {file: {job for job, newer in jobs.items() if file in newer} for file in edits} == edits
    if edits is DRAWING:
        assert set(jobs) == set().union(*edits.values()) | {
            "all"
        }  # nothing is measured, and no table is made


def test_an_edit_of_a_row_in_the_table_of_figures_draws_that_figure_alone(project):
    files = ["figures/crossover.png", "figures/mw19_fig9.png"]
    words = ["-m", "snakemake", "--cores", "1", "--nolock", "--force", "--touch"]
    env = environment(project) | {"PYTHONPATH": str(project)}
    touched = subprocess.run(
        [sys.executable, *words, "--", *files], cwd=project, env=env, capture_output=True, text=True
    )
    assert touched.returncode == 0, touched.stdout + touched.stderr
    path = project / "harness/plots/figures.py"
    text = path.read_text(encoding="utf-8")
    assert text.count("Which threading model wins") == 1  # in the row of crossover
    path.write_text(text.replace("Which threading model wins", "The best model"), encoding="utf-8")
    figures = {job for job in planned(project, *files) if job.startswith("figure")}
    assert figures == {"figure crossover"}
