"""Windows, joins and sketches send, tuple by tuple, what their slow twins in plain Python send."""

import ctypes
import math
from collections import Counter
from functools import reduce

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from examples.building import shared_library
from examples.cython_function import cython_module
from harness.engine import open_engine
from harness.graph import Graph, GraphError
from harness.graph.functions.c_signature import ADD, COMBINE, RESULT
from harness.graph.schema import Schema
from harness.models import Coroutine, Dynamic, Manual
from harness.operators.windows import (
    IDLE,
    Fold,
    aggregate,
    by_count,
    by_session,
    by_time,
    count,
    distinct,
    first,
    frequencies,
    greatest,
    join,
    last,
    least,
    left,
    mean,
    right,
    top_k,
    total,
)
from tests.operators import plain

EVENT = Schema(
    "event",
    {
        "time": "time",
        "host": "string[12]",
        "code": "int16",
        "size": "uint32",
        "load": "float64",
        "share": "float32",
        "up": "boolean",
        "tag": "bytes[3]",
        "much": "int64",
    },
)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "time": st.integers(-30, 60),
            "host": st.sampled_from(["", "a", "b", "host eleven", "é"]),
            "code": st.integers(-(2**15), 2**15 - 1),
            "size": st.integers(0, 2**32 - 1),
            "load": st.floats(-1e9, 1e9),
            "share": st.floats(-100, 100, width=32),
            "up": st.booleans(),
            "tag": st.sampled_from([b"abc", b"\0\0\0"]),
            "much": st.integers(-(2**63), 2**63 - 1),
        }
    ),
    max_size=60,
)
VALUES = {
    "n": count(),
    "codes": total("code"),
    "sizes": total("size"),
    "loads": total("load"),
    "wraps": total("much"),
    "ups": total("up"),
    "middle": mean("share"),
    "middle_code": mean("code"),
    "low": least("code"),
    "high": greatest("size"),
    "most": greatest("load"),
    "began": first("host"),
    "ended": last("tag"),
    "hosts": distinct("host", 4),
    "loads_seen": distinct("load", 5),
}
WITHOUT_SUMS_OF_FLOATS = {
    name: value for name, value in VALUES.items() if name not in ("loads", "middle")
}
"""Values that do not depend on the order in which states are combined."""
quick = settings(max_examples=60, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def run(graph, model=None):
    """Run a graph to its end; returns the totals."""
    engine = open_engine(graph, model or Manual())
    engine.start()
    while not engine.finished():
        engine.sample(0.002)
    totals = engine.stop(drain=True, timeout_s=20)
    assert totals.correct and totals.drained, totals.error
    return totals


def sent_by(add, sources, model=None):
    """Return what the operator that `add(graph)` adds sends for the tuples of each source: (schema,
    tuples).
    """
    graph, found = Graph("tried"), []
    tried = add(graph)
    for port, (schema, tuples) in enumerate(sources):
        source = graph.typed_source(
            f"source{port}", lambda tuples=tuples: [(0, each) for each in tuples], schema
        )
        graph.connect(source, tried.input(port))
    graph.connect(
        tried,
        graph.typed_sink("found", lambda port, each: found.append(each), tried.typed.gives[0]),
    )
    totals = run(graph, model)
    left_out.clear()
    left_out.update(totals.left_out)
    return found


left_out = {}
"""Tuples that the last graph left out, by operator and kind."""


def sent_by_twin(twin, tuples):
    found = [out for each in tuples for _, out in twin(0, each)]
    return found + [out for _, out in twin.finish()]


LATENESS, JUMP = st.sampled_from([0, 7]), st.sampled_from([None, 0, 5, 30])
TIME_WINDOWS = st.builds(
    lambda one, other, lateness, jump: by_time(
        max(one, other), min(one, other), lateness=lateness, jump=jump
    ),
    st.integers(1, 12),
    st.integers(1, 12),
    LATENESS,
    JUMP,
)
WINDOWS = st.one_of(
    st.builds(
        lambda one, other: by_count(max(one, other), min(one, other)),
        st.integers(1, 12),
        st.integers(1, 12),
    ),
    TIME_WINDOWS,
)
SESSIONS = st.builds(
    lambda gap, lateness, jump: by_session(gap, lateness=lateness, jump=jump),
    st.integers(1, 12),
    LATENESS,
    JUMP,
)


@quick
@given(EVENTS, WINDOWS, st.sampled_from([(), ("host",), ("host", "up"), ("tag", "code")]))
def test_an_aggregate_sends_what_its_twin_sends(events, window, by):
    few_panes = window.length // math.gcd(window.length, window.step) <= 8
    values = VALUES if window.on is not None and few_panes else WITHOUT_SUMS_OF_FLOATS
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, window, values, by), [(EVENT, events)]
    )
    twin = plain.Aggregate(EVENT, window, values, by)
    assert found == sent_by_twin(twin, events)
    assert left_out.get("tried: late", 0) == twin.late


