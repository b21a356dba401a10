"""Start, measure and stop one engine. Time passes in `Engine.sample` only.

The measured window is all of a bounded run; of a timed one, what follows its warm-up; of a
simulated one that may take so many events, the part of it that is stationary.

A run is stationary over two windows in a row if their sink rates agree, and if in each of them the
sinks receive as fast as the sources send (times the copies that a tuple becomes). The second
condition is what a filling pipeline breaks: its sinks may already be steady while the queues before
them still grow. Two rates agree if they differ by no more than the tolerance, relative to the
greater, or by no more than one tuple of the sources: windows count whole tuples.

A simulated run has no noise of a host, and its time costs little. So it goes on until the last two
thirds of it are stationary, and these are what is measured: `Settling`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from harness.engine import Engine, Sample, Totals
from harness.engine.simulated import SimulatedEngine
from harness.graph import Graph
from harness.graph.flow import Flow
from harness.machines.host.cpu import SHORTEST_S, CpuCounters, allowed_cpu_numbers
from harness.measurement.control import ControlFailed, Controller, Step
from harness.measurement.cpu_use import Disturbance
from harness.measurement.interval import mean_interval
from harness.measurement.period_text import period_line
from harness.measurement.spec import Run
from harness.measurement.time_use import ExplainedWindow, WindowUse

STOP_S = 2.0  # for draining, and again for threads to stop
WINDOW_SAMPLES = 10  # in the measured window of a timed run
MIN_WINDOW_SAMPLES = 2  # samples of the shortest window: else nothing says whether it was steady
MIN_PERIOD_S = 0.05  # of real threads, but for such a window
MIN_VIRTUAL_PERIOD_S = 0.0005  # of a bounded simulated run, whose length is not known before
# for which a simulated elastic run may settle before its law looks: real ones fill their queues
# within a period
SETTLING_EVENTS = 1_000_000
# a bounded run in which no tuple moves for so long is given up: far longer than any operator may
# compute
STALL_S = 120.0

# a guess, not tuned; a stationary run on an idle 2-core VM varies by 1 to 3 % between windows
WINDOWS_AGREE_WITHIN = 0.05
# by how much the halves of a measured window may differ although the warm-up was over; a guess, not
# tuned
HALVES_AGREE_WITHIN = 0.2
# that a simulated run has before it is looked at: two may agree by chance
SAMPLES_AT_LEAST = 12
# of the events that a run may take, the shortest sample is one part in so many
SHORTEST_OF_EVENTS = 1000
# by how much of their length the mean fill of all queues may differ between the windows of a
# simulated run; a guess, not tuned
FILLS_AGREE_WITHIN = 0.02
# how precise the rate of a simulated run must be: half of the 5 % by which a point may differ from
# a run ten times as long
KNOWN_WITHIN = 0.025
# of the tuples in the queues, one in so many must have gone. All would be a mean time on the way
# (Little's law), but a pipeline of 1,000 operators takes 100 million events for that.
LEFT_AT_LEAST = 4
# tuples whose latency is known that a simulated window has, if that takes at most so many times the
# events in which it settled; guesses, not tuned
LATENCIES_AT_LEAST = 10
LATENCIES_WITHIN = 4

SHORTEST_REST_S = 0.01
"""Longest remainder of a warm-up that is ignored [s], or a tenth of a sample: too short to learn
from.
"""

Announce = Callable[[str], None]


@dataclass
class Observation:
    """Observation of one run. `samples` are those of the measured window alone."""

    samples: Sequence[Sample] = field(default_factory=list)
    # of warming up, or of adapting where something is elastic
    before: list[Sample] = field(default_factory=list)
    bounded: bool = False  # its sources send a given number of tuples: the window is all of it
    # whether its sources ended before its time was over: the window is then all of it
    ended: bool = False
    # of laws, by the time of the sample that they follow; None: nothing is elastic
    steps: Mapping[float, Step] | None = None
    terms: Mapping[str, Any] | None = None  # of the pool's law; None: the pool is not elastic
    # whether its laws had settled when the window began, or a bounded run ended
    level_settled: bool = False
    settled: bool = False
    error: str | None = None  # why the run was cut short, besides what `totals` says
    disturbance: Disturbance = field(default_factory=Disturbance)  # a simulated run has none
    totals: Totals | None = None  # None if the engine did not start
    time_use: WindowUse | None = None  # None: nobody asked

    @property
    def warmup_s(self) -> float:
        """Seconds that passed before the window."""
        return sum((sample.elapsed_s for sample in self.before), 0.0)

    @property
    def processed(self) -> Sequence[int]:
        """Tuples through each operator in the window."""
        if self.ended and self.totals is not None:  # its adaptation has samples without them
            return self.totals.processed
        return [sum(of) for of in zip(*(each.processed for each in self.samples), strict=True)]

    def add_laws(self, controller: Controller) -> None:
        """Take in what the laws of the run have decided."""
        self.steps, self.terms = controller.steps, controller.terms


def observe(
    engine: Engine,
    run: Run,
    graph: Graph,
    announce: Announce,
    controller: Controller | None = None,
    explained: ExplainedWindow | None = None,
) -> Observation:
    """Execute `run` on `engine`, which has the graph. `announce` gets each phase, and each period
    of laws; `explained` reads what threads do in the window.

    A timed run that is over before its time is measured as a whole if its sources may end, as only
    those of typed graphs do, and has failed otherwise. Whatever happens, the engine is stopped
    before this returns or raises. Raises what the engine raises.
    """

    def phase_begins(phase: str) -> None:
        if explained is not None and phase == "measuring":
            explained.begin()
        announce(phase)

    announce("starting")
    engine.start()
    try:
        seen = _measure(engine, run, graph.flow(), phase_begins, controller, explained)
        seen.time_use = explained.end() if explained is not None else None
    except BaseException:
        engine.stop(drain=False, timeout_s=STOP_S)
        raise
    if not seen.bounded and seen.error is None and engine.finished():
        _end(seen, engine, graph.typed_graph, controller)
    if run.simulated:
        seen.disturbance = Disturbance()  # others slow a simulation down, and change no result
    if controller is not None:
        seen.add_laws(controller)
    announce("stopping")
    # What a timed simulated run has queued is counted where it lies: draining it would take longer
    # than the run.
    drain = seen.error is None and not (run.simulated and not seen.bounded)
    seen.totals = engine.stop(drain=drain, timeout_s=STOP_S)
    seen.ended = seen.ended and seen.totals.error is None  # an operator that raises ends a run, too
    if seen.bounded or seen.ended:
        seen.settled = seen.error is None and seen.totals.error is None and seen.totals.drained
    return seen


def _measure(
    engine: Engine,
    run: Run,
    flow: Flow,
    announce: Announce,
    controller: Controller | None,
    explained: ExplainedWindow | None,
) -> Observation:
    """Warm up and measure; the engine runs before and after."""
    if run.tuples is not None:
        shortest_s = MIN_VIRTUAL_PERIOD_S if run.simulated else MIN_PERIOD_S
        return _bounded(engine, shortest_s, announce, controller)
    if controller is None and run.events is not None:
        announce("warming up")
        keep = explained.keep if explained is not None else None
        settling = settle(engine, run.events, flow, after=keep)
        if explained is not None:
            explained.begin_after(len(settling.before))
        return Observation(settling.window, settling.before, settled=settling.settled)
    return _timed(engine, run, flow, announce, controller)


def _bounded(
    engine: Engine, shortest_s: float, announce: Announce, controller: Controller | None
) -> Observation:
    """Observe a run that ends by itself: the window is all of it. Its samples grow longer, so that
    a long run has few, unless laws need them. `shortest_s`: length of the first.
    """
    announce("measuring")
    samples: list[Sample] = []
    seen = Observation(samples, bounded=True)
    before = CpuCounters.now()
    elapsed_s = quiet_s = 0.0
    while quiet_s < STALL_S:
        over = engine.finished()
        own_s = max(shortest_s, elapsed_s / WINDOW_SAMPLES)
        period_s = own_s if controller is None else controller.sample_s
        try:  # also after the end, so that no tuple is missed
            sample = _next(engine, controller, "measuring", period_s, announce)
        except ControlFailed as failure:
            seen.error = str(failure)
            break
        moved = any((sample.source_tuples, sample.sink_tuples, sample.submitted_tuples)) or any(
            sample.processed
        )
        if moved or not over or not samples:
            samples.append(sample)
            elapsed_s = sample.time_s
        if over:
            break
        quiet_s = 0.0 if moved else quiet_s + sample.elapsed_s
    else:
        seen.error = f"no tuple has moved for {quiet_s:.0f} s"
    seen.level_settled = controller is not None and controller.settled
    seen.settled = seen.error is None
    seen.disturbance = _disturbance(before)
    return seen


def _timed(
    engine: Engine, run: Run, flow: Flow, announce: Announce, controller: Controller | None
) -> Observation:
    """Warm up, or adapt if something is elastic, then measure; the laws go on all the time."""
    samples: list[Sample] = []
    seen = Observation(samples)
    window_s, period_s = _lengths_s(run, controller)
    began = since = CpuCounters.now()
    measured_s = 0.0
    try:
        settled = _warm_up(engine, run, flow, announce, controller, seen.before)
        seen.level_settled = controller is not None and controller.settled
        announce("measuring")
        since = CpuCounters.now()
        while (not samples or measured_s < window_s - period_s / 2) and not engine.finished():
            samples.append(_next(engine, controller, "measuring", period_s, announce))
            measured_s += samples[-1].elapsed_s
        seen.settled = is_settled(samples, flow.copies, settled)
    except ControlFailed as error:
        seen.error = str(error)
    # a window too short for ticks may be long enough with its warm-up
    seen.disturbance = _disturbance(since if measured_s >= SHORTEST_S else began)
    return seen


def _lengths_s(run: Run, controller: Controller | None) -> tuple[float, float]:
    """Return the length of the measured window of a timed run, and of its samples."""
    if controller is not None:
        is_pool = controller.pool is not None
        return run.elastic_window_s if is_pool else run.duration_s, controller.sample_s
    most = WINDOW_SAMPLES if run.simulated else int(run.duration_s / MIN_PERIOD_S)
    return run.duration_s, run.duration_s / max(MIN_WINDOW_SAMPLES, min(WINDOW_SAMPLES, most))


def _warm_up(
    engine: Engine,
    run: Run,
    flow: Flow,
    announce: Announce,
    controller: Controller | None,
    seen: list[Sample],
) -> bool | None:
    """Let the run become stationary, and the laws find their levels; `seen` gets the samples.
    Return True if it has settled.

    That is when it is stationary and the laws have settled, or never within the time that `Run`
    allows. With a warm-up of fixed length nobody looks: None.
    """
    phase = "warming up" if controller is None else "adapting"
    if controller is None:
        limit_s, period_s = run.warmup_limit_s, run.warmup_sample_s
    else:
        limit_s, period_s = run.adaptation_limit_s, controller.sample_s
        # else a part of the first phase would pass before anybody looks
        if run.simulated and not engine.phased:
            announce("warming up")
            settle(engine, SETTLING_EVENTS, flow, measures=False)
            engine.begin_here()
    announce(phase)
    rest_s = min(SHORTEST_REST_S, period_s / 10)
    elapsed_s = 0.0
    alike: list[Sample] = []  # those since the laws have last changed something
    while limit_s - elapsed_s > rest_s and not engine.finished():
        sample = _next(engine, controller, phase, min(period_s, limit_s - elapsed_s), announce)
        seen.append(sample if controller is None else _lean(sample))
        elapsed_s += sample.elapsed_s
        if controller is not None and controller.kept == 0:
            alike.clear()
        alike.append(seen[-1])
        has_level = controller is None or controller.settled
        if run.warmup == "auto" and has_level and is_warm(alike, flow.copies):
            return True
    return False if run.warmup == "auto" else None


def _next(
    engine: Engine, controller: Controller | None, phase: str, period_s: float, announce: Announce
) -> Sample:
    """Let one sample's time pass, and the laws act on it. Raises ControlFailed."""
    sample = engine.sample(period_s)
    if controller is not None and not engine.finished():
        step = controller.see(sample)
        announce(f"{phase}: {period_line(sample, step)}")
    return sample


