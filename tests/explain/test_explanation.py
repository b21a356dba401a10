"""Explanations of made-up runs: shares that add up, the nearest bound, and the words for it."""

from __future__ import annotations

import re

import pytest

from harness.errors import UserError
from harness.explain import RunExplanation, explain
from harness.explain.report import report, side_by_side
from tests.explain.made_records import operator, record, thread

SOURCE = operator("source", "source")


def chain(*operators, **facts):
    """Operators one behind the other, each with what `facts` says."""
    linked = [SOURCE]
    for each in operators:
        linked.append({**each, "behind": [linked[-1]["name"]], **facts})
    return linked


def told_text(told: RunExplanation) -> str:
    """All sentences of an explanation, a line each."""
    return "\n".join(told.sentences)


def explained_pair(queue_capacity, *threads, **facts):
    """The explanation of a run of two operators, `a` and `b`, by what its threads did."""
    operators = chain(operator("a"), operator("b"), queue_capacity=queue_capacity)
    return explain(record(operators, list(threads), **facts))


def test_shares_of_threads_and_of_operators_add_up_to_all_time():
    told = explain(
        record(
            chain(operator("parse"), operator("sink", "sink"), queue_capacity=100),
            [
                thread("source source", ("make", "source", 0.3), ("room", "parse", 0.7)),
                thread(
                    "scheduler thread 0",
                    ("work", "parse", 0.5),
                    ("move", "parse", 0.2),
                    ("search", None, 0.1),
                    ("ready", "parse", 0.2),
                ),
            ],
            others_cpus=0.5,
        )
    )
    for thread_ in told.threads:
        assert sum(thread_.shares.values()) == pytest.approx(1.0)
    assert sum(told.shares.values()) == pytest.approx(1.0)
    of_operators = sum(sum(each.shares.values()) for each in told.operators)
    assert of_operators == pytest.approx(1.0 - told.shares["looking"])
    assert told.threads_s == pytest.approx(2.0)


def test_time_without_a_cpu_is_shared_out_by_who_used_the_cpus():
    busy = thread("port thread of a", ("work", "a", 0.5), ("ready", "a", 0.5))
    other = thread("port thread of b", ("work", "b", 0.5), ("tuples", "b", 0.5))
    operators = chain(operator("a"), operator("b"), queue_capacity=10)
    told = explain(record(operators, [busy, other], others_cpus=1.5))
    # of what ran beside the first thread, 1.5 CPUs were others' and 0.5 the second thread's
    assert told.threads[0].shares["stolen"] == pytest.approx(0.5 * 1.5 / 2.0)
    assert told.threads[0].shares["no CPU"] == pytest.approx(0.5 * 0.5 / 2.0)
    assert any("other programs" in line and "had 1.5 of 2 CPUs" in line for line in told.sentences)


def test_an_operator_that_is_always_busy_bounds_the_run_and_replicas_would_help():
    operators = chain(operator("parse", replicable=True), operator("sink", "sink"))
    for each in operators[1:]:
        each["queue_capacity"] = 100
    told = explain(
        record(
            operators,
            [thread("scheduler thread 0", ("work", "parse", 0.97), ("search", None, 0.03))],
        )
    )
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("parse",))
    assert told.bounds[0].used == pytest.approx(0.97)
    assert told.bounds[0].tuples_per_s == pytest.approx(1e6 / 0.97)
    assert told.headline == (
        "bound by `parse`: it is busy 97 % of the time and can use only one thread; replicas "
        "would help (--model coroutine --replicas N); they need more threads (--threads N), since its "
        "1 scheduler thread is nearly as busy"
    )


def test_replicas_need_no_more_threads_if_some_are_not_busy():
    operators = chain(operator("parse", replicable=True), queue_capacity=100)
    threads = [
        thread("scheduler thread 0", ("work", "parse", 0.97), ("tuples", None, 0.03)),
        thread("scheduler thread 1", ("work", "parse", 0.01), ("tuples", None, 0.99)),
    ]
    told = explain(record(operators, threads, cpus=16.0))
    assert told.headline.endswith("replicas would help (--model coroutine --replicas N)")


