"""Snakemake for real, on tiny profiles: figures, report, what is redone, kill -9, direct calls; and
how rules are written.
"""

from __future__ import annotations

import json
import os
import re
import signal
import time
from datetime import datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import yaml

from harness.experiments.config import load_config
from harness.files.places import CODE as ROOT
from tests.workflow.conftest import call, plan, start, sweep, write_profile

pytestmark = pytest.mark.heavy

MANUAL = [{"model": "manual"}]
CROSSOVER = {"crossover": [sweep("pipeline", operators=2, cost=1)]}
IDLE = {"crossover": [sweep("pipeline", operators=2, cost=[1, 2], rate=100)]}
"""Blocks that take a given time, and hardly any of a CPU."""

SNAKEMAKE = (
    "snakemake",
    "--snakefile",
    str(ROOT / "Snakefile"),
    "--configfile",
    "config/quick.yaml",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run `figures --report` once, on two experiments. Claims look at one of them, which also runs on
    a simulated machine. Return the directory, and what was said.
    """
    folder = tmp_path_factory.mktemp("made")
    experiments = {
        "crossover": [sweep("pipeline", operators=2, cost=1)],
        "pldi17_fig10": [sweep("mix", width=2, depth=2, cost=1)],
    }
    arms = [{"model": "manual"}, {"model": "dedicated"}, {"model": "dynamic", "threads": 1}]
    path = write_profile(folder, experiments, arms, repeats=1)
    file = path.parent / "experiments/pldi17_fig10.yaml"
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    xeon = {"machine": "xeon", "duration_s": 0.0005, "warmup": 0.0005, "sensitivity": 1}
    values["sizes"]["tiny"]["machines"] = ["local", xeon]
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return folder, call(folder, "harness", "figures", "--report", "results/report.html")


def modified(folder: Path) -> dict[str, int]:
    """Return when each result was last written [ns]."""
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for place in ("results/raw", "results/tables", "figures")
        for path in (folder / place).rglob("*")
        if path.is_file()
    }


def test_figures_are_made_and_named_on_stdout(made):
    folder, done = made
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "figures/crossover.png",
        "figures/crossover.svg",
        "figures/pldi17_fig10.png",
        "figures/pldi17_fig10.svg",
        "figures/claims.md",
        "figures/claims.html",
        "results/report.html",
    ]
    assert (folder / "figures/crossover.png").read_bytes().startswith(b"\x89PNG")
    assert "Which threading model wins" in (folder / "results/report.html").read_text(
        encoding="utf-8"
    )


def test_progress_counts_jobs_on_stderr(made):
    _, done = made
    plans = list(re.finditer(r"^to do: (.*); about ", done.stderr, re.MULTILINE))
    assert [set(plan[1].split(", ")) for plan in plans] == [
        {"1 x measure", "1 x simulate", "1 x aggregate", "1 x figure"},
        {"1 x measure", "1 x aggregate", "1 x claims", "1 x figure"},
    ]
    drawn = re.search(r"^\[4/4\] drew pldi17_fig10 in ", done.stderr, re.MULTILINE)
    others = re.search(r"^\[\d/4\] drew crossover in ", done.stderr, re.MULTILINE)
    measured = re.search(r"^\[\d/4\] measured crossover ", done.stderr, re.MULTILINE)
    assert drawn.start() < plans[1].start()
    assert drawn.start() < measured.start() < others.start()
    assert done.stderr.count("[4/4] ") == 2
    assert "Traceback" not in done.stderr


def test_logs_mirror_the_outputs(made):
    folder, _ = made
    stems = {
        str(path.relative_to(folder / "results/raw").with_suffix(""))
        for path in (folder / "results/raw").rglob("*.jsonl")
    }
    logs = {
        str(path.relative_to(folder / "results/logs/raw").with_suffix(""))
        for path in (folder / "results/logs/raw").rglob("*.log")
    }
    assert stems == logs
    assert len(stems) == 3


def test_no_two_runs_were_measured_at_the_same_time(made):
    folder, _ = made
    runs = []
    measured = set((folder / "results/raw").rglob("*.jsonl"))
    for path in measured - set((folder / "results/raw").rglob("xeon*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            began = datetime.fromisoformat(record["started_at"])
            runs.append(
                (began, began + timedelta(seconds=record["warmup_s"] + record["duration_s"]))
            )
    runs.sort()
    assert len(runs) == 6
    assert all(end <= began for (_, end), (began, _) in pairwise(runs))


class Links(HTMLParser):
    """Collects what a page would load from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attributes):
        if tag in ("script", "link", "img", "iframe"):
            self.found += [
                value
                for name, value in attributes
                if name in ("src", "href") and not value.startswith("data:")
            ]


