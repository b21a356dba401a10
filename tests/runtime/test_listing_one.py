"""The program of C-Stream's Listing 1, with the paper's line numbers: names from a file, of which
the empty ones are dropped, each combined with a value from the network, into a file.
"""

from __future__ import annotations

import json
import socket
import threading

import pytest

from harness.connectors import FileSink, FileSource, TcpSource
from harness.engine import open_engine
from harness.graph import Graph, GraphError
from harness.graph.schema import Schema
from harness.models import Coroutine, Dedicated, Dynamic, Manual
from tests.runtime.shapes import until

pytestmark = pytest.mark.heavy

NAMES = [{"id": n, "name": "" if n % 7 == 3 else f"name {n}"} for n in range(400)]
VALUES = [{"id": 1000 + n, "value": n * n} for n in range(350)]


@pytest.fixture
def address():
    """A server that sends the values to one client, as lines of JSON."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        client, _ = listener.accept()
        with client, client.makefile("w") as lines:
            for value in VALUES:
                lines.write(json.dumps(value) + "\n")

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()
    thread.join()
    listener.close()


@pytest.mark.parametrize("model", [Coroutine(2), Manual(), Dedicated(), Dynamic(2)], ids=repr)
def test_the_program_of_listing_1_combines_names_with_values(model, address, tmp_path):
    (tmp_path / "names.dat").write_text("".join(json.dumps(each) + "\n" for each in NAMES))
    name = Schema("name", {"id": "int64", "name": "string[32]"})
    value = Schema("value", {"id": "int64", "value": "int64"})
    combined = Schema("combined", {"id": "int64", "name": "string[32]", "value": "int64"})

    flow = Graph("sample_application")  # 1
    # create the operators                                                            # 3
    names = flow.typed_source(
        "name_source", FileSource(str(tmp_path / "names.dat"), name), name
    )  # 4
    values = flow.typed_source("value_source", TcpSource(*address, value), value)  # 8
    sieve = flow.typed_filter("empty_filter", lambda t_: t_["name"] != "", name)  # 12
    combiner = flow.typed_barrier("combiner", [name, value], combined)  # 15
    sink = flow.typed_sink("file_sink", FileSink(str(tmp_path / "out.dat"), combined), combined)
    # create the connections                                                          # 21
    names.output(0) >> (0, sieve, 0) >> (0, combiner)  # 22
    values.output(0) >> (1, combiner, 0) >> (0, sink)  # 23
    # run the application and wait for completion                                     # 30
    engine = open_engine(flow, model)
    engine.start()
    until(engine, lambda sample: engine.finished())
    totals = engine.stop(drain=True, timeout_s=10.0)

    assert totals.correct and totals.drained, totals
    kept = [each for each in NAMES if each["name"]]
    expected = [
        {**each, "value": other["value"]} for each, other in zip(kept, VALUES, strict=False)
    ]
    found = [json.loads(line) for line in (tmp_path / "out.dat").read_text().splitlines()]
    assert found == expected and 300 < len(found) < 350


def test_ports_are_joined_by_arrows_as_in_the_paper():
    graph = Graph("arrows")
    source = graph.source("source")
    sieve = graph.filter("filter", 0.5)
    barrier = graph.barrier("barrier")
    sink = graph.sink("sink")
    assert (source.output(0) >> sieve.input(0)) is sieve
    assert (sieve.output(0) >> (1, barrier, 0)) == barrier.output(0)
    assert (barrier.output(0) >> (0, sink)) is sink
    assert [f"{a} {b}" for a, b in graph.streams] == [
        "source[0] filter[0]",
        "filter[0] barrier[1]",
        "barrier[0] sink[0]",
    ]
    for wrong in ((0, "sink"), (0,), (0, sink, 0, 0)):
        with pytest.raises(GraphError, match="what is fed must be an operator, an input port"):
            source.output(0) >> wrong
