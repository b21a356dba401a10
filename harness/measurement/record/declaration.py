"""The fields of a record, each declared once: what it is called, what it holds, and since when.

The JSON schema that checks records, the schema that Spark reads them with, the functions that
write them, docs/reference/records.md and the records of tests follow from this declaration. A new
field leaves `SCHEMA_VERSION` as it is and has the day in `since`. A field that changes its meaning
or that goes needs another version.
"""

from __future__ import annotations

from harness.measurement.record.kinds import (
    Array,
    Boolean,
    Field,
    Integer,
    Map,
    Number,
    OneOf,
    String,
    Struct,
)

SCHEMA_VERSION = 1  # 1: the first

NAME = String()
TEXT = String(may_be_empty=True)
FILE_NAME = String(pattern="^[A-Za-z0-9_.=,-]+$")
DIGEST = String(pattern="^[0-9a-f]{12}$")
FLAG = Boolean()
SMALL = Integer(bits=32)
AT_LEAST_ONE = Integer(least=1, bits=32)
COUNT = Integer()
AMOUNT = Number()
NAMES = Array(TEXT)

BALANCER = Struct(
    "Balancer",
    (
        Field("operator", TEXT, "Name of the operator in the graph"),
        Field("active", SMALL, "Output ports in use at the end of the period"),
        Field("ports", SMALL, "Output ports that it has"),
        Field("tuples_per_s", AMOUNT, "Rate at which tuples left on its output ports", "tuples/s"),
        Field(
            "congestion",
            AMOUNT,
            "Mean fill of the buffers in use at the end of the period",
            "0 .. 1",
        ),
        Field(
            "reason",
            TEXT,
            "Reason for the decision of its law after the period",
            null="the law has not stepped",
        ),
    ),
)

SAMPLE = Struct(
    "Sample",
    (
        Field("time_s", AMOUNT, "End of the period, since the start of the run", "s"),
        Field("elapsed_s", AMOUNT, "True length of the period", "s"),
        Field("sink_tuples_per_s", AMOUNT, "Rate at which tuples reached the sinks", "tuples/s"),
        Field("source_tuples_per_s", AMOUNT, "Rate at which the sources sent tuples", "tuples/s"),
        Field(
            "submitted_tuples_per_s",
            AMOUNT,
            "Rate at which tuples were submitted, over all output ports",
            "tuples/s",
        ),
        Field(
            "threads_active",
            SMALL,
            "Active scheduler threads at the end of the period; 0 for models without",
            "threads",
        ),
        Field("cpu_s", AMOUNT, "CPU time of the process in the period", "s"),
        Field("context_switches", COUNT, "Context switches of the process in the period"),
        Field(
            "threads_requested",
            SMALL,
            "Thread level of the period; 0 for models without",
            "threads",
            since="2026-11-21",
        ),
        Field(
            "threads_unsuspendable",
            SMALL,
            "Scheduler threads that must suspend, but still execute an operator",
            "threads",
            since="2026-11-21",
        ),
        Field("queued_ports", SMALL, "Input ports with a queue", since="2026-11-21"),
        Field(
            "system_cpu",
            AMOUNT,
            "Busy share of the CPUs, or of the cgroup's quota if that share is larger, by "
            "all processes",
            "0 .. 1",
            since="2026-11-21",
        ),
        Field(
            "others_cpu",
            AMOUNT,
            "Busy share of the CPUs, by other processes",
            "0 .. 1",
            since="2026-11-21",
        ),
        Field(
            "utilisation",
            AMOUNT,
            "Share of their time in which active scheduler threads executed operators",
            "0 .. 1",
            null="there are none",
            since="2026-11-21",
        ),
        Field(
            "law_state",
            TEXT,
            "State of the pool's control law after the period",
            null="no law has stepped",
            since="2026-11-21",
        ),
        Field(
            "law_reason",
            TEXT,
            "Reason for its decision",
            null="no law has stepped",
            since="2026-11-21",
        ),
        Field(
            "law_tuples_per_s",
            AMOUNT,
            "Throughput that the law read: tuples submitted, over `law_elapsed_s`",
            "tuples/s",
            null="no law has stepped",
            since="2026-11-22",
        ),
        Field(
            "law_elapsed_s",
            AMOUNT,
            "Length of the law's period, which may be several samples, without the law's own time",
            "s",
            null="no law has stepped",
            since="2026-11-23",
        ),
        Field(
            "law_arrived",
            AMOUNT,
            "Tuples at the sinks over tuples submitted, in the law's period",
            null="no law has stepped, or no tuple was submitted",
            since="2026-11-26",
        ),
        Field(
            "law_read",
            OneOf((Map(OneOf((AMOUNT, Array(AMOUNT)), or_null=True)),)),
            "Other fields of its reading that the law needs (docs/explanation/laws.md)",
            null="it needs no other",
            since="2026-11-27",
        ),
        Field(
            "switched_on",
            NAMES,
            "Input ports that got their queue after the period, as `operator[port]`",
            since="2026-11-21",
        ),
        Field("switched_off", NAMES, "Input ports that lost their queue then", since="2026-11-21"),
        Field(
            "replicas",
            Map(AT_LEAST_ONE),
            "Replicas, at the end of the period, of operators that have more than one",
            since="2026-11-28",
        ),
        Field(
            "replicas_changed",
            Map(AT_LEAST_ONE),
            "New number of replicas of operators that changed after the period",
            since="2026-11-28",
        ),
        Field(
            "operator_cost",
            Array(AMOUNT),
            "Share of the work of each operator by the profiler, 0 .. 1, in the order of the "
            "graph; empty without a profiler",
            since="2026-11-21",
        ),
        Field(
            "balancers",
            Array(BALANCER),
            "One entry for each elastic_load_balance operator",
            since="2026-11-21",
        ),
    ),
)

