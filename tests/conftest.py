"""Settings that all tests share: the order in which their files begin, who runs them, and the cases
that property tests try.

The same cases each time, so that a change alone makes a test fail; `--hypothesis-profile default`
tries new ones.
"""

from __future__ import annotations

import faulthandler
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

settings.register_profile(
    # no limit of time: the machine may be busy; half of the usual examples, as they are always
    # the same
    "repeatable",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=50,
)
settings.load_profile("repeatable")

# Matrices of the laws are small, and threads of OpenBLAS wait for each other by spinning: on two
# CPUs three processes with two such threads each took 2.6 times as long. Set before anything
# imports numpy, and inherited by the processes of pytest-xdist.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Of all processes of a call of pytest: trees of the gate, so that none is left in the user's cache,
# and the measuring lock, so that tests wait for each other and for nobody else.
if "MILLRACE_CACHE" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="millrace-cache-")
    os.environ["MILLRACE_CACHE"] = CACHE.name
    os.environ.setdefault("MILLRACE_LOCK", f"{CACHE.name}/measuring.lock")

LONGEST = (
    "spark/test_aggregate.py",
    "workflow/test_whole_workflow.py",
    "runtime/test_explored.py",
    "runtime/test_native.py",
    "peers/test_peers.py",
    "gate/test_error_rates.py",
    "packaging/test_installed.py",
    "validation/test_validate_for_real.py",
    "runtime/test_invariants.py",
    "runtime/test_native_operators.py",
    "experiments/test_closure.py",
    "calibration/test_calibrate_command.py",
    "studies/gate_error_rates/test_session.py",
    "bench/queues/test_simulated.py",
    "workflow/test_out_of_date.py",
    "gate/ci/test_gate_script.py",
    "cli/test_advise_command.py",
    "cli/test_bad_input.py",
    "cli/test_compare_command.py",
    "cli/test_run_for_real.py",
    "gate/ci/test_action.py",
    "applications/test_packet_analysis.py",
    "simulator/test_event_core.py",
    "runtime/test_random_runs.py",
    "gate/test_power.py",
)
"""Files that take longest, in descending order: begun first, so that at the end nobody waits for
one that has begun last.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Also those of a process of pytest-xdist: all must collect in the same order."""

    @cache
    def rank(path: Path) -> int:
        return next(
            (place for place, name in enumerate(LONGEST) if path.as_posix().endswith(name)),
            len(LONGEST),
        )

    items.sort(key=lambda item: rank(item.path))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Keep the tests themselves out of each collection of garbage, which would take most of a
    second with so many of them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


TOO_LATE_S = 60.0
"""Time that a test has to end by itself after its limit (`timeout` in pyproject.toml)."""

STACKS = pytest.StashKey[int]()
"""File for the stacks of a test that hangs: what it writes itself is captured, and lost."""


def pytest_configure(config: pytest.Config) -> None:
    config.stash[STACKS] = os.dup(sys.__stderr__.fileno())


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """End the process if the signal that ends a test at its limit cannot: the test holds it in code
    that heeds none. pytest-xdist names the test, and another process does the rest.
    """
    mark = item.get_closest_marker("timeout")
    asked_s = item.config.getoption("timeout")
    limit_s = float(mark.args[0] if mark else asked_s or item.config.getini("timeout"))
    if asked_s != 0:  # else somebody looks at it in a debugger
        last_s = limit_s + TOO_LATE_S
        faulthandler.dump_traceback_later(last_s, exit=True, file=item.config.stash[STACKS])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[pytest.TestReport]:
    """Tell of a failure as Python does if pytest cannot: CPython may refuse to parse the test again
    while other threads parse (SystemError), and that would end all tests, without a name.
    """
    try:
        return (yield)
    except Exception:
        item.config.option.tbstyle = "native"
        return pytest.TestReport.from_item_and_call(item, call)


@pytest.fixture
def signals_heeded() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP as in a terminal, here and in what a test starts: `nohup make
    test`, or a script that has it in the background, leaves some of them ignored, and what is
    ignored stays so in every program of ours.
    """
    usual = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
        signal.SIGHUP: signal.SIG_DFL,
    }
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class OneSpark(LoadFileScheduling):
    """A file a process, but all of Spark's in one: there it starts once, and its compiler has seen
    the queries of the first.
    """

    def _split_scope(self, nodeid: str) -> str:
        return "tests/spark" if nodeid.startswith("tests/spark/") else super()._split_scope(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """Return the test in which a process has died. It has failed, and is not begun again: it
        would end one process after the other.
        """
        files = self.assigned_work.pop(node)
        left = [(tests, name) for tests in files.values() for name in tests if not tests[name]]
        if not left:
            return None
        tests, died = left[0]
        tests[died] = True
        self.workqueue.update(
            {file: tests for file, tests in files.items() if False in tests.values()}
        )
        for other in self.assigned_work:
            self._reschedule(other)
        return died

    def _reschedule(self, node: WorkerController) -> None:
        """Also where one test alone is left: a process begins it once it knows the next, or that
        there is none.
        """
        super()._reschedule(node)
        if not node.shutting_down and self._pending_of(self.assigned_work[node]) < 2:
            self._reschedule(node)


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneSpark | None:
    """In place of `--dist loadfile`."""
    return OneSpark(config, log) if config.getvalue("dist") == "loadfile" else None
