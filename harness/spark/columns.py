"""Meanings of the columns of tables, which the site of the docs lists."""

from __future__ import annotations

ENDS = {"lo": "lower", "hi": "upper"}


def _with_interval(name: str, meaning: str) -> dict[str, str]:
    """Return the meaning of a mean, and of both ends of its 95 % interval."""
    return {name: meaning} | {
        f"{name}_{end}": f"{word} end of the 95 % interval of `{name}`"
        for end, word in ENDS.items()
    }


MEANINGS: dict[str, str] = {
    # a cell
    "experiment": "Name of the experiment",
    "cell": "Name of the cell: a graph with its parameters",
    "topology": "Topology, or graph file",
    "operators": "Parameter: number of operators",
    "width": "Parameter: number of parallel branches",
    "depth": "Parameter: operators in a row",
    "workers": "Parameter: operators between a split and a merge",
    "cost": "Parameter: work for each tuple [FLOP], or `skewed`",
    "busy": "Parameter: time for each tuple [µs]",
    "selectivity": "Parameter: share of the tuples that are passed on [%]",
    "payload": "Parameter: bytes of a tuple besides its header",
    "rate": "Parameter: rate that each source offers [tuples/s]; 0: as fast as it can",
    "load": "Parameter: kind of load",
    "placement": "Parameter: threaded ports of an application, `none` or `hand`",
    "sources": "Parameter: number of sources of an application",
    "parameters": "All parameters of the topology, as a line of JSON",
    "machine": "Machine that ran it, or that was simulated",
    "simulated": "True if the run was simulated",
    "software": "Software costs of a simulated run; null for real threads",
    # an arm
    "model": "Threading model",
    "peer": "Name and version of another runtime; null for Millrace",
    "arm": "Name of the arm: a model with its options",
    "threads": "Threads of the arm; null if a law chose them",
    "policy": "Scheduling policy of co-routines",
    "elastic": "True if a control law chose the number of threads",
    "law": "Name of the control law",
    "queue_capacity": "Tuples that a queue holds",
    # a run
    "run_id": "Identity of the run",
    "repeat": "Number of the repeat, from 0",
    "failed": "Runs that failed; in rows of one run, true if it failed",
    "settled": "True if the run became stationary",
    # means
    "n": "Number of runs that the row is made of",
    "final": "True if the `n` runs are final ones: earlier runs, which chose the arm, do not count",
    "no_rate": "Correct runs that were too short to have a rate",
    "unsettled": "Runs, of the `n`, that never became stationary",
    "settled_share": "Share of the `n` runs that became stationary",
    "mean_of": "Rate that `mean` is of: tuples at the sinks, hops executed, or both",
    "unfit": "Runs, of the `n`, that something on the machine disturbed",
    "hosts": "Number of machines that the `n` runs were made on",
    "mean": "Mean over the runs: throughput [tuples/s], or in `latency` average latency [ns]",
    "sd": "Sample standard deviation of the throughput [tuples/s]",
    "lo": "Lower end of the 95 % interval of the mean or the ratio",
    "hi": "Upper end of the 95 % interval of the mean or the ratio",
    "variants": "Sets of other constants of a simulated machine that were tried",
    "variants_failed": "Sets of other constants without a mean",
    "variants_reached": "Sets of other constants that changed something",
    "band_lo": "Least mean over the sets of constants [tuples/s]",
    "band_hi": "Greatest mean over the sets of constants [tuples/s]",
    "at_points": "Means with each set of constants, in one order for a cell [tuples/s]",
    "submitted_mean": "Mean of the tuples that all operators submitted [tuples/s]",
    "submitted_lo": "Lower end of the 95 % interval of `submitted_mean`",
    "submitted_hi": "Upper end of the 95 % interval of `submitted_mean`",
    "submitted_sd": "Sample standard deviation of `submitted_mean`",
    "ns_per_hop_mean": "Mean time that a tuple takes from one operator to the next [ns]",
    "context_switches_mean": "Mean number of context switches in the measured window",
    "cpu_seconds_mean": "Mean CPU time in the measured window [s]",
    "kernel_seconds_mean": "Mean of the CPU time in the kernel; null if a run lacks it [s]",
    "duration_mean": "Mean length of the measured window [s]",
    "runnable_mean": "Mean number of threads that ran or waited for a CPU; simulated runs only",
    **_with_interval("level", "Mean number of threads that a law settled on"),
    **_with_interval("queued", "Mean number of ports with a queue"),
    **_with_interval("replicas", "Mean number of replicas; in timelines those of each operator"),
    "places": "Number of ports of the cell that may have a queue",
    "cpu_model": "CPU of the earliest run",
    "cpus_allowed": "CPUs that the earliest run was allowed to use",
    "commit": "Commit that the earliest run was made with",
    # series
    "index": "Number of the sample, from 0",
    "time_s": "End of the sample, since the start of the run [s]",
    "elapsed_s": "Length of the sample [s]",
    "sink_tuples_per_s": "Tuples that sinks received [tuples/s]",
    "source_tuples_per_s": "Tuples that sources sent [tuples/s]",
    "submitted_tuples_per_s": "Tuples that all operators submitted [tuples/s]",
    "threads_active": "Threads that execute operators",
    "phase": "`adaptation` before the measured window, `measured` in it",
    "throughput_submitted": "Tuples that all operators submitted [tuples/s]",
    "throughput_source": "Tuples that sources sent [tuples/s]",
    "throughput_sink": "Tuples that sinks received [tuples/s]",
    "threads_requested": "Threads that the law asked for",
    "queued_ports": "Ports that have a queue",
    "system_cpu": "Share of the machine's CPU time that is in use [0 .. 1]",
    "law_state": "State of the law",
    "law_reason": "Reason of the law's decision",
    "balancer": "Elastic load balancer of the row; null without one",
    "active_ports": "Output ports that the balancer uses",
    "ports": "Output ports that the balancer has",
    "congestion": "Mean fill of the balancer's buffers [0 .. 1]",
    "balancer_reason": "Reason of the balancer's decision",
    "tuples_sent": "Tuples that the run's sources sent in all",
    # latency
    "p50": "Median latency; median over the runs [ns]",
    "p50_least": "Least of the runs' median latencies [ns]",
    "p50_greatest": "Greatest of the runs' median latencies [ns]",
    "p90": "90 % of tuples take at most this; median over the runs [ns]",
    "p99": "99 % of tuples take at most this; median over the runs [ns]",
    "p99_least": "Least of the runs' 99th percentiles of latency [ns]",
    "p99_greatest": "Greatest of the runs' 99th percentiles of latency [ns]",
    "max": "Greatest latency of all runs [ns]",
    # comparisons
    "against": "Group of arms that the arm is compared with",
    "rival": "Arm that the ratio is to",
    "ratio": "Throughput of the arm over that of its rival: geometric mean over `n` pairs of runs",
    # lines that are no records
    "file": "File that the line is in",
    "line": "Number of the line in its file",
    "reason": "Reason why the line is not used",
    "text": "Beginning of the line",
}
"""The meaning of a column in every table that has it, by its name."""
