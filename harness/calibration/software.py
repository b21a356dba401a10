"""Costs of the runtime's steps: the constants `cost.*` of a software profile, from one round over
steps.pyx.

A step is measured without the functions that it calls, for batches of 1 and of 32 tuples: the line
through the two is its cost by batch and by tuple. Costs in the machine profile are subtracted: the
FLOP of work, the copy of a push. A batch of n tuples takes

  a work operator  call_batch + n (call_tuple + FLOP)
  a source         source_batch + n (source_tuple + payload source_byte), besides what it hands the
                   batch to
  a sink           sink_batch + n (sink_tuple + payload sink_byte), its call included, and clock for
                   each sample of latency
  a push           push_batch + n (push_tuple + copy of a slot)
  a drain          take_batch, besides what executes it
  a turn           list_pop + flag + drain + its batches + list_push. The first and the last are the
                   list alone: a push that puts a port there does one more exchange
                   (atomic.rmw_local)
  a split          way for each output port that gets tuples, way_tuple for each tuple, besides what
                   they are handed to
  a split by keys  n key_tuple, besides what each is handed to
  a filter         n filter_tuple + filter_run for each run of neighbours that pass, besides what
                   that is handed to, and filter_cut for each that ends at a tuple that does not,
                   which no core foresees
  a merge          n merge_tuple, where every second tuple comes early, besides its copy to where it
                   waits
"""

from __future__ import annotations

from statistics import median_high

from harness.calibration import graphs, machine_costs, steps
from harness.calibration.probes import MIN_CONSTANT, SLOT_BYTES, ProbeSetup, Values, least
from harness.calibration.steps import Steps

BATCH = 32
SMALL, LARGE = (stride - 64 for stride in SLOT_BYTES)
"""Payloads [bytes] of the slots that copies are measured with."""

LEAST_PAYLOAD = 32
"""Payload of a slot of one line [bytes]."""

CACHED_QUEUE_SLOTS = 64
"""Slots of a queue that is in the first-level cache."""

SINGLE_TUPLE_FLOP = 128
"""FLOP of a tuple that is handed over alone, so that its successor begins before it is done."""

FORESEEN_SHARE, HALF_SHARE = 0.999, 0.5
"""Shares of tuples that a filter passes on. Of n tuples s + (n - 1) s (1 - s) runs pass, and all
but s of them are cut.
"""

WAYS, KEYS = 8, 1000
"""Output ports and keys of the split by keys."""

OVERLAPPING = (4, 8, 12, 16, 20, 24, 28, 31)
"""FLOP a tuple at which a core works on neighbours at the same time."""


def software(setting: ProbeSetup) -> Values:
    """One round: cost.* [ns], reference.clock_ghz, and how many multiplies overlap."""
    times = setting.times(2000)
    list_push, list_pop, search = steps.list_steps()
    values = {
        "reference.clock_ghz": 1
        / machine_costs.busy("add", setting.host.numbers[:1], setting.times(400_000)),
        "cost.list_push": list_push,
        "cost.list_pop": list_pop,
        "cost.search": search,
        "cost.flag": steps.flag_ns(setting.times(20_000)),
        "cost.lock": steps.lock_ns(setting.times(20_000)),
    }
    values |= _called(setting, times)
    values |= _source_and_sink(times, values["cost.call_batch"])
    values |= _queued(setting, times, values["cost.flag"])
    values |= _ways(setting, times)
    values |= _by_the_tuple(times)
    values |= _coroutines(values)
    return {
        path: max(MIN_CONSTANT, value) if "byte" not in path else max(1e-6, value)
        for path, value in values.items()
    }


def _called(setting: ProbeSetup, times: int) -> Values:
    """Operators executed by calls, and punctuation through them.

    A multiply of a cheap operator takes 1 / flop_overlap of its latency, since a core works on
    neighbours at the same time. A tuple of one FLOP takes no less than that, so the time that it
    does take is a bound for the overlap.
    """
    chain = graphs.chain(SMALL)
    behind = f"work{graphs.CHAIN_LENGTH - 1}"

    def each(count: int) -> float:
        return (chain.execute("work0", count, times) - chain.execute(behind, count, times)) / (
            graphs.CHAIN_LENGTH - 1
        )

    batch, tuple_ = _line(each(1), each(BATCH))
    flop_ns = least(
        machine_costs.busy, "multiply", setting.host.numbers[:1], setting.times(100_000)
    )
    overlaps = [
        cost * flop_ns / least(steps.work_ns, cost, setting.times(300)) for cost in OVERLAPPING
    ]
    overlap = max(median_high(overlaps), flop_ns / max(MIN_CONSTANT, tuple_ - MIN_CONSTANT), 1.0)
    ahead = (
        SINGLE_TUPLE_FLOP - least(steps.work_ns, SINGLE_TUPLE_FLOP, setting.times(300), 1) / flop_ns
    )
    mark = (chain.mark("work0", times) - chain.mark(f"work{graphs.CHAIN_LENGTH - 2}", times)) / (
        graphs.CHAIN_LENGTH - 2
    )
    return {
        "cost.call_batch": batch,
        "cost.call_tuple": tuple_ - flop_ns / overlap,
        "cost.flop_overlap": overlap,
        "cost.flop_ahead": ahead,
        "cost.mark": mark,
    }


