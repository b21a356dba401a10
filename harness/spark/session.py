"""The Spark session, from `spark.*` settings alone: `spark.master` decides whether this machine or
a cluster does the work.

The user's settings win over the defaults here. The job is quiet: Spark's log is off
(log4j2.properties), and its failures become one line (failures.py).
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import RunFailed, UserError
from harness.spark.failures import quiet_py4j, spark_failures
from harness.spark.jvm import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")
JVM_OPTIONS = (
    f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}",
    # The heap is small, and most of a short job is start-up: with these two options, 60 records
    # take 20 s of CPU time instead of 40, and a million samples 33 instead of 55. For many more
    # records, spark.driver.extraJavaOptions=-XX:TieredStopAtLevel=4 takes the second one back.
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    # 48m with one tier, full after half a minute; then all code is interpreted
    "-XX:ReservedCodeCacheSize=240m",
)

DEFAULTS: Mapping[str, str] = {
    "spark.app.name": "millrace",
    "spark.master": "local[*]",
    "spark.driver.memory": "1g",
    # records are small data; adaptive execution merges small partitions
    "spark.sql.shuffle.partitions": "8",
    "spark.sql.session.timeZone": "UTC",
    # the default deletes every partition of a table that one job rewrites
    "spark.sql.sources.partitionOverwriteMode": "dynamic",
    # no search of the call site at each column function
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
SMALL_DATA_SETTINGS: Mapping[str, str] = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings for few records, whose queries take longer to compile than to interpret: 7 MB of records
take four fifths of the time."""
SMALL_DATA_BYTES = 32 * 2**20  # size of records; at 46 MB both settings take equally long
LOOPBACK: Mapping[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}

MASTER = re.compile(
    r"local(\[(\*|[1-9]\d*)(,\s*[1-9]\d*)?\])?"
    r"|local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]"
    r"|spark://(?P<masters>[^\s/,]+:\d+(,[^\s/,]+:\d+)*)"
    r"|yarn|k8s://\S+|sc://\S+"
)
MASTERS = "local, local[N], local[*], spark://HOST:PORT, yarn, k8s://URL or sc://HOST:PORT"
MEMORY = re.compile(r"\d+[kmgt]?b?", re.IGNORECASE)
CONNECT_TIMEOUT_S = 5.0  # Spark itself tries for a minute before it says that a master is not there


@contextlib.contextmanager
def open_session(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Yield a Spark session for the length of a `with` block.

    `settings` are `spark.*` keys with their values in Spark's own form; they replace `DEFAULTS`.
    Without `spark.master` the environment's SPARK_REMOTE applies. Sets JAVA_HOME, SPARK_HOME,
    PYSPARK_PYTHON and, if all processes stay on this machine, SPARK_LOCAL_IP in the environment of
    this process, because Spark's launcher reads them there.

    Raises UserError for an impossible setting, RunFailed if there is no Java, no such master, or
    Spark does not start.
    """
    spark = start(resolve(settings or {}, os.environ))
    try:
        yield spark
    finally:
        # its JVM may be gone; that was reported already
        with quiet_py4j(), contextlib.suppress(Exception):
            spark.stop()


def resolve(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return `settings` over the defaults. Raises UserError for a key, a master or a memory size
    that Spark does not know.
    """
    for key, value in settings.items():
        if not key.startswith("spark."):
            raise UserError(f"Spark setting {key!r}: a key must start with 'spark.'")
        if key in ("spark.driver.memory", "spark.executor.memory") and not MEMORY.fullmatch(value):
            raise UserError(f"{key} must be a size such as 512m or 2g, not {value!r}")
    remote = environment.get("SPARK_REMOTE")
    chosen = {**DEFAULTS, **({"spark.master": remote} if remote else {}), **settings}
    master = chosen["spark.master"]
    if not MASTER.fullmatch(master):
        raise UserError(f"spark.master must be {MASTERS}, not {master!r}")
    if master == "yarn" and not environment.keys() & {"HADOOP_CONF_DIR", "YARN_CONF_DIR"}:
        raise UserError(
            "spark.master yarn needs HADOOP_CONF_DIR or YARN_CONF_DIR in the environment"
        )
    if stays_here(master):
        chosen = {**LOOPBACK, **chosen}
    if not master.startswith("sc://"):
        chosen["spark.api.mode"] = "classic"
        chosen["spark.driver.defaultJavaOptions"] = " ".join(
            [*JVM_OPTIONS, settings.get("spark.driver.defaultJavaOptions", "")]
        ).strip()
    return chosen


def for_records(bytes_in_all: int | None) -> Mapping[str, str]:
    """Return the settings for so many bytes of records; None: the number is not known."""
    return (
        SMALL_DATA_SETTINGS if bytes_in_all is not None and bytes_in_all <= SMALL_DATA_BYTES else {}
    )


def stays_here(master: str) -> bool:
    """Return True if driver, master and executors all run on this machine, as far as the master's
    name shows.
    """
    return master.startswith("local") or all(
        host.rpartition(":")[0] in ("localhost", "127.0.0.1", "[::1]")
        for host in _hosts(master) or [""]
    )


def start(settings: Mapping[str, str]) -> SparkSession:
    """Return the session for resolved `settings`."""
    from pyspark.sql import SparkSession

    master = settings["spark.master"]
    builder = SparkSession.builder
    if master.startswith("sc://"):
        for key, value in settings.items():
            # the server runs already: only a session's own settings still apply
            if key.startswith("spark.sql."):
                builder = builder.config(key, value)
        with spark_failures(f"cannot reach Spark Connect at {master}"):
            return builder.remote(master).getOrCreate()
    _find_master(master)
    _prepare_environment(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with spark_failures(f"cannot start Spark with the master {master}"), _own_interrupt():
        return builder.getOrCreate()


@contextlib.contextmanager
def _own_interrupt() -> Iterator[None]:
    """Keep the handler of Ctrl-C: Spark's own handler calls the JVM in the middle of another call,
    which fails with tracebacks.
    """
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _hosts(master: str) -> list[str]:
    match = MASTER.fullmatch(master)
    return match["masters"].split(",") if match and match["masters"] else []


def _find_master(master: str) -> None:
    """Raise RunFailed at once if none of a standalone cluster's masters listens."""
    failures = []
    for address in _hosts(master):
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection(
                (host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT_S
            ).close()
            return
        except (OSError, OverflowError, UnicodeError) as error:
            failures.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    if failures:
        raise RunFailed(f"no Spark master listens at {master} ({'; '.join(failures)})")


def _prepare_environment(master: str) -> None:
    import pyspark

    os.environ["JAVA_HOME"] = str(java_home())
    # the jars must be those of this pyspark
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.pop("SPARK_REMOTE", None)  # else Spark refuses any other master
    if stays_here(master):
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