@quick
@given(EVENTS, SESSIONS, st.sampled_from([(), ("host",), ("host", "up")]))
def test_sessions_are_those_of_the_twin(events, window, by):
    values = WITHOUT_SUMS_OF_FLOATS
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, window, values, by), [(EVENT, events)]
    )
    twin = plain.Aggregate(EVENT, window, values, by)
    assert found == sent_by_twin(twin, events)
    assert left_out.get("tried: late", 0) == twin.late


def test_a_session_ends_when_nothing_came_for_the_gap_and_a_late_tuple_joins_two():
    times = [0, 4, 8, 25, 19, 28, 12, 60, 61, 62, 63, 64, 90]
    for lateness, wanted in (
        (0, [(0, 18, 3), (12, 38, 4), (60, 74, 5), (90, 100, 1)]),
        (20, [(0, 38, 7), (60, 74, 5), (90, 100, 1)]),
    ):
        found = sent_by(
            lambda graph, lateness=lateness: aggregate(
                graph, "tried", EVENT, by_session(10, lateness=lateness), {"n": count()}
            ),
            [(EVENT, [event(time, "a") for time in times])],
        )
        assert [(each["begin"], each["end"], each["n"]) for each in found] == wanted


SECOND = 10**9
YEAR = 365 * 86400 * SECOND


@pytest.mark.parametrize("wrong", [0, 10, 999])
@pytest.mark.parametrize("off", [YEAR, -YEAR, 2**63 - 1])
def test_one_wrong_clock_moves_no_time(wrong, off):
    begin = 1_700_000_000 * SECOND
    events = [event(begin + n * SECOND // 10, "a") for n in range(1000)]
    wrong_time = off if off == 2**63 - 1 else begin + wrong * SECOND // 10 + off
    events.insert(wrong, event(wrong_time, "a"))
    for add, attribute in (
        (lambda graph: aggregate(graph, "tried", EVENT, by_time(SECOND), {"n": count()}), "n"),
        (lambda graph: top_k(graph, "tried", EVENT, by_time(SECOND), 1, "host"), "count"),
    ):
        found = sent_by(add, [(EVENT, events)])
        assert [each[attribute] for each in found if abs(each["begin"] - begin) < YEAR / 2] == (
            [10] * 100
        )
        kind = {YEAR: "ahead of time", -YEAR: "late", 2**63 - 1: "without a time"}[off]
        assert (wrong == 0 and off < 0) or left_out == {f"tried: {kind}": 1}
    found = sent_by(
        lambda graph: frequencies(graph, "tried", EVENT, by_time(SECOND), "host"), [(EVENT, events)]
    )
    near = [each["frequency"] for each in found if abs(each["time"] - begin) < YEAR / 2]
    assert near == [*range(1, 11)] * 100
    logins = [
        {"user": "a", "number": n, "at": begin + n * SECOND // 10, "size": 0} for n in range(1000)
    ]
    found = sent_by(
        lambda graph: join(
            graph,
            "tried",
            (EVENT, LOGIN),
            SECOND // 20,
            {"number": right("number")},
            [("host", "user")],
            ("time", "at"),
        ),
        [(EVENT, events), (LOGIN, logins)],
    )
    assert sorted(each["number"] for each in found) == list(range(1000))


def test_time_goes_on_behind_a_gap_and_in_a_stream_that_is_all_gaps():
    for gap in (YEAR, 3 * SECOND):
        times = [n * SECOND // 10 for n in range(50)] + [
            gap + 5 * SECOND + n * (SECOND // 10 if gap == YEAR else gap) for n in range(50)
        ]
        seen = []
        found = sent_by(
            lambda graph, seen=seen: (
                seen.append(
                    aggregate(graph, "tried", EVENT, by_time(SECOND, jump=SECOND), {"n": count()})
                )
                or seen[0]
            ),
            [(EVENT, [event(time, "a") for time in times])],
        )
        assert sum(each["n"] for each in found) == 100 and not left_out
        assert [each["n"] for each in found[:5]] == [10] * 5


def test_equal_keys_are_one_and_nan_is_the_least_and_the_greatest():
    loads = [0.0, -0.0, math.nan, -math.nan, 1.0]
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, by_count(2), {"n": count()}, "load"),
        [(EVENT, [event(n, "a", load=load) for n, load in enumerate(loads)])],
    )
    assert [each["n"] for each in found] == [2, 2]
    values = {"low": least("load"), "high": greatest("load"), "seen": distinct("load")}
    for loads, low, high in (
        ([1.0, math.nan, 2.0], "nan", "nan"),
        ([math.nan, 1.0, 2.0], "nan", "nan"),
        ([1.0, 2.0, math.nan], "nan", "nan"),
        ([0.0, -0.0, 0.0], "-0.0", "0.0"),
        ([-0.0, 0.0, -0.0], "-0.0", "0.0"),
    ):
        events = [event(n, "a", load=load) for n, load in enumerate(loads)]
        for window in (by_count(3), by_count(3, 1), by_time(3)):
            *_, found = sent_by(
                lambda graph, window=window: aggregate(graph, "tried", EVENT, window, values),
                [(EVENT, events)],
            )
            assert (str(found["low"]), str(found["high"])) == (low, high)
            assert found["seen"] == len(set(map(plain.normal, loads)))


def test_a_sliding_window_by_time_is_told_when_time_has_passed_it():
    events = [
        event(time, host)
        for time, host in ((0, "a"), (12, "a"), (12, "b"), (25, "a"), (3, "b"), (60, "b"))
    ]
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, by_time(20, 10), {"n": count()}, "host"),
        [(EVENT, events)],
    )
    assert [(each["begin"], each["host"], each["n"]) for each in found] == [
        (-10, "a", 1),
        (0, "a", 2),
        (0, "b", 1),
        (10, "a", 2),
        (10, "b", 1),
        (20, "a", 1),
        (50, "b", 1),
        (60, "b", 1),
    ]