def _source_and_sink(times: int, call_batch: float) -> Values:
    """Both ends, by payload."""
    made, sunk = {}, {}
    for payload in (SMALL, LARGE):
        chain = graphs.chain(payload, "work0")
        sunk[payload] = _line(*(chain.sink("sink", count, times) for count in (1, BATCH)))
        made[payload] = _line(*(chain.make(count, times) for count in (1, BATCH)))
    source_byte = max(0.0, (made[LARGE][1] - made[SMALL][1]) / (LARGE - SMALL))
    sink_byte = max(0.0, (sunk[LARGE][1] - sunk[SMALL][1]) / (LARGE - SMALL))
    clock_ns = steps.clock_ns()  # one tuple of each batch is a sample
    return {
        "cost.clock": clock_ns,
        "cost.source_batch": made[SMALL][0] - call_batch,
        "cost.source_tuple": made[SMALL][1] - SMALL * source_byte,
        "cost.source_byte": source_byte,
        "cost.sink_batch": sunk[SMALL][0] - clock_ns,
        "cost.sink_tuple": sunk[SMALL][1] - SMALL * sink_byte,
        "cost.sink_byte": sink_byte,
    }


def _queued(setting: ProbeSetup, times: int, flag: float) -> Values:
    """A queue: filled, emptied, and a scheduler thread's turn, of which the consumer's `flag` is a
    part.
    """
    # drained without being filled meanwhile; its slots are not read
    full = graphs.queues(LEAST_PAYLOAD, graphs.DRAINED_QUEUE_SLOTS)
    full.silence("work0")
    release = full.release("source", BATCH)
    nothing = full.execute("work0", 1, 10 * times)
    drained = full.drain("source", BATCH)
    turn = full.schedule("source", BATCH)
    near = graphs.queues(SMALL, CACHED_QUEUE_SLOTS)
    waited = near.wait("source", times)
    of_one, of_batch = (near.push("source", count, times) - release for count in (1, BATCH))
    copy = _copy(setting)
    push_tuple = max(MIN_CONSTANT, _line(of_one, of_batch)[1] - copy)
    list_push, list_pop, _ = steps.list_steps()
    return {
        "cost.push_batch": of_batch - BATCH * (push_tuple + copy),
        "cost.push_tuple": push_tuple,
        "cost.take_batch": drained - nothing,
        "cost.wait_round": waited,
        "cost.drain": turn - drained - list_push - list_pop - flag,
    }


def _ways(setting: ProbeSetup, times: int) -> Values:
    """A split and a merge, which copies every second tuple."""
    two, many, nothing = graphs.fan(2), graphs.fan(BATCH), graphs.chain(SMALL)
    called = nothing.execute("sink", 1, 10 * times)
    _, of_two = _line(two.execute("split", 2, times), two.execute("split", BATCH, times), 2)
    _, of_many = _line(many.execute("split", 1, times), many.execute("split", BATCH, times))
    return {
        "cost.way": of_many - of_two,
        "cost.way_tuple": of_two - called,
        "cost.merge_tuple": graphs.join().merge("merge", times) / BATCH - _copy(setting) / 2,
    }


def _by_the_tuple(times: int) -> Values:
    """Operators that look at each tuple and decide what becomes of it."""
    nothing = graphs.chain(SMALL)
    called = nothing.execute("sink", 1, 10 * times)

    def each(steps: Steps, name: str, count: int) -> float:
        """Return the time of a batch of tuples that no core has seen, without the time of making
        them so.
        """
        return steps.strangers(name, count, times) - nothing.strangers("sink", count, times)

    foreseen, tuple_ = _line(
        *(each(graphs.sieve(FORESEEN_SHARE), "filter", count) for count in (1, BATCH))
    )
    cuts = (BATCH - 1) * HALF_SHARE * (1 - HALF_SHARE)
    return {
        "cost.filter_tuple": tuple_,
        "cost.filter_run": foreseen - called,
        "cost.filter_cut": (
            each(graphs.sieve(HALF_SHARE), "filter", BATCH)
            - BATCH * tuple_
            - (HALF_SHARE + cuts) * foreseen
        )
        / cuts,
        "cost.key_tuple": each(graphs.fan(WAYS, KEYS), "split", BATCH) / BATCH - called,
    }


def _coroutines(values: Values) -> Values:
    """Co-routines that wait, and that take turns. The parts of a turn that are measured by
    themselves are subtracted.
    """
    switch, fence, wait, turn, look = steps.coroutine_steps(1000)
    parts = 2 * switch + 2 * values["cost.clock"] + 2 * values["cost.lock"]
    return {
        "cost.fence": fence,
        "cost.coroutine_switch": switch,
        "cost.coroutine_turn": turn - parts,
        "cost.coroutine_wait": wait,
        "cost.coroutine_look": look,
    }


def _copy(setting: ProbeSetup) -> float:
    """Return the time of a copy of one of the smaller slots in the nearest cache."""
    return least(
        machine_costs.copy,
        SLOT_BYTES[0],
        setting.caches.l1d // 4,
        setting.caches.l1d // 4,
        setting.times(1 << 20),
    )


def _line(of_few: float, of_batch: float, few: int = 1) -> tuple[float, float]:
    """Return the cost by batch and by tuple, from the times of a batch of `few` tuples and of a
    full one.
    """
    tuple_ = (of_batch - of_few) / (BATCH - few)
    return of_few - few * tuple_, tuple_
