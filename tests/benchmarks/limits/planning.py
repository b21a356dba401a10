"""Time until a large graph could start: built, checked, planned."""

from __future__ import annotations

import time
from collections.abc import Iterator

from harness.engine import open_engine
from harness.models import make_model
from tests.benchmarks.fresh import call
from topologies import build

TITLE = (
    "Planning 100,000 operators: building the graph, checking and planning it; together it "
    "should stay below 5 s"
)
HEADINGS = ("graph", "model", "build", "check and plan", "together")
CAPACITY = 16  # tuples a queue; memory is taken as it is touched, so this is of no matter here

GRAPHS = [
    ("pipeline", {"operators": 100_000}),
    ("data-parallel", {"width": 100_000}),
    ("mix", {"width": 100, "depth": 1000}),
]


def rows() -> Iterator[tuple[str, ...]]:
    for topology, parameters in GRAPHS:
        for model in ("manual", "dynamic"):
            built, planned = call(planning_s, topology, parameters, model)
            size = " x ".join(f"{value}" for value in parameters.values())
            yield (
                f"{topology} {size}",
                model,
                f"{built:.2f} s",
                f"{planned:.2f} s",
                f"{built + planned:.2f} s",
            )


def planning_s(topology: str, parameters: dict[str, int], model: str) -> tuple[float, float]:
    """Seconds of building the graph, and of opening an engine for it."""
    options = {} if model == "manual" else {"threads": 2, "queue_capacity": CAPACITY}
    open_engine(
        build("pipeline", {"operators": 1}, seed=0)[0], make_model("manual")
    )  # modules are loaded, the first time
    begin = time.perf_counter()
    graph, _ = build(topology, parameters, seed=0)
    built = time.perf_counter()
    engine = open_engine(graph, make_model(model, **options))
    planned = time.perf_counter()
    del engine
    return built - begin, planned - built