def test_a_window_that_has_ended_is_not_opened_again():
    for times in ((100, 96), (91, 100, 96)):
        found = sent_by(
            lambda graph: aggregate(graph, "tried", EVENT, by_time(10, 5), {"n": count()}),
            [(EVENT, [event(time, "a") for time in times])],
        )
        ended = [(85, 1), (90, 1)] if 91 in times else []
        assert [(each["begin"], each["n"]) for each in found] == [*ended, (95, 2), (100, 1)]


@quick
@given(
    st.lists(
        st.tuples(st.integers(-2, 5), st.integers(0, 30), st.sampled_from("abc")), max_size=90
    ),
    st.integers(1, 40),
    st.integers(1, 9),
    st.sampled_from([0, 7, 1000]),
)
def test_a_tuple_is_in_all_windows_around_its_time_that_have_not_ended(
    steps, length, step, lateness
):
    """Compare with the rule. Time is the greatest so far, and begins at the least of the first five."""
    length, at, events = max(length, step), 0, []
    for number, (ahead, back, host) in enumerate(steps):
        at += ahead
        events.append(event(at - back * (number % 3 == 0), host, size=number, load=number / 7))
    values = {"n": count(), "from": first("size"), "to": last("size"), "sum": total("load")}
    window = by_time(length, step, lateness=lateness, jump=2**40)
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, window, values, "host"), [(EVENT, events)]
    )
    pane, reached = math.gcd(length, step), min((each["time"] for each in events[:5]), default=0)
    inside, late = {}, 0
    for each in events:
        begins = range(each["time"] // step * step, each["time"] - length, -step)
        open_ones = [begin for begin in begins if begin + length > reached - lateness]
        late += not open_ones
        for begin in open_ones:
            inside.setdefault((begin, each["host"]), []).append(each)
        reached = max(reached, each["time"])
    for each in found:
        own = inside.pop((each["begin"], each["host"]))
        in_order = sorted(own, key=lambda one: one["time"] // pane)
        assert each["end"] == each["begin"] + length and each["n"] == len(own)
        assert (each["from"], each["to"]) == (in_order[0]["size"], in_order[-1]["size"])
        assert each["sum"] == pytest.approx(math.fsum(one["load"] for one in own), rel=1e-12)
    assert not inside and [each["begin"] for each in found] == sorted(e["begin"] for e in found)
    assert left_out.get("tried: late", 0) == late


def event(time, host, **more):
    values = {
        "code": 0,
        "size": 0,
        "load": 0.0,
        "share": 0.0,
        "up": False,
        "tag": b"abc",
        "much": 0,
    }
    return {"time": time, "host": host} | values | more


LOGIN = Schema("login", {"user": "string[8]", "number": "int32", "at": "time", "size": "uint8"})
LOGINS = st.lists(
    st.fixed_dictionaries(
        {
            "user": st.sampled_from(["", "a", "b"]),
            "number": st.integers(0, 99),
            "at": st.integers(0, 10**6),
            "size": st.integers(0, 255),
        }
    ),
    max_size=40,
)


@quick
@given(
    EVENTS,
    LOGINS,
    st.sampled_from([1, 10, 200]),
    st.sampled_from([0, 7, 100]),
    st.sampled_from([0, 5, 500]),
    st.sampled_from([None, "left", "right", "both"]),
    st.sampled_from([Manual(), Dynamic(threads=2), Coroutine(threads=2)]),
)
def test_a_join_finds_what_its_twin_finds_whichever_port_is_ahead(
    events, logins, within, lateness, jump, outer, model
):
    logins = [each | {"at": each["at"] % 90 - 30} for each in logins]
    values = {
        "user": right("user"),
        "seen": left("time"),
        "load": left("load"),
        "number": right("number"),
    }
    shape = {"within": within, "values": values, "by": [("host", "user")], "times": ("time", "at")}
    shape |= {"lateness": lateness, "jump": jump, "outer": outer}
    found = sent_by(
        lambda graph: join(graph, "tried", (EVENT, LOGIN), **shape),
        [(EVENT, events), (LOGIN, logins)],
        model,
    )
    twin = plain.Join(**shape)
    for port, tuples in enumerate((events, logins)):
        for each in tuples:
            assert not list(twin(port, each))
    none = {"user": "", "seen": 0, "load": 0.0, "number": 0}
    wanted = [
        {name: none[name] if value is None else value for name, value in out.items()}
        for _, out in twin.finish()
    ]
    assert Counter(map(str, found)) == Counter(map(str, wanted))
    assert left_out.get("tried: late", 0) == twin.late


def test_an_outer_join_sends_who_was_alone_when_no_partner_can_come_any_more():
    made = []

    def add(graph):
        made.append(
            join(
                graph,
                "tried",
                (EVENT, LOGIN),
                10,
                {"host": left("host"), "user": right("user"), "number": right("number")},
                [("host", "user")],
                ("time", "at"),
                outer="both",
            )
        )
        return made[0]

    events = [event(n, f"u{n}") for n in range(2000)]
    logins = [{"user": f"u{n}", "number": n, "at": n, "size": 0} for n in range(0, 4000, 2)]
    found = sent_by(add, [(EVENT, events), (LOGIN, logins)], Dynamic(threads=2))
    kinds = Counter((each["has_left"], each["has_right"]) for each in found)
    assert kinds == {(True, True): 1000, (True, False): 1000, (False, True): 1000}
    assert all(each["user"] == "" for each in found if not each["has_right"])


def test_a_join_forgets_what_can_have_no_partner_any_more():
    made, logins = [], [{"user": f"u{n}", "number": n, "at": n, "size": 0} for n in range(3000)]

    def add(graph):
        made.append(
            join(
                graph,
                "tried",
                (EVENT, LOGIN),
                10,
                {"number": right("number")},
                [("host", "user")],
                ("time", "at"),
            )
        )
        return made[0]

    found = sent_by(
        add,
        [(EVENT, [event(n, f"u{n}") for n in range(3000)]), (LOGIN, logins)],
        Dynamic(threads=2),
    )
    compiled = made[0].typed.function.owners[0]
    assert sorted(each["number"] for each in found) == list(range(3000))
    assert compiled.counted(0) <= 10 and compiled.counted(1) <= 10


@quick
@given(
    EVENTS,
    st.integers(1, 4),
    st.integers(1, 5),
    st.sampled_from([("host",), ("tag", "host")]),
    TIME_WINDOWS,
)
def test_top_k_sends_what_its_twin_sends(events, k, more, by, window):
    found = sent_by(
        lambda graph: top_k(graph, "tried", EVENT, window, k, by, counters=k + more),
        [(EVENT, events)],
    )
    twin = plain.TopK(window, k, by, k + more)
    assert found == sent_by_twin(twin, events)
    assert left_out.get("tried: late", 0) == twin.late


@quick
@given(EVENTS, st.integers(1, 4), st.integers(1, 3), LATENESS, JUMP)
def test_frequencies_are_what_the_twin_finds(events, width, depth, lateness, jump):
    window = by_time(40, lateness=lateness, jump=jump)
    shape = {"window": window, "by": "host", "width": width, "depth": depth}
    found = sent_by(lambda graph: frequencies(graph, "tried", EVENT, **shape), [(EVENT, events)])
    twin = plain.Frequencies(EVENT, window, "host", width, depth)
    assert found == [
        out | {"share": found[i]["share"]} for i, out in enumerate(sent_by_twin(twin, events))
    ]
    assert left_out.get("tried: late", 0) == twin.late


def test_sketches_keep_what_they_promise():
    keys = [f"key{min(n % 1000, n % 77, n % 13)}" for n in range(20_000)] + [
        f"rare{n}" for n in range(5000)
    ]
    true = Counter(keys)
    saved, counted, registers = plain.SpaceSaving(100), plain.CountMin(500, 5), [0] * 1024
    for key in keys:
        saved.add(key)
        counted.add(key.encode())
        plain.hyperloglog_add(registers, plain.hash_of(key.encode()))
    top = saved.top(10)
    assert [key for key, _, _ in top] == [key for key, _ in true.most_common(10)]
    assert all(count - error <= true[key] <= count for key, count, error in top)
    assert all(error <= len(keys) / 100 for _, _, error in top)
    over = [counted.add(key.encode(), 0) - true[key] for key in true]
    assert min(over) >= 0 and sum(each > 2 * len(keys) / 500 for each in over) <= len(true) / 2**5
    assert plain.hyperloglog_estimate(registers) == pytest.approx(
        len(true), rel=3 * 1.04 / 1024**0.5
    )


# -- one's own -------------------------------------------------------------------------------------

TICK = Schema("tick", {"price": "float64", "volume": "float64", "ticker": "string[12]"})
AVERAGE = Schema("average", {"vwap": "float64", "trades": "uint64", "ticker": "string[12]"})
SUMS = np.dtype(
    [("value", np.float64), ("volume", np.float64), ("ticker", AVERAGE.dtype["ticker"])], align=True
)


def in_numba():
    import numba

    tick, average = TICK.dtype, AVERAGE.dtype
    window_type = np.dtype([("begin", np.int64), ("end", np.int64), ("count", np.uint64)])

    @numba.cfunc(ADD.numba)
    def add(state, tuple_, count):
        own, given = numba.carray(state, 1, SUMS)[0], numba.carray(tuple_, 1, tick)[0]
        own.value += given.price * given.volume
        own.volume += given.volume
        own.ticker = given.ticker
        return 0

    @numba.cfunc(COMBINE.numba)
    def combine(state, later):
        own, other = numba.carray(state, 1, SUMS)[0], numba.carray(later, 1, SUMS)[0]
        own.value += other.value
        own.volume += other.volume
        return 0

    @numba.cfunc(RESULT.numba)
    def result(state, window, out):
        own, sent = numba.carray(state, 1, SUMS)[0], numba.carray(out, 1, average)[0]
        if own.volume <= 0.0:
            return 0
        sent.vwap = own.value / own.volume
        sent.trades = numba.carray(window, 1, window_type)[0].count
        sent.ticker = own.ticker
        return 1

    return Fold(add, combine, result, SUMS.itemsize)


def in_c():
    library = ctypes.CDLL(str(shared_library("examples/vwap.c")))
    of = ctypes.c_void_p
    library.add.argtypes = (of, of, ctypes.c_uint64)
    library.combine.argtypes = (of, of)
    library.result.argtypes = (of, of, of)
    return Fold(library.add, library.combine, library.result, 32)


def in_cython():
    functions = cython_module("examples/vwap.pyx").__pyx_capi__
    return Fold(functions["add"], functions["combine"], functions["result"], 32)


@pytest.mark.heavy
@pytest.mark.parametrize("made", [in_c, in_cython, in_numba])
@pytest.mark.parametrize("window", [by_count(4, 1), by_count(3)])
def test_an_aggregate_of_ones_own_is_three_functions(made, window):
    ticks = [
        {"price": 1.5 * n, "volume": float(n % 5), "ticker": "ab"[n % 3 // 2]} for n in range(50)
    ]
    found = sent_by(
        lambda graph: aggregate(graph, "vwap", TICK, window, made(), "ticker", AVERAGE),
        [(TICK, ticks)],
    )
    wanted, last_ones = [], {"a": [], "b": []}
    for tick in ticks:
        own = last_ones[tick["ticker"]]
        own.append((tick["price"] * tick["volume"], tick["volume"]))
        held = own[-window.length :]
        volume = sum(each for _, each in held)
        if len(own) % window.step == 0 and volume > 0:
            wanted.append(
                {
                    "vwap": sum(each for each, _ in held) / volume,
                    "trades": len(held),
                    "ticker": tick["ticker"],
                }
            )
    assert found == wanted and len(found) > 12


WORD = np.dtype([("number", np.uint64), ("weight", np.uint64)])
NUMBER = Schema("number", {"number": "uint64"})


def word_of_digits():
    """Return the fold whose result is its tuples' numbers, written one after the other in base
    1,000,003, modulo 2^64. It depends on the order of all of them.
    """
    import numba

    number = NUMBER.dtype

    @numba.cfunc(ADD.numba)
    def add(state, tuple_, count):
        own, given = numba.carray(state, 1, WORD)[0], numba.carray(tuple_, 1, number)[0]
        if count == 0:
            own.weight = np.uint64(1)
        own.number = own.number * np.uint64(1_000_003) + given.number
        own.weight = own.weight * np.uint64(1_000_003)
        return 0

    @numba.cfunc(COMBINE.numba)
    def combine(state, later):
        own, other = numba.carray(state, 1, WORD)[0], numba.carray(later, 1, WORD)[0]
        own.number = own.number * other.weight + other.number
        own.weight = own.weight * other.weight
        return 0

    @numba.cfunc(RESULT.numba)
    def result(state, window, out):
        numba.carray(out, 1, number)[0].number = numba.carray(state, 1, WORD)[0].number
        return 1

    return Fold(add, combine, result, WORD.itemsize)


@pytest.mark.heavy
def test_a_sliding_window_combines_all_its_tuples_in_their_order():
    fold, numbers = word_of_digits(), [7 * n + 1 for n in range(200)]
    for length, step in [(5, 1), (13, 1), (64, 1), (12, 2), (40, 15), (7, 7), (18, 12), (250, 3)]:
        window = by_count(length, step)
        found = sent_by(
            lambda graph, window=window: aggregate(
                graph, "word", NUMBER, window, fold, gives=NUMBER
            ),
            [(NUMBER, [{"number": number} for number in numbers])],
        )
        wanted = [
            reduce(
                lambda word, n: (word * 1_000_003 + n) % 2**64,
                numbers[max(0, end - length) : end],
                0,
            )
            for end in range(step, len(numbers) + 1, step)
        ]
        assert [each["number"] for each in found] == wanted, (length, step)


def test_keys_that_came_and_went_are_forgotten_by_sliding_windows():
    events = [event(n // 2, f"host {n % 9 if n % 2 else n}") for n in range(4000)]
    found = sent_by(
        lambda graph: aggregate(graph, "tried", EVENT, by_time(30, 10), {"n": count()}, "host"),
        [(EVENT, events)],
    )
    twin = plain.Aggregate(EVENT, by_time(30, 10), {"n": count()}, ("host",))
    few = [each for each in found if each["end"] <= 200]
    assert few == [each for each in sent_by_twin(twin, events[:420]) if each["end"] <= 200]
    assert sum(each["n"] for each in found) == 3 * len(events)


# -- bad input -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (
            lambda graph: by_count(0),
            "length of a window must be a whole number from 1 to 1,152,921,504,606,846,976 tuples, "
            "not 0",
        ),
        (
            lambda graph: by_time(10, 11),
            "step of a window must be a whole number from 1 to 10 ns, not 11",
        ),
        (
            lambda graph: distinct("host", 3),
            "precision of distinct must be a whole number from 4 to 16 bits, not 3",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_count(2), {"n": total("host")}),
            "operator 'x': total must be of a number, not of host (string[12])",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_count(2), {"n": mean("nothing")}),
            "operator 'x': event must have an attribute 'nothing'",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_count(2), {"host": count()}, "host"),
            "operator 'x': two attributes are named 'host'",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_count(2**17, 1), {"n": count()}),
            "operator 'x': a window must have at most 65,536 panes, not 131,072",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_time(2, on="load"), {"n": count()}),
            "operator 'x': load must be a time, not float64",
        ),
        (
            lambda graph: join(
                graph,
                "x",
                (EVENT, LOGIN),
                5,
                {"a": left("host")},
                [("host", "number")],
                ("time", "at"),
            ),
            "operator 'x': host and number must have one type, not string[12] and int32",
        ),
        (
            lambda graph: top_k(graph, "x", EVENT, by_count(5), 3, "host"),
            "operator 'x': window must be made by by_time",
        ),
        (
            lambda graph: top_k(graph, "x", EVENT, by_time(5000, 1), 3, "host"),
            "operator 'x': at most 1,024 windows may overlap, not 5,000",
        ),
        (
            lambda graph: frequencies(graph, "x", EVENT, by_time(5, 1), "host"),
            "operator 'x': window must tumble",
        ),
        (
            lambda graph: by_time(5, jump=-1),
            "jump of a window must be a whole number from 0 to 1,152,921,504,606,846,976 ns, "
            "not -1",
        ),
        (
            lambda graph: join(
                graph,
                "x",
                (EVENT, LOGIN),
                5,
                {"a": left("host")},
                [("host", "user")],
                ("time", "at"),
                outer="full",
            ),
            "operator 'x': outer must be left, right, both or None, not 'full'",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, 10, {"n": count()}),
            "operator 'x': window must be made by by_count, by_time or by_session, not 10",
        ),
        (
            lambda graph: top_k(graph, "x", EVENT, 10, 3, "host"),
            "operator 'x': window must be made by by_time, not 10",
        ),
        (
            lambda graph: aggregate(graph, "x", EVENT, by_count(2), {"n": "count"}),
            "operator 'x': n must be an aggregate, such as count(), not 'count'",
        ),
        (
            lambda graph: aggregate(graph, "x", "event", by_count(2), {"n": count()}, "host"),
            "operator 'x': takes must be a Schema, not 'event'",
        ),
        (
            lambda graph: join(
                graph, "x", (EVENT, LOGIN), 5, {"a": left("host")}, ["host"], ("time", "at")
            ),
            "operator 'x': by must be pairs of attributes, one of each side, not 'host'",
        ),
        (
            lambda graph: join(
                graph, "x", (EVENT, LOGIN), 5, {"a": "host"}, [("host", "user")], ("time", "at")
            ),
            "operator 'x': a must be an attribute of a side, such as left('host'), not 'host'",
        ),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(wrong, told):
    with pytest.raises(GraphError) as refused:
        wrong(Graph("g"))
    assert str(refused.value) == told


