"""Progress of a workflow: a line for each finished job, with the time left; failures with the end
of their log.

Snakemake's logger plugin interface: `logger_plugin(config)` makes the plugin, which `register`
announces under the name `NAME`.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.registry import LoggerPluginRegistry

from harness.experiments.config import Config, clock
from harness.experiments.effort import BENCHES_S, DRAWING_S, SPARK_START_S, TABLES_S
from harness.experiments.experiment import Block
from harness.terminal.overwritten_line import OverwrittenLine

NAME = "millrace"
ESTIMATES_S = {"aggregate": TABLES_S, "figure": DRAWING_S, "claims": 8.0}
"""Expected time of a rule's job, until one has finished, on a 2-core VM [s]."""
BENCHES = {"bench_laws": "saso", "bench_placements": "saso_placement"}
"""Bench of a rule."""
FIRST_S = {"aggregate": SPARK_START_S + TABLES_S}
"""Expected time of a rule's first job [s], if it differs from the others: it starts Spark, for all
of them."""
EXCLUSIVE = ("measure", "aggregate")
"""Rules whose jobs take all cores; jobs of other rules run side by side."""

QUARANTINED = re.compile(r"[1-9]\d* quarantined")  # in the output of `aggregate`

WORDS = {
    "measure": "measured",
    "simulate": "simulated",
    "aggregate": "made the tables of",
    "bench_laws": "ran the bench of control laws",
    "bench_placements": "ran the bench of laws that place queues",
    "figure": "drew",
    "claims": "checked the claims",
}
# share of all estimated time; after so much, the observed error of estimates has weight 1/2
PRIOR_SHARE = 0.1
MOST_NAMED = 3  # jobs in a line
LOG_LINES = 12  # printed lines of a failed job's log
SOME_JOB_FAILED = "At least one job did not complete successfully"
INTERRUPTED = "Terminating processes on user request"  # Ctrl-C
TERMINATED = "Will exit after finishing currently running jobs"  # SIGTERM