def test_more_replicas_need_more_threads_as_well():
    operators = chain(operator("parse", most_threads=2, replicable=True), queue_capacity=100)
    threads = [thread(f"scheduler thread {i}", ("work", "parse", 0.97)) for i in range(2)]
    told = explain(record(operators, threads, cpus=16.0))
    assert told.headline.endswith(
        "more replicas would help; they need more threads (--threads N), since its 2 scheduler "
        "threads are nearly as busy"
    )


def test_no_replicas_are_proposed_of_an_operator_that_several_ports_may_execute():
    operators = chain(operator("merge", most_threads=2), queue_capacity=100)
    threads = [thread(f"t{i}", ("work", "merge", 0.97)) for i in range(2)]
    told = explain(record(operators, threads, cpus=16.0))
    assert told.headline.endswith(
        "it can have no replicas, so it would have to become cheaper or be divided"
    )


def test_replicas_raise_the_bound_of_an_operator():
    operators = chain(operator("parse", most_threads=4, queue_capacity=100))
    told = explain(record(operators, [thread(f"t{i}", ("work", "parse", 0.4)) for i in range(4)]))
    bound = next(each for each in told.bounds if each.members == ("parse",))
    assert bound.used == pytest.approx(0.4)


def test_operators_that_one_thread_calls_bound_the_run_together():
    told = explain(
        record(
            chain(operator("a"), operator("b"), operator("sink", "sink")),
            [
                thread(
                    "source source",
                    ("make", "source", 0.1),
                    ("work", "a", 0.4),
                    ("work", "b", 0.4),
                    ("work", "sink", 0.1),
                )
            ],
        )
    )
    assert told.bounds[0].kind == "path"
    assert told.bounds[0].members == ("source", "a", "b", "sink")
    assert "a queue between them would let two threads work" in told.headline
    assert "`source` > `a` > `b` > `sink`" in told.headline


def test_threads_of_sources_that_share_an_operator_bound_the_run_if_all_are_busy():
    operators = [
        operator("a", "source"),
        operator("b", "source"),
        operator("sink", "sink", locked=True, behind=["a", "b"]),
    ]
    busy = [thread(f"source {name}", ("make", name, 0.7), ("work", "sink", 0.3)) for name in "ab"]
    told = explain(record(operators, busy))
    assert (told.bounds[0].kind, told.bounds[0].limit) == ("path", 2)
    assert told.bounds[0].used == pytest.approx(1.0)
    one_waits = [busy[0], thread("source b", ("lock", "sink", 1.0))]
    told = explain(record(operators, one_waits))
    assert next(each for each in told.bounds if each.limit == 2).used == pytest.approx(0.5)


def test_a_source_that_waits_for_its_next_tuple_bounds_the_run():
    told = explain(
        record(
            chain(operator("sink", "sink", queue_capacity=10)),
            [thread("source source", ("make", "source", 0.1), ("pause", "source", 0.9))],
        )
    )
    assert told.bounds[0].kind == "schedule"
    assert "waits for the time of its next tuple" in told.headline


@pytest.mark.parametrize(("sent", "kind"), [(985, "schedule"), (970, "source")])
def test_a_source_without_a_thread_of_its_own_bounds_the_run_if_it_sends_what_is_due(sent, kind):
    operators = [
        operator("source", "source", tuples=sent, due_tuples=1000.0),
        operator("sink", "sink", queue_capacity=10, behind=["source"]),
    ]
    threads = [
        thread(f"scheduler thread {place}", ("make", "source", 0.1), ("tuples", None, 0.9))
        for place in range(2)
    ]
    assert explain(record(operators, threads)).bounds[0].kind == kind


def test_one_tuple_that_is_not_sent_yet_is_no_delay():
    operators = [
        operator("source", "source", tuples=9, due_tuples=10.0),
        operator("sink", "sink", behind=["source"]),
    ]
    told = explain(record(operators, [thread("source source", ("work", "sink", 0.1))]))
    assert told.bounds[0].kind == "schedule"


def test_a_slow_source_does_not_hide_an_operator_that_does_not_keep_up_with_another_source():
    operators = [
        operator("data", "source"),
        operator("config", "source"),
        operator("parse", queue_capacity=100, behind=["data", "config"]),
    ]
    waits = thread("source config", ("make", "config", 0.01), ("pause", "config", 0.99))
    busy = [
        thread("source data", ("make", "data", 0.1), ("room", "parse", 0.9)),
        thread("port thread of parse", ("work", "parse", 0.97), ("tuples", "parse", 0.03)),
    ]
    told = explain(record(operators, [waits, *busy]))
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("parse",))
    both_wait = [waits, thread("source data", ("make", "data", 0.1), ("pause", "data", 0.9))]
    told = explain(record(operators, both_wait))
    assert told.headline == (
        "bound by the sources `data` and `config`: they wait for the times of their next tuples, and "
        "the rest of the graph keeps up"
    )