MANY_KEYS = """
#include "millrace.h"
int32_t step(millrace_context* context, void* state) {
  uint64_t* next = state;
  *(uint64_t*)millrace_room(context, 0) = (*next)++;
  millrace_send(context, 0);
  return MILLRACE_MORE;
}
"""


@pytest.mark.heavy
def test_too_many_keys_end_the_run_with_the_bound_in_words(tmp_path):
    (tmp_path / "many_keys.c").write_text(MANY_KEYS)
    library = ctypes.CDLL(str(shared_library(tmp_path / "many_keys.c")))
    library.step.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
    graph, key = Graph("g"), Schema("key", {"number": "uint64"})
    source = graph.typed_source("source", library.step, key, state=np.zeros(1, np.uint64))
    tried = aggregate(graph, "tried", key, by_count(10), {"n": count()}, "number")
    graph.chain(
        source, tried, graph.typed_sink("sink", lambda port, each: None, tried.typed.gives[0])
    )
    engine = open_engine(graph, Manual())
    engine.start()
    while not engine.finished():
        engine.sample(0.002)
    totals = engine.stop(drain=True, timeout_s=5)
    assert totals.error == (
        "operator 'tried' failed, since it would have to keep more than 1,048,576 keys "
        "(tuple 1048576)"
    )


