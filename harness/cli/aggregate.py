"""`python -m harness aggregate`: records into tables."""

from __future__ import annotations

import argparse
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunFailed, UserError
from harness.terminal.output import say

if TYPE_CHECKING:
    from harness.spark.aggregate import Summary

SUMMARY = "turn the records of runs into tables (Spark)"
DESCRIPTION = """\
Reads every *.jsonl file under --records, however deep, or in an archive that was measured with a
bundle, and writes into --tables, as Parquet:
  throughput   mean, deviation and 95 % interval of each arm of each cell, over all correct runs,
               with how many of them settled
  samples      every run as a time series
  timeline     the runs whose number of threads or active ports changes: samples with the levels and
               the reasons for them
  latency      medians of the latency quantiles of each arm
  speedup      each arm against manual, the best of the others and the best of another model,
               repeats paired
  quarantine   lines that are not usable records, each with its file, line number and reason

Spark runs on this machine unless --master, or spark.master in the configuration, says otherwise:
  local[N]  spark://HOST:PORT  yarn  k8s://URL  sc://HOST:PORT
On a cluster both directories must mean the same to all its machines: a shared file system, hdfs:,
s3a:, …

examples:
  millrace aggregate --records results/raw --tables results/tables
  millrace aggregate --records results/raw --tables results/tables --master local[2] \\
      --set-spark spark.driver.memory=2g
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records", required=True, metavar="DIR", help="directory, .tar.gz or URL of the records"
    )
    parser.add_argument(
        "--tables", required=True, metavar="DIR", help="directory or URL that the tables go to"
    )
    parser.add_argument(
        "--master",
        metavar="MASTER",
        help="where Spark runs (default: that of --config, else local[*])",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="take the Spark settings of this configuration, its section spark",
    )
    parser.add_argument(
        "--ahead",
        action="store_true",
        help="make the tables of the other experiments of --config too, for calls like this one to "
        "fetch: Spark starts once",
    )
    parser.add_argument(
        "--set-spark",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="one Spark setting, over those of --config; may be repeated",
    )


def run(args: argparse.Namespace) -> int:
    """Aggregate the records. Exit code 0 if there is at least one usable record, however many are
    in quarantine.
    """
    started = time.monotonic()
    settings = spark_settings(args.config, args.set_spark, args.master)
    if args.ahead and args.config is None:
        raise UserError("--ahead needs --config: it names the other experiments")

    from harness.bundle.brought import folder_of
    from harness.spark.session import resolve
    from harness.spark.storage import check_records

    resolve(settings, os.environ)  # report mistakes before Spark starts, which takes seconds
    with folder_of(args.records) as args.records:
        check_records(args.records)
        summary = _with_others(args, settings) if args.ahead else _alone(args, settings)
    apart = (
        f"{summary.failed} failed, {summary.unsettled} unsettled, {summary.quarantined} quarantined"
    )
    say(f"records   {summary.read} read, {apart}")
    for reason in summary.reasons:
        say(f"          {reason}")
    if summary.quarantined > len(summary.reasons) > 0:
        say(
            f"          and {summary.quarantined - len(summary.reasons)} more, see the table "
            "quarantine"
        )
    say(f"tables    {', '.join(summary.tables)} in {args.tables}")
    say(f"time      {time.monotonic() - started:.1f} s")
    if summary.read == 0:
        raise UserError(f"--records {args.records!r} holds no line of records")
    if summary.read == summary.quarantined:
        raise RunFailed(
            f"no usable record among {summary.read} in {args.records!r}; first: "
            f"{summary.reasons[0]}"
        )
    return 0


def _alone(args: argparse.Namespace, settings: dict[str, str]) -> Summary:
    from harness.spark.aggregate import aggregate
    from harness.spark.session import for_records, open_session
    from harness.spark.storage import bytes_of_records, table_writer

    settings = {**for_records(bytes_of_records(args.records)), **settings}
    with table_writer(args.tables) as writer, open_session(settings) as spark:
        return aggregate(spark, args.records, writer)


def _with_others(args: argparse.Namespace, settings: dict[str, str]) -> Summary:
    """Take the tables if they were made ahead; else make them, and those of other experiments
    ahead.
    """
    from harness.experiments.config import load_config
    from harness.spark import ahead
    from harness.spark.aggregate import Summary, aggregate
    from harness.spark.session import for_records, open_session
    from harness.spark.storage import bytes_of_records, table_writer

    records, tables = Path(args.records), Path(args.tables)
    with ahead.one_at_a_time(tables):
        if (kept := ahead.take(records, tables)) is not None:
            return Summary(**kept)
        due = {records: tables} | ahead.due(load_config(args.config), records)
        settings = {**for_records(bytes_of_records(*map(str, due))), **settings}
        with open_session(settings) as spark:
            if len(due) > 1:
                with suppress(RunFailed):  # each experiment's own job will report it
                    ahead.make(spark, due)
                if (kept := ahead.take(records, tables)) is not None:
                    return Summary(**kept)
            with table_writer(args.tables) as writer:
                return aggregate(spark, args.records, writer)


def spark_settings(
    config: str | None, assignments: list[str], master: str | None
) -> dict[str, str]:
    """Return the `spark.*` settings of the configuration file, then of the command line. Raises
    UserError unless each is KEY=VALUE.
    """
    settings: dict[str, str] = {}
    if config is not None:
        from harness.experiments.config import load_config

        settings.update({key: str(value) for key, value in load_config(config).spark.items()})
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals or not key.startswith("spark."):
            raise UserError(
                "--set-spark must be KEY=VALUE with a key that starts with 'spark.', not "
                f"{assignment!r}"
            )
        settings[key] = value
    if master is not None:
        settings["spark.master"] = master
    return settings
