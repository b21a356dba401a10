"""A described machine with fewer CPUs than a graph needs scheduler threads runs it all the same:
the threads share CPUs.
"""

from __future__ import annotations

import json

import pytest
import yaml

from harness.cli import main
from harness.engine import open_engine
from harness.errors import UserError
from harness.graph import Graph
from harness.models import Coroutine, Dynamic, Model, Multilevel


def joined(inputs: int = 3) -> Graph:
    """A graph under whose barrier a pool of fewer than `inputs` + 1 threads could stand still."""
    graph = Graph("joined", 64)
    barrier = graph.barrier("join", inputs)
    for port in range(inputs):
        graph.connect(graph.source(f"source{port}"), barrier.input(port))
    graph.connect(barrier, graph.sink("sink"))
    return graph


@pytest.mark.parametrize(
    "model",
    [
        Dynamic(1),
        Dynamic(2),
        Dynamic(4),
        Dynamic(elastic=True),
        Dynamic(elastic=True, maximum=4),
        Multilevel(),
        Coroutine(2),
    ],
    ids=str,
)
def test_a_barrier_gets_the_threads_that_it_needs(model: Model) -> None:
    engine = open_engine(joined(), model, "xeon:2", tuples=200)
    engine.start()
    while not engine.finished():
        engine.sample(0.001)
    if not isinstance(model, Coroutine):
        assert engine.sample(0.0001).threads_requested == engine.minimum_threads == 4
    totals = engine.stop(True, 1.0)
    assert totals.correct and totals.received == 200


def test_more_threads_than_cpus_and_than_the_graph_needs_are_refused() -> None:
    with pytest.raises(UserError) as refused:
        open_engine(joined(), Dynamic(5), "xeon:2")
    assert (
        str(refused.value)
        == "threads must be at most 4, which graph 'joined' needs at least, not 5"
    )
    engine = open_engine(joined(), Dynamic(2), "xeon:2")
    engine.start()
    with pytest.raises(UserError, match="threads must be from 1 to 4 on machine 'xeon:2', not 5"):
        engine.set_threads(5)
    engine.stop(False, 0.1)


@pytest.mark.parametrize("words", [["--threads", "2"], [], ["--elastic"]], ids=str)
def test_the_command_runs_such_a_graph_too(words, tmp_path, capsys) -> None:
    operators: list[dict[str, object]] = [{"source": f"source{port}"} for port in range(3)]
    operators += [{"barrier": "join", "inputs": 3}, {"sink": "sink"}]
    streams = [f"source{port} -> join[{port}]" for port in range(3)] + ["join -> sink"]
    graph = tmp_path / "graph.yaml"
    graph.write_text(
        yaml.safe_dump(
            {"name": "joined", "payload": 64, "operators": operators, "streams": streams}
        )
    )
    place = ["--machine", "xeon:2", "--duration", "0.002"]
    assert main(["run", str(graph), "--model", "dynamic", *place, "--json", "-", *words]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["correct"] and record["error"] is None