def test_the_report_is_one_file_with_figure_and_caption(made):
    folder, _ = made
    page = (folder / "results/report.html").read_text(encoding="utf-8")
    links = Links()
    links.feed(page)
    assert links.found == []
    assert "a hatched tile is a tie" in page
    assert ">cost [FLOP a tuple]</text>" in page
    assert (folder / "results/report-data/crossover-throughput.csv").is_file()


def test_a_second_call_redoes_nothing(made):
    folder, _ = made
    before = modified(folder)
    again = call(folder, "harness", "figures")
    assert again.returncode == 0
    assert again.stderr == "everything is up to date\n"
    assert modified(folder) == before


def test_what_was_deleted_is_to_be_made_again_and_what_follows_from_it(made, tmp_path):
    folder, _ = made
    deleted = [
        sorted(folder.glob("results/raw/crossover/*.jsonl"))[0],
        folder / "results/tables/pldi17_fig10/speedup.parquet",
    ]
    for path in deleted:
        path.rename(tmp_path / path.name)
    planned = plan(folder).stdout
    for path in deleted:
        (tmp_path / path.name).rename(path)
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", planned, re.MULTILINE))
    assert jobs == {"measure": "1", "aggregate": "2", "claims": "1", "figure": "2", "total": "6"}


def test_other_settings_make_the_records_out_of_date(made):
    folder, _ = made
    config = folder / "config/quick.yaml"
    text = config.read_text(encoding="utf-8")
    other = folder / "config/other.yaml"
    other.write_text(text.replace("repeats: 1", "repeats: 2"), encoding="utf-8")
    planned = plan(folder, "--config", "config/other.yaml")
    assert re.search(r"^measure +2$", planned.stdout, re.MULTILINE)
    assert (
        "to measure again, since they were measured under other settings: 3 blocks\n"
        in planned.stderr
    )


def test_settings_of_spark_alone_do_not_measure_again(made):
    folder, _ = made
    text = (folder / "config/quick.yaml").read_text(encoding="utf-8")
    (folder / "config/spark.yaml").write_text(
        text + "spark: {spark.master: 'local[1]'}\n", encoding="utf-8"
    )
    planned = plan(folder, "--config", "config/spark.yaml").stdout
    assert "measure" not in planned


def test_killed_at_any_moment_it_goes_on_where_it_was(tmp_path):
    few = {"pldi17_fig10": [sweep("mix", width=2, depth=2, cost=[1, 2])]}
    write_profile(tmp_path, few | CROSSOVER, arms=MANUAL, repeats=1)
    raw = tmp_path / "results/raw/pldi17_fig10"
    finished: dict[Path, bytes] = {}
    workflow = start(tmp_path, "harness", "figures", "pldi17_fig10")
    line = next(line for line in workflow.stderr if "measured" in line)
    os.kill(
        workflow.pid, signal.SIGKILL
    )  # the workflow only: what it has started must notice by itself
    workflow.communicate()
    path = raw / (re.search(r"measured pldi17_fig10 (\S+) in", line)[1] + ".jsonl")
    finished = path.read_bytes()

    workflow = start(tmp_path, "harness", "figures", "pldi17_fig10")
    wait_for(workflow, (tmp_path / "results/tables/pldi17_fig10/.staging").exists)
    os.kill(workflow.pid, signal.SIGKILL)  # Spark is writing
    workflow.communicate()

    done = call(tmp_path, *SNAKEMAKE, "-c2", "figures/pldi17_fig10.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures/pldi17_fig10.png").exists()
    assert len(list(raw.glob("*.jsonl"))) == 2
    assert path.read_bytes() == finished  # what was done was not done again
    assert not (
        tmp_path / "results/raw/crossover"
    ).exists()  # only what the target needs is measured


def wait_for(workflow, condition) -> None:
    while not condition():
        assert workflow.poll() is None, workflow.communicate()
        time.sleep(0.02)


def test_a_job_that_fails_is_told_and_the_exit_code_is_1(tmp_path):
    write_profile(
        tmp_path, CROSSOVER, MANUAL, repeats=1, spark={"spark.master": "spark://127.0.0.1:1"}
    )
    done = call(tmp_path, "harness", "figures")
    assert done.returncode == 1
    assert "aggregate crossover failed; log: results/logs/tables/crossover.log" in done.stderr
    assert "no Spark master listens at spark://127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "figures").exists()


@pytest.mark.usefixtures("signals_heeded")
def test_a_second_workflow_is_refused_whichever_way_it_is_called(tmp_path):
    write_profile(tmp_path, IDLE, MANUAL, duration_s=100.0, warmup=0.0)
    first = start(tmp_path, "harness", "figures")
    try:
        wait_for(first, (tmp_path / "results/logs/raw/crossover").exists)
        for words in (("harness", "figures"), (*SNAKEMAKE, "-c1")):
            second = call(tmp_path, *words)
            assert second.returncode == 1
            assert f"another workflow is running here (process {first.pid}" in second.stderr
    finally:
        os.killpg(first.pid, signal.SIGINT)
        _, error = first.communicate()
    assert first.returncode == 130
    assert error.endswith("millrace figures: interrupted\n")
    assert not list((tmp_path / "results").rglob("*.jsonl"))