ELASTIC = Struct(
    "Law",
    (
        Field("law", NAME, "Name of the law"),
        Field(
            "settings",
            Map(OneOf((Number(least=None), FLAG))),
            "Settings of the law, defaults included",
        ),
        Field("period_s", AMOUNT, "Time between two steps of the law", "s"),
        Field("minimum", AT_LEAST_ONE, "Lowest level that it may choose", "threads"),
        Field("maximum", AT_LEAST_ONE, "Highest level that it may choose", "threads"),
        Field("start", AT_LEAST_ONE, "Level at which it begins", "threads"),
        Field(
            "places",
            NAMES,
            "Input ports whose queues the law may switch",
            null="it switches none",
            since="2026-11-21",
        ),
        Field(
            "replicable",
            NAMES,
            "Operators whose number of replicas the law may change",
            null="it changes none",
            since="2026-11-28",
        ),
        Field(
            "settled_level",
            AT_LEAST_ONE,
            "Median level of the measured window",
            "threads",
            null="it has no samples",
        ),
        Field(
            "settled_queued",
            SMALL,
            "Median number of ports with a queue in the measured window",
            null="it has no samples",
            since="2026-11-21",
        ),
        Field(
            "settled_replicas",
            Number(least=1),
            "Median of the mean number of replicas of `replicable` in the measured window",
            null="there are none, or no samples",
            since="2026-11-28",
        ),
        Field("changes", SMALL, "Changes of the level in the measured window"),
        Field(
            "adaptation_s", AMOUNT, "Time before the measured window, in which the law adapted", "s"
        ),
        Field(
            "settled",
            FLAG,
            "True if the law had kept its level for 8 periods when the measured window "
            "began, or when a run that was measured as a whole ended",
        ),
    ),
)

TIME_SPENT = Struct(
    "Time spent",
    (
        Field("activity", NAME, "Activity of the thread (docs/how-to/explaining.md)"),
        Field("operator", TEXT, "Operator that it was for", null="it was for none"),
        Field("time_s", AMOUNT, "Time in the window", "s"),
    ),
)

THREAD_TIME = Struct(
    "Thread time",
    (
        Field("name", NAME, "Name of the thread"),
        Field("spent", Array(TIME_SPENT), "Its time in the window, which these parts add up to"),
    ),
)