def _lean(sample: Sample) -> Sample:
    """Without most that is said of each operator and port: a long adaptation of a large graph would
    not fit in memory.
    """
    gone = (
        "processed",
        "queue_fill",
        "write_blocked",
        "latency_counts",
        "part_latencies",
        "useful_s",
        "queue_full",
    )
    return replace(sample, **dict.fromkeys(gone, ()))


def _disturbance(before: CpuCounters) -> Disturbance:
    return Disturbance.between(before, CpuCounters.now(), len(allowed_cpu_numbers()))


def _end(seen: Observation, engine: Engine, finite: bool, controller: Controller | None) -> None:
    """Take in that a timed run is over by itself: its window is all of it, as of a bounded run, if
    its sources may end (`finite`).
    """
    if not finite:
        seen.settled = False
        seen.error = (
            "the run ended by itself after "
            f"{seen.warmup_s + sum(each.elapsed_s for each in seen.samples):.3g} s"
        )
        return
    last = engine.sample(MIN_PERIOD_S)  # what passed between the last look and the end
    seen.samples = [*seen.before, *seen.samples, *([last] if last.elapsed_s > 0.0 else [])]
    seen.before, seen.ended = [], True
    seen.level_settled = controller is not None and controller.settled


# -- stationary or not: the one test of measured and of simulated runs ---------------------------


