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

TEXT, WHOLE, SMALL, REAL, FLAG = (
    StringType(),
    LongType(),
    IntegerType(),
    DoubleType(),
    BooleanType(),
)


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


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


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
    "load": TEXT,
    "placement": TEXT,
    "sources": SMALL,
}
"""Parameters of topologies that are columns of their own; null where a topology does not have one.
Cost: FLOP, or "skewed"; busy: µs; selectivity: %; placement: of threaded ports, none or hand;
sources: of an application."""

CELL = ("experiment", "cell", "topology", *PARAMETERS, "machine", "simulated", "software")
"""Columns that identify a run's cell and machine; `software` is null for real threads."""

ARM = (*CELL, "model", "peer", "arm", "threads", "queue_capacity")
"""Columns that identify a run's arm within its cell; runs of one arm differ by `repeat` only, or by
`variant`. `peer`: name and version of another runtime, null for Millrace."""

TABLES: dict[str, StructType] = {
    "throughput": _table(
        experiment=TEXT,
        cell=TEXT,
        topology=TEXT,
        **PARAMETERS,
        model=TEXT,
        peer=TEXT,
        arm=TEXT,
        threads=SMALL,
        policy=TEXT,
        elastic=FLAG,
        law=TEXT,
        queue_capacity=WHOLE,
        machine=TEXT,
        simulated=FLAG,
        software=TEXT,
        n=WHOLE,
        failed=WHOLE,
        no_rate=WHOLE,
        unsettled=WHOLE,
        settled_share=REAL,
        mean_of=TEXT,
        unfit=WHOLE,
        hosts=WHOLE,
        mean=REAL,
        sd=REAL,
        lo=REAL,
        hi=REAL,
        variants=WHOLE,
        variants_failed=WHOLE,
        variants_reached=WHOLE,
        band_lo=REAL,
        band_hi=REAL,
        at_points=ArrayType(REAL),
        submitted_mean=REAL,
        submitted_sd=REAL,
        submitted_lo=REAL,
        submitted_hi=REAL,
        ns_per_hop_mean=REAL,
        context_switches_mean=REAL,
        cpu_seconds_mean=REAL,
        duration_mean=REAL,
        runnable_mean=REAL,
        level=REAL,
        level_lo=REAL,
        level_hi=REAL,
        queued=REAL,
        queued_lo=REAL,
        queued_hi=REAL,
        places=SMALL,
        replicas=REAL,
        replicas_lo=REAL,
        replicas_hi=REAL,
        cpu_model=TEXT,
        cpus_allowed=SMALL,
        commit=TEXT,
    ),
    "samples": _table(
        experiment=TEXT,
        cell=TEXT,
        arm=TEXT,
        machine=TEXT,
        simulated=FLAG,
        software=TEXT,
        run_id=TEXT,
        repeat=SMALL,
        failed=FLAG,
        settled=FLAG,
        index=SMALL,
        time_s=REAL,
        elapsed_s=REAL,
        sink_tuples_per_s=REAL,
        source_tuples_per_s=REAL,
        submitted_tuples_per_s=REAL,
        threads_active=SMALL,
    ),
    "timeline": _table(
        experiment=TEXT,
        cell=TEXT,
        topology=TEXT,
        **PARAMETERS,
        model=TEXT,
        arm=TEXT,
        law=TEXT,
        machine=TEXT,
        simulated=FLAG,
        software=TEXT,
        run_id=TEXT,
        repeat=SMALL,
        failed=FLAG,
        phase=TEXT,
        time_s=REAL,
        elapsed_s=REAL,
        throughput_submitted=REAL,
        throughput_source=REAL,
        throughput_sink=REAL,
        threads_active=SMALL,
        threads_requested=SMALL,
        queued_ports=SMALL,
        replicas=TEXT,
        system_cpu=REAL,
        law_state=TEXT,
        law_reason=TEXT,
        balancer=TEXT,
        active_ports=SMALL,
        ports=SMALL,
        congestion=REAL,
        balancer_reason=TEXT,
        tuples_sent=WHOLE,
        parameters=TEXT,
    ),
    "latency": _table(
        experiment=TEXT,
        cell=TEXT,
        arm=TEXT,
        machine=TEXT,
        simulated=FLAG,
        software=TEXT,
        n=WHOLE,
        p50=REAL,
        p90=REAL,
        p99=REAL,
        max=REAL,
    ),
    "speedup": _table(
        experiment=TEXT,
        cell=TEXT,
        topology=TEXT,
        **PARAMETERS,
        machine=TEXT,
        simulated=FLAG,
        software=TEXT,
        arm=TEXT,
        model=TEXT,
        threads=SMALL,
        against=TEXT,
        rival=TEXT,
        ratio=REAL,
        lo=REAL,
        hi=REAL,
        n=WHOLE,
    ),
    "quarantine": _table(file=TEXT, line=WHOLE, reason=TEXT, text=TEXT),
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