OPERATOR_FACTS = Struct(
    "Operator facts",
    (
        Field("name", NAME, "Name of the operator"),
        Field("kind", NAME, "Kind of the operator"),
        Field("tuples", COUNT, "Tuples that it executed in the window", "tuples"),
        Field("most_threads", AT_LEAST_ONE, "Threads that may execute it at once", "threads"),
        Field("locked", FLAG, "True if threads take a lock to execute it"),
        Field("replicable", FLAG, "True if it can have replicas under the model coroutine"),
        Field(
            "queue_capacity",
            COUNT,
            "Capacity of the shortest queue before its input ports at the end of the window",
            "tuples",
            null="one of its input ports has no queue, or it has none",
        ),
        Field("behind", NAMES, "Operators that send to it, by name"),
        Field(
            "interpreter_s",
            AMOUNT,
            "CPU time of its Python function, which holds the interpreter's lock",
            "s",
            null="it needs no such lock",
            since="2026-11-29",
        ),
        Field(
            "due_tuples",
            AMOUNT,
            "Tuples that its schedule had for the window",
            "tuples",
            null="it is no source with a rate, or sends all it can at times",
            since="2026-11-30",
        ),
    ),
)

TIME_USE = Struct(
    "Time use",
    (
        Field("elapsed_s", AMOUNT, "Length of the window", "s"),
        Field("cpus", AMOUNT, "CPUs of the machine that the run could use", "CPUs"),
        Field(
            "others_cpus",
            AMOUNT,
            "CPUs of these that other programs and the hypervisor kept busy",
            "CPUs",
        ),
        Field(
            "looks",
            COUNT,
            "Looks at the threads since the start of the run",
            null="the times are exact: the run was simulated",
        ),
        Field(
            "look_s",
            AMOUNT,
            "Time of a thread that a look stands for",
            "s",
            null="the times are exact: the run was simulated",
            since="2026-11-29",
        ),
        Field("operators", Array(OPERATOR_FACTS), "All operators, in the order of the graph"),
        Field("threads", Array(THREAD_TIME), "All threads that executed operators"),
        Field(
            "counters",
            Map(COUNT),
            "Hardware counts of the process in the window; empty if there are none",
        ),
        Field(
            "counters_problem",
            TEXT,
            "Reason why there are no hardware counts",
            null="there are, or the run was simulated",
        ),
    ),
)

PROFILED = Struct(
    "Profile",
    (
        Field("cpu", TEXT, "Model of the CPU that the profile was taken on"),
        Field("digest", DIGEST, "Digest of the profile"),
        Field("tuple_ns", AMOUNT, "Time of a tuple of the source there, in all operators", "ns"),
    ),
)

SIMULATION = Struct(
    "Simulation",
    (
        Field("software", NAME, "Profile of the software costs (config/software)"),
        Field(
            "machine_digest",
            String(may_be_empty=True, pattern="^([0-9a-f]{12})?$"),
            "First 12 digits of the SHA-256 of the machine's profile; empty if the run did "
            "not start",
        ),
        Field(
            "software_digest",
            String(may_be_empty=True, pattern="^([0-9a-f]{12})?$"),
            "The digits of the software's profile; likewise",
        ),
        Field("seed", COUNT, "Seed of the random choices of the simulation"),
        Field(
            "constants",
            Map(Number(least=None)),
            "Constants of the machine that the run replaced, by path; such a run is a "
            "variant and enters no mean",
        ),
        Field("events", COUNT, "Events that were simulated"),
        Field("virtual_s", AMOUNT, "Virtual time that passed in the whole run", "s"),
        Field("wall_s", AMOUNT, "Real time that the simulation took", "s"),
        Field(
            "bound",
            TEXT,
            "Bound that cut the simulation short, and the place",
            null="it came to its end",
        ),
        Field(
            "contenders",
            AT_LEAST_ONE,
            "Largest number of threads that wanted to change one cache line at once",
            "threads",
            null="unknown",
            since="2026-11-23",
        ),
        Field(
            "passed_tuples_per_s",
            AMOUNT,
            "Hops executed in the measured window over `hops`; equals the rate at the sinks "
            "in a stationary run",
            "tuples/s",
            null="unknown",
            since="2026-11-23",
        ),
        Field(
            "reached",
            FLAG,
            "True if a variant differs from the run with the machine's own constants and the "
            "same seed",
            null="the two were not compared",
            since="2026-11-28",
            optional=True,
        ),
        Field(
            "load",
            AMOUNT,
            "Threads that ran or waited for a CPU, mean over the virtual time",
            "threads",
            null="unknown",
            since="2026-11-21",
        ),
        Field(
            "profiled",
            PROFILED,
            "Profile that gave the costs and selectivities of operators that call functions",
            null="the graph has no such operators",
            since="2026-11-28",
        ),
    ),
)

