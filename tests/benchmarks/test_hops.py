"""ns per hop of each model beside the yardsticks. `make bench` runs this with pytest-benchmark; nothing here asserts a time."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.arms import ARMS, Cell
from tests.benchmarks.fresh import Missing
from tests.benchmarks.steady import Span

SPAN = Span(window_s=0.2, warm_up_s=0.5)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("cost", [1, 100])
@pytest.mark.parametrize("operators", [10, 100, 1000])
def test_pipeline(benchmark: BenchmarkFixture, operators: int, cost: int, arm: str) -> None:
    cell = Cell("pipeline", operators, cost)
    benchmark.group = f"{cell} FLOP: what a run of about {SPAN.window_s} s takes; rates are in extra_info"
    rates: list[float] = []
    try:
        benchmark.pedantic(lambda: rates.append(ARMS[arm](cell, SPAN).tuples_per_s), rounds=3, warmup_rounds=1)
    except Missing as missing:
        pytest.skip(str(missing))
    benchmark.extra_info["ns_per_hop"] = [1e9 / (rate * cell.hops) for rate in rates[1:] if rate > 0]
    assert rates[1:] and all(rate > 0 for rate in rates[1:])
