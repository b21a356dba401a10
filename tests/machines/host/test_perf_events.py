"""Hardware counters: counts that grow, or a reason in a few words."""

from __future__ import annotations

import threading

from harness.machines.host.perf_events import EVENTS, PerfCounters


def test_there_are_counts_or_a_reason():
    with PerfCounters() as counters:
        assert (counters.problem is None) == bool(counters.read())


def test_what_threads_do_that_are_started_later_is_counted():
    with PerfCounters() as counters:
        before = counters.read()
        thread = threading.Thread(target=lambda: sum(range(100_000)))
        thread.start()
        thread.join()
        after = counters.read()
    assert before.keys() == after.keys()
    assert set(before) <= {*EVENTS, "lines_of_other_cores"}
    assert all(after[name] > before[name] for name in before if name == "instructions")


def test_a_system_without_the_call_is_a_reason():
    assert PerfCounters(syscalls={}).problem == "there is no perf_event_open here"


def test_a_forbidding_kernel_is_named_with_the_level_that_it_needs(tmp_path):
    paranoid = tmp_path / "perf_event_paranoid"
    paranoid.write_text("3\n")
    unknown = PerfCounters(
        syscalls=dict.fromkeys(("x86_64", "aarch64"), 100_000), paranoid=paranoid
    )
    assert unknown.problem == f"{paranoid} is 3, and must be at most 2"
    assert unknown.read() == {}
