"""Settings become a session's settings, or one line that says why not. No Spark is started here."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from harness.errors import RunFailed, UserError
from harness.spark.failures import MAX_CAUSE_CHARACTERS, summarise
from harness.spark.session import (
    SMALL_DATA_BYTES,
    SMALL_DATA_SETTINGS,
    for_records,
    open_session,
    resolve,
    stays_here,
)
from harness.spark.storage import bytes_of_records

JOBS = Path(__file__).resolve().parents[2] / "harness" / "spark"


def test_what_the_user_sets_wins_over_the_defaults():
    settings = resolve({"spark.driver.memory": "3g", "spark.executor.cores": "7"}, {})
    assert settings["spark.driver.memory"] == "3g"
    assert settings["spark.executor.cores"] == "7"
    assert settings["spark.master"] == "local[*]"
    assert settings["spark.sql.session.timeZone"] == "UTC"


def test_java_options_of_the_user_come_after_ours():
    options = resolve({"spark.driver.defaultJavaOptions": "-Dx=y"}, {})[
        "spark.driver.defaultJavaOptions"
    ]
    assert "log4j2.properties" in options
    assert options.endswith(" -Dx=y")


def test_spark_remote_is_obeyed_unless_a_master_is_set():
    environment = {"SPARK_REMOTE": "sc://host:15002"}
    assert resolve({}, environment)["spark.master"] == "sc://host:15002"
    assert resolve({"spark.master": "local[1]"}, environment)["spark.master"] == "local[1]"


def test_little_data_are_interpreted_and_what_nobody_knows_the_size_of_is_compiled(tmp_path):
    (tmp_path / "deep").mkdir()
    for name, size in (("a.jsonl", 3), ("deep/b.jsonl", 4), ("no record", 5)):
        (tmp_path / name).write_bytes(b"x" * size)
    assert bytes_of_records(str(tmp_path), f"file://{tmp_path}/deep") == 11
    assert bytes_of_records(str(tmp_path), "hdfs://host/raw") is None
    assert for_records(SMALL_DATA_BYTES) == SMALL_DATA_SETTINGS
    assert for_records(SMALL_DATA_BYTES + 1) == for_records(None) == {}


@pytest.mark.parametrize(
    "master",
    [
        "local",
        "local[2]",
        "local[*,3]",
        "spark://127.0.0.1:7077",
        "spark://localhost:1,127.0.0.1:2",
    ],
)
def test_on_one_machine_everything_stays_on_loopback(master):
    assert stays_here(master)
    assert resolve({"spark.master": master}, {})["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize(
    "master",
    ["spark://node1:7077", "spark://127.0.0.1:1,node2:1", "k8s://https://host:6443", "yarn"],
)
def test_with_other_machines_the_driver_is_not_hidden_on_loopback(master):
    assert not stays_here(master)
    assert "spark.driver.host" not in resolve(
        {"spark.master": master}, {"YARN_CONF_DIR": "/etc/hadoop"}
    )


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        *[
            (
                {"spark.master": master},
                f"spark.master must be .*, not {master!r}".replace("[", r"\["),
            )
            for master in (
                "",
                "locale",
                "local[0]",
                "local[two]",
                "spark://host",
                "http://host:1",
                "local[2] ",
            )
        ],
        ({"spark.master": "yarn"}, "yarn needs HADOOP_CONF_DIR"),
        ({"master": "local"}, "'master': a key must start with 'spark.'"),
        (
            {"spark.driver.memory": "lots"},
            "spark.driver.memory must be a size such as 512m or 2g, not 'lots'",
        ),
        ({"spark.executor.memory": "-1g"}, "spark.executor.memory must be a size"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(settings, told):
    with pytest.raises(UserError, match=told):
        resolve(settings, {})


def test_a_master_that_does_not_listen_is_told_at_once():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # bound, but nobody listens
        port = unused.getsockname()[1]
        with (
            pytest.raises(
                RunFailed, match=f"no Spark master listens at spark://127.0.0.1:{port} .*refused"
            ),
            open_session({"spark.master": f"spark://127.0.0.1:{port}"}),
        ):
            pass


def test_no_job_leaves_the_dataframe_api():
    for file in sorted(JOBS.glob("*.py")):
        beyond = re.findall(
            r"\.rdd\b|sparkContext|SparkContext\(|\b_jvm\b|\b_jdf\b|\budf\(|pandas_udf|mapInPandas",
            file.read_text(),
        )
        assert not beyond, (
            f"{file.name} would not run on Spark Connect, or needs Python on the executors: "
            f"{beyond}"
        )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("boom", "boom"),
        ("", "no reason given"),
        (
            "x\n\tat a.b(C.java:1)\nCaused by: java.lang.A: outer\n\tat d\nCaused by: "
            "java.io.EOFException: inner\n\tat e",
            "EOFException: inner",
        ),
        (
            "Job aborted\nCaused by: java.io.IOException: No space left on device\nCaused by: "
            "other",
            "No space left on device",
        ),
        ("y" * 1000, "y" * (MAX_CAUSE_CHARACTERS - 1) + "…"),
    ],
)
def test_a_failure_of_spark_is_one_line_with_its_innermost_cause(text, told):
    assert summarise(text) == told
