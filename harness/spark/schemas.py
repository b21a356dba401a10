"""The shapes of records and of every table made from records, as Spark reads and writes them.

A record's shape follows from its declaration in `harness.measurement.record`. Spark does not
enforce which fields must be present when it reads; `quarantine` does.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from harness.measurement.record import declaration
from harness.measurement.record.kinds import (
    Array,
    Boolean,
    Integer,
    Kind,
    Map,
    Number,
    OneOf,
    String,
    Struct,
)

TEXT = StringType()
WHOLE = LongType()
SMALL = IntegerType()
REAL = DoubleType()
FLAG = BooleanType()


def type_of(kind: Kind) -> DataType:
    """Return the type with which Spark reads a kind of values. A field is nullable if it may be
    null or missing.
    """
    match kind:
        case String() | OneOf():
            return TEXT
        case Boolean():
            return FLAG
        case Integer():
            return SMALL if kind.bits == 32 else WHOLE
        case Number():
            return REAL
        case Array():
            return ArrayType(type_of(kind.of))
        case Map():
            return MapType(TEXT, type_of(kind.of))
        case Struct():
            return StructType(
                [
                    StructField(
                        field.name, type_of(field.kind), bool(field.null) or not field.required
                    )
                    for field in kind.fields
                ]
            )


REALS = ArrayType(REAL)
DDL = {kind.simpleString().upper(): kind for kind in (TEXT, WHOLE, SMALL, REAL, FLAG, REALS)}
"""The types of tables' columns by their names in Spark's SQL."""


def _table(columns: str) -> StructType:
    """Return the shape that a list of columns says: names and types, as in Spark's SQL."""
    return StructType(
        [StructField(name, DDL[kind]) for name, kind in map(str.split, columns.split(","))]
    )


RECORD = type_of(declaration.RECORD)
SAMPLE = type_of(declaration.SAMPLE)

PARAMETERS: dict[str, DataType] = {
    "operators": SMALL,
    "width": SMALL,
    "depth": SMALL,
    "workers": SMALL,
    "cost": TEXT,
    "busy": SMALL,
    "selectivity": SMALL,
    "payload": SMALL,
    "rate": SMALL,
    "load": TEXT,
    "placement": TEXT,
    "sources": SMALL,
}
"""Parameters of topologies that are columns of their own; null where a topology does not have one.
Cost: FLOP, or "skewed"; rate: tuples/s, 0: full speed; busy: µs; selectivity: %; placement: of
threaded ports, none or hand; sources: of an application."""

PARAMETER_COLUMNS = ", ".join(
    f"{name} {kind.simpleString().upper()}" for name, kind in PARAMETERS.items()
)

CELL = ("experiment", "cell", "topology", *PARAMETERS, "machine", "simulated", "software")
"""Columns that identify a run's cell and machine; `software` is null for real threads."""

ARM = (*CELL, "model", "peer", "arm", "threads", "queue_capacity")
"""Columns that identify a run's arm within its cell; runs of one arm differ by `repeat` only, or by
`variant`. `peer`: name and version of another runtime, null for Millrace."""