@dataclass(frozen=True)
class FlowWindow:
    """Tuples that went in and came out in a stretch of time."""

    elapsed_s: float
    source_tuples: int
    sink_tuples: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> FlowWindow:
        """Return the samples as one window."""
        rows = [(sample.elapsed_s, sample.source_tuples, sample.sink_tuples) for sample in samples]
        return cls(*(sum(column) for column in zip(*rows, strict=True))) if rows else cls(0.0, 0, 0)


def stationary(
    first: FlowWindow,
    second: FlowWindow,
    copies: int | None,
    tolerance: float = WINDOWS_AGREE_WITHIN,
) -> bool:
    """Return True if the run was stationary over two windows in a row.

    `copies`: tuples at the sinks for each tuple sent, None if that depends on the tuple; sources
    are then not looked at.
    """
    if (
        min(first.elapsed_s, second.elapsed_s) <= 0.0
        or min(first.sink_tuples, second.sink_tuples) == 0
    ):
        return False
    quantum = 1 if copies is None else copies
    pairs = [(first.sink_tuples / first.elapsed_s, second.sink_tuples / second.elapsed_s)]
    if copies is not None:
        pairs += [
            (w.source_tuples * copies / w.elapsed_s, w.sink_tuples / w.elapsed_s)
            for w in (first, second)
        ]
    slack = quantum / min(first.elapsed_s, second.elapsed_s)
    return all(abs(a - b) <= max(tolerance * max(a, b), slack) for a, b in pairs)