def test_long_queues_do_not_bound_a_path_whose_filter_passes_few_tuples():
    """The source sends 10 M tuples/s, of which 1,000 come to an operator of 0.9 ms."""
    operators = chain(
        operator("filter", tuples=10_000_000), operator("heavy", tuples=1000), queue_capacity=1000
    )
    told = explain(
        record(
            operators,
            [
                thread("source source", ("make", "source", 0.5), ("room", "filter", 0.5)),
                thread("port thread of filter", ("work", "filter", 0.5), ("tuples", "filter", 0.5)),
                thread("port thread of heavy", ("work", "heavy", 0.9), ("tuples", "heavy", 0.1)),
            ],
            rate=1000.0,
            cpus=8.0,
        )
    )
    assert (told.bounds[0].kind, told.bounds[0].members) == ("operator", ("heavy",))
    in_flight = next(each for each in told.bounds if each.kind == "in flight")
    assert in_flight.used == pytest.approx((0.5 + 0.5 + 0.9) / 2001)


def test_a_source_that_makes_tuples_all_the_time_bounds_the_run():
    told = explain(
        record(
            chain(operator("sink", "sink", queue_capacity=10)),
            [
                thread("source source", ("make", "source", 0.95), ("move", "source", 0.04)),
                thread("scheduler thread 0", ("work", "sink", 0.1), ("tuples", None, 0.9)),
            ],
        )
    )
    assert told.headline.startswith("bound by the source `source`: it makes and sends tuples 99 %")


def test_work_on_all_cpus_bounds_the_run_by_what_others_leave():
    operators = chain(*(operator(f"o{i}", queue_capacity=10) for i in range(4)))
    threads = [thread(f"t{i}", ("work", f"o{i}", 0.3), ("ready", f"o{i}", 0.7)) for i in range(4)]
    told = explain(record(operators, threads, others_cpus=0.8))
    assert told.bounds[0].kind == "CPUs"
    assert told.bounds[0].limit == pytest.approx(1.2)
    assert "1.20 of 1.2 CPUs, which is what other programs leave of 2" in told.headline


def test_other_programs_bound_a_run_that_reaches_no_bound_of_its_own():
    told = explain(
        record(
            chain(operator("a", queue_capacity=10)),
            [thread("t", ("work", "a", 0.2), ("ready", "a", 0.8))],
            others_cpus=1.5,
        )
    )
    assert told.headline.startswith("bound by other programs, which had 1.5 of 2 CPUs")


def test_a_lock_is_named_by_the_operator_behind_it():
    operators = [
        operator("a", "source"),
        operator("b", "source"),
        operator("sink", "sink", locked=True, behind=["a", "b"]),
    ]
    threads = [
        thread(
            f"source {name}", ("make", name, 0.1), ("work", "sink", 0.45), ("lock", "sink", 0.45)
        )
        for name in "ab"
    ]
    told = explain(record(operators, threads))
    assert told.bounds[0].members == ("sink",)
    assert "45 % of the time threads wait for each other before `sink`" in told_text(told)


def test_a_queue_is_too_short_where_threads_wait_before_an_operator_that_is_not_busy():
    told = explained_pair(
        2,
        thread("source source", ("make", "source", 0.3), ("room", "a", 0.7)),
        thread("port thread of a", ("work", "a", 0.3), ("tuples", "a", 0.7)),
        rate=3e5,
    )
    words = "before `a`, which is busy only 30 %: its queue of 2 tuples is too short"
    assert words in told_text(told)


def test_neighbours_that_spend_their_time_on_a_queue_are_to_be_fused():
    told = explained_pair(
        100,
        thread("t0", ("work", "a", 0.2), ("move", "a", 0.3), ("search", None, 0.5)),
        thread("t1", ("work", "b", 0.3), ("search", None, 0.7)),
    )
    assert "37 % of the useful time is spent in queues: fuse `a` with `b`" in told.sentences