LEFT_OUT = Struct(
    "Left out",
    (
        Field(
            "kind", NAME, "Reason: broken, late, truncated, of an unknown kind, or without a time"
        ),
        Field("count", COUNT, "Number of records or tuples"),
        Field("example", TEXT, "First one: its place and its text", null="unknown"),
    ),
)

PERCENTILES = (50, 90, 99)

PART_LATENCY = Struct(
    "Part latency",
    (
        Field("first", NAME, "First operator of the part, in the order of the graph"),
        Field(
            "p99",
            AMOUNT,
            "99th percentile of the latencies at the sinks of the part, as `p99`",
            "ns",
            null="nothing arrived there",
        ),
        Field("count", COUNT, "Latencies counted there in the measured window"),
    ),
)

LATENCY = Struct(
    "Latency",
    (
        *(
            Field(
                f"p{percent}",
                AMOUNT,
                f"{percent}th percentile: the upper bound of its histogram bucket, at most `max`",
                "ns",
                null="nothing arrived",
            )
            for percent in PERCENTILES
        ),
        Field(
            "max",
            AMOUNT,
            "Longest latency, in a timed run the upper bound of its bucket",
            "ns",
            null="nothing arrived",
        ),
        Field(
            "mean",
            AMOUNT,
            "Mean latency, each taken for the middle of its histogram bucket",
            "ns",
            null="nothing arrived",
            since="2026-11-29",
        ),
        Field("count", COUNT, "Latencies counted in the measured window"),
        Field(
            "parts",
            Array(PART_LATENCY),
            "Latencies of each part that no stream connects to another, if the graph has from 2 "
            "to 64 parts",
            since="2026-11-30",
            optional=True,
        ),
    ),
)

HOST = Struct(
    "Host",
    (
        Field("cpu_model", NAME, "Name of the CPU"),
        Field(
            "cpus_allowed", AT_LEAST_ONE, "CPUs that the process may use (affinity mask)", "CPUs"
        ),
        Field("cpus_online", AT_LEAST_ONE, "CPUs of the machine that are online", "CPUs"),
        Field(
            "governor",
            TEXT,
            "Frequency governors of the CPUs allowed, joined by commas",
            null="the system does not say",
        ),
        Field(
            "huge_pages",
            TEXT,
            "Rule of the system for huge pages: always, madvise (on request) or never",
            null="the system does not say",
            since="2026-11-26",
        ),
        Field(
            "cgroup_quota_cpus",
            AMOUNT,
            "Smallest CPU quota of the process's cgroups",
            "CPUs",
            null="there is none",
        ),
        Field(
            "throttled_us",
            COUNT,
            "Time that the cgroups were throttled in the measured window",
            "µs",
            null="the system does not say",
        ),
        Field(
            "steal_share",
            AMOUNT,
            "Share of the allowed CPUs' time that the hypervisor took in the measured window "
            "(with the warm-up if the window was shorter than 0.1 s)",
            "0 .. 1",
            null="both together were shorter, or the system does not say",
        ),
        Field(
            "load_of_others",
            AMOUNT,
            "Allowed CPUs that other processes kept busy in the same time",
            "CPUs",
            null="`steal_share` is",
        ),
        Field("memory_bytes", Integer(least=1), "Physical memory of the machine", "bytes"),
        Field("kernel", TEXT, "Name and release of the operating system's kernel"),
        Field("hostname_hash", DIGEST, "First 12 digits of the SHA-256 of the host's name"),
        Field("python", TEXT, "Implementation and version of Python"),
        Field(
            "compiler",
            TEXT,
            "Compiler of the engine, with its version; `unknown` if the engine was not loaded",
        ),
        Field("compiler_flags", TEXT, "Flags that the engine was compiled with"),
        Field(
            "ns_per_flop",
            AMOUNT,
            "Time of one dependent floating-point multiply, measured after the run; of a "
            "peer by its program",
            "ns",
            null="the run failed or was simulated",
        ),
        Field(
            "hand_offs_ns",
            Array(Number(above=True)),
            "Times of a cache line from core to core right before and right after the run, "
            "in ns; in validations",
            since="2026-11-22",
            optional=True,
        ),
        Field(
            "shared_cache_bytes",
            Integer(least=1),
            "Part of the shared cache that copies got shortly before the run; in validations",
            "bytes",
            since="2026-11-26",
            optional=True,
        ),
        Field("versions", Map(TEXT), "Versions of the software, by name"),
        Field("host_fit", FLAG, "True if `host_warnings` is empty"),
        Field("host_warnings", NAMES, "Reasons against measuring on this host"),
    ),
)

