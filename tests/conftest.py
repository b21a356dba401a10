"""Settings that all tests share: the order in which their files begin, who runs them, and the cases
that property tests try.

The same cases each time, so that a change alone makes a test fail; `--hypothesis-profile default`
tries new ones.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

settings.register_profile(
    # no deadline: the machine may be busy; half of the usual examples, as they are always the same
    "repeatable",
    derandomize=True,
    deadline=None,
    max_examples=50,
)
settings.load_profile("repeatable")

# Matrices of the laws are small, and threads of OpenBLAS wait for each other by spinning: on two
# CPUs three processes with two such threads each took 2.6 times as long. Set before anything
# imports numpy, and inherited by the processes of pytest-xdist.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Trees of the gate, of all processes of a call of pytest, so that none is left in the user's cache.
if "MILLRACE_CACHE" not in os.environ:
    CACHE = tempfile.TemporaryDirectory(prefix="millrace-cache-")
    os.environ["MILLRACE_CACHE"] = CACHE.name

LONGEST = (
    "workflow/test_whole_workflow.py",
    "runtime/test_native.py",
    "spark/test_aggregate.py",
    "studies/gate_error_rates/test_session.py",
    "runtime/test_explored.py",
    "gate/test_error_rates.py",
    "runtime/test_invariants.py",
    "runtime/test_native_operators.py",
    "experiments/test_closure.py",
    "validation/test_validate_for_real.py",
    "bench/queues/test_simulated.py",
    "calibration/test_calibrate_command.py",
    "gate/ci/test_gate_script.py",
    "cli/test_run_for_real.py",
    "workflow/test_out_of_date.py",
    "gate/ci/test_action.py",
    "runtime/test_random_runs.py",
    "gate/test_power.py",
)
"""Files that take longest, in descending order: begun first, so that at the end nobody waits for
one that has begun last.
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Also those of a process of pytest-xdist: all must collect in the same order."""

    def rank(item: pytest.Item) -> int:
        return next(
            (place for place, name in enumerate(LONGEST) if item.path.as_posix().endswith(name)),
            len(LONGEST),
        )

    items.sort(key=rank)


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


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> OneSpark | None:
    """In place of `--dist loadfile`."""
    return OneSpark(config, log) if config.getvalue("dist") == "loadfile" else None
