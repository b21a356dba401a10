"""Tests of what a person reads while the workflow runs, from Snakemake's log records."""

from __future__ import annotations

import dataclasses
import logging
import os

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from harness.experiments.config import load_config
from harness.files.places import CODE as ROOT
from harness.workflow.progress import Progress
from tests.workflow.conftest import sweep, write_profile


@pytest.fixture
def progress(tmp_path):
    return _all_of(
        load_config(
            write_profile(tmp_path, {"one": [sweep("pipeline", operators=3, cost=[1, 10])]})
        )
    )


def _all_of(config, cores=1):
    return Progress(config, config.blocks(), cores)


def record(event, at=0.0, level=logging.INFO, message="", **fields):
    made = logging.makeLogRecord({"msg": message, "levelno": level, **fields})
    made.created = at
    if event is not None:
        made.event = event
    return made


def started(job, rule, at, log=(), **wildcards):
    return record(LogEvent.JOB_INFO, at, jobid=job, rule_name=rule, wildcards=wildcards, log=log)


def _seconds(said: str) -> float:
    """Return the seconds of a time as `clock` prints it."""
    units = {"h": 3600, "min": 60, "s": 1}
    words = said.split()
    return sum(
        float(count) * units[unit] for count, unit in zip(words[::2], words[1::2], strict=True)
    )


def test_a_finished_job_is_a_line_with_what_is_left(progress, capsys):
    progress.take(
        record(
            LogEvent.RUN_INFO,
            0.0,
            stats={"measure": 2, "aggregate": 1, "figure": 1, "all": 1, "total": 5},
        )
    )
    progress.take(started(1, "measure", 0.0, experiment="one", block="a,b=1"))
    progress.take(record(LogEvent.JOB_FINISHED, 30.0, job_id=1))
    progress.take(record(LogEvent.PROGRESS, 30.0, done=1, total=5))
    assert capsys.readouterr().err.splitlines() == [
        "to do: 2 x measure, 1 x aggregate, 1 x figure; about 54 s",
        # no block of the config: estimates of the others
        "[1/4] measured one a,b=1 in 30 s; 30 s so far, about 49 s left",
    ]
    assert progress.had_work


def test_blocks_that_are_left_are_stretched_by_how_wrong_the_estimates_of_others_were(capsys):
    config = load_config(ROOT / "config/paper.yaml")
    blocks = sorted(
        (block for block in config.blocks() if block.place.simulated),
        key=lambda block: block.estimated_s,
    )
    assert (
        blocks[0].estimated_s < blocks[-1].estimated_s / 100
    )  # a mean of the finished ones would be far off
    progress = _all_of(config, cores=2)
    progress.take(
        record(LogEvent.RUN_INFO, 0.0, stats={"simulate": len(blocks), "total": len(blocks)})
    )
    stretched, left = [], blocks[:]
    for job, block in enumerate(blocks[:-1]):
        left.remove(block)
        progress.take(started(job, "simulate", 0.0, experiment=block.experiment, block=block.stem))
        progress.take(record(LogEvent.JOB_FINISHED, 3 * block.estimated_s, job_id=job))
        said = (
            capsys.readouterr().err.splitlines()[-1].rpartition(", about ")[2].removesuffix(" left")
        )
        stretched.append(_seconds(said) / (sum(block.estimated_s for block in left) / 2))
    assert 0.9 < stretched[0] < 1.1, "of so small a block; times are told in minutes"
    assert stretched[::40] == sorted(stretched[::40]), (
        "times are told in minutes: one by one they need not grow"
    )
    assert 2.6 < stretched[-1] < 3.1


def test_the_first_tables_say_nothing_of_how_long_the_others_take(progress, capsys):
    progress.take(record(LogEvent.RUN_INFO, 0.0, stats={"aggregate": 5, "total": 5}))
    for job, ended in enumerate((100.0, 104.0, 106.0)):
        progress.take(started(job, "aggregate", ended - (4.0 if job else 100.0), experiment="one"))
        progress.take(record(LogEvent.JOB_FINISHED, ended, job_id=job))
    assert [line.rsplit("about ")[1] for line in capsys.readouterr().err.splitlines()] == [
        "48 s",  # Spark's start, and four times the estimate
        "8 s left",
        "12 s left",
        "8 s left",
    ]


def test_jobs_that_run_side_by_side_share_the_time(tmp_path, capsys):
    config = load_config(write_profile(tmp_path, {"one": [sweep("pipeline", operators=3)]}))
    progress = _all_of(config, cores=4)
    progress.take(record(LogEvent.RUN_INFO, 0.0, stats={"figure": 10, "total": 10}))
    assert capsys.readouterr().err == "to do: 10 x figure; about 10 s\n"


def test_the_time_left_is_that_of_the_blocks_that_the_workflow_makes(tmp_path, capsys):
    config = load_config(
        write_profile(
            tmp_path,
            {"one": [sweep("pipeline", operators=3)], "two": [sweep("pipeline", operators=4)]},
        )
    )
    longer = dataclasses.replace(config.experiment("two").blocks()[0], duration_s=60.0)
    progress = Progress(config, [longer])
    progress.take(record(LogEvent.RUN_INFO, 0.0, stats={"measure": 1, "total": 1}))
    said = capsys.readouterr().err.rpartition("about ")[2]
    assert _seconds(said) == pytest.approx(longer.estimated_s, abs=1.0)


