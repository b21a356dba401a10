"""Cost of knowing what every operator costs."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator

from harness.engine import open_engine
from harness.measurement.rank_interval import median_interval
from harness.models import make_model
from tests.benchmarks.arms import Cell
from tests.benchmarks.fresh import Missing, call
from tests.benchmarks.steady import Span, steady_rate

TITLE = "Profiler: the rate with it over the rate without, runs in pairs"
HEADINGS = ("graph", "model", "ratio", "interval")
ROUNDS = 6
SPAN = Span(window_s=0.4, warm_up_s=1.0)

CELLS = [Cell("pipeline", 100, 1), Cell("pipeline", 100, 100)]
MODELS = [("manual", {}), ("dynamic", {"threads": 2})]


def rows() -> Iterator[tuple[str, ...]]:
    draw = random.Random(1)
    for cell in CELLS:
        for model, options in MODELS:
            ratios = []
            for _ in range(ROUNDS):
                rates = {
                    profile: call(rate, cell, model, options, profile)
                    for profile in draw.sample([True, False], 2)
                }
                ratios.append(rates[True] / rates[False])
            median, low, high = median_interval(ratios)
            yield str(cell), model, f"{median:.3f}", f"{low:.3f} – {high:.3f}"


def rate(cell: tuple[str, int, int], model: str, options: dict[str, int], profile: bool) -> float:
    if "profile" not in inspect.signature(open_engine).parameters:
        raise Missing("open_engine(..., profile=True)")
    return steady_rate(
        Cell(*cell).graph(), make_model(model, **options), SPAN, profile=profile
    ).tuples_per_s