@pytest.mark.usefixtures("signals_heeded")
def test_a_workflow_that_is_told_to_end_finishes_the_block_in_flight(tmp_path):
    costs = list(range(1, 21))  # more than are done until this process gets a CPU again
    write_profile(
        tmp_path, {"crossover": [sweep("pipeline", operators=2, cost=costs)]}, MANUAL, repeats=1
    )
    first = start(tmp_path, "harness", "figures")
    wait_for(first, (tmp_path / "results/logs/raw/crossover").exists)
    first.terminate()
    _, error = first.communicate()
    assert first.returncode == 143
    assert error.count("stopping: waiting for measure crossover ") == 1
    assert error.endswith("millrace figures: interrupted\n")
    begun = {path.stem for path in (tmp_path / "results/logs/raw").rglob("*.log")}
    assert {path.stem for path in (tmp_path / "results/raw").rglob("*.jsonl")} == begun
    assert 1 <= len(begun) < len(costs)


COUNTING_LOOKS = """
import sys

from snakemake.scheduling.job_scheduler import JobScheduler

from harness.cli import main

select = JobScheduler.job_selector
JobScheduler.job_selector = lambda self, jobs: print("a look for jobs", file=sys.stderr) or select(self, jobs)
sys.exit(main(sys.argv[1:]))
"""


def test_snakemake_sleeps_while_a_block_is_measured(tmp_path):
    path = write_profile(tmp_path, IDLE, MANUAL, repeats=1, duration_s=3.0)
    blocks = [f"results/raw/crossover/{block.stem}.jsonl" for block in load_config(path).blocks()]
    (tmp_path / "counting_looks.py").write_text(COUNTING_LOOKS, encoding="utf-8")
    done = call(tmp_path, "counting_looks", "figures", *blocks)
    assert done.returncode == 0, done.stderr
    assert all((tmp_path / block).exists() for block in blocks)
    assert done.stderr.count("a look for jobs") == len(
        blocks
    )  # for jobs that end, none for the time that passes


def test_a_bad_config_is_one_line_of_snakemakes_too(tmp_path):
    write_profile(tmp_path, CROSSOVER, repeats=0)
    done = call(tmp_path, *SNAKEMAKE, "-n")
    assert done.returncode == 1
    assert "config/quick.yaml: repeats: must be 1 or more, not 0" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_the_profile_of_the_papers_can_be_planned(tmp_path):
    done = plan(tmp_path, "--config", str(ROOT / "config/paper.yaml"), "pldi17_fig10")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^measure +3$", done.stdout, re.MULTILINE)


def test_a_simulated_machine_goes_the_same_way_into_the_same_figure(made):
    folder, done = made
    assert "simulated pldi17_fig10 xeon~mix,width=2,depth=2,cost=1,payload=128 in " in done.stderr
    table = pd.read_parquet(folder / "results/tables/pldi17_fig10/throughput.parquet")
    assert set(zip(table["machine"], table["simulated"], table["variants"], strict=True)) == {
        ("local", False, 0), ("xeon", True, 1),
    }  # fmt: skip
    assert "xeon (simulated)" in drawn_text(folder, "pldi17_fig10")


def test_claims_have_reports_of_their_own_and_a_part_of_the_workflow_s(made):
    folder, done = made
    assert "checked the claims in " in done.stderr
    claims, report = folder / "figures/claims.md", folder / "results/report.html"
    assert "mix, cost 1, width 2 (paper: 10), depth 2 (paper: 100)" in claims.read_text(
        encoding="utf-8"
    )
    assert 'id="p17-5.3-dynamic-best"' in report.read_text(encoding="utf-8")


def drawn_text(folder: Path, figure: str) -> str:
    """The texts of an SVG."""
    return " ".join(
        re.findall(
            r"<text[^>]*>(.*?)</text>",
            (folder / f"figures/{figure}.svg").read_text(encoding="utf-8"),
        )
    )


def test_a_bench_is_drawn_beside_the_experiments_and_measures_nothing(tmp_path):
    write_profile(tmp_path, CROSSOVER, benches=["saso"])
    planned = plan(tmp_path, "saso").stdout
    assert re.search(r"^bench_laws +1$", planned, re.MULTILINE), planned
    assert re.search(r"^figure +1$", planned, re.MULTILINE)
    assert "measure" not in planned
    planned = plan(tmp_path).stdout
    assert re.search(r"^figure +2$", planned, re.MULTILINE)


@pytest.mark.slow
def test_the_linter_finds_nothing_but_missing_containers(tmp_path):
    done = call(tmp_path, "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--lint")
    lints = re.findall(r"^    \* (.*)$", done.stderr, re.MULTILINE)
    assert set(lints) == {"Specify a conda environment or container for each rule.:"}