# -- late tuples, and pauses of live streams -------------------------------------------------------

SMALL = Schema("small", {"time": "time", "n": "uint32"})


def small(*times):
    return [{"time": time, "n": n} for n, time in enumerate(times)]


def sent_and_late(add, sources, late_ports, model=None):
    """Return what an operator with `late=True` sends, the late tuples by port, and the totals."""
    graph, found, late = Graph("tried"), [], [[] for _ in late_ports]
    tried = add(graph)
    for port, tuples in enumerate(sources):
        source = graph.typed_source(
            f"in{port}", lambda tuples=tuples: [(0, each) for each in tuples], SMALL
        )
        graph.connect(source, tried.input(port))
    kept = graph.typed_sink("found", lambda port, each: found.append(each), tried.typed.gives[0])
    graph.connect(tried.output(0), kept)
    for number, port in enumerate(late_ports):
        sink = graph.typed_sink(
            f"late{port}", lambda _, each, number=number: late[number].append(each["n"]), SMALL
        )
        graph.connect(tried.output(port), sink)
    return found, late, run(graph, model)


@pytest.mark.parametrize(
    "model", [Manual(), Dynamic(threads=2), Coroutine(threads=2)], ids=lambda model: model.name
)
@pytest.mark.parametrize("kind", ["aggregate", "sessions", "top", "frequencies"])
def test_late_tuples_go_to_an_output_of_their_own(kind, model):
    window = by_time(10)
    add = {
        "aggregate": lambda graph: aggregate(graph, "tried", SMALL, window, {"n": count()}, late=True),
        "sessions": lambda graph: aggregate(graph, "tried", SMALL, by_session(5), {"n": count()}, late=True),
        "top": lambda graph: top_k(graph, "tried", SMALL, window, 1, "n", late=True),
        "frequencies": lambda graph: frequencies(graph, "tried", SMALL, window, "n", late=True),
    }[kind]  # fmt: skip
    tuples = small(1, 2, 3, 4, 5, 31, 6, 32, 33, 7)
    found, late, totals = sent_and_late(add, [tuples], [1], model)
    assert late == [[6, 9]] and totals.left_out == {}
    assert found
    assert sum(each["n"] for each in found) == 8 or kind in ("top", "frequencies")


