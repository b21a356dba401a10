"""Each table from a few runs by hand, against literal rows.

Spark takes longer to plan a query than to execute it on so few runs. So the runs of each test are
an experiment of their own, and each table is made once, of the runs of all tests.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from harness.measurement.interval import mean_interval
from harness.measurement.record.declaration import SAMPLE
from tests.records import oldest
from tests.spark.conftest import assert_same_rows

pytestmark = pytest.mark.heavy

Steps = Iterator[list[dict]]
"""Steps of a test: it yields records, is sent the tables that follow from them, and looks at these."""

TESTS: dict[str, Callable[..., Steps]] = {}


def beside_the_others(steps: Callable[..., Steps]) -> Callable[..., None]:
    """Make a test of its steps. Its parameters are fixtures that make records."""
    name = steps.__name__
    TESTS[name] = steps

    def test(begun: Callable[[str], Steps], tables_of: Callable[[str], SimpleNamespace]) -> None:
        begin = begun(name)
        next(begin)
        with pytest.raises(StopIteration):
            begin.send(tables_of(name))

    test.__name__ = name
    return test


@pytest.fixture(scope="module")
def begun(make_record, elastic, sample, simulated) -> Callable[[str], Steps]:
    """The steps of a test, from the first."""
    given = {
        "make_record": make_record,
        "elastic": elastic,
        "sample": sample,
        "simulated": simulated,
    }

    def begin(name: str) -> Steps:
        wanted = inspect.signature(TESTS[name]).parameters
        return TESTS[name](**{each: given[each] for each in wanted})

    return begin


@pytest.fixture(scope="module")
def tables_of(parse_lines, begun) -> Callable[[str], SimpleNamespace]:
    """The rows of each table that follow from the records of a test."""
    from harness.spark.latency import latency
    from harness.spark.records import runs
    from harness.spark.samples import samples
    from harness.spark.selection import mark_used
    from harness.spark.speedup import speedup
    from harness.spark.throughput import throughput
    from harness.spark.timeline import timeline

    records = [
        record | {"experiment": name, "run_id": f"{name} {record['run_id']}"}
        for name in TESTS
        for record in next(begun(name))
    ]
    marked = mark_used(runs(parse_lines(*records))).localCheckpoint()
    made = {
        table.__name__: [row.asDict(recursive=True) for row in table(marked).collect()]
        for table in (throughput, samples, timeline, latency, speedup)
    }

    def of_test(name: str) -> SimpleNamespace:
        return SimpleNamespace(
            **{
                table: [_as_recorded(row) for row in rows if row["experiment"] == name]
                for table, rows in made.items()
            }
        )

    return of_test


def _as_recorded(row: dict[str, Any]) -> dict[str, Any]:
    """Give a row of a run the name of the run that the test knows."""
    if "run_id" not in row:
        return row
    return row | {"run_id": row["run_id"].removeprefix(f"{row['experiment']} ")}


def against(what: str, tables: SimpleNamespace) -> list[dict]:
    return [row for row in tables.speedup if row["against"] == what]


@beside_the_others
def test_throughput_is_a_mean_with_its_interval_over_the_runs_of_an_arm(make_record):
    rates = [
        (10, 100, "x", "2025-01-03"),
        (12, 120, "y", "2025-01-01"),
        (14, 140, "z", "2025-01-02"),
    ]
    tables = yield [
        *[
            make_record(
                repeat=repeat,
                sink_tuples_per_s=sink,
                submitted_tuples_per_s=all_,
                commit=commit,
                started_at=day,
            )
            for repeat, (sink, all_, commit, day) in enumerate(rates)
        ],
        make_record(
            model="dynamic",
            arm="dynamic-2",
            threads=2,
            parameters={"width": 3, "cost": "skewed"},
            commit=None,
        ),
    ]
    shared = {
        "cell": "pipeline,operators=4",
        "topology": "pipeline",
        "machine": "local",
        "simulated": False,
    }
    means = {
        "ns_per_hop_mean": 2.5e7,
        "context_switches_mean": 3.0,
        "cpu_seconds_mean": 0.9,
        "kernel_seconds_mean": 0.3,
    }
    host = {"cpu_model": "a CPU", "cpus_allowed": 6}
    all_used = {
        "failed": 0,
        "no_rate": 0,
        "unsettled": 0,
        "settled_share": 1.0,
        "unfit": 0,
        "hosts": 1,
    }
    manual = {
        "model": "manual",
        "arm": "manual",
        "threads": None,
        "queue_capacity": 0,
        "commit": "y",
    }
    dynamic = {
        "model": "dynamic",
        "arm": "dynamic-2",
        "threads": 2,
        "queue_capacity": 8,
        "commit": None,
    }
    assert_same_rows(
        tables.throughput,
        [
            {
                **shared, **means, **host, **all_used, **manual,
                "operators": 4, "width": None, "depth": None, "cost": "100", "payload": 128, "n": 3,
                "mean": 12.0, "sd": 2.0, "lo": 7.931829, "hi": 18.154703,
                "submitted_mean": 120.0, "submitted_sd": 20.0, "submitted_lo": 79.318292, "submitted_hi": 181.547027,
            },
            {
                **shared, **means, **host, **all_used, **dynamic,
                "operators": None, "width": 3, "depth": None, "cost": "skewed", "payload": None, "n": 1,
                "mean": 10.0, "sd": None, "lo": None, "hi": None,
                "submitted_mean": 50.0, "submitted_sd": None, "submitted_lo": None, "submitted_hi": None,
            },
        ],
    )  # fmt: skip


@beside_the_others
def test_runs_that_chose_a_finalist_do_not_count_in_its_means_but_in_ratios(make_record):
    def run(arm, repeat, rate, p99, **fields):
        latency = dict.fromkeys(("p50", "p90", "p99", "mean", "max"), p99) | {"count": 1}
        return make_record(
            arm=arm, repeat=repeat, sink_tuples_per_s=rate, latency_ns=latency, **fields
        )

    tables = yield [
        run("chosen", 0, 99.0, 900),
        run("chosen", 1, 97.0, 900, correct=False),
        run("chosen", 2, 10.0, 100, final=True),
        run("chosen", 3, 12.0, 200, final=True),
        run("chosen", 4, 14.0, 600, final=True),
        run("chosen", 5, 99.0, 900, final=True, correct=False),
        run("other", 0, 33.0, 500),
        run("other", 1, 11.0, 500),
        run("failing", 0, 50.0, 500),
        run("failing", 1, 50.0, 500, final=True, correct=False),
    ]
    of_arm = {"cell": "pipeline,operators=4"}
    assert_same_rows(
        tables.throughput,
        [
            of_arm | {"arm": "chosen", "final": True, "n": 3, "failed": 2, "mean": 12.0},
            of_arm | {"arm": "failing", "final": True, "n": 0, "failed": 1, "mean": None},
            of_arm | {"arm": "other", "final": False, "n": 2, "failed": 0, "mean": 22.0},
        ],
    )
    ranges = {"p99": 200.0, "p99_least": 100.0, "p99_greatest": 600.0}
    same = dict.fromkeys(ranges, 500.0)
    assert_same_rows(
        tables.latency,
        [of_arm | {"arm": "chosen", "n": 3} | ranges, of_arm | {"arm": "other", "n": 2} | same],
    )
    best = {row["arm"]: row for row in against("best", tables)}
    assert best["other"]["ratio"] == pytest.approx(1 / 3)  # by their one common repeat


@beside_the_others
def test_time_in_the_kernel_has_a_mean_if_all_runs_have_it(make_record):
    tables = yield [
        make_record(arm="all", kernel_seconds=0.2),
        make_record(arm="all", repeat=1, kernel_seconds=0.4),
        make_record(arm="all", repeat=2, kernel_seconds=None, correct=False),
        make_record(arm="one is older", kernel_seconds=0.2),
        make_record(arm="one is older", repeat=1, without="kernel_seconds"),
        make_record(arm="none", kernel_seconds=None),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {"arm": "all", "n": 2, "kernel_seconds_mean": 0.3},
            {"arm": "one is older", "n": 2, "kernel_seconds_mean": None},
            {"arm": "none", "n": 1, "kernel_seconds_mean": None},
        ],
    )


@beside_the_others
def test_means_are_over_all_correct_runs_with_the_share_of_them_that_settled(make_record):
    def repeats(arm, *runs):
        return [make_record(arm=arm, repeat=repeat, **fields) for repeat, fields in enumerate(runs)]

    good, wrong = {"sink_tuples_per_s": 10.0}, {"sink_tuples_per_s": 1e6, "correct": False}
    raised = {
        "sink_tuples_per_s": None,
        "submitted_tuples_per_s": None,
        "ns_per_hop": None,
        "settled": False,
        "error": "boom",
    }
    unsettled = {"sink_tuples_per_s": 30.0, "settled": False}
    sinks, none = {"mean_of": "tuples at the sinks"}, {"mean_of": None}
    too_short = {"sink_tuples_per_s": None}
    tables = yield [
        *repeats("mixed", good, wrong, raised, unsettled, too_short),
        *repeats("never settled", unsettled, raised, unsettled),
        *repeats("all failed", wrong, raised),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                **sinks,
                "arm": "mixed",
                "n": 2,
                "failed": 2,
                "no_rate": 1,
                "unsettled": 1,
                "settled_share": 0.5,
                "mean": 20.0,
            },
            {
                **sinks,
                "arm": "never settled",
                "n": 2,
                "failed": 1,
                "no_rate": 0,
                "unsettled": 2,
                "settled_share": 0.0,
                "mean": 30.0,
            },
            {
                **none,
                "arm": "all failed",
                "n": 0,
                "failed": 2,
                "no_rate": 0,
                "unsettled": 0,
                "settled_share": None,
                "mean": None,
            },
        ],
    )


@beside_the_others
def test_a_run_that_was_lost_is_a_failed_one_of_its_arm(make_record):
    lost = make_record(
        model="dedicated",
        queue_capacity=0,
        settled=False,
        correct=False,
        error="killed after 82.5 s",
    )
    tables = yield [lost, make_record(model="dedicated", queue_capacity=130, repeat=1)]
    assert_same_rows(
        tables.throughput,
        [{"arm": "dedicated", "n": 1, "failed": 1, "queue_capacity": 130, "mean": 10.0}],
    )


@beside_the_others
def test_runs_that_were_disturbed_and_runs_of_other_hosts_are_counted(make_record):
    def on(host, fit, **fields):
        return make_record(host={"hostname_hash": host, "host_fit": fit}, **fields)

    tables = yield [
        on("a", True),
        on("b", False, repeat=1),
        on("c", False, repeat=2, correct=False),
    ]
    assert_same_rows(tables.throughput, [{"n": 2, "unfit": 1, "hosts": 2}])


@beside_the_others
def test_of_a_simulated_run_that_never_settled_counts_what_the_graph_got_through(
    make_record, simulated
):
    fields = simulated(passed_tuples_per_s=5.0)
    tables = yield [
        make_record(**fields),
        make_record(arm="deep", sink_tuples_per_s=0.0, ns_per_hop=None, settled=False, **fields),
        make_record(arm="unknown", sink_tuples_per_s=7.0, settled=False, **simulated()),
        make_record(
            arm="mixed", sink_tuples_per_s=6.0, **fields
        ),  # the two are not averaged with each other
        make_record(arm="mixed", sink_tuples_per_s=0.0, settled=False, repeat=1, **fields),
        make_record(arm="old", sink_tuples_per_s=0.0, settled=False, **fields),
        make_record(arm="old", sink_tuples_per_s=8.0, repeat=1, **simulated()),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                "arm": "manual",
                "n": 1,
                "mean_of": "tuples at the sinks",
                "mean": 10.0,
                "ns_per_hop_mean": 2.5e7,
            },
            {
                "arm": "deep",
                "n": 1,
                "mean_of": "hops executed",
                "mean": 5.0,
                "ns_per_hop_mean": 5e7,
            },
            {
                "arm": "unknown",
                "n": 1,
                "mean_of": "tuples at the sinks",
                "mean": 7.0,
                "ns_per_hop_mean": 2.5e7,
            },
            {
                "arm": "mixed",
                "n": 2,
                "mean_of": "hops executed",
                "mean": 5.0,
                "ns_per_hop_mean": 5e7,
            },
            {"arm": "old", "n": 2, "mean_of": "both", "mean": 6.5, "ns_per_hop_mean": 3.75e7},
        ],
    )
    assert [
        row["ratio"] for row in tables.speedup if (row["arm"], row["against"]) == ("deep", "manual")
    ] == [pytest.approx(0.5)]


@beside_the_others
def test_settled_runs_have_means_of_their_own(make_record, simulated, elastic):
    def run(arm, repeat, rate, level, settled):
        return make_record(
            arm=arm,
            repeat=repeat,
            model="dynamic",
            sink_tuples_per_s=rate,
            submitted_tuples_per_s=10 * rate,
            settled=settled,
            elastic=elastic(settled_level=level),
            **simulated(passed_tuples_per_s=7.0),
        )

    tables = yield [
        *(run("law", number, 100.0 + number, 4 + number, True) for number in range(2)),
        run("law", 2, 0.0, 60, False),
        run("lost", 0, 0.0, 60, False),
    ]
    lost, found = sorted(tables.throughput, key=lambda row: row["n"])
    assert found["mean"] == 7.0 and found["unsettled"] == 1
    assert (found["settled_mean"], found["settled_submitted_mean"]) == (100.5, 1005.0)
    assert found["settled_level"] == 4.5
    for name in ("settled_", "settled_submitted_", "settled_level_"):
        middle = found.get(f"{name}mean") or found["settled_level"]
        assert found[f"{name}lo"] < middle < found[f"{name}hi"]
    names = [name for name in lost if name.startswith("settled_") and name != "settled_share"]
    assert len(names) == 15 and all(lost[name] is None for name in names)


@beside_the_others
def test_samples_are_rows_in_their_order_of_failed_runs_too(make_record, sample):
    tables = yield [
        make_record(
            run_id="a",
            repeat=4,
            samples=[sample(time_s=1.0, threads_active=1), sample(time_s=2.0, sink_tuples_per_s=7)],
        ),
        make_record(run_id="b", samples=[]),
        make_record(
            run_id="c",
            correct=False,
            settled=False,
            samples=[sample(elapsed_s=0.25, source_tuples_per_s=3.5)],
        ),
    ]
    shared = {"cell": "pipeline,operators=4", "arm": "manual", "submitted_tuples_per_s": 50.0}
    steady = {
        "run_id": "a",
        "repeat": 4,
        "failed": False,
        "settled": True,
        "elapsed_s": 0.5,
        "source_tuples_per_s": 11.0,
    }
    failed = {
        "run_id": "c",
        "repeat": 0,
        "failed": True,
        "settled": False,
        "elapsed_s": 0.25,
        "source_tuples_per_s": 3.5,
    }
    assert_same_rows(
        tables.samples,
        [
            {
                **shared,
                **steady,
                "index": 0,
                "time_s": 1.0,
                "sink_tuples_per_s": 12.0,
                "threads_active": 1,
            },
            {
                **shared,
                **steady,
                "index": 1,
                "time_s": 2.0,
                "sink_tuples_per_s": 7.0,
                "threads_active": 2,
            },
            {
                **shared,
                **failed,
                "index": 0,
                "time_s": 1.0,
                "sink_tuples_per_s": 12.0,
                "threads_active": 2,
            },
        ],
    )


@beside_the_others
def test_an_elastic_arm_has_the_mean_of_the_levels_it_settled_on_with_its_interval(
    make_record, elastic
):
    def arm(name, *levels, **fields):
        return [
            make_record(
                model="dynamic",
                arm=name,
                repeat=repeat,
                elastic=elastic(settled_level=level, **fields),
            )
            for repeat, level in enumerate(levels)
        ]

    tables = yield [
        *arm("dynamic-elastic", 2, 3, 4),
        make_record(
            model="dynamic",
            arm="dynamic-elastic",
            repeat=3,
            correct=False,
            elastic=elastic(settled_level=None),
        ),
        *arm("dynamic-elastic-other", 2, law="other"),
        make_record(model="dynamic", arm="dynamic-elastic-broken", correct=False, elastic=None),
        make_record(model="dynamic", arm="dynamic-2", threads=2, elastic=None),
        make_record(),  # of a version that knew nothing elastic
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                "arm": "dynamic-elastic",
                "elastic": True,
                "law": "a law",
                "level": 3.0,
                "level_lo": 1.310707,
                "level_hi": 6.866526,
            },
            {
                "arm": "dynamic-elastic-other",
                "elastic": True,
                "law": "other",
                "level": 2.0,
                "level_lo": None,
                "level_hi": None,
            },
            {
                "arm": "dynamic-elastic-broken",
                "elastic": True,
                "law": None,
                "level": None,
                "level_lo": None,
                "level_hi": None,
            },
            {
                "arm": "dynamic-2",
                "elastic": False,
                "law": None,
                "level": None,
                "level_lo": None,
                "level_hi": None,
            },
            {
                "arm": "manual",
                "elastic": False,
                "law": None,
                "level": None,
                "level_lo": None,
                "level_hi": None,
            },
        ],
    )


@beside_the_others
def test_every_arm_tells_how_many_ports_have_their_queue_and_of_how_many(
    make_record, elastic, sample
):
    def run(arm, queued, repeat=0, machine="local", **fields):
        samples = [
            sample(queued_ports=count, time_s=1.0 + number) for number, count in enumerate(queued)
        ]
        return make_record(
            model="dynamic", arm=arm, repeat=repeat, machine=machine, samples=samples, **fields
        )

    names = ["a[0]", "b[0]", "c[0]", "d[0]", "e[0]"]
    tables = yield [
        run(
            "multilevel", [9, 2, 1, 3], elastic=elastic(places=names)
        ),  # of an even number the lower of the two in the middle
        run("multilevel", [4], 1, elastic=elastic(places=names)),
        run("all", [5], threads=1),
        run("none", [0], threads=1),
        run("old", [None], threads=1),
        run("empty", [], threads=1),
        run("all", [7], threads=1, machine="other"),
        run("none", [0], threads=1, machine="alone"),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                "machine": "local",
                "arm": "multilevel",
                "queued": 3.0,
                "queued_lo": 0.043422,
                "queued_hi": 5.0,
                "places": 5,
            },
            {
                "machine": "local",
                "arm": "all",
                "queued": 5.0,
                "queued_lo": None,
                "queued_hi": None,
                "places": 5,
            },
            {
                "machine": "local",
                "arm": "none",
                "queued": 0.0,
                "queued_lo": None,
                "queued_hi": None,
                "places": 5,
            },
            {
                "machine": "local",
                "arm": "old",
                "queued": None,
                "queued_lo": None,
                "queued_hi": None,
                "places": 5,
            },
            {
                "machine": "local",
                "arm": "empty",
                "queued": None,
                "queued_lo": None,
                "queued_hi": None,
                "places": 5,
            },
            {
                "machine": "other",
                "arm": "all",
                "queued": 7.0,
                "queued_lo": None,
                "queued_hi": None,
                "places": 7,
            },
            {
                "machine": "alone",
                "arm": "none",
                "queued": 0.0,
                "queued_lo": None,
                "queued_hi": None,
                "places": None,
            },
        ],
    )


@beside_the_others
def test_arms_of_coroutines_tell_how_many_replicas_operators_have(make_record, elastic):
    def run(arm, repeat=0, **fields):
        return make_record(model="coroutine", arm=arm, repeat=repeat, **fields)

    found = {"replicable": ["a", "b"]}
    tables = yield [
        run("law", elastic=elastic(settled_replicas=3.5, **found), replicas=1),
        run("law", 1, elastic=elastic(settled_replicas=4.5, **found), replicas=1),
        run("by hand", threads=2, replicas=5),
        run("threads alone", elastic=elastic(settled_replicas=None, replicable=None), replicas=2),
        run("old", threads=2),
        run("failed", threads=None, correct=False, replicas=1, elastic=None),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                "arm": "law",
                "elastic": True,
                "replicas": 4.0,
                "replicas_lo": 0.817110,
                "replicas_hi": 19.581201,
            },
            {
                "arm": "by hand",
                "elastic": False,
                "replicas": 5.0,
                "replicas_lo": None,
                "replicas_hi": None,
            },
            {
                "arm": "threads alone",
                "elastic": True,
                "replicas": 2.0,
                "replicas_lo": None,
                "replicas_hi": None,
            },
            {
                "arm": "old",
                "elastic": False,
                "replicas": None,
                "replicas_lo": None,
                "replicas_hi": None,
            },
            {
                "arm": "failed",
                "elastic": True,
                "replicas": None,
                "replicas_lo": None,
                "replicas_hi": None,
            },
        ],
    )


@beside_the_others
def test_the_timeline_tells_the_replicas_of_each_operator_that_has_several(
    make_record, elastic, sample
):
    samples = [
        sample(replicas={"busy1": 2, "busy2": 3}, replicas_changed={"busy1": 3}),
        sample(replicas={}),
        oldest(sample(), SAMPLE),
    ]
    tables = yield [
        make_record(run_id="a", model="coroutine", replicas=1, elastic=elastic(), samples=samples)
    ]
    assert_same_rows(
        tables.timeline,
        [{"replicas": '{"busy1":2,"busy2":3}'}, {"replicas": "{}"}, {"replicas": None}],
    )


@beside_the_others
def test_the_timeline_shows_elastic_runs_from_their_beginning(make_record, elastic, sample):
    climbing = {
        "threads_requested": 3,
        "queued_ports": 4,
        "system_cpu": 0.75,
        "law_state": "climbing",
        "law_reason": "up",
    }
    told = sample(time_s=0.5, threads_active=2, balancers=[], utilisation=None, **climbing)
    tables = yield [
        make_record(
            run_id="a",
            arm="dynamic-elastic",
            model="dynamic",
            repeat=2,
            elastic=elastic(),
            adaptation=[told],
            samples=[oldest(sample(time_s=1.0, threads_active=3), SAMPLE)],
        ),
        make_record(
            run_id="b",
            correct=False,
            elastic=elastic(law="other"),
            samples=[oldest(sample(time_s=2.0, elapsed_s=0.25), SAMPLE)],
        ),
        make_record(run_id="c", arm="fixed", elastic=None, adaptation=[]),
        oldest(make_record(run_id="d", arm="old")),
    ]
    shared = {"cell": "pipeline,operators=4", "topology": "pipeline", "operators": 4, "cost": "100"}
    rates = {"throughput_submitted": 50.0, "throughput_source": 11.0, "throughput_sink": 12.0}
    rates |= dict.fromkeys(("balancer", "ports", "congestion"))
    first = {
        **shared,
        **rates,
        "run_id": "a",
        "repeat": 2,
        "arm": "dynamic-elastic",
        "law": "a law",
        "failed": False,
    }
    other = {
        **shared,
        **rates,
        "run_id": "b",
        "repeat": 0,
        "arm": "manual",
        "law": "other",
        "failed": True,
    }
    untold = dict.fromkeys(climbing)
    assert_same_rows(
        tables.timeline,
        [
            {
                **first,
                "phase": "adaptation",
                "time_s": 0.5,
                "elapsed_s": 0.5,
                "threads_active": 2,
                **climbing,
            },
            {
                **first,
                "phase": "measured",
                "time_s": 1.0,
                "elapsed_s": 0.5,
                "threads_active": 3,
                **untold,
            },
            {
                **other,
                "phase": "measured",
                "time_s": 2.0,
                "elapsed_s": 0.25,
                "threads_active": 2,
                **untold,
            },
        ],
    )


@beside_the_others
def test_the_timeline_has_a_row_for_each_balancer_of_a_sample(make_record, sample):
    def balancer(name, active, **fields):
        return {
            "operator": name,
            "active": active,
            "ports": 32,
            "tuples_per_s": 9.0,
            "congestion": 0.5,
            **fields,
        }

    both = [balancer("left", 3, reason="trend above"), balancer("right", 4)]
    tables = yield [
        make_record(
            run_id="a", samples=[sample(balancers=both), sample(time_s=1.5, balancers=both[:1])]
        ),
        make_record(run_id="b", samples=[sample(balancers=[])]),
    ]
    left = {
        "balancer": "left",
        "active_ports": 3,
        "ports": 32,
        "congestion": 0.5,
        "balancer_reason": "trend above",
    }
    right = {
        "balancer": "right",
        "active_ports": 4,
        "ports": 32,
        "congestion": 0.5,
        "balancer_reason": None,
    }
    parameters = '{"operators":"4","cost":"100","payload":"128"}'
    shared = {
        "run_id": "a",
        "law": None,
        "phase": "measured",
        "workers": None,
        "parameters": parameters,
    }
    assert_same_rows(
        tables.timeline,
        [
            {**shared, "time_s": 1.0, **left},
            {**shared, "time_s": 1.0, **right},
            {**shared, "time_s": 1.5, **left},
        ],
    )


@beside_the_others
def test_latency_is_the_median_of_percentiles_the_mean_of_means_and_the_largest_maximum(
    make_record,
):
    def run(repeat, p50, longest, **fields):
        quantiles = {"p50": p50, "p90": 2 * p50, "p99": 3 * p50, "max": longest, "mean": p50 + 1}
        quantiles["count"] = 9
        return make_record(repeat=repeat, latency_ns=quantiles, **fields)

    nothing = dict.fromkeys(("p50", "p90", "p99", "max", "mean")) | {"count": 0}
    mean, low, high = mean_interval([101, 501, 201])
    tables = yield [
        run(0, 100, 5000),
        run(1, 500, 9000),
        run(2, 200, 6000),
        run(3, 9999, 99999, correct=False),
        make_record(repeat=4, latency_ns=nothing),
        make_record(arm="silent", latency_ns=nothing),
    ]
    shared = {"cell": "pipeline,operators=4"}
    assert_same_rows(
        tables.latency,
        [
            {
                **shared,
                "arm": "manual",
                "n": 3,
                "p50": 200.0,
                "p50_least": 100.0,
                "p50_greatest": 500.0,
                "p90": 400.0,
                "p99": 600.0,
                "p99_least": 300.0,
                "p99_greatest": 1500.0,
                "max": 9000.0,
                "mean": mean,
                "lo": low,
                "hi": high,
            },
            {**shared, "arm": "silent", "n": 0}
            | dict.fromkeys(("p50", "p50_least", "p50_greatest", "p90", "p99", "max"))
            | dict.fromkeys(("p99_least", "p99_greatest"))
            | dict.fromkeys(("mean", "lo", "hi")),
        ],
    )


@beside_the_others
def test_speedup_pairs_repeats_and_averages_logarithms(make_record):
    def arm(model, rates, threads=None, **fields):
        name = model if threads is None else f"{model}-{threads}"
        return [
            make_record(
                model=model,
                arm=name,
                threads=threads,
                repeat=repeat,
                sink_tuples_per_s=rate,
                **fields,
            )
            for repeat, rate in enumerate(rates)
        ]

    tables = yield [
        *arm("manual", [1.0, 2.0, 4.0]),
        *arm(
            "dynamic", [2.0, 8.0, 8.0, 100.0], 2
        ),  # the manual model has no fourth repeat: it does not pair
        *arm("dedicated", [0.0, 1.0]),  # stood still in the first: no ratio
        *arm("manual", [1.0], cell="no other arm"),
        *arm("dynamic", [3.0], 1, cell="no manual arm"),
    ]
    one = {"ratio": 1.0, "lo": 1.0, "hi": 1.0, "n": 3}
    single = {"n": 1, "lo": None, "hi": None}
    over = {
        "ratio": 2.519842,
        "lo": 0.932461,
        "hi": 6.809510,
        "n": 3,
    }  # dynamic over manual, one pair
    wide = {
        "ratio": 2.519842,
        "lo": None,
        "hi": 14.752982,
        "n": 3,
    }  # of three arms, and dedicated has one repeat only
    here = {"cell": "pipeline,operators=4"}
    manual, dynamic, dedicated = (
        {**here, "arm": arm} for arm in ("manual", "dynamic-2", "dedicated")
    )
    assert_same_rows(
        tables.speedup,
        [
            {**manual, "against": "manual", "rival": "manual", **one},
            {**dynamic, "against": "manual", "rival": "manual", **over},
            {**dynamic, "against": "best", "rival": "manual", **wide},
            {**dynamic, "against": "other models", "rival": "manual", **wide},
            {
                **manual,
                "against": "best",
                "rival": "dynamic-2",
                **wide,
                "ratio": 0.396850,
                "hi": 2.323449,
            },
            {
                **manual,
                "against": "other models",
                "rival": "dynamic-2",
                **wide,
                "ratio": 0.396850,
                "hi": 2.323449,
            },
            {**dedicated, "against": "manual", "rival": "manual", "ratio": 0.5, **single},
            {**dedicated, "against": "best", "rival": "dynamic-2", "ratio": 0.125, **single},
            {
                **dedicated,
                "against": "other models",
                "rival": "dynamic-2",
                "ratio": 0.125,
                **single,
            },
            {
                "cell": "no other arm",
                "arm": "manual",
                "against": "manual",
                "rival": "manual",
                "ratio": 1.0,
                **single,
            },
        ],
    )


@beside_the_others
def test_machines_and_software_are_arms_apart(make_record, simulated):
    streams = simulated(software="streams-4.2")
    tables = yield [
        make_record(sink_tuples_per_s=10.0),
        make_record(sink_tuples_per_s=30.0, **simulated(load=3.0)),
        make_record(sink_tuples_per_s=20.0, repeat=1, **simulated(load=5.0)),
        make_record(sink_tuples_per_s=50.0, **streams),
        make_record(sink_tuples_per_s=60.0, model="dedicated", **streams),
    ]
    none = {"variants": 0, "band_lo": None, "band_hi": None, "duration_mean": 1.0}
    xeon = {"machine": "xeon", "simulated": True, **none}
    local = {"machine": "local", "simulated": False, **none}
    assert_same_rows(
        tables.throughput,
        [
            {
                **local,
                "software": None,
                "arm": "manual",
                "n": 1,
                "mean": 10.0,
                "runnable_mean": None,
            },
            {
                **xeon,
                "software": "millrace",
                "arm": "manual",
                "n": 2,
                "mean": 25.0,
                "runnable_mean": 4.0,
            },
            {
                **xeon,
                "software": "streams-4.2",
                "arm": "manual",
                "n": 1,
                "mean": 50.0,
                "duration_mean": 1.0,
                "runnable_mean": None,
            },
            {
                **xeon,
                "software": "streams-4.2",
                "arm": "dedicated",
                "n": 1,
                "mean": 60.0,
                "duration_mean": 1.0,
                "runnable_mean": None,
            },
        ],
    )
    assert_same_rows(
        against("best", tables),
        [
            {"machine": "xeon", "software": "streams-4.2", "arm": "manual", "ratio": 50 / 60},
            {"machine": "xeon", "software": "streams-4.2", "arm": "dedicated", "ratio": 60 / 50},
        ],
    )


@beside_the_others
def test_a_peer_keeps_its_name_and_versions_of_it_are_arms_apart(make_record):
    old, new = (
        make_record(model="go", arm="go", peer=f"go {version}", threads=None)
        for version in ("1.19.8", "1.26.8")
    )
    ours = make_record(model="manual", peer=None)
    kept = {"model": "go", "arm": "go", "n": 1, "mean": 10.0}
    tables = yield [old, new, ours]
    assert_same_rows(
        tables.throughput,
        [
            {**kept, "peer": "go 1.19.8"},
            {**kept, "peer": "go 1.26.8"},
            {"model": "manual", "arm": "manual", "peer": None, "n": 1, "mean": 10.0},
        ],
    )


@beside_the_others
def test_variants_make_the_band_and_no_mean(make_record, simulated):
    def variant(rate, constants, **fields):
        return make_record(sink_tuples_per_s=rate, **simulated(constants=constants), **fields)

    tables = yield [
        variant(100.0, {}),
        variant(110.0, {}, repeat=1),
        variant(80.0, {"atomic.fence": 4.0}),
        variant(100.0, {"atomic.fence": 4.0}, repeat=1),  # one variant: its mean counts, 90
        variant(
            120.0, {"atomic.fence": 9.0}
        ),  # the first seed's runs are slow, this one by a fifth less so: 126 in their mean
        variant(1.0, {"os.wake_us": 5.0}, settled=False),  # no run with these constants settled
    ]
    (row,) = [
        {
            "n": 2,
            "failed": 0,
            "unsettled": 0,
            "mean": 105.0,
            "variants": 3,
            "band_lo": 1.05,
            "band_hi": 126.0,
        }
    ]
    assert_same_rows(tables.throughput, [row])
    assert_same_rows(tables.latency, [{"n": 2}])
    assert_same_rows(against("manual", tables), [{"n": 2, "ratio": 1.0}])


@beside_the_others
def test_without_one_of_its_variants_there_is_no_band(make_record, simulated):
    def variant(**fields):
        return make_record(**simulated(constants=fields.pop("constants")), **fields)

    tables = yield [
        make_record(**simulated()),
        variant(constants={"atomic.fence": 4.0}, sink_tuples_per_s=9.0),
        variant(constants={"os.wake_us": 1.0}, correct=False),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {
                "n": 1,
                "failed": 0,
                "variants": 2,
                "variants_failed": 1,
                "band_lo": None,
                "band_hi": None,
            }
        ],
    )


@beside_the_others
def test_a_band_holds_the_mean_itself(make_record, simulated):
    tables = yield [
        make_record(sink_tuples_per_s=100.0, **simulated()),
        make_record(sink_tuples_per_s=90.0, **simulated(constants={"atomic.fence": 4.0})),
    ]
    assert_same_rows(
        tables.throughput, [{"mean": 100.0, "band_lo": 90.0, "band_hi": 100.0, "variants": 1}]
    )


@beside_the_others
def test_what_no_variant_reaches_has_no_band(make_record, simulated):
    def variant(arm, rate, constants, reached):
        told = simulated(constants=constants)
        told["simulation"]["reached"] = reached
        return make_record(arm=arm, sink_tuples_per_s=rate, **told)

    tables = yield [
        variant("far", 100.0, {}, None),
        variant("far", 100.0, {"atomic.fence": 4.0}, False),
        variant("far", 100.0, {"atomic.fence": 9.0}, False),
        variant("near", 100.0, {}, None),
        variant("near", 100.0, {"atomic.fence": 4.0}, False),
        variant("near", 90.0, {"atomic.fence": 9.0}, True),
    ]
    assert_same_rows(
        tables.throughput,
        [
            {"arm": "far", "variants": 2, "variants_reached": 0, "band_lo": None, "band_hi": None},
            {
                "arm": "near",
                "variants": 2,
                "variants_reached": 1,
                "band_lo": 90.0,
                "band_hi": 100.0,
            },
        ],
    )


@beside_the_others
def test_the_means_at_the_points_of_a_design_have_one_order_for_all_arms(make_record, simulated):
    rates = {"a": {4.0: 90.0, 9.0: 70.0}, "b": {4.0: 50.0, 9.0: 60.0}}
    tables = yield [
        *(make_record(arm=arm, sink_tuples_per_s=80.0, **simulated()) for arm in rates),
        *(
            make_record(
                arm=arm,
                sink_tuples_per_s=rates[arm][fence],
                **simulated(constants={"atomic.fence": fence}),
            )
            # each arm's points were run in another order
            for arm, fences in (("a", (9.0, 4.0)), ("b", (4.0, 9.0)))
            for fence in fences
        ),
    ]
    assert_same_rows(
        tables.throughput,
        [{"arm": "a", "at_points": [90.0, 70.0]}, {"arm": "b", "at_points": [50.0, 60.0]}],
    )


@beside_the_others
def test_a_band_holds_the_mean_of_several_seeds_although_the_variants_have_one(
    make_record, simulated
):
    tables = yield [
        make_record(sink_tuples_per_s=100.0, **simulated()),
        make_record(sink_tuples_per_s=200.0, repeat=1, **simulated()),
        make_record(sink_tuples_per_s=95.0, **simulated(constants={"atomic.fence": 4.0})),
        make_record(sink_tuples_per_s=104.0, **simulated(constants={"atomic.fence": 9.0})),
    ]
    assert_same_rows(tables.throughput, [{"mean": 150.0, "band_lo": 142.5, "band_hi": 156.0}])


@beside_the_others
def test_variants_have_no_samples_and_no_timeline(make_record, simulated, elastic):
    varied = simulated(constants={"atomic.fence": 4.0})
    tables = yield [
        make_record(run_id="a", elastic=elastic(), **simulated()),
        make_record(run_id="b", elastic=elastic(), **varied),
    ]
    for table in (tables.samples, tables.timeline):
        assert {(row["run_id"], row["machine"], row["software"]) for row in table} == {
            ("a", "xeon", "millrace")
        }


def test_the_comparison_of_rows_sees_a_difference():
    found = [{"a": 1, "b": 2.0, "c": [0.1 + 0.2]}, {"a": 2, "b": None, "c": []}]
    assert_same_rows(found, [{"a": 2, "b": None}, {"a": 1, "b": 2.0}])
    assert_same_rows(found, [{"c": [0.3], "a": 1}, {"c": [], "a": 2}])
    for wrong in (
        [{"a": 1, "b": 2.0}],
        [{"a": 1, "b": 2.0}] * 2,
        [{"a": 1, "b": 2.1}, {"a": 2, "b": None}],
        [{"a": 1, "b": None}, {"a": 2, "b": 2.0}],
        [{"a": 1.0, "b": 2.0}, {"a": 2, "b": None}],
        [{"c": [0.3, 0.3]}, {"c": []}],
        [],
    ):
        with pytest.raises(AssertionError):
            assert_same_rows(found, wrong)