IDENTITY = Struct(
    "Identity",
    (
        Field("schema_version", AT_LEAST_ONE, "Version of this format; 1 is the first"),
        Field(
            "run_id",
            String(pattern="^[0-9a-f]{32}$"),
            "Name of the run: 32 random hexadecimal digits",
        ),
        Field(
            "asked",
            DIGEST,
            "Digest of the settings of the run: the repeats of one arm share it",
            since="2026-11-25",
        ),
        Field(
            "experiment",
            FILE_NAME,
            "Experiment that the run belongs to; `adhoc` for `millrace run`",
        ),
        Field(
            "cell", FILE_NAME, "Point of the sweep: topology and parameters, as a name of a file"
        ),
        Field(
            "arm",
            FILE_NAME,
            "Threading model with its scheduler threads (`dynamic-2`) or its law "
            "(`dynamic-elastic`)",
        ),
        Field("topology", NAME, "Name of the topology"),
        Field(
            "parameters",
            Map(OneOf((Number(least=None), TEXT))),
            "All parameters of the topology, defaults included",
        ),
        Field("model", NAME, "Threading model, as `millrace models` lists it, or name of the peer"),
        Field(
            "peer",
            NAME,
            "Name and version of another runtime that was measured",
            null="Millrace was measured",
            since="2026-11-27",
        ),
        Field(
            "policy",
            NAME,
            "Scheduling policy of the coroutine model",
            null="the model is another",
            since="2026-11-27",
        ),
        Field(
            "quantum_ms",
            Number(above=True),
            "Time after which a co-routine is preempted",
            "ms",
            null="the model is another",
            since="2026-11-27",
        ),
        Field(
            "replicas",
            AT_LEAST_ONE,
            "Replicas of each operator that may have several; with a law that changes them, "
            "the number at the start",
            null="the model is not coroutine",
            since="2026-11-28",
        ),
        Field(
            "batch",
            AT_LEAST_ONE,
            "Tuples that an operator gets at once, at most, as the user asked; of a peer, in fact",
            "tuples",
            null="not asked, so as `harness/native/sizes.hpp` says; or a peer's run that failed",
            since="2026-11-29",
            optional=True,
        ),
        Field(
            "threads",
            AT_LEAST_ONE,
            "Scheduler threads",
            "threads",
            null="the model has none, or their number may change",
        ),
        Field("machine", NAME, "Machine of the run: `local` for this host, or a simulated one"),
        Field("simulated", FLAG, "True if all times but `wall_s` are virtual"),
        Field(
            "simulation",
            SIMULATION,
            "Settings and costs of the simulation",
            null="the run was measured",
            since="2026-11-21",
        ),
        Field("seed", COUNT, "Seed of what the topology draws at random"),
        Field("repeat", SMALL, "Repeat of the cell, from 0"),
        Field("order_in_block", SMALL, "Position in the random order of the block, from 0"),
        Field(
            "final",
            FLAG,
            "True if the run compares finalists: arms that earlier runs of the block chose; only "
            "in such runs",
            since="2026-11-30",
            optional=True,
        ),
    ),
)
"""Fields that say which run it was."""