def in_python(name, held_s, **facts):
    """An operator in Python that had the interpreter's lock so long."""
    return operator(name, "python", interpreter_s=held_s, replicable=True, **facts)


def test_operators_in_python_are_bound_by_the_interpreters_lock_together():
    told = explain(
        record(
            chain(in_python("parse", 0.35), in_python("score", 0.6), queue_capacity=100),
            [
                thread("t0", ("work", "parse", 0.35), ("lock", "parse", 0.65)),
                thread("t1", ("work", "score", 0.6), ("lock", "score", 0.4)),
            ],
        )
    )
    assert (told.bounds[0].kind, told.bounds[0].members) == ("interpreter", ("score", "parse"))
    assert told.bounds[0].used == pytest.approx(0.95)
    assert told.headline == (
        "bound by the interpreter's lock: `score` and `parse` are Python functions, which take "
        "turns, and hold it 95 % of the time; more threads or replicas cannot help; compile them "
        "(numba, C, Cython), fuse them into one function, or use a Python without that lock "
        "(docs/how-to/operators.md)"
    )
    assert (
        "52 % of the time threads wait for the interpreter's lock, which `parse` and `score` need"
        in told.sentences
    )
    assert "would help" not in told_text(told)


def test_a_queue_on_a_path_of_python_is_not_advised():
    spent = [("make", "source", 0.02), ("work", "a", 0.5), ("work", "b", 0.48)]
    operators = chain(in_python("a", 0.5), in_python("b", 0.48))
    told = explain(record(operators, [thread("source source", *spent)]))
    assert told.bounds[0].kind == "path"
    assert told.headline.startswith("bound by the interpreter's lock: `a` and `b` are Python")
    assert "queue" not in told_text(told)


def test_replicas_of_one_operator_in_python_take_turns():
    operators = chain(in_python("a", 0.98, most_threads=2, queue_capacity=100))
    threads = [thread(f"t{i}", ("work", "a", 0.49), ("lock", "a", 0.51)) for i in range(2)]
    told = explain(record(operators, threads))
    assert told.headline.startswith(
        "bound by the interpreter's lock: `a` is a Python function, and its replicas take turns, "
        "and hold it 98 % of the time; more threads or replicas cannot help"
    )


def test_one_operator_in_python_is_not_advised_to_have_replicas():
    operators = chain(in_python("a", 0.97, queue_capacity=100))
    told = explain(record(operators, [thread("t", ("work", "a", 0.97), ("search", None, 0.03))]))
    assert not any(bound.kind == "interpreter" for bound in told.bounds)
    assert told.headline.startswith(
        "bound by `a`: it is busy 97 % of the time and can use only one thread; replicas would "
        "wait for the interpreter's lock; compile it"
    )


def test_an_operator_in_python_that_has_the_lock_nearly_alone_is_named_itself():
    operators = chain(in_python("a", 0.03), in_python("b", 0.93), queue_capacity=100)
    threads = [thread("t0", ("work", "a", 0.03)), thread("t1", ("work", "b", 0.93))]
    told = explain(record(operators, threads))
    assert told.bounds[0].kind == "interpreter"
    assert told.headline.startswith("bound by `b`: it is busy 93 % of the time and can use only")
    assert "replicas would wait for the interpreter's lock; compile it" in told.headline


@pytest.mark.parametrize("held_s", [None, 0.01])
def test_functions_that_do_not_hold_the_lock_may_have_replicas(held_s):
    """None: the interpreter has no lock; little of the time: the function sleeps."""
    operators = chain(in_python("a", held_s), in_python("b", held_s), queue_capacity=100)
    threads = [thread("t0", ("work", "a", 0.97)), thread("t1", ("work", "b", 0.9))]
    told = explain(record(operators, threads))
    assert told.headline.startswith("bound by `a`") and "replicas would help" in told.headline


def test_a_dear_operator_on_a_path_is_named_in_place_of_a_queue():
    spent = [("make", "source", 0.01), ("work", "cheap", 0.02), ("work", "dear", 0.96)]
    operators = chain(operator("cheap"), operator("dear", replicable=True))
    told = explain(record(operators, [thread("source source", *spent)]))
    assert told.headline.endswith(
        "`dear` takes 97 % of that, so a queue would not help much; replicas would help "
        "(--model coroutine --replicas N)"
    )
    pooled = explain(record(operators, [thread("scheduler thread 0", *spent)], cpus=16.0))
    assert pooled.headline.endswith(
        "replicas would help (--model coroutine --replicas N); they need more threads (--threads "
        "N), since its 1 scheduler thread is nearly as busy"
    )