def test_late_tuples_of_each_side_of_a_join_have_an_output():
    def add(graph):
        values = {"one": left("n"), "other": right("n")}
        return join(graph, "tried", (SMALL, SMALL), 5, values, [("n", "n")], late=True)

    ahead = small(1, 2, 3, 4, 5, 60, 7)
    _, late, totals = sent_and_late(add, [ahead, [*ahead, {"time": 8, "n": 7}]], [1, 2])
    assert late == [[6], [6, 7]] and totals.left_out == {}


def test_the_first_late_tuple_is_told_as_an_example():
    graph = Graph("tried")
    tuples = small(1, 2, 3, 4, 5, 31, 6, 7)
    source = graph.typed_source("in", lambda: [(0, each) for each in tuples], SMALL)
    tried = aggregate(graph, "tried", SMALL, by_time(10), {"n": count()})
    graph.chain(
        source, tried, graph.typed_sink("found", lambda port, each: None, tried.typed.gives[0])
    )
    totals = run(graph)
    assert totals.left_out == {"tried: late": 2}
    assert totals.left_out_examples == {"tried: late": "tuple 7: {'time': 6, 'n': 6}"}


def test_late_and_clock_are_for_windows_by_time():
    with pytest.raises(GraphError, match="late and clock are for windows by time"):
        aggregate(Graph("g"), "tried", SMALL, by_count(3), {"n": count()}, late=True)


@pytest.mark.parametrize(
    "model", [Manual(), Dynamic(threads=2), Coroutine(threads=2)], ids=lambda model: model.name
)
def test_ticks_of_a_clock_end_the_windows_of_a_stream_that_pauses(model):
    """The source waits for the window of its last tuple before it goes on."""
    graph, found = Graph("tried"), []

    def live():
        for each in small(1, 2):
            yield 0, each
        while not found:
            yield None
        for each in small(3, 104):
            yield 0, each

    def ticks():
        idle = 0
        while not found:
            idle += 1
            yield 0, {"idle": idle}
            yield None

    clock = graph.typed_source("clock", ticks, IDLE)
    tried = aggregate(graph, "tried", SMALL, by_time(5), {"n": count()}, clock=clock)
    graph.connect(graph.typed_source("in", live, SMALL), tried.input(0))
    graph.connect(
        tried,
        graph.typed_sink("found", lambda port, each: found.append(each), tried.typed.gives[0]),
    )
    totals = run(graph, model)
    assert [each["begin"] for each in found] == [0, 100], "the first one ended in the pause"
    late = totals.left_out["tried: late"]  # 3, and what a tick has overtaken
    assert late >= 1 and sum(each["n"] for each in found) + late == 4
