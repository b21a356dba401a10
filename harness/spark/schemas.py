"""The shape of a record, and of every table made from records. Fields, units and meanings:
config/schemas/record.schema.json.

In `RECORD` a field that is not nullable must be present and not null. Spark does not enforce this
when it reads; `quarantine` does.
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

SCHEMA_VERSION = 1  # version of the records that these jobs read

TEXT, WHOLE, SMALL, REAL, FLAG = (
    StringType(),
    LongType(),
    IntegerType(),
    DoubleType(),
    BooleanType(),
)


def _struct(
    required: dict[str, DataType], optional: dict[str, DataType] | None = None
) -> StructType:
    return StructType(
        [StructField(name, kind, nullable=False) for name, kind in required.items()]
        + [StructField(name, kind, nullable=True) for name, kind in (optional or {}).items()]
    )


def _table(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


BALANCER = _struct(
    {"operator": TEXT, "active": SMALL, "ports": SMALL, "tuples_per_s": REAL, "congestion": REAL},
    {"reason": TEXT},
)

SAMPLE = _struct(
    {
        "time_s": REAL,
        "elapsed_s": REAL,
        "sink_tuples_per_s": REAL,
        "source_tuples_per_s": REAL,
        "submitted_tuples_per_s": REAL,
        "threads_active": SMALL,
        "cpu_s": REAL,
        "context_switches": WHOLE,
    },
    {
        "threads_requested": SMALL,
        "threads_unsuspendable": SMALL,
        "queued_ports": SMALL,
        "system_cpu": REAL,
        "others_cpu": REAL,
        "utilisation": REAL,
        "law_state": TEXT,
        "law_reason": TEXT,
        "law_tuples_per_s": REAL,
        "law_elapsed_s": REAL,
        "law_arrived": REAL,
        "law_read": TEXT,
        "switched_on": ArrayType(TEXT),
        "switched_off": ArrayType(TEXT),
        "replicas": MapType(TEXT, SMALL),
        "replicas_changed": MapType(TEXT, SMALL),
        "operator_cost": ArrayType(REAL),
        "balancers": ArrayType(BALANCER),
    },
)

ELASTIC = _struct(
    {
        "law": TEXT,
        "settings": MapType(TEXT, TEXT),  # numbers, true and false in a record, all read as text
        "period_s": REAL,
        "minimum": SMALL,
        "maximum": SMALL,
        "start": SMALL,
        "changes": SMALL,
        "adaptation_s": REAL,
        "settled": FLAG,
    },
    {
        "settled_level": SMALL,
        "settled_queued": SMALL,
        "places": ArrayType(TEXT),
        "settled_replicas": REAL,
        "replicable": ArrayType(TEXT),
    },
)

LATENCY = _struct({"count": WHOLE}, {"p50": REAL, "p90": REAL, "p99": REAL, "max": REAL})

PROFILED = _struct({"cpu": TEXT, "digest": TEXT, "tuple_ns": REAL})

SIMULATION = _struct(
    {
        "software": TEXT,
        "machine_digest": TEXT,
        "software_digest": TEXT,
        "seed": WHOLE,
        "constants": MapType(TEXT, REAL),
        "events": WHOLE,
        "virtual_s": REAL,
        "wall_s": REAL,
    },
    {
        "bound": TEXT,
        "contenders": WHOLE,
        "passed_tuples_per_s": REAL,
        "reached": FLAG,
        "load": REAL,
        "profiled": PROFILED,
    },
)

HOST = _struct(
    {}, {"cpu_model": TEXT, "cpus_allowed": SMALL, "hostname_hash": TEXT, "host_fit": FLAG}
)
"""Fields of the host that the tables show; the others stay in the records."""

RECORD = _struct(
    {
        "schema_version": SMALL,
        "run_id": TEXT,
        "experiment": TEXT,
        "cell": TEXT,
        "arm": TEXT,
        "topology": TEXT,
        "parameters": MapType(TEXT, TEXT),  # integers and words in a record, all read as text
        "model": TEXT,
        "threads_total": SMALL,
        "queue_capacity": WHOLE,
        "machine": TEXT,
        "simulated": FLAG,
        "seed": WHOLE,
        "repeat": SMALL,
        "order_in_block": SMALL,
        "duration_s": REAL,
        "warmup_s": REAL,
        "settled": FLAG,
        "hops": REAL,
        "tuples_sent": WHOLE,
        "tuples_received": WHOLE,
        "tuples_in_flight": WHOLE,
        "drained": FLAG,
        "order_violations": WHOLE,
        "order_checked": FLAG,
        "checksum_ok": FLAG,
        "conservation": ArrayType(TEXT),
        "correct": FLAG,
        "latency_ns": LATENCY,
        "context_switches": WHOLE,
        "cpu_seconds": REAL,
        "samples": ArrayType(SAMPLE),
        "scheduling": MapType(TEXT, WHOLE),
        "host": HOST,
        "started_at": TEXT,
    },
    {
        "asked": TEXT,
        "ended": FLAG,
        "peer": TEXT,
        "policy": TEXT,
        "quantum_ms": REAL,
        "replicas": SMALL,
        "threads": SMALL,
        "sink_tuples_per_s": REAL,
        "submitted_tuples_per_s": REAL,
        "ns_per_hop": REAL,
        "error": TEXT,
        "commit": TEXT,
        "elastic": ELASTIC,
        "adaptation": ArrayType(SAMPLE),
        "simulation": SIMULATION,
        "application": MapType(TEXT, WHOLE),
    },
)

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