def test_beside_other_programs_it_is_said_what_would_bind_without_them():
    operators = chain(operator("a", queue_capacity=10, replicable=True))
    told = explain(
        record(operators, [thread("t", ("work", "a", 0.2), ("ready", "a", 0.8))], others_cpus=1.5)
    )
    assert told.headline.endswith(f" of the time; {told.sentences[1]}")
    assert told.sentences[1] == (
        "without other programs the nearest bound would be `a`: it can use only one thread; replicas "
        "would help (--model coroutine --replicas N)"
    )
    spent = [("work", "a", 0.2), ("ready", "a", 0.8)]
    pooled = explain(record(operators, [thread("scheduler thread 0", *spent)], others_cpus=1.5))
    assert pooled.headline.endswith(
        "replicas would help (--model coroutine --replicas N); they need more threads (--threads "
        "N), since its 1 scheduler thread is nearly as busy"
    )
    operators = chain(in_python("a", 0.15), in_python("b", 0.14), queue_capacity=10)
    threads = [
        thread("t0", ("work", "a", 0.15), ("ready", "a", 0.85)),
        thread("t1", ("work", "b", 0.14), ("ready", "b", 0.86)),
    ]
    told = explain(record(operators, threads, others_cpus=1.7))
    assert told.headline.startswith("bound by the CPUs: operators and queues use 0.29 of 0.3 CPUs")
    assert told.sentences[1].startswith(
        "without other programs the nearest bound would be the interpreter's lock: `a` and `b` are"
    )
    many = chain(*(operator(f"o{i}", queue_capacity=10) for i in range(8)))
    threads = [thread(f"t{i}", ("work", f"o{i}", 0.05), ("ready", f"o{i}", 0.9)) for i in range(8)]
    told = explain(record(many, threads, others_cpus=1.6))
    assert told.sentences[1].startswith(
        "without other programs the nearest bound would be the CPUs: "
    )


def pooled(*busy, idle=0.0, operators=None, **facts):
    """The explanation of a run whose scheduler threads are so busy, each with two of six operators
    in turn, and suspended for `idle` of the time.
    """
    made = operators or chain(*(operator(f"o{i}") for i in range(6)), queue_capacity=10)
    threads = [
        thread(
            f"scheduler thread {place}",
            ("work", f"o{2 * place}", share / 2),
            ("work", f"o{2 * place + 1}", share / 2),
            ("tuples", None, 1.0 - share - idle),
            ("pause", None, idle),
        )
        for place, share in enumerate(busy)
    ]
    return explain(record(made, threads, **{"cpus": 16.0} | facts))


def test_scheduler_threads_that_work_all_the_time_bound_the_run_and_more_would_help():
    told = pooled(0.96, 0.9)
    bound = told.bounds[0]
    assert (bound.kind, bound.members, bound.limit) == ("threads", (), pytest.approx(2.0))
    assert bound.used == pytest.approx(0.93)
    assert bound.tuples_per_s == pytest.approx(1e6 / 0.93)
    assert told.headline == (
        "bound by its 2 scheduler threads: they work 93 % of the time; more threads would help "
        "(--threads N, or --max-threads N with a law); the next bound, `o0`, is 1.9 times as high"
    )
    assert told.own_bound == ("its 2 scheduler threads: they execute at most 2 operators at once")
    assert any("threads" in line and "2 threads" in line for line in report(told))
    assert told.to_mapping()["bounds"][0]["kind"] == "threads"


def test_one_thread_is_said_in_the_singular():
    told = pooled(0.93)
    assert told.headline.startswith(
        "bound by its 1 scheduler thread: it works 93 % of the time; more threads would help"
    )
    assert told.own_bound.endswith("it executes one operator at a time")