TABLES: dict[str, StructType] = {
    "throughput": _table(
        f"""
        experiment STRING, cell STRING, topology STRING, {PARAMETER_COLUMNS}, model STRING,
        peer STRING, arm STRING, threads INT, policy STRING, elastic BOOLEAN, law STRING,
        queue_capacity BIGINT, machine STRING, simulated BOOLEAN, software STRING, n BIGINT,
        final BOOLEAN, failed BIGINT, no_rate BIGINT, unsettled BIGINT, settled_share DOUBLE,
        mean_of STRING,
        unfit BIGINT, hosts BIGINT, mean DOUBLE, sd DOUBLE, lo DOUBLE, hi DOUBLE, variants BIGINT,
        variants_failed BIGINT, variants_reached BIGINT, band_lo DOUBLE, band_hi DOUBLE,
        at_points ARRAY<DOUBLE>,
        submitted_mean DOUBLE, submitted_sd DOUBLE, submitted_lo DOUBLE, submitted_hi DOUBLE,
        ns_per_hop_mean DOUBLE, context_switches_mean DOUBLE, cpu_seconds_mean DOUBLE,
        kernel_seconds_mean DOUBLE, duration_mean DOUBLE, runnable_mean DOUBLE, level DOUBLE,
        level_lo DOUBLE, level_hi DOUBLE, queued DOUBLE, queued_lo DOUBLE, queued_hi DOUBLE,
        places INT, replicas DOUBLE, replicas_lo DOUBLE, replicas_hi DOUBLE,
        settled_mean DOUBLE, settled_lo DOUBLE, settled_hi DOUBLE,
        settled_submitted_mean DOUBLE, settled_submitted_lo DOUBLE, settled_submitted_hi DOUBLE,
        settled_level DOUBLE, settled_level_lo DOUBLE, settled_level_hi DOUBLE,
        settled_queued DOUBLE, settled_queued_lo DOUBLE, settled_queued_hi DOUBLE,
        settled_replicas DOUBLE, settled_replicas_lo DOUBLE, settled_replicas_hi DOUBLE,
        cpu_model STRING, cpus_allowed INT, commit STRING
        """
    ),
    "samples": _table(
        """
        experiment STRING, cell STRING, arm STRING, machine STRING, simulated BOOLEAN,
        software STRING, run_id STRING, repeat INT, failed BOOLEAN, settled BOOLEAN, index INT,
        time_s DOUBLE, elapsed_s DOUBLE, sink_tuples_per_s DOUBLE, source_tuples_per_s DOUBLE,
        submitted_tuples_per_s DOUBLE, threads_active INT
        """
    ),
    "timeline": _table(
        f"""
        experiment STRING, cell STRING, topology STRING, {PARAMETER_COLUMNS}, model STRING,
        arm STRING, law STRING, machine STRING, simulated BOOLEAN, software STRING, run_id STRING,
        repeat INT, failed BOOLEAN, phase STRING, time_s DOUBLE, elapsed_s DOUBLE,
        throughput_submitted DOUBLE, throughput_source DOUBLE, throughput_sink DOUBLE,
        threads_active INT, threads_requested INT, queued_ports INT, replicas STRING,
        system_cpu DOUBLE, law_state STRING, law_reason STRING, balancer STRING, active_ports INT,
        ports INT, congestion DOUBLE, balancer_reason STRING, tuples_sent BIGINT, parameters STRING
        """
    ),
    "latency": _table(
        """
        experiment STRING, cell STRING, arm STRING, machine STRING, simulated BOOLEAN,
        software STRING, n BIGINT, p50 DOUBLE, p50_least DOUBLE, p50_greatest DOUBLE, p90 DOUBLE,
        p99 DOUBLE, p99_least DOUBLE, p99_greatest DOUBLE, max DOUBLE, mean DOUBLE, lo DOUBLE,
        hi DOUBLE
        """
    ),
    "speedup": _table(
        f"""
        experiment STRING, cell STRING, topology STRING, {PARAMETER_COLUMNS}, machine STRING,
        simulated BOOLEAN, software STRING, arm STRING, model STRING, threads INT, against STRING,
        rival STRING, ratio DOUBLE, lo DOUBLE, hi DOUBLE, n BIGINT
        """
    ),
    "quarantine": _table(
        """
        file STRING, line BIGINT, reason STRING, text STRING
        """
    ),
}


def conform(frame: DataFrame, table: str) -> DataFrame:
    """Return `frame` with exactly the columns of `table`, in their order and types. Fails if one is
    missing.
    """
    columns = [
        f"CAST(`{field.name}` AS {field.dataType.simpleString()}) AS `{field.name}`"
        for field in TABLES[table]
    ]
    return frame.selectExpr(*columns)