def settled_within(
    samples: Sequence[Sample], copies: int | None, tolerance: float = WINDOWS_AGREE_WITHIN
) -> bool:
    """Return True if the two halves of a measured window agree: for a run whose warm-up was not
    watched.
    """
    middle = len(samples) // 2
    return stationary(
        FlowWindow.of(samples[:middle]), FlowWindow.of(samples[middle:]), copies, tolerance
    )


def stayed_settled(samples: Sequence[Sample], copies: int | None) -> bool:
    """Return True if the halves of a measured window differ by at most `HALVES_AGREE_WITHIN`, so
    that its warm-up was over.

    Two neighbouring windows of a warm-up agree by chance now and then while queues still fill. One
    sample says nothing.
    """
    return len(samples) < 2 or settled_within(samples, copies, HALVES_AGREE_WITHIN)


def is_settled(samples: Sequence[Sample], copies: int | None, warm_up: bool | None) -> bool:
    """Return True if a measured window is stationary. `warm_up`: its warm-up ended so; None: of
    fixed length, so nobody looked.
    """
    if warm_up is None:
        return settled_within(samples, copies)
    return warm_up and stayed_settled(samples, copies)


def is_warm(samples: Sequence[Sample], copies: int | None) -> bool:
    """Return True if a warm-up has become stationary: two windows in a row are.

    A window is one sample, or the last third of the samples so far: that grows until it is longer
    than the bursts in which a deep graph moves its tuples.
    """
    return any(
        stationary(
            FlowWindow.of(samples[-2 * length : -length]), FlowWindow.of(samples[-length:]), copies
        )
        for length in {1, len(samples) // 3} - {0}
    )


def settle(
    engine: SimulatedEngine,
    events: int,
    flow: Flow,
    *,
    measures: bool = True,
    after: Callable[[], None] | None = None,
) -> Settling:
    """Let a simulated run become stationary, for so many events at most. `measures`: its rate and
    its latency are wanted, and not only a state to begin from. `after` is called after each sample.

    Few of its tuples are timed, so a run that is stationary goes on until its window has
    `LATENCIES_AT_LEAST` of them in each part of the graph, or is `LATENCIES_WITHIN` times as long.
    """
    settling = Settling(flow, engine.queue_capacity, measures=measures)
    shortest, left = max(events // SHORTEST_OF_EVENTS, 1), events
    while left > 0 and not settling.is_over and not engine.finished():
        length = min(left, max(shortest, settling.events // SAMPLES_AT_LEAST))
        settling.step(engine.sample_events(length), length)
        if after is not None:
            after()
        left -= length
    return settling


class Settling:
    """Is fed the samples of a simulated run from its beginning, and says when it is stationary.

    It is when the sink rates of its second and its last third agree, by events; sinks received in
    both together as fast as sources sent; the fill of the queues has stayed the same; and as many
    tuples were executed as all queues hold. Else a flow that only seems steady while thousands of
    tuples are left to drain would pass.

    A rate that is measured must be precise, too, as two thirds agree by chance if the rate varies:
    its interval from the samples as batches is narrow (the sequential method of batch means, Law
    and Carson, Operations Research 27(5), 1979). It is the rate of all operators, which varies far
    less than that of the sinks, where a deep graph delivers in lumps. In a balanced flow the two
    are the same (Denning and Buzen, Computing Surveys 10(3), 1978), so they must agree. And a part
    of what the queues hold has left: deep pipelines rest on plateaus before their queues fill.
    """

    def __init__(self, flow: Flow, capacity: int, *, measures: bool = True) -> None:
        """`capacity`: tuples a queue. `measures`: the rate must be precise."""
        self.settled = False
        self.events = 0
        self._settled_at = 0  # events when it was stationary for the first time; 0: never
        self._flow = flow
        self._capacity = capacity
        self._measures = measures
        self._samples: list[Sample] = []
        self._until: list[int] = []  # events by the end of each sample

    def step(self, sample: Sample, events: int) -> None:
        """Take the next sample, which took so many events."""
        self.events += events
        self._samples.append(sample)
        self._until.append(self.events)
        middle, last = self._windows()
        whole = FlowWindow.of((*middle, *last))
        self.settled = (
            len(self._samples) >= SAMPLES_AT_LEAST
            and stationary(FlowWindow.of(middle), FlowWindow.of(last), None)
            # a source may send in bursts that are longer than a window
            and stationary(whole, whole, self._flow.copies)
            and abs(_fill(middle) - _fill(last)) <= FILLS_AGREE_WITHIN
            and sum(sum(each.processed) for each in (*middle, *last))
            >= len(sample.queue_fill) * self._capacity
            and (not self._measures or self._is_precise(whole))
        )
        if self.settled and self._settled_at == 0:
            self._settled_at = self.events

    @property
    def is_over(self) -> bool:
        """True if it is stationary, and nothing that is wanted needs a longer run."""
        if not (self.settled and self._measures):
            return self.settled
        parts = [sample.part_latencies or [sample.latency_counts] for sample in self.window]
        timed = min(sum(map(sum, part)) for part in zip(*parts, strict=True))
        return timed >= LATENCIES_AT_LEAST or self.events >= LATENCIES_WITHIN * self._settled_at

    def _is_precise(self, whole: FlowWindow) -> bool:
        """Return True if the rate of all operators is known, that of the sinks is the same, and
        enough has left. `whole`: the window.
        """
        window = self.window
        if min(each.elapsed_s for each in window) <= 0.0:
            return False
        passed = [self._passed(each) for each in window]
        mean, _, high = mean_interval(
            [each / sample.elapsed_s for each, sample in zip(passed, window, strict=True)]
        )
        held = _fill(window) * len(window[-1].queue_fill) * self._capacity
        return (
            high <= mean * (1 + KNOWN_WITHIN)
            and abs(whole.sink_tuples - sum(passed)) <= KNOWN_WITHIN * whole.sink_tuples
            # of tuples that operators drop few reach a sink
            and max(whole.source_tuples, whole.sink_tuples) >= held / LEFT_AT_LEAST
        )

    def _passed(self, sample: Sample) -> float:
        """Return the tuples that passed the graph: hops executed over those of a tuple. Tuples at
        the sinks where its hops depend on the tuple.
        """
        if self._flow.copies is None or not self._flow.hops:
            return sample.sink_tuples
        return sum(sample.processed[place] for place in self._flow.hopping) / self._flow.hops

    @property
    def before(self) -> list[Sample]:
        """Samples before the window."""
        return self._samples[: self._place(1 / 3)]

    @property
    def window(self) -> list[Sample]:
        """Samples of the last two thirds of the events."""
        return self._samples[self._place(1 / 3) :]

    def _windows(self) -> tuple[list[Sample], list[Sample]]:
        middle = self._place(2 / 3)
        return self._samples[self._place(1 / 3) : middle], self._samples[middle:]

    def _place(self, share: float) -> int:
        """Return the number of samples that end within a share of the events."""
        return bisect_right(self._until, share * self.events)


def _fill(samples: Sequence[Sample]) -> float:
    """Return the mean fill of all queues, over samples of about one length; 0 if there are none."""
    fills = [fill for sample in samples for fill in sample.queue_fill]
    return sum(fills) / len(fills) if fills else 0.0
