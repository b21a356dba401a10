"""A drain within a drain: a blocked producer executes what is in its way, and is afterwards what it
was before.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.models import Dynamic
from tests.runtime.shapes import pipeline

ROOT = Path(__file__).parents[2]

PROBE = """
# distutils: language = c++
from libcpp.atomic cimport memory_order_relaxed

from harness.runtime.native cimport Port, Tuple, Worker
from harness.runtime.path cimport drain
from harness.runtime.plan cimport Plan

from harness.models.layout import layout_of


def slow_after_a_drain(graph, model, bint before, int batch):
    cdef Plan plan = Plan(layout_of(graph, model).timed(lambda: 1.0), None)
    cdef Worker* worker = &plan.run.workers[plan.first_scheduler]
    cdef Port* port = &plan.run.ports[0]
    port.batch.store(batch, memory_order_relaxed)
    port.ring.push(<Tuple*> plan.states.block(plan.run.stride), 1, plan.run.stride, 0)
    worker.slow = before
    executed = drain(worker, port, 64, False)
    return executed, worker.slow
"""

SETUP = f"""
from Cython.Build import cythonize
from setuptools import Extension, setup

flags = ["-std=c++20", "-O0", "-pthread", "-w"]
probe = Extension("probe", ["probe.pyx"], include_dirs={[str(ROOT / room / "native") for room in ("harness/runtime", "harness")]!r}, extra_compile_args=flags)
setup(ext_modules=cythonize([probe], include_path=[{str(ROOT)!r}], language_level=3, quiet=True))
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return what only another Cython module can do: drain a port by hand."""
    place = tmp_path_factory.mktemp("probe")
    (place / "probe.pyx").write_text(PROBE, encoding="utf-8")
    (place / "setup.py").write_text(SETUP, encoding="utf-8")
    words = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    built = subprocess.run(
        words,
        cwd=place,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr[-2000:]
    spec = importlib.util.spec_from_file_location("probe", next(place.glob("probe*.so")))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.heavy
@pytest.mark.parametrize("before", [False, True], ids=["quick", "slow"])
@pytest.mark.parametrize("batch", [1, 32])
def test_who_drains_another_port_in_between_is_as_slow_as_before(
    probe: ModuleType, before: bool, batch: int
) -> None:
    """A thread whose tuples take long calls for others at once; to drain a port of cheap ones in
    between changes nothing.
    """
    assert probe.slow_after_a_drain(pipeline(2), Dynamic(1), before, batch) == (1, before)
