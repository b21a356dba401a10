"""Tests of where tuples are read from, and copied to, when caches do not hold all queues."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import topologies
from harness.machines.machine import MACHINES
from harness.models import Dedicated, Dynamic
from tests.runtime.shapes import pipeline
from tests.simulator.runs import simulated

TINY = {"l1d": 1024, "l2": 2048, "l3": 4096}  # bytes


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The xeon with hardly any caches."""
    text = (MACHINES / "xeon.yaml").read_text(encoding="utf-8")
    for cache, size in TINY.items():
        text, found = re.subn(rf"^  {cache}: \d+", f"  {cache}: {size}", text, flags=re.MULTILINE)
        assert found == 1
    path = tmp_path / "xeon.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def rate(machine: Path | str, **constants: float) -> float:
    """Tuples a second of virtual time through a dedicated pipeline whose queues hold up to 64
    tuples of 4 KiB each.
    """
    of_machine = {path.replace("__", "."): value for path, value in constants.items()}
    engine = simulated(
        pipeline(4, payload=4096), Dedicated(queue_capacity=64), machine, constants=of_machine
    )
    engine.start()
    engine.sample(0.002)
    sample = engine.sample(0.01)
    engine.stop(drain=False, timeout_s=0.0)
    return sample.sink_tuples / sample.elapsed_s


def test_what_another_socket_wrote_and_no_cache_holds_comes_from_its_memory(machine: Path) -> None:
    assert rate(machine, latency__dram_remote=50_000.0) < 0.7 * rate(
        machine, latency__dram_remote=150.0
    )


def test_what_caches_hold_does_not() -> None:
    assert rate("xeon", latency__dram_remote=50_000.0) == rate("xeon", latency__dram_remote=150.0)


def test_a_queue_that_comes_round_sooner_than_others_is_filled_in_a_cache() -> None:
    """A tuple lies in one of 20 queues, 80 MiB together, and then in the sink's: 4 MiB, each of
    them used 20 times as often.

    So it is copied twice, but to memory only once, which is slow here: more is copied than if both
    were.
    """
    slow = 8.0  # GB/s
    graph = topologies.find("data-parallel").build(width=20, cost=1, payload=4096, rate=0, seed=1)
    model = Dynamic(threads=1, queue_capacity=1000)
    engine = simulated(graph, model, "local", constants={"copy.socket_dram": slow})
    engine.start()
    engine.sample(0.01)
    sample = engine.sample(0.03)
    engine.stop(drain=False, timeout_s=0.0)
    assert 2 * 4096 * sample.sink_tuples / sample.elapsed_s / 1e9 > 1.5 * slow