def test_the_rule_that_only_collects_is_no_job(progress, capsys):
    progress.take(record(LogEvent.RUN_INFO, stats={"figure": 1, "all": 1, "total": 2}))
    progress.take(started(1, "all", 1.0))
    progress.take(record(LogEvent.JOB_FINISHED, 2.0, job_id=1))
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_the_bench_is_a_job_without_a_name(progress, capsys, tmp_path):
    progress.take(record(LogEvent.RUN_INFO, 0.0, stats={"bench_laws": 1, "figure": 1, "total": 2}))
    progress.take(started(1, "bench_laws", 0.0))
    progress.take(record(LogEvent.JOB_FINISHED, 9.0, job_id=1))
    progress.take(started(2, "figure", 9.0, figure="saso"))
    progress.take(record(LogEvent.JOB_FINISHED, 12.0, job_id=2))
    progress.take(started(3, "bench_laws", 0.0))
    progress.take(
        record(
            LogEvent.JOB_ERROR, 1.0, logging.ERROR, jobid=3, rule_name="bench_laws", log=["a.log"]
        )
    )
    assert capsys.readouterr().err.splitlines()[1:] == [
        "[1/2] ran the bench of control laws in 9 s; 9 s so far, about 4 s left",
        "[2/2] drew saso in 3 s; 12 s so far, about 0 s left",
        "bench_laws failed; log: a.log",
    ]


def test_a_failed_job_is_told_with_the_end_of_its_log(progress, capsys, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("".join(f"line {number}\n" for number in range(100)), encoding="utf-8")
    progress.take(started(1, "aggregate", 0.0, experiment="one"))
    progress.take(
        record(
            LogEvent.JOB_ERROR, 1.0, logging.ERROR, jobid=1, rule_name="aggregate", log=[str(log)]
        )
    )
    progress.take(
        record(LogEvent.ERROR, 1.0, logging.ERROR, "RuleException: …", exception="RuleException")
    )
    progress.take(
        record(
            LogEvent.ERROR,
            1.0,
            logging.ERROR,
            "WorkflowError:\nAt least one job did not complete successfully.",
            exception="WorkflowError",
        )
    )
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"aggregate one failed; log: {log}"
    assert lines[-1] == "    line 99"
    assert len(lines) == 13


def test_records_that_could_not_be_used_are_told(progress, capsys, tmp_path):
    log = tmp_path / "tables.log"
    log.write_text(
        "records   9 read, 0 failed, 0 unsettled, 1 quarantined\n          a.jsonl line 2: empty "
        "line\ntables    x\n"
    )
    progress.take(started(1, "aggregate", 0.0, log=[str(log)], experiment="one"))
    progress.take(record(LogEvent.JOB_FINISHED, 1.0, job_id=1))
    assert capsys.readouterr().err.splitlines()[-2:] == [
        "    records   9 read, 0 failed, 0 unsettled, 1 quarantined",
        "              a.jsonl line 2: empty line",
    ]
    log.write_text("records   9 read, 1 failed, 0 unsettled, 0 quarantined\n")
    progress.take(started(2, "aggregate", 0.0, log=[str(log)], experiment="two"))
    progress.take(record(LogEvent.JOB_FINISHED, 1.0, job_id=2))
    assert "quarantined" not in capsys.readouterr().err


def test_other_errors_and_warnings_are_passed_on_in_one_line(progress, capsys):
    message = "WorkflowError:\nCannot write\n    the file"
    progress.take(record(LogEvent.ERROR, 0.0, logging.ERROR, message, exception="WorkflowError"))
    progress.take(record(None, 0.0, logging.WARNING, "something odd"))
    progress.take(record(None, 0.0, logging.INFO, "Building DAG of jobs..."))
    assert capsys.readouterr().err.splitlines() == ["Cannot write the file", "something odd"]


CTRL_C = "Terminating processes on user request, this might take some time."
SIGTERM = "Will exit after finishing currently running jobs (scheduler)."


@pytest.mark.parametrize("message", [CTRL_C, SIGTERM])
def test_an_interruption_says_once_what_is_awaited_and_how_to_end_it_now(progress, capsys, message):
    assert not progress.interrupted
    progress.take(started(1, "measure", 0.0, experiment="one", block="a,b=1"))
    for _ in range(2):
        progress.take(record(None, 0.0, logging.INFO, message))
    assert progress.interrupted and progress.terminated == (message == SIGTERM)
    assert not progress.had_work
    assert capsys.readouterr().err.splitlines() == [
        f"stopping: waiting for measure one a,b=1 to end; `kill -9 {os.getpid()}` ends everything "
        "now, and the next call repeats at most one run of each"
    ]


def test_an_interruption_names_few_of_many_jobs(progress, capsys):
    for job in range(5):
        progress.take(started(job, "simulate", 0.0, experiment="one", block=f"a,b={job}"))
    progress.take(record(None, 0.0, logging.INFO, SIGTERM))
    assert "simulate one a,b=2 and 2 more to end" in capsys.readouterr().err
