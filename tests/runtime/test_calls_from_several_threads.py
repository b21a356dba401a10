"""An engine is used by several threads of its process: one stop with one answer, and clear answers
meanwhile.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from harness.engine import Engine, Totals, open_engine
from harness.errors import RunFailed
from harness.models import Dedicated, Dynamic, Manual, Model
from tests.runtime.shapes import pipeline, together
from tests.runtime.test_stop import with_python

MANY = 1000  # threads: enough that somebody can act while they start, if he gets a CPU
TRIES = 20  # until he gets one in time, also on a crowded machine


def opened(machine: str, model: Model | None = None) -> Engine:
    engine = open_engine(pipeline(6), model or Dynamic(2), machine)
    engine.start()
    return engine


@pytest.mark.parametrize("machine", ["local", "xeon"])
@pytest.mark.parametrize(
    "drains", [(True, True), (True, False), (False, False), (False, True, True, False)]
)
def test_all_who_stop_an_engine_get_one_answer(machine: str, drains: tuple[bool, ...]) -> None:
    for _ in range(4):
        engine = opened(machine)
        engine.sample(0.002)
        timeout_s = 5.0 if machine == "local" else 1e-4
        answers = together([partial(engine.stop, drain, timeout_s) for drain in drains])
        assert all(answer is answers[0] for answer in answers)
        assert isinstance(answers[0], Totals) and answers[0].correct and not answers[0].stuck
        assert answers[0].sent == answers[0].received + answers[0].in_flight


def test_who_has_less_time_ends_the_drain_of_who_has_more() -> None:
    gate, inside = threading.Event(), threading.Event()

    def hold(sequence: int, value: float) -> float:
        inside.set()
        return gate.wait(200) and value

    engine = open_engine(with_python(hold, preserves=True), Manual())
    engine.start()
    assert inside.wait(60)
    with ThreadPoolExecutor(1) as threads:
        patient = threads.submit(engine.stop, True, 1e6)  # it would wait for eleven days
        totals = engine.stop(False, 0.1)
        assert patient.result() is totals
    assert len(totals.stuck) == 1 and totals.stuck[0].endswith("in operator 'user'")
    gate.set()


def test_a_stop_of_a_simulated_run_breaks_off_a_sample_of_another_thread() -> None:
    engine = opened("xeon")
    with ThreadPoolExecutor(1) as threads:
        endless = threads.submit(engine.sample, 1e6)  # virtual seconds: hours
        totals = engine.stop(False, 0.0)
        assert endless.result().elapsed_s < 1e6
    assert totals.correct and not totals.drained


@pytest.mark.parametrize("machine", ["local", "xeon"])
def test_calls_beside_a_stop_return_and_those_after_it_change_nothing(machine: str) -> None:
    for attempt in range(6):
        engine = open_engine(pipeline(12), Dynamic(1), machine)
        engine.start()
        ports = engine.queued()
        period_s = 0.05 if machine == "local" else 1e-4
        answers = together(
            [
                lambda engine=engine, drain=attempt % 2 == 0: engine.stop(
                    drain, 5.0 if machine == "local" else 1e-5
                ),
                lambda engine=engine, period_s=period_s: [
                    engine.sample(period_s) for _ in range(5)
                ],
                lambda engine=engine: [engine.set_threads(1 + level % 8) for level in range(40)],
                lambda engine=engine, ports=ports: [
                    engine.set_queued(ports, number % 2 == 0) for number in range(20)
                ],
            ]
        )
        assert answers[0].correct and not answers[0].stuck
        engine.set_threads(8)
        engine.sample(1e6)  # returns at once, what the end has brought
        assert engine.sample(1e6).source_tuples == 0 and engine.finished()
        assert engine.stop(True, 5.0) is answers[0]


def test_no_thread_is_made_once_a_stop_has_counted_them() -> None:
    for _ in range(10):
        engine = opened("local", Dynamic(1))
        together(
            [
                lambda engine=engine: engine.stop(False, 5.0),
                *[lambda engine=engine: engine.set_threads(64)] * 2,
            ]
        )
        assert no_thread_is_left()


@pytest.mark.parametrize("model", [Dedicated(), Dynamic(MANY)], ids=lambda model: model.name)
def test_a_start_is_broken_off_by_a_stop_of_another_thread_and_leaves_no_thread(
    model: Model,
) -> None:
    before = psutil.Process().num_threads()

    def stop(engine: Engine) -> Totals:
        while (
            psutil.Process().num_threads() < before + 20
        ):  # it runs while threads are made: start() leaves it the interpreter
            pass
        return engine.stop(True, 20.0)

    for _ in range(TRIES):
        engine, told = open_engine(pipeline(MANY), model), ""
        with ThreadPoolExecutor(1) as threads:
            answer = threads.submit(stop, engine)
            try:
                engine.start()
            except RunFailed as error:
                told = str(error)
            totals = answer.result()
        if told:
            break
    assert told.startswith("start was broken off: the engine was stopped meanwhile")
    assert (totals.sent, totals.received, totals.drained, totals.stuck) == (0, 0, False, [])
    assert no_thread_is_left()
    assert engine.stop(True, 1.0) is totals


class Interrupted(Exception):
    pass


@contextmanager
def signalled(handler: Callable[[int, object], object], seen: Callable[[], bool]) -> Iterator[None]:
    """Another thread has a signal sent to this one, whose handler is `handler`, as soon as it has
    `seen` what it waits for.
    """
    usual = signal.signal(signal.SIGALRM, handler)
    over = threading.Event()

    def send() -> None:
        while not seen() and not over.is_set():
            pass
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        over.set()
        sender.join()
        signal.signal(signal.SIGALRM, usual)


def interrupt(number: int, frame: object) -> None:
    raise Interrupted


def some_have_started() -> bool:
    return psutil.Process().num_threads() > 30


@pytest.mark.parametrize("model", [Dedicated(), Dynamic(MANY)], ids=lambda model: model.name)
def test_a_start_is_broken_off_by_a_signal_and_leaves_no_thread(model: Model) -> None:
    for _ in range(TRIES):
        engine, whole = open_engine(pipeline(MANY), model), False
        with suppress(Interrupted), signalled(interrupt, some_have_started):
            engine.start()
            whole = True
        if not whole:
            break
        engine.stop(False, 20.0)
    assert not whole
    assert no_thread_is_left()
    totals = engine.stop(True, 1.0)
    assert (totals.sent, totals.stuck) == (0, [])


def test_a_signals_handler_may_stop_the_engine_that_its_thread_starts_or_stops() -> None:
    answers: list[Totals] = []
    for _ in range(TRIES):
        answers.clear()
        engine, told = open_engine(pipeline(MANY), Dedicated()), ""

        def stop(number: int, frame: object, engine: Engine = engine) -> None:
            answers.append(engine.stop(False, 20.0))

        with signalled(stop, some_have_started):
            try:
                engine.start()
            except RunFailed as error:
                told = str(error)
                assert engine.stop(True, 1.0) is answers[0]
        if told:
            break
    assert told.startswith("start was broken off")


def test_a_simulated_sample_is_broken_off_by_a_signal() -> None:
    engine = opened("xeon")
    begun = threading.Event()
    with signalled(interrupt, begun.is_set), pytest.raises(Interrupted):
        begun.set()
        engine.sample(1e6)
    assert engine.stop(False, 0.0).correct


def test_sources_start_when_all_other_threads_are_there() -> None:
    assert no_thread_is_left()  # that another test had given up
    engine = open_engine(pipeline(40), Dedicated())
    engine.start()
    names = threads_of_engines()
    assert names[-1].startswith("source") and len(names) == 42
    engine.stop(True, 5.0)


def threads_of_engines() -> list[str]:
    """The system's names of those of this process, in the order in which they were made."""
    names = []
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            names.append((task / "comm").read_text(encoding="utf-8").strip())
    return [name for name in names if name.startswith(("source", "port thread", "scheduler"))]


def no_thread_is_left() -> bool:
    """The system may list a thread for a moment after it was joined."""
    limit = time.monotonic() + 60.0
    while threads_of_engines() and time.monotonic() < limit:
        time.sleep(0.01)
    return not threads_of_engines()
