"""ns per hop of each model beside the yardsticks. `make bench` runs this with pytest-benchmark;
nothing here asserts a time.

Rates are measured by the arms themselves, in windows or at a sink. So the clock that
pytest-benchmark reads stands still, except that every measurement advances it by what one hop has
taken: the times in its tables are times of a hop.
"""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from tests.benchmarks.arms import ARMS, Cell
from tests.benchmarks.fresh import Missing
from tests.benchmarks.steady import Span

SPAN = Span(window_s=0.2, warm_up_s=0.5)


class HopClock:
    """Seconds that the hops counted so far have taken, one a measurement."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


CLOCK = HopClock()


@pytest.mark.slow
@pytest.mark.benchmark(timer=CLOCK)
@pytest.mark.parametrize("arm", ARMS)
@pytest.mark.parametrize("cost", [1, 100])
@pytest.mark.parametrize("operators", [10, 100, 1000])
def test_pipeline(benchmark: BenchmarkFixture, operators: int, cost: int, arm: str) -> None:
    cell = Cell("pipeline", operators, cost)
    benchmark.group = f"{cell} FLOP: time of a hop"
    rates: list[float] = []

    def one_measurement() -> None:
        rates.append(ARMS[arm](cell, SPAN).tuples_per_s)
        CLOCK.now_s += 1 / (rates[-1] * cell.hops)

    try:
        benchmark.pedantic(one_measurement, rounds=3, warmup_rounds=1)
    except Missing as missing:
        pytest.skip(str(missing))
    assert len(rates) == 4 and all(rate > 0 for rate in rates)