def test_without_a_pool_more_threads_need_queues():
    """A merge may be executed by two threads at once, so it is on no path of one thread."""
    operators = chain(operator("a"), operator("merge", most_threads=2))
    spent = [("make", "source", 0.03), ("work", "a", 0.4), ("work", "merge", 0.5)]
    told = explain(
        record(operators, [thread("source source", *spent, ("lock", "merge", 0.07))], cpus=16.0)
    )
    assert told.headline.startswith(
        "bound by its 1 thread: it works 93 % of the time; more threads would help if there were "
        "queues between operators (another model); the next bound, "
    )


def test_the_threads_of_sources_do_not_count_beside_a_pool():
    operators = chain(*(operator(f"o{i}") for i in range(4)), queue_capacity=10)
    spent = [("work", f"o{i}", 0.24) for i in range(4)]
    threads = [
        thread("source source", ("make", "source", 0.1), ("room", "o0", 0.9)),
        thread("scheduler thread 0", *spent, ("search", None, 0.04)),
    ]
    told = explain(record(operators, threads, cpus=16.0))
    assert told.bounds[0].kind == "threads"
    assert told.bounds[0].used == pytest.approx(0.96)
    assert "bound by its 1 scheduler thread: it works 96 % of the time" in told.headline


def test_threads_that_a_law_has_suspended_do_not_count():
    told = pooled(0.45, 0.45, 0.45, idle=0.5)
    bound = next(each for each in told.bounds if each.kind == "threads")
    assert (bound.used, bound.limit) == (pytest.approx(0.9), pytest.approx(1.5))
    assert told.headline.startswith("bound by its 1.5 scheduler threads: they work 90 %")


def test_as_many_threads_as_cpus_are_bound_by_the_cpus():
    told = pooled(0.96, 0.96, cpus=2.0)
    assert told.headline.startswith("bound by the CPUs: operators and queues use 1.92 of 2 CPUs")
    assert pooled(0.96, 0.96, cpus=2.1).headline.startswith("bound by the CPUs")
    assert pooled(0.96, 0.96, cpus=3.0).headline.startswith("bound by its 2 scheduler threads")


def test_an_operator_that_is_about_as_busy_as_the_threads_is_named_in_their_place():
    operators = chain(
        operator("a", replicable=True), operator("b"), operator("sink", "sink"), queue_capacity=10
    )
    spent = [("work", "a", 0.91), ("work", "b", 0.05), ("search", None, 0.04)]
    told = explain(record(operators, [thread("scheduler thread 0", *spent)], cpus=16.0))
    assert told.bounds[0].kind == "threads"
    assert told.headline.startswith("bound by `a`: it is busy 91 % of the time")
    assert "they need more threads (--threads N)" in told.headline


def test_threads_that_wait_are_the_nearest_bound_that_is_not_reached():
    assert pooled(0.7, 0.7).headline == (
        "no bound is reached: the run uses 70 % of the nearest one, which is its 2 scheduler "
        "threads"
    )


def test_a_cost_below_what_a_look_shows_has_a_limit_and_no_zero():
    operators = chain(operator("a", queue_capacity=10), operator("b", queue_capacity=10))
    measured = explain(record(operators, [thread("t", ("work", "a", 0.5), ("tuples", "a", 0.5))]))
    rows = {line.split()[0]: line.split() for line in report(measured) if line.startswith("  b ")}
    assert rows["b"][-3:] == ["<1", "<1", "10"]
    exact = explain(
        record(
            operators,
            [thread("t", ("work", "a", 0.5), ("work", "b", 1.234e-5))],
            looks=None,
            look_s=None,
        )
    )
    rows = {line.split()[0]: line.split() for line in report(exact) if line.startswith("  b ")}
    assert rows["b"][-3:] == ["0.0123", "0", "10"]


def test_the_table_by_operator_has_the_threads_that_are_busy_as_json_has_them():
    operators = chain(operator("a", most_threads=4, queue_capacity=10))
    told = explain(record(operators, [thread(f"t{i}", ("work", "a", 0.62)) for i in range(2)]))
    (shown,) = [each for each in told.to_mapping()["operators"] if each["name"] == "a"]
    assert shown["busy"] == pytest.approx(1.24)
    lines = report(told)
    title = "where the time of all threads goes, by operator [%]"
    begin = next(i for i, line in enumerate(lines) if line.startswith(title))
    assert "busy [threads]" in lines[begin]
    names = lines[begin + 1].split()
    (row,) = [line.split() for line in lines if line.startswith("  a ")]
    assert row[names.index("busy")] == "1.24"


