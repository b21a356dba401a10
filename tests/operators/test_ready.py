"""Ready sources and functions: a replay sends what it is given, with times that go on, and a Python
function is compiled.
"""

import pytest

from harness.engine import open_engine
from harness.graph import Graph, GraphError
from harness.graph.schema import Schema
from harness.models import Dynamic, Manual
from harness.operators.ready import each, replay

EVENT = Schema("event", {"at": "time", "text": "string[9]", "until": "time"})
NUMBER = Schema("number", {"value": "float64"})
EVENTS = [{"at": 5, "text": "a", "until": 7}, {"at": 8, "text": "é", "until": 9}]


def run(graph, model=None):
    engine = open_engine(graph, model or Manual())
    engine.start()
    while not engine.finished():
        engine.sample(0.005)
    totals = engine.stop(drain=True, timeout_s=5.0)
    assert totals.correct, totals.error


def sink(graph, found, schema):
    return graph.typed_sink(
        f"sink {schema.name}", lambda port, values: found.append(values), schema
    )


def replayed(cycles=1, span=None):
    graph, found = Graph("replayed"), []
    source = replay(graph, "events", EVENT, [(0, event) for event in EVENTS], cycles, span)
    graph.connect(source, sink(graph, found, EVENT))
    run(graph)
    return found


def test_tuples_come_in_order_and_all_their_times_go_on():
    assert replayed() == EVENTS
    for span, shift in ((None, 5), (0, 0), (100, 100)):
        again = [
            {"at": event["at"] + shift, "text": event["text"], "until": event["until"] + shift}
            for event in EVENTS
        ]
        assert replayed(2, span) == EVENTS + again
    assert replay(Graph("none"), "none", EVENT, [], 1) is not None


def test_each_output_port_gets_tuples_of_its_own():
    graph, events, numbers = Graph("two"), [], []
    tuples = [(1, {"value": 1.5}), (0, EVENTS[0]), (1, {"value": -2.0})]
    source = replay(graph, "both", (EVENT, NUMBER), tuples, cycles=3, span=1)
    graph.connect(source.output(0), sink(graph, events, EVENT))
    graph.connect(source.output(1), sink(graph, numbers, NUMBER))
    run(graph, Dynamic(threads=2))
    assert [event["at"] for event in events] == [5, 6, 7]
    assert [number["value"] for number in numbers] == [1.5, -2.0] * 3


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"cycles": 0}, "cycles must be a whole number from 1 to "),
        ({"cycles": 1.5}, "cycles must be a whole number from 1 to "),
        ({"span": -1}, "span must be a whole number from 0 to "),
        ({"tuples": [(1, EVENTS[0])]}, "must send to its output ports, not to 1"),
        ({"tuples": [(0, {"at": 1})]}, "a tuple of event must have at, text, until, not at"),
    ],
)
def test_what_cannot_be_replayed_is_refused_in_one_line(arguments, problem):
    with pytest.raises(GraphError) as refused:
        replay(Graph("wrong"), "events", EVENT, **{"tuples": [(0, EVENTS[0])], **arguments})
    assert problem in str(refused.value) and "\n" not in str(refused.value)


def longer(event, out):
    out.value = event.until - event.at
    return event.text.length > 1


def test_a_function_is_compiled_and_what_it_does_not_write_is_zero():
    graph, found = Graph("longer"), []
    source = replay(graph, "events", EVENT, [(0, event) for event in EVENTS], cycles=100)
    graph.chain(source, each(graph, "longer", longer, EVENT, NUMBER), sink(graph, found, NUMBER))
    run(graph, Dynamic(threads=2))
    assert found == [{"value": 1.0}] * 100
    graph, found = Graph("nothing"), []
    source = replay(graph, "events", EVENT, [(0, event) for event in EVENTS], cycles=50)
    nothing = each(graph, "nothing", lambda event, out: True, EVENT, EVENT)
    graph.chain(source, nothing, sink(graph, found, EVENT))
    run(graph)
    assert found == [{"at": 0, "text": "", "until": 0}] * 100


@pytest.mark.parametrize(
    "function",
    [
        lambda event, out: event.nothing,
        lambda event: True,
        lambda event, out: print(event, file=out),
    ],
)
def test_a_function_that_numba_cannot_compile_is_refused_in_one_line(function):
    with pytest.raises(
        GraphError, match=r"^operator 'wrong': numba cannot compile its function: "
    ) as it:
        each(Graph("wrong"), "wrong", function, EVENT, NUMBER)
    assert "\n" not in str(it.value)
