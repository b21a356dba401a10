"""Our law of threads and replicas, in a small world and on readings made by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.bench.replicas.world import ReplicaWorld
from harness.elasticity import Bounds, Decides, Reading, make_law
from harness.elasticity.cpu_limit import Answers
from tests.elasticity.replicas.small import Drive, bare, seen, world


def test_threads_and_replicas_are_found_in_one_step_from_true_rates():
    busy = world((1.0, 40.0, 20.0), target=100_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 12)
    assert drive.decisions[0].replicas == (1, 1, 5, 3, 1), (
        "100,000 tuples/s of 40 and 20 µs: 4 and 2 replicas, and some headroom"
    )
    assert drive.decisions[0].threads == 7, "6.3 threads' work"
    assert drive.settled_after == 1


def test_sources_that_are_not_paced_get_what_the_threads_can_do():
    busy = world((40.0, 20.0))
    drive = Drive("millrace", busy, maximum=8).run(busy, 12)
    assert drive.threads == 8
    assert drive.replicas[1] in (5, 6) and drive.replicas[2] in (3, 4), (
        "8 threads: 129,000 tuples/s"
    )
    assert busy.rate(drive.threads, np.array(drive.replicas, dtype=float)) > 0.97 * 8 * 0.99 / 62e-6


def test_an_operator_that_may_have_no_replicas_bounds_threads_and_replicas():
    busy = world((10.0, 40.0, 20.0), stateful=(2,))
    drive = Drive("millrace", busy).run(busy, 12)
    assert drive.replicas == (1, 1, 1, 1, 1), "one thread at 40 µs is all there is to reach"
    assert drive.threads == 2, "72 µs of work at 25,000 tuples/s"


def test_what_a_lower_load_does_not_need_goes():
    busy = world((40.0,), target=150_000.0)
    drive = Drive("millrace", busy).run(busy, 10)
    assert drive.threads >= 7 and drive.replicas[1] >= 6
    drive.run(replace(busy, target=30_000.0), 10)
    assert (drive.threads, drive.replicas) == (2, (1, 2, 1))


def test_costs_that_change_are_another_load_after_two_periods():
    busy = world((40.0, 10.0), stateful=(2,))
    drive = Drive("millrace", busy).run(busy, 10)
    before = drive.replicas
    drive.run(replace(busy, costs=(1e-6, 10e-6, 10e-6, 1e-6)), 1)
    assert drive.replicas == before and drive.decisions[-1].state == "noise"
    drive.run(replace(busy, costs=(1e-6, 10e-6, 10e-6, 1e-6)), 9)
    assert drive.replicas == (1, 1, 1, 1) or drive.replicas == (1, 2, 1, 1)
    assert sum(drive.replicas) < sum(before)


def test_replicas_that_only_wait_for_each_other_are_taken_back():
    """A lock around all of the operator: replicas make each tuple dearer, and bring nothing."""
    busy = world((40.0, 1.0), serial=(0.0, 1.0, 0.0, 0.0))
    drive = Drive("millrace", busy).run(busy, 20)
    assert drive.replicas == (1, 1, 1, 1) and drive.threads <= 2
    assert drive.settled_after <= 4


def test_threads_beyond_the_cores_are_taken_back():
    busy = world((20.0, 20.0, 20.0, 20.0), cores=4)
    drive = Drive("millrace", busy, maximum=12).run(busy, 30)
    best = max(
        busy.rate(n, np.array((1, r, r, r, r, 1), dtype=float))
        for n in range(1, 13)
        for r in range(1, 5)
    )
    assert drive.threads <= 5
    assert busy.rate(drive.threads, np.array(drive.replicas, dtype=float)) >= 0.95 * best


def test_paced_threads_beyond_the_cores_are_taken_back_by_what_they_could_do():
    """5 threads on 4 cores: work has grown by a quarter, and 4 can do as much, though the paced
    rate is the same.
    """
    busy = world((20.0, 20.0, 20.0, 20.0), cores=4, target=47_500.0)
    drive = Drive("millrace", busy, maximum=12).run(busy, 12)
    assert [decision.threads for decision in drive.decisions[:4]] == [5, 5, 4, 4]
    assert (drive.threads, drive.decisions[-1].state) == (4, "settled")


class Waiting(ReplicaWorld):
    """Replicas that wait for something outside for a quarter of their time, which counts as useful
    for nobody.
    """

    def _capacity(self, threads, replicas, work):
        return min(0.75 * float((replicas / work)[1:-1].min()), threads / float(work.sum()))


def waiting(*busy_us, target):
    return Waiting(**vars(world(busy_us, target=target)))


def test_threads_that_useful_time_does_not_ask_for_are_tried_and_kept_where_they_bring_something():
    busy = world((40.0, 20.0), target=100_000.0, scheduling=0.2)
    drive = Drive("millrace", busy, maximum=16).run(busy, 10)
    assert [decision.threads for decision in drive.decisions[:3]] == [7, 8, 8], (
        "of 7 threads 5.6 execute tuples"
    )
    assert drive.decisions[1].state == "searching" and drive.decisions[-1].state == "settled"
    assert drive.replicas == (1, 5, 3, 1)


def test_a_replica_that_useful_time_does_not_ask_for_is_tried_and_kept_where_it_brings_something():
    busy = waiting(40.0, target=95_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 10)
    assert [decision.replicas for decision in drive.decisions[:3]] == [
        (1, 4, 1),
        (1, 5, 1),
        (1, 5, 1),
    ]
    assert (drive.threads, drive.decisions[-1].state) == (5, "settled")


def test_what_brought_something_for_one_target_is_not_kept_for_a_lower_one():
    busy = waiting(40.0, target=95_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 10)
    assert drive.replicas == (1, 5, 1), "one more than useful time asks for"
    drive.run(replace(busy, target=20.0), 6)
    assert (drive.threads, drive.replicas) == (1, (1, 1, 1))


def test_sources_that_are_to_send_nothing_need_one_thread():
    busy = world((40.0,), target=95_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 6)
    drive.run(busy, 4, target=0.0)
    assert (drive.threads, drive.replicas) == (1, (1, 1, 1))


def test_a_trial_that_a_new_target_cuts_short_is_neither_kept_nor_taken_back():
    busy = waiting(40.0, target=95_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 2)
    assert drive.decisions[-1].state == "searching" and drive.replicas == (1, 5, 1)
    drive.run(replace(busy, target=20.0), 6)
    assert (drive.threads, drive.replicas) == (1, (1, 1, 1))
    assert "searching" not in [decision.state for decision in drive.decisions[2:]]


def test_what_is_tried_and_brings_nothing_goes_again_and_is_not_tried_twice():
    """The sources can only send 75,000 tuples/s, which nobody knows."""
    for busy_us, tried in (((40.0,), (5, (1, 5, 1))), ((40.0, 20.0), (8, (1, 5, 3, 1)))):
        busy = world(busy_us, target=75_000.0)
        target = 95_000.0 if len(busy_us) == 1 else 100_000.0
        drive = Drive("millrace", busy, maximum=16).run(busy, 10, target=target)
        planned, searched, back, *later = [
            (decision.threads, decision.replicas) for decision in drive.decisions
        ]
        assert searched == tried and back == planned != tried
        assert set(later) == {planned} and drive.decisions[-1].state == "settled"


def test_what_was_tried_in_vain_is_tried_again_only_for_another_target():
    busy = world((40.0,), target=75_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 6, target=95_000.0)
    drive.run(busy, 6, target=95_500.0)
    assert {decision.state for decision in drive.decisions[6:]} == {"settled"}, (
        "half a percent is the same one"
    )
    drive.run(busy, 6, target=140_000.0)
    assert "searching" in [decision.state for decision in drive.decisions[12:]]


def test_an_operator_without_replicas_that_has_all_the_time_there_is_ends_the_search():
    busy = world((10.0, 20.0), stateful=(2,), target=60_000.0)
    drive = Drive("millrace", busy, maximum=16).run(busy, 10)
    assert "searching" not in [decision.state for decision in drive.decisions]
    assert drive.replicas == (1, 1, 1, 1)


def test_a_period_without_tuples_says_nothing():
    law = make_law("millrace", Bounds(1, 8, 3), layout=bare(), decides=Decides.REPLICAS)
    decision = law.step(
        Reading(1.0, 1.0, 3, 0.0, useful_s=(0.0,) * 5, tuples=(0.0,) * 5, replicas=(1, 2, 1, 1, 1))
    )
    assert (decision.threads, decision.replicas, decision.state) == (3, (1, 2, 1, 1, 1), "idle")


def test_where_nobody_measures_useful_time_it_stays():
    decision = make_law("millrace", Bounds(1, 8, 3), layout=bare(), decides=Decides.REPLICAS).step(
        Reading(1.0, 1.0, 3, 9.0)
    )
    assert (decision.threads, decision.state) == (3, "idle")


def test_others_on_the_cpus_make_a_period_worthless():
    busy = world((40.0,))
    law = make_law("millrace", Bounds(1, 8, 1), layout=busy.layout, decides=Decides.REPLICAS)
    decision = law.step(seen(busy, 1, (1, 1, 1), 1.0, system_cpu=1.0, others_cpu=0.9))
    assert (decision.threads, decision.state) == (1, "crowded")


def test_it_climbs_only_as_the_cpu_limit_says():
    busy = world((40.0,))
    law = make_law(
        "millrace",
        Bounds(1, 8, 1),
        Answers([False, True]),
        layout=busy.layout,
        decides=Decides.REPLICAS,
    )
    first = law.step(seen(busy, 1, (1, 1, 1), 1.0))
    assert (first.threads, first.replicas, first.state) == (1, (1, 1, 1), "refused")
    assert law.step(seen(busy, 1, (1, 1, 1), 2.0)).threads == 8


def test_the_cpu_limit_grants_threads_and_has_no_say_in_replicas():
    busy = world((1.0, 40.0, 20.0), target=100_000.0)
    law = make_law(
        "millrace", Bounds(1, 16, 7), Answers([False]), layout=busy.layout, decides=Decides.REPLICAS
    )
    decision = law.step(seen(busy, 7, (1, 1, 1, 1, 1), 1.0))
    assert (decision.threads, decision.replicas, decision.state) == (7, (1, 1, 5, 3, 1), "climbing")


ENTRY = st.sampled_from([0.0, 1e-9, 5e-324]) | st.floats(0.0, 1e9)


@settings(max_examples=25)
@given(data=st.data(), operators=st.integers(1, 4), name=st.sampled_from(["millrace", "cstream"]))
def test_whatever_is_read_decisions_stay_within_bounds_and_repeat(data, operators, name):
    """Counts of any size, unknown ones too: a level within the bounds, one replica at least, more
    only of those that may.
    """
    size, ports = operators + 2, operators + 1

    def entries(count, values):
        return data.draw(st.just(()) | st.lists(values, min_size=count, max_size=count).map(tuple))

    trace = [
        Reading(
            float(period),
            data.draw(st.floats(1e-3, 100.0)),
            data.draw(st.integers(1, 9)),
            data.draw(ENTRY),
            utilisation=data.draw(st.none() | st.floats(0.0, 1.0)),
            useful_s=entries(size, ENTRY),
            tuples=entries(size, ENTRY),
            full=entries(ports, st.floats(0.0, 1.0)),
            replicas=entries(size, st.integers(1, 9)),
            target=data.draw(st.none() | ENTRY),
        )
        for period in range(1, data.draw(st.integers(1, 8)) + 1)
    ]
    decided = []
    for _ in range(2):
        law = make_law(name, Bounds(1, 8, 1), layout=bare(operators), decides=Decides.REPLICAS)
        decided.append([law.step(reading) for reading in trace])
    assert decided[0] == decided[1]
    for reading, decision in zip(trace, decided[0], strict=True):
        assert 1 <= decision.threads <= 8
        assert len(decision.replicas) == size and min(decision.replicas) >= 1
        assert decision.replicas[0] == (reading.replicas or (1,))[0], (
            "a source has no replicas to give or take"
        )
        assert not math.isnan(decision.threads)