def test_the_critical_path_is_the_way_that_takes_longest():
    operators = [
        SOURCE,
        operator("slow", behind=["source"]),
        operator("fast", behind=["source"]),
        operator("sink", "sink", behind=["slow", "fast"]),
    ]
    spent = [("work", "slow", 0.5), ("work", "fast", 0.1), ("work", "sink", 0.1)]
    told = explain(record(operators, [thread("source source", *spent)]))
    assert told.critical_path == ("source", "slow", "sink")
    assert told.path_ns == pytest.approx(600.0)


def test_room_for_few_tuples_on_a_long_path_bounds_the_run():
    operators = chain(*(operator(f"o{i}") for i in range(9)), queue_capacity=1)
    threads = [thread(f"t{i}", ("work", f"o{i}", 0.8), ("tuples", f"o{i}", 0.2)) for i in range(9)]
    told = explain(record(operators, threads, cpus=16.0))
    bound = next(each for each in told.bounds if each.kind == "in flight")
    assert (bound.limit, bound.used) == (10, pytest.approx(0.72))


def test_the_table_of_bounds_has_the_nearest_of_each_kind():
    operators = chain(*(operator(f"o{i}") for i in range(6)), queue_capacity=10)
    threads = [thread(f"t{i}", ("work", f"o{i}", 0.9), ("tuples", None, 0.1)) for i in range(6)]
    lines = report(explain(record(operators, threads, cpus=60.0)))
    begin = lines.index("bounds of the throughput, the nearest first") + 2
    end = next(i for i, line in enumerate(lines) if line.startswith("critical path"))
    kinds = [
        re.search(r" {2}(operator|threads|CPUs|in flight|source) ", line)[1]
        for line in lines[begin:end]
    ]
    assert kinds == [*["operator"] * 4, "threads", "CPUs", "in flight", "source"]


def test_the_report_says_that_there_are_no_hardware_counters_in_one_line():
    told = explain(record(chain(operator("a")), [thread("t", ("work", "a", 1.0))]))
    assert [line for line in report(told) if "hardware" in line] == [
        "no hardware counters: none here"
    ]


def test_lines_that_cores_take_from_each_other_point_to_false_sharing():
    told = explain(
        record(
            chain(operator("a")),
            [thread("t", ("work", "a", 1.0))],
            counters={"instructions": 10**9, "cycles": 10**9, "lines_of_other_cores": 5 * 10**6},
        )
    )
    assert "5.0 cache lines" in told_text(told)


def test_a_record_without_times_cannot_be_explained():
    plain = record([SOURCE], [])
    del plain["time_use"]
    with pytest.raises(UserError, match="time_use"):
        explain(plain)


def test_a_run_that_was_not_stationary_says_why_if_few_results_come():
    def last(rate, **facts):
        spent = thread("t", ("work", "a", 1.0))
        made = record(chain(operator("a")), [spent], rate) | {"settled": False, "duration_s": 1.0}
        return explain(made | facts).sentences[-1]

    profiled = {"simulation": {"profiled": {"cpu": "a CPU"}}}
    longer = "the run was not stationary when it was measured: longer runs may have other shares"
    assert last(0.0) == last(5000.0, **profiled) == longer
    assert last(0.0, **profiled) == (
        "the run was not stationary when it was measured: no tuple reached its sinks; a simulated "
        "source has no end, so results that operators send at the end of their input never come: "
        "run the graph without --machine"
    )


def test_measured_and_simulated_shares_stand_side_by_side():
    operators = chain(operator("a"))
    measured = explain(record(operators, [thread("t", ("work", "a", 0.8), ("move", "a", 0.2))]))
    simulated = explain(record(operators, [thread("t", ("work", "a", 0.9), ("move", "a", 0.1))]))
    disturbed = [thread("t", ("work", "a", 0.4), ("move", "a", 0.1), ("ready", "a", 0.5))]
    disturbed = explain(record(operators, disturbed, others_cpus=1.5))
    assert side_by_side(disturbed, simulated)[:4] == side_by_side(measured, simulated)[:4]
    lines = side_by_side(measured, simulated)
    assert any("queues" in line and "20.0 %" in line and "-10.0" in line for line in lines)
    assert "10.0 % of the time is in another category" in lines