class Progress(OverwrittenLine):
    """State of a workflow run, updated by Snakemake's log records. `blocks`: those it makes."""

    def __init__(self, config: Config, blocks: Iterable[Block], cores: int = 1) -> None:
        super().__init__()
        self.interrupted = False
        self.terminated = False  # by SIGTERM, not Ctrl-C
        self._cores = cores
        self._estimates_s = ESTIMATES_S | {
            rule: BENCHES_S[bench] / config.bench_every[bench] for rule, bench in BENCHES.items()
        }
        # by target; unfinished blocks only
        self._blocks_s: dict[str, dict[str, float]] = {"measure": {}, "simulate": {}}
        for block in blocks:
            rule = "simulate" if block.place.simulated else "measure"
            self._blocks_s[rule][f"{block.experiment} {block.stem}"] = block.estimated_s
        self._doubt_s = {
            rule: PRIOR_SHARE * sum(blocks_s.values()) for rule, blocks_s in self._blocks_s.items()
        }
        self._left: Counter[str] = Counter()
        self._total = 0  # jobs; 0: all was up to date
        self._began: dict[int, tuple[str, str, float]] = {}  # job -> rule, target, start time
        self._logs: dict[int, list[str]] = {}  # of jobs that have started
        self._spent_s: Counter[str] = Counter()
        self._foreseen_s: Counter[str] = Counter()  # estimates of the blocks that have finished
        self._finished: Counter[str] = Counter()
        self._started = 0.0

    def take(self, record: logging.LogRecord) -> None:
        """Process one log record of Snakemake."""
        match getattr(record, "event", None):
            case LogEvent.RUN_INFO:
                self._plan(record)
            case LogEvent.JOB_INFO:
                self._begin(record)
            case LogEvent.JOB_FINISHED:
                self._finish(record)
            case LogEvent.JOB_ERROR:
                self._fail(record)
            case LogEvent.ERROR if record.exception == "RuleException" or SOME_JOB_FAILED in str(
                record.msg
            ):
                pass  # _fail has printed it
            case _ if record.levelno >= logging.WARNING:
                self._say(" ".join(str(record.msg).removeprefix("WorkflowError:").split()))
            case _ if INTERRUPTED in str(record.msg):
                self._stop()
            case _ if TERMINATED in str(record.msg) and not self.interrupted:
                self.terminated = True
                self._stop()

    @property
    def had_work(self) -> bool:
        """True if anything was out of date."""
        return self._total > 0

    def _plan(self, record: logging.LogRecord) -> None:
        self._left = Counter({rule: count for rule, count in record.stats.items() if rule in WORDS})
        self._total = self._left.total()
        self._started = record.created
        jobs = ", ".join(f"{count} x {rule}" for rule, count in self._left.items())
        self._say(f"to do: {jobs}; about {clock(self._remaining_s())}")

    def _begin(self, record: logging.LogRecord) -> None:
        wildcards = dict(record.wildcards or {})
        what = " ".join(
            str(wildcards[name]) for name in ("experiment", "block", "figure") if name in wildcards
        )
        self._began[record.jobid] = (record.rule_name, what, record.created)
        self._logs[record.jobid] = list(record.log or [])
        if record.rule_name in WORDS:
            done = self._total - self._left.total()
            self._overwrite(f"{record.rule_name} {what} ...", done, self._total)

    def _finish(self, record: logging.LogRecord) -> None:
        rule, what, began = self._began.pop(record.job_id, ("", "", 0.0))
        if rule not in WORDS:
            return
        self._left[rule] -= 1
        self._finished[rule] += 1
        tells = rule not in FIRST_S or self._finished[rule] > 1
        if rule in self._blocks_s:
            foreseen_s = self._blocks_s[rule].pop(what, 0.0)
            self._foreseen_s[rule] += foreseen_s
            tells = foreseen_s > 0.0
        if tells:
            self._spent_s[rule] += record.created - began
        done = self._total - self._left.total()
        self._say(
            f"[{done:>{len(str(self._total))}}/{self._total}] {_named(WORDS[rule], what)} in "
            f"{clock(record.created - began)}; "
            f"{clock(record.created - self._started)} so far, about {clock(self._remaining_s())} "
            "left"
        )
        for name in self._logs.pop(record.job_id, []) if rule == "aggregate" else []:
            self._tell_quarantined(_lines(name))

    def _tell_quarantined(self, lines: list[str]) -> None:
        """Print the lines of `aggregate` about records that it could not use: figures without them
        would look complete.
        """
        if any(QUARANTINED.search(line) for line in lines):
            for line in lines:
                if line.startswith(("records ", "   ")):
                    self._say(f"    {line}")

    def _fail(self, record: logging.LogRecord) -> None:
        rule, what, _ = self._began.pop(record.jobid, (record.rule_name, "", 0.0))
        self._say(f"{_named(rule, what)} failed; log: {', '.join(record.log)}")
        for name in record.log:
            for line in _lines(name)[-LOG_LINES:]:
                self._say(f"    {line}")

    def _stop(self) -> None:
        """Print which jobs the workflow waits for, and how to end it without waiting: a job ends
        with the process of its workflow.
        """
        if self.interrupted:
            return
        self.interrupted = True
        names = [_named(rule, what) for rule, what, _ in self._began.values() if rule in WORDS]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        awaited = f"{', '.join(names[:MOST_NAMED])}{more}" if names else "running jobs"
        self._say(
            f"stopping: waiting for {awaited} to end; `kill -9 {os.getpid()}` ends everything now, "
            "and the next call repeats at most one run of each"
        )

    def _remaining_s(self) -> float:
        """Return the time left [s], from the times of the jobs of each rule so far."""
        return sum(
            self._left_of(rule, count) / (1 if rule in EXCLUSIVE else self._cores)
            for rule, count in self._left.items()
        )

    def _left_of(self, rule: str, count: int) -> float:
        """Return the expected time of `count` jobs of a rule, one after the other [s]."""
        if rule in self._blocks_s:
            return count * self._block_s(rule)
        finished = self._finished[rule]
        telling = finished - (rule in FIRST_S and finished > 0)
        each_s = self._spent_s[rule] / telling if telling else self._estimates_s[rule]
        first_s = FIRST_S.get(rule, each_s) if count and not finished else each_s
        return first_s + (count - 1) * each_s if count else 0.0

    def _block_s(self, rule: str) -> float:
        """Return the expected mean time of the blocks that are left [s]: their estimates, times the
        ratio of actual to estimated time so far.

        Blocks differ by a factor of hundreds, so the times of finished blocks do not predict the
        mean of the others. The first few may be those with the worst estimates, so they say little
        about the ratio.
        """
        left_s = self._blocks_s[rule].values()
        doubt_s = self._doubt_s[rule]
        stretch = (
            (self._spent_s[rule] + doubt_s) / (self._foreseen_s[rule] + doubt_s)
            if doubt_s > 0
            else 1.0
        )
        return stretch * sum(left_s) / max(1, len(left_s))

    def _say(self, text: str) -> None:
        self._overwrite("")
        print(text, file=sys.stderr, flush=True)


def _lines(log: str) -> list[str]:
    """Return the lines of a job's log, none if there is no such file."""
    path = Path(log)
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []


def _named(done: str, what: str) -> str:
    """Return the description of a finished job; without an object if its rule has one job only."""
    return f"{done} {what}".rstrip()


def register(progress: Progress) -> None:
    """Make `--logger NAME` of Snakemake, in this process, send its records to `progress` and print
    no messages of its own.
    """

    class LogHandler(LogHandlerBase):
        writes_to_stream = True
        writes_to_file = False
        has_filter = True
        has_formatter = True
        needs_rulegraph = False

        def emit(self, record: logging.LogRecord) -> None:
            progress.take(record)

    LoggerPluginRegistry().plugins.pop(NAME, None)  # left by an earlier run in this process
    LoggerPluginRegistry().register_plugin(NAME, SimpleNamespace(LogHandler=LogHandler))
