"""ns per hop of each model beside the yardsticks. `make bench` runs this with pytest-benchmark; nothing here asserts a time."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.arms import ARMS


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("cost", [1, 100])
@pytest.mark.parametrize("operators", [10, 100, 1000])
def test_pipeline(benchmark: BenchmarkFixture, operators: int, cost: int, arm: str) -> None:
    benchmark.group = f"pipeline of {operators} operators, cost {cost} FLOP"
    samples: list[float] = []
    benchmark.pedantic(lambda: samples.append(ARMS[arm](operators, cost)), rounds=3, warmup_rounds=1)
    benchmark.extra_info["ns_per_hop"] = samples[1:]
    assert all(sample > 0 for sample in samples)
