"""The one interface to anything that runs a graph.

A run is: `open_engine`, `start`, `sample` once a period, `stop`. Engines differ in what runs the
graph, real threads or virtual ones, never in what they report, so measurement and control laws are
written once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Protocol

from harness.engine.sample import Sample, Totals
from harness.errors import UserError
from harness.graph import PortId


class Engine(Protocol):
    """Runs one graph once.

    Any thread of the process that started it may call any method, at any time. Once the run is
    over, by itself or because another thread stops it, `sample` returns at once what has passed,
    and `set_threads`, `set_queued`, `set_active_ports` and `set_replicas` change nothing. A process
    that was forked while it ran has its memory and none of its threads: there every method raises
    UserError, and to drop the engine does nothing.
    """

    queue_capacity: int  # tuples a queue, as chosen; 0 if nothing is queued
    batch: int  # tuples that move at once, at most
    threads: int  # threads that execute operators, sources' own included
    minimum_threads: int  # the lowest level of the pool (`models.least_threads`)

    def start(self) -> None:
        """Start the threads, sources last. Raises RunFailed if the system refuses one, or another
        thread stops it meanwhile.

        A start that is broken off, also by Ctrl-C, ends the threads that it has made before it
        raises.
        """

    def sample(self, period_s: float) -> Sample:
        """Let one period pass, real or virtual, and read the counters. Returns early if the run
        ends by itself.

        Threads that an operator of a user's own holds are seen here, at most ten times a second,
        and others run in their stead: a run with such operators has to be sampled.
        """

    def since_sample(self) -> tuple[float, int]:
        """Return the seconds and the submitted tuples since the last sample, counted as a sample
        counts them.

        The next sample has both, too. So the caller can separate what happened while a law was
        computing, on CPUs that the run needs.
        """

    def set_threads(self, level: int) -> None:
        """Let `level` scheduler threads run (from 1 to 1,024), at once; the others sleep as soon as
        their operator lets them.

        A level below `minimum_threads` is raised to it. Raises UserError if the graph has no
        scheduled port, or for a level out of range.
        """

    def set_queued(self, ports: Sequence[PortId], queued: bool) -> None:
        """Switch the queues of scheduled input ports on or off; each takes effect with the next
        tuple sent there.

        Without its queue a port is executed by a function call of the thread that sends (M19 §3.1).
        ORDER and ONCE hold throughout. Raises UserError for a port that does not exist or is not
        scheduled; then nothing is changed.
        """

    def set_active_ports(self, operator: str, active: int) -> None:
        """Let an `elastic_load_balance` operator send to its first `active` output ports, from the
        next tuple on.

        The threads of the others sleep once their buffers are empty; punctuation reaches them all
        the same. Any thread may call this. Raises UserError for a name that is no such operator's,
        or a number that is not from 1 to that of its ports.
        """

    def set_replicas(self, operator: str, number: int) -> None:
        """Let an operator have `number` replicas, 1 at least, while tuples flow; they share its
        input port (C-Stream §4.2).

        New ones begin at once; those that are too many leave when they next ask for tuples. ORDER
        and ONCE hold throughout. Raises UserError for an operator that does not exist or can have
        none (it keeps a state, has other than one input and one output port, or is no co-routine),
        or a number out of range; then nothing is changed.
        """

    def finished(self) -> bool:
        """Return True if every port has seen its final punctuation, or an operator has failed."""

    def stop(self, drain: bool, timeout_s: float) -> Totals | None:
        """End the run. With `drain` the sources stop and what is queued is processed first, for at
        most `timeout_s` seconds.

        Never hangs: threads that have not stopped after `timeout_s` more seconds (2 at least) are
        named in `Totals.stuck`. However many threads stop it, there is one stop and one answer for
        all, on the strictest of their terms. Of a simulated run these count from when the first
        stop begins.

        Called by an operator of the run it is a request, and returns None at once: the run ends
        when its operators have returned, and a call of stop() from outside returns the totals. A
        run that has not been stopped when the interpreter ends is ended then, without draining.
        """


def check_process(call: str, process: int) -> None:
    """Raise UserError for a call of an engine that a process other than this one has started; 0:
    not started.
    """
    if process not in (0, os.getpid()):
        raise UserError(
            f"{call}: this engine runs in process {process}, which started it; process "
            f"{os.getpid()} has a copy without threads"
        )
