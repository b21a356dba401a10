"""A folder with an experiment of a user's own, whose graph imports a module beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

EXPERIMENT = """\
sizes:
  quick:
    machines: [xeon]
    sweeps:
      - topology: my/graph.py
        parameters: {cost: [10, 100]}
    arms:
      - {model: manual}
      - {model: dynamic, threads: 1}
    repeats: 1
    duration_s: 0.05
    warmup: 0.0
"""

GRAPH = """\
from harness.graph import Graph
from beside_the_graph import PAYLOAD

def graph(cost: int = 10):
    graph = Graph("mine", payload=PAYLOAD)
    graph.source("source") >> graph.work("work", cost=cost) >> graph.sink("sink")
    return graph
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with the experiment own.yaml."""
    (tmp_path / "my").mkdir()
    (tmp_path / "own.yaml").write_text(EXPERIMENT)
    (tmp_path / "my/graph.py").write_text(GRAPH)
    (tmp_path / "my/beside_the_graph.py").write_text("PAYLOAD = 64\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path