OUTCOME = Struct(
    "Outcome",
    (
        Field(
            "threads_total",
            SMALL,
            "Threads that execute operators, those of sources included, at the end of the "
            "window; 0 if the run did not start",
            "threads",
        ),
        Field("queue_capacity", COUNT, "Capacity of each queue; 0 without queues", "tuples"),
        Field(
            "duration_s",
            AMOUNT,
            "True length of the measured window; of a bounded run, from its start to its "
            "last tuple",
            "s",
        ),
        Field("warmup_s", AMOUNT, "Length of the warm-up; 0 for a bounded run", "s"),
        Field(
            "settled",
            FLAG,
            "True if the run was stationary when its warm-up ended, and its measured halves "
            "agree within 20 % (without a watched warm-up: 5 %); of a bounded run, or one "
            "that has ended: true if it completed",
        ),
        Field(
            "ended",
            FLAG,
            "True if all sources of a timed run ended early; the measured window is then the "
            "whole run",
            since="2026-11-28",
        ),
        Field(
            "sink_tuples_per_s",
            AMOUNT,
            "Throughput at the sinks over the measured window",
            "tuples/s",
            null="the window has no length",
        ),
        Field(
            "submitted_tuples_per_s",
            AMOUNT,
            "Tuples submitted over all output ports, over the measured window",
            "tuples/s",
            null="the window has no length",
        ),
        Field(
            "ns_per_hop",
            AMOUNT,
            "Time per tuple and operator passed: 1e9 / (sink_tuples_per_s * hops)",
            "ns",
            null="either factor is 0 or null",
        ),
        Field(
            "hops",
            AMOUNT,
            "Operators (work, merge, python) that a tuple passes, per tuple at the sinks",
        ),
        Field("tuples_sent", COUNT, "Tuples sent by all sources in the whole run", "tuples"),
        Field("tuples_received", COUNT, "Tuples that reached the sinks in the whole run", "tuples"),
        Field(
            "tuples_in_flight", COUNT, "Tuples left in queues when a run was cut short", "tuples"
        ),
        Field("drained", FLAG, "True if every port saw its final punctuation"),
        Field(
            "order_violations",
            COUNT,
            "Tuples that a sink saw after a later one of the same path",
            "tuples",
        ),
        Field(
            "order_checked",
            FLAG,
            "True if order was checked. False if a peer does not promise it, if the graph "
            "has too many paths, or a control port where branches have joined before their "
            "merge, or if the run failed",
        ),
        Field("checksum_ok", FLAG, "True if the tuples at the sinks were exactly those sent"),
        Field(
            "conservation",
            NAMES,
            "Operators that got more or fewer tuples than were submitted to them, or lost some",
        ),
        Field(
            "correct",
            FLAG,
            "True if no tuple was lost, doubled, reordered or harmed, and nothing failed",
        ),
        Field(
            "error",
            TEXT,
            "Reason why the run failed: one line, and the last lines of its process",
            null="it did not fail",
        ),
        Field("latency_ns", LATENCY, "Latency from source to sink over the measured window"),
        Field("context_switches", COUNT, "Context switches of the process in the measured window"),
        Field("cpu_seconds", AMOUNT, "CPU time of the process in the measured window", "s"),
        Field(
            "kernel_seconds",
            AMOUNT,
            "Part of `cpu_seconds` in which the kernel ran for the process",
            "s",
            null="the run failed early, or a peer was measured",
            since="2026-11-29",
        ),
        Field(
            "elastic",
            ELASTIC,
            "Control law of an elastic pool, and its levels",
            null="the pool is not elastic",
            since="2026-11-21",
        ),
        Field(
            "adaptation",
            Array(SAMPLE),
            "Readings before the measured window of an elastic run, in order; empty for others",
            since="2026-11-21",
        ),
        Field("samples", Array(SAMPLE), "Readings of the measured window, in order"),
        Field(
            "scheduling",
            Map(COUNT),
            "Counts over all threads and the whole run: drains, searches, reschedules, blocks",
        ),
        Field(
            "application",
            Map(COUNT),
            "Counts of the application, or of tuples and records that operators left out",
            null="nothing was counted, or the run was simulated",
            since="2026-11-27",
        ),
        Field(
            "left_out",
            Array(LEFT_OUT),
            "Input that the run could not use, by kind",
            since="2026-11-29",
        ),
        Field(
            "left_out_share",
            AMOUNT,
            "Share of the input that was left out",
            "0 .. 1",
            null="there was no input, or the run was simulated",
            since="2026-11-29",
        ),
        Field(
            "time_use",
            TIME_USE,
            "Activities of the threads in the measured window; in runs of `millrace explain`",
            since="2026-11-29",
            optional=True,
        ),
    ),
)
"""Fields that say what came of the run."""

CIRCUMSTANCES = Struct(
    "Circumstances",
    (
        Field("host", HOST, "Host that the run was measured on, and what disturbed it"),
        Field(
            "commit",
            String(pattern="^[0-9a-f]{40,64}([+]dirty)?$"),
            "Commit of the source, with `+dirty` if tracked files were changed",
            null="it is in no git checkout",
        ),
        Field(
            "started_at",
            String(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}([.]\d+)?([+]00:00|Z)$"),
            "Start of the run (ISO 8601, UTC)",
        ),
    ),
)
"""Fields that say where and when the run was made."""

RECORD = Struct("Record", IDENTITY.fields + OUTCOME.fields + CIRCUMSTANCES.fields)
