"""Graph files: what they say is what the graph is, in YAML, JSON and Python; whatever is wrong is
one line with its place.
"""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UserError
from harness.graph import Graph, GraphError, PortId, Threading
from harness.graph import values as graph_values
from harness.graph.annotations import MAX_WIDTH
from harness.graph.files import reader as graph_reader
from harness.graph.files import text as graph_text
from harness.graph.files.file import (
    MAX_NAME,
    dump_graph,
    is_graph_file,
    load_graph,
    load_graph_file,
)
from harness.graph.files.function import load_file
from harness.graph.operator import IN_FORCE
from tests.graph.streams import targets_of
from tests.graph.test_random_graphs import CALM

SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "config/schemas/graph.schema.json").read_text()
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

WHOLE = """
name: everything
payload: 64
operators:
  - {source: lines, rates: [[1, 1000], [0.5, null], [2, 0]], window: 100}
  - {source: more, rate: 10}
  - {filter: short, selectivity: 0.5}
  - threading: {model: dynamic, threads: 2}
    operators:
      - {work: parse, costs: [[30, 1], [10, 10000]], inputs: 2}
      - threading: {model: manual}
        operators: [{work: tidy, busy_us: 5}]
      - {control: parse}
  - parallel: count
    width: 2
    partition_by: 16
    inlet: look
    outlet: add
    operators: [{work: look, cost: 10}, {work: add}, {control: look}]
    streams: [look -> add, add -> look.control]
    threaded: [add]
  - {python: check, function: "math:isfinite"}
  - {sink: out}
streams:
  - lines -> short
  - short -> parse
  - "more[0] -> parse[1]"
  - [parse, tidy]
  - [[tidy, 0], count]
  - tidy -> parse.control
  - count -> check
  - check -> out
threaded:
  - {port: "parse[1]", capacity: 10}
  - out
"""


def written(folder: Path, text: str, name: str = "graph.yaml") -> Path:
    path = folder / name
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def test_a_file_says_what_the_graph_is(tmp_path):
    graph = load_graph(written(tmp_path, WHOLE))
    graph.check()
    assert (graph.name, graph.payload) == ("everything", 64)
    assert graph.operators["lines"].rates == ((1.0, 1000.0), (0.5, None), (2.0, 0.0))
    assert graph.operators["parse"].costs == ((30, 1), (10, 10000))
    assert graph.operators["parse"].threading == Threading("dynamic", 2)
    assert graph.operators["parse.control"].threading == Threading("dynamic", 2)
    assert graph.operators["tidy"].threading == Threading("manual")
    assert graph.operators["count.split"].keys == 16
    assert graph.operators["count.2.look.control"].controls == "count.2.look"
    assert targets_of(graph)[PortId("tidy", 0)] == [
        PortId("count.split", 0),
        PortId("parse.control", 0),
    ]
    assert graph.threaded == {
        PortId("count.1.add", 0): 1000,
        PortId("count.2.add", 0): 1000,
        PortId("parse", 1): 10,
        PortId("out", 0): 1000,
    }


def test_json_says_the_same_as_yaml(tmp_path):
    values = yaml.safe_load(WHOLE)
    VALIDATOR.validate(values)
    assert load_graph(written(tmp_path, json.dumps(values), "graph.json")) == load_graph(
        written(tmp_path, WHOLE)
    )


def test_a_graph_without_a_name_has_the_file_s(tmp_path):
    text = "operators: [{source: a}, {sink: b}]\nstreams: [a -> b]"
    assert load_graph(written(tmp_path, text, "small.yml")).name == "small"


def test_an_unordered_region_fans_in(tmp_path):
    text = """
    operators:
      - {source: a}
      - {parallel: r, width: 3, ordered: false, inlet: w, outlet: w, operators: [{filter: w, selectivity: 0.1}]}
      - {sink: b}
    streams: [a -> r, r -> b]
    """
    graph = load_graph(written(tmp_path, text))
    graph.check()
    assert len(graph.predecessors()[PortId("b", 0)]) == 3


def test_functions_come_from_modules_and_from_files_beside_the_graph(tmp_path):
    written(tmp_path, "def double(sequence, value):\n    return 2 * value\n", "functions.py")
    text = """
    operators: [{source: a}, {python: p, function: "functions.py:double", inputs: 2, reentrant: true}, {sink: b}]
    """
    graph = load_graph(written(tmp_path, text))
    assert graph.operators["p"].function(0, 21) == 42
    assert graph.operators["p"].reentrant and graph.operators["p"].inputs == 2


def test_the_digest_changes_with_the_file_and_the_python_it_names(tmp_path):
    functions = written(tmp_path, "def f(s, v): return v\n", "functions.py")
    path = written(tmp_path, 'operators: [{python: p, function: "functions.py:f"}]')
    digests = [load_graph_file(str(path)).digest, load_graph_file(str(path)).digest]
    functions.write_text("def f(s, v): return None\n")
    digests.append(load_graph_file(str(path)).digest)
    path.write_text(path.read_text() + "\n")
    digests.append(load_graph_file(str(path)).digest)
    assert digests[0] == digests[1] and len(set(digests)) == 3


def test_the_schema_has_the_limits_of_the_code():
    definitions = SCHEMA["$defs"]
    source, region = definitions["source"]["properties"], definitions["parallel"]["properties"]
    assert definitions["operators"]["maxItems"] == graph_values.MAX_OPERATORS
    assert SCHEMA["properties"]["payload"]["maximum"] == graph_values.MAX_PAYLOAD
    assert SCHEMA["properties"]["name"]["maxLength"] == MAX_NAME
    assert definitions["cost"]["maximum"] == graph_values.MAX_COST
    assert definitions["ports"]["maximum"] == graph_values.MAX_PORTS
    assert definitions["threads"]["maximum"] == graph_values.MAX_THREADS
    assert definitions["buffer_size"]["maximum"] == graph_values.MAX_QUEUE_CAPACITY
    assert (source["rate"]["minimum"], source["rate"]["maximum"]) == (
        graph_values.MIN_RATE,
        graph_values.MAX_RATE,
    )
    assert (source["window"]["maximum"], source["rates"]["maxItems"]) == (
        graph_values.MAX_TUPLES,
        graph_values.MAX_BURSTS,
    )
    assert (
        definitions["split"]["properties"]["keys"]["maximum"]
        == graph_values.MAX_KEYS
        == region["partition_by"]["maximum"]
    )
    assert region["width"]["maximum"] == MAX_WIDTH
    assert (
        definitions["threading"]["properties"]["threading"]["properties"]["threads"]["maximum"]
        == graph_values.MAX_THREADS
    )
    assert (
        definitions["threaded"]["items"]["anyOf"][1]["properties"]["capacity"]["maximum"]
        == graph_values.MAX_QUEUE_CAPACITY
    )


@pytest.mark.parametrize("kind", graph_reader.KEYS)
def test_the_schema_has_the_keys_of_the_code(kind):
    assert SCHEMA["$defs"][kind]["properties"].keys() == {kind, *graph_reader.KEYS[kind]}
    assert set(SCHEMA["$defs"][kind]["required"]) == {kind, *graph_reader.NEEDED.get(kind, ())}


# -- there and back --------------------------------------------------------------------------------

NAMES = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "S"), include_characters=" "),
    min_size=1,
    max_size=8,
)
ANNOTATIONS = st.sampled_from(
    [None, Threading("manual"), Threading("dynamic", 3), Threading("dynamic", None, False)]
)


@st.composite
def any_graphs(draw) -> Graph:
    """Graphs of all kinds of operator that have no function, with streams at random: they need not
    make sense.
    """
    graph = Graph(
        draw(NAMES.filter(lambda name: not set(name) & set("/\\"))), draw(st.integers(0, 1000))
    )
    for name in draw(st.lists(NAMES, min_size=1, max_size=8, unique=True)):
        token = IN_FORCE.set(draw(ANNOTATIONS))
        try:
            draw(st.sampled_from(makers(graph, draw)))(name)
        except GraphError:  # named like a control port
            continue
        finally:
            IN_FORCE.reset(token)
    outputs = list(graph.output_ports())
    inputs = [port for port in graph.input_ports() if not graph.operators[port.operator].buffers]
    if outputs and inputs:
        for _ in range(draw(st.integers(0, 6))):
            graph.connect(draw(st.sampled_from(outputs)), draw(st.sampled_from(inputs)))
        for port in draw(st.lists(st.sampled_from(inputs), unique=True, max_size=3)):
            graph.threaded_port(port, draw(st.integers(1, 2**20)))
    return graph


def makers(graph, draw):
    rates = st.floats(1e-6, 1e9)
    bursts = st.lists(
        st.tuples(st.floats(1e-3, 1e6), st.one_of(st.none(), rates)), min_size=1, max_size=3
    )
    costs = st.lists(st.tuples(st.integers(1, 10**15), st.integers(0, 10**9)), max_size=3)

    settings = st.fixed_dictionaries(
        {},
        optional={
            "elastic": st.booleans(),
            "initial_active_ports": st.sampled_from([None, 1]),
            "congestion_tolerance": st.floats(0, 1),
            "throughput_tolerance": st.floats(0, 1),
            "measure_period": st.floats(1e-3, 86_400),
            "rapid_scaling": st.booleans(),
        },
    )

    def controlled(name):
        graph.control(graph.work(name))

    return [
        lambda name: graph.source(
            name, rate=draw(st.one_of(st.none(), rates)), window=draw(st.integers(0, 9))
        ),
        lambda name: graph.source(name, rates=draw(bursts)),
        lambda name: graph.work(
            name, draw(st.integers(0, 10**9)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
        ),
        lambda name: graph.work(
            name, busy_us=draw(st.floats(0, 1e6)), selectivity=draw(st.floats(0, 1))
        ),
        lambda name: graph.work(name, costs=draw(costs)),
        lambda name: graph.filter(name, draw(st.floats(0, 1))),
        lambda name: graph.split(name, draw(st.integers(1, 4)), draw(st.integers(0, 9))),
        lambda name: graph.merge(name),
        lambda name: graph.barrier(name, draw(st.integers(2, 1024))),
        lambda name: graph.threaded_split(
            name, draw(st.integers(1, 4)), draw(st.integers(1, 2**20))
        ),
        lambda name: graph.elastic_load_balance(
            name, draw(st.integers(1, 4)), 10, **draw(settings)
        ),
        lambda name: graph.sink(name, draw(st.integers(1, 3))),
        controlled,
    ]


@CALM
@given(any_graphs())
def test_a_graph_written_and_read_is_the_same(tmp_path_factory, graph):
    folder = tmp_path_factory.mktemp("graphs")
    values = dump_graph(graph)
    VALIDATOR.validate(values)
    (folder / "graph.json").write_text(json.dumps(values, allow_nan=False))
    (folder / "graph.yaml").write_text(yaml.safe_dump(values, sort_keys=False, allow_unicode=True))
    assert load_graph(folder / "graph.json") == graph
    assert load_graph(folder / "graph.yaml") == graph


def test_a_port_whose_text_is_another_operator_s_name_is_written_by_its_number(tmp_path):
    graph = Graph("g")
    one, other = graph.work("a", outputs=2), graph.work("a[1]", inputs=2)
    graph.connect(graph.source("source"), one)
    for port in (0, 1):
        graph.connect(one.output(port), other.input(port))
    graph.connect(other, graph.sink("sink"))
    (tmp_path / "graph.json").write_text(json.dumps(dump_graph(graph)))
    assert load_graph(tmp_path / "graph.json") == graph


def test_a_function_cannot_be_written():
    graph = Graph("g")
    graph.python("p", lambda sequence, value: value)
    with pytest.raises(
        GraphError, match="graph 'g': the function of operator 'p' cannot be written to a file"
    ):
        dump_graph(graph)


# -- what is wrong ---------------------------------------------------------------------------------

HEAD = "operators: [{source: a}, {work: w, inputs: 2}, {sink: b}"
REGION = "{parallel: r, width: 2, inlet: w, outlet: w, operators: [{work: w}]}"
BAD = {
    # YAML and JSON
    "": "must hold keys and values, as in KEY: VALUE; found nothing",
    "- a": "must hold keys and values, as in KEY: VALUE; found list",
    "a: b: c": ", line 1: not YAML: mapping values are not allowed",
    "operators: [": ", line ",
    "a: 1\na: 2": ", line 2: key 'a' is given twice",
    "1: 2": ", line 1: key 1 is no text",
    "[a]: 2": ", line 1: key list is no text",
    "null: 2": ", line 1: key None is no text",
    "payload: .nan": ", line 1: must hold finite numbers, not .nan",
    "payload: -.inf": "must hold finite numbers, not -.inf",
    "operators: []\npayload: 1e400": ", line 1: payload must be a whole number from 0 to 67108864 "
                                     "bytes, not inf",
    "a: &x [1]\nb: *x": ", line 1: anchors and tags are not allowed in a graph file",
    "a: &x 1\nb: *x": ", line 1: anchors and tags are not allowed",
    "a: !!python/object:os.system x": ", line 1: anchors and tags are not allowed",
    "a: !!binary aGk=": ", line 1: anchors and tags are not allowed",
    "a: 1\n---\nb: 1": ", line 2: must be one document",
    "a: " + "[" * 33 + "]" * 33: ", line 1: nested more than 32 deep",
    "a: " + "[" * 100_000: ", line 1: nested more than 32 deep",
    "a: \x00": "not YAML",
    # arrangement
    "nam: x": "nam: unknown key (did you mean 'name'?)",
    "name: x": "operators: missing key",
    "operators: 5": "operators: must be a list, not 5",
    "operators: {work: w}": "operators: must be a list, not {'work': 'w'}",
    "operators: [w]": "operators[0]: must be keys and values, as in {work: NAME}, not 'w'",
    "operators: [{wrok: w}]": "operators[0]: must name one kind of source, work",
    "operators: [{wrok: x}]": "it has none (did you mean 'work'?)",
    "operators: [{work: w, sink: s}]": "operators[0]: must name one kind of source",
    "operators: [{work: w, colour: red}]": "operators[0].colour: unknown key; keys are: work, cost",
    "operators: [{work: 5}]": "operators[0].work: must be a name, not 5",
    "operators:\n  - {source: a}\n  - {work: w, "
    "cost: -1}": ", line 3: operators[1]: cost of operator 'w' must be",
    "operators: [{work: w, cost: "
    "1e3}]": "cost of operator 'w' must be a whole number from 0 to 1000000000 FLOP, not 1000.0",
    "operators: [{work: w, cost: yes}]": "not 'yes'",
    "operators: [{work: w, cost: " + "9" * 3000 + "}]": "not a whole number of 9966 bits",
    "operators: [{work: w, inputs: "
    "0}]": "inputs of operator 'w' must be a whole number from 1 to 1000000 ports, not 0",
    "operators: [{source: a, rate: "
    "1e400}]": "rate of source 'a' must be from 1e-06 to 1e+09 tuples/s, not inf",
    "operators: [{source: a, rates: [[1, 2, "
    "3]]}]": "rates of source 'a' must be pairs (seconds, tuples/s), not [1, 2, 3]",
    "operators: [{filter: f}]": "operators[0].selectivity: missing key",
    "operators: [{filter: f, selectivity: 2}]": "selectivity of filter 'f' must be from 0 to 1",
    'operators: [{work: "a\\tb"}]': "an operator's name must be non-empty printable text, not "
                                    "'a\\tb'",
    'operators: [{work: ""}]': "an operator's name must be non-empty printable text, not ''",
    "operators: [{work: a}, {sink: a}]": "operators[1].sink: two operators are named 'a'",
    "operators: [{control: w}]": "operators[0].control: no operator before it is named 'w'",
    "operators: [{sink: b}, {control: "
    "b}]": "operators[1].control: operator 'b': a sink cannot have a control port",
    "operators: [{work: b}, {control: b}, "
    "{control: b}]": "operators[2].control: operator 'b' has a control port already",
    'name: "a/b"\noperators: []': "a graph's name must be 1 to 100 printable characters without "
                                  "slashes",
    "name: 5\noperators: []": "characters without slashes (files are named after it), not 5",
    f"name: {'x' * 101}\noperators: []": "a graph's name must be 1 to 100",
    "payload: -1\noperators: []": "payload must be a whole number from 0 to 67108864 bytes, not -1",
    # streams and threaded ports
    HEAD + "]\nstreams: a -> b": "streams: must be a list, not 'a -> b'",
    HEAD + "]\nstreams: [a]": "streams[0]: must be A -> B or [A, B], not 'a'",
    HEAD + "]\nstreams: [a -> w -> b]": "streams[0]: must be A -> B or [A, B], not 'a -> w -> b'",
    HEAD + "]\nstreams:\n  - a -> w\n  - [a, "
           "w, b]": ", line 4: streams[1]: must be A -> B or [A, B]",
    HEAD + "]\nstreams: [a -> x]": "streams[0]: no operator is named 'x' here",
    HEAD + "]\nstreams:\n  - a -> w\n  - w -> x": ", line 4: streams[1]: no operator is named 'x'",
    HEAD + "]\nstreams:\n  - a -> w\n  -\n    b": ", line 5: streams[1]: must be A -> B or [A, B]",
    HEAD + "]\nthreaded:\n  - w\n  - x": ", line 4: threaded[1]: no operator is named 'x' here",
    HEAD + "]\n\nstreams: 5": ", line 3: streams: must be a list, not 5",
    "operators:\n  - source: a\n    colour: red": ", line 3: operators[0].colour: unknown key",
    "operators:\n  - work: a\n    cost: 1\n  - sink: a": ", line 4: operators[1].sink: two operators",
    "name: x\npayload: 8": ", line 1: operators: missing key",
    HEAD + "]\nstreams: [a -> 'w[2]']": "not YAML",
    HEAD + "]\nstreams: ['a -> w[2]']": "streams[0]: operator 'w' has 2 input port(s); port 2 does "
                                        "not exist",
    HEAD + "]\nstreams: [[[a, -1], w]]": "streams[0]: a port's number must be from 0 to 1000000, "
                                         "not -1",
    HEAD + "]\nstreams: [[[a, true], w]]": "streams[0]: a port must be NAME, NAME[PORT] or [NAME, "
                                           "PORT], not ['a', True]",
    HEAD + "]\nstreams: [b -> w]": "streams[0]: operator 'b' has 0 output port(s); port 0 does not "
                                   "exist",
    HEAD + "]\nthreaded: [a]": "threaded[0]: operator 'a' has 0 input port(s)",
    HEAD + "]\nthreaded: [w, w]": "threaded[1]: input port w[0] is threaded twice",
    HEAD + "]\nthreaded: [{port: w, capacity: "
           "0}]": "threaded[0]: capacity of threaded port w[0] must be",
    HEAD + "]\nthreaded: [{capacity: 1}]": "threaded[0].port: missing key",
    # annotations and regions
    "operators: [{threading: dynamic, operators: "
    "[]}]": "operators[0].threading: must be keys and values",
    "operators: [{threading: {model: x}, "
    "operators: []}]": "threading: model must be one of manual, dedicated, dynamic",
    "operators: [{threading: {threads: 2}, "
    "operators: []}]": "operators[0].threading.model: missing key",
    "operators: [{threading: {model: manual, threads: 2}, operators: "
    "[]}]": "threads applies to the model dynamic only",
    "operators: [{threading: {model: manual}}]": "operators[0].operators: missing key",
    "operators: [{parallel: r, width: 2, operators: [], "
    "outlet: w}]": "operators[0].inlet: missing key",
    "operators: [" + REGION.replace("2", "0") + "]": "operators[0]: parallel: width must be a "
                                                     "whole number",
    "operators: [" + REGION.replace("inlet: w", "inlet: x") + "]": "operators[0].inlet: no "
                                                            "operator is named 'x' here",
    "operators: [" + REGION.replace("[{work: w}]", "[{work: w, cost: x}]") + "]": "operators[0].operators[0]: cost "
                                                            "of",
    "operators: [" + REGION.replace("[{work: w}]", "[{filter: w, selectivity: "
                                                   "0.5}]") + "]": "give the region ordered=False",
    HEAD + "," + REGION + "]\nstreams: ['a -> r[1]']": "streams[0]: the region 'r' has no numbered "
                                                       "ports",
    HEAD + "," + REGION + "]\nstreams: [a -> r.split]": "streams[0]: no operator is named "
                                                        "'r.split' here",
    "operators: [" + REGION + ", {control: r}]": "operators[1].control: a region cannot have a "
                                                 "control port",
    # functions
    "operators: [{python: p}]": "operators[0].function: missing key",
    "operators: [{python: p, function: "
    "5}]": "operators[0].function: must be module:attribute or path.py:attribute, not 5",
    "operators: [{python: p, function: "
    "math}]": "function: must be module:attribute or path.py:attribute, not 'math'",
    "operators: [{python: p, function: "
    "':sqrt'}]": "function: must be module:attribute or path.py:attribute, not ':sqrt'",
    "operators: [{python: p, function: "
    "'math:'}]": "function: must be module:attribute or path.py:attribute, not 'math:'",
    'operators: [{python: p, function: '
    '"math:isfinit"}]': "math has no 'isfinit' (did you mean 'isfinite'?)",
    'operators: [{python: p, function: '
    '"math:pi"}]': "operator 'p': function must be callable, not 3.14",
    'operators: [{python: p, function: '
    '"no.such:f"}]': "module 'no.such' cannot be imported: ModuleNotFoundError",
    'operators: [{python: p, function: '
    '"none.py:f"}]': "none.py: cannot be read: No such file or directory",
    'operators: [{python: p, function: "math:isfinite", '
    'preserves: 1}]': "operators[0].preserves: must be true or false, not 1",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD, ids=lambda text: text[:60])
def test_a_bad_file_is_told_in_one_line_with_its_place(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(UserError) as caught:
        load_graph(path)
    told = str(caught.value)
    assert told.startswith(str(path)), told
    assert BAD[text] in told
    assert "\n" not in told and len(told.removeprefix(str(path))) < 400


BAD_JSON = {
    "": ", line 1: not JSON: Expecting value",
    "{": ", line 1: not JSON",
    '{"a": 1, "a": 2}': "key 'a' is given twice",
    '{"payload": NaN}': "must hold finite numbers, not NaN",
    '{"payload": 1e400, "operators": []}': "must hold finite numbers, not 1e400",
    '{"operators": [{"source": "a", "rate": 1e400}]}': "must hold finite numbers, not 1e400",
    '{"payload": ' + "9" * 5000 + "}": "not JSON for us: Exceeds the limit",
    "[" * 100_000: "not JSON for us: nested too deeply",
    "[]": "must hold keys and values, as in KEY: VALUE; found list",
}


@pytest.mark.parametrize("text", BAD_JSON, ids=lambda text: text[:40])
def test_bad_json_is_told_in_one_line(tmp_path, text):
    with pytest.raises(UserError) as caught:
        load_graph(written(tmp_path, text, "graph.json"))
    assert BAD_JSON[text] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_told(tmp_path):
    for name, told in (
        ("none.yaml", "No such file"),
        (".yaml", "No such file"),
        ("a\x00b.yaml", "null byte"),
        ("x" * 300 + ".json", "too long"),
    ):
        with pytest.raises(UserError, match=f"cannot be read: .*{told}"):
            load_graph(tmp_path / name)
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(UserError, match="cannot be read: Is a directory"):
        load_graph(tmp_path / "folder.json")
    (tmp_path / "latin.yaml").write_bytes(b"name: \xff")
    with pytest.raises(UserError, match="must be UTF-8 text"):
        load_graph(tmp_path / "latin.yaml")
    with pytest.raises(
        UserError, match=r"a graph file must end in .yaml, .yml, .json, .csv, .py or .py:FUNCTION"
    ):
        load_graph(tmp_path / "graph.toml")


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_text, "MAX_BYTES", 100)
    path = written(tmp_path, "a" * 101)
    with pytest.raises(UserError, match="must have at most 100 bytes, not 101"):
        load_graph(path)


@pytest.mark.parametrize(
    ("name", "text"), [("g.yaml", "[" + "a," * 50 + "]"), ("g.json", "[" + "1," * 50 + "1]")]
)
def test_a_file_of_too_many_values_is_told(tmp_path, monkeypatch, name, text):
    monkeypatch.setattr(graph_text, "MAX_VALUES", 40)
    with pytest.raises(UserError, match="must hold at most 40 values"):
        load_graph(written(tmp_path, text, name))


def test_too_many_operators_are_told_before_any_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(graph_reader, "MAX_OPERATORS", 3)
    with pytest.raises(UserError, match="operators: must be at most 3 operators, not 4"):
        load_graph(written(tmp_path, "operators: [{work: x}, {work: x}, {work: x}, {work: x}]"))


def test_a_laugh_is_not_multiplied(tmp_path):
    laughs = "\n".join(
        ["a0: &a0 [lol]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
    )
    with pytest.raises(UserError, match="line 1: anchors and tags are not allowed"):
        load_graph(written(tmp_path, laughs))


# -- Python ----------------------------------------------------------------------------------------

MAKES = """
from harness.graph import Graph

def graph(length: int = 2, rate: float = 10, name="chain", wide: bool = False, *, seed=0):
    made = Graph(name)
    last = made.source("source", rate=rate, window=seed)
    for number in range(length):
        work = made.work(f"w{number}", outputs=2 if wide else 1)
        made.connect(last, work)
        last = work
    made.connect(last, made.sink("sink"))
    return made

def needy(cost):
    return graph(int(cost))

def nothing():
    pass

def broken():
    raise ValueError("two\\nlines")

def leaves():
    raise SystemExit(3)

def wrong():
    Graph("g").work("w", -1)

def slashed():
    return Graph("a/b")

attribute = 5
"""


def test_a_function_makes_the_graph_with_the_values_given(tmp_path):
    path = written(tmp_path, MAKES, "makes.py")
    loaded = load_graph_file(
        str(path), {"length": "3", "rate": "2.5", "name": "7", "wide": "true"}, seed=9
    )
    assert (
        loaded.graph.operators["source"].rate == 2.5
        and loaded.graph.operators["source"].window == 9
    )
    assert len(loaded.graph.operators) == 5 and loaded.graph.operators["w0"].outputs == 2
    assert loaded.parameters == {"length": 3, "rate": 2.5, "name": "7", "wide": "true"}, (
        "numbers are numbers in a record"
    )
    assert load_graph_file(str(path)).parameters == {
        "length": 2,
        "rate": 10,
        "name": "chain",
        "wide": "false",
    }
    assert load_graph_file(f"{path}:needy", {"cost": 4}).parameters == {"cost": 4}
    of_its_own = load_graph_file(str(path), {"seed": "5"}, seed=9)
    assert of_its_own.graph.operators["source"].window == 5
    assert of_its_own.parameters["seed"] == 5, "a seed that is not the run's has to be told"


FREE = """
from harness.graph import Graph

def graph(rate=None, window: int | None = None, share: float | None = 2.5, name: str | None = "7", costs=(1, 2), wide=True):
    assert (type(share), type(name), type(wide)) == (float, str, bool)
    made = Graph(name)
    made.connect(made.source("source", rate=rate, window=window or 0), made.sink("sink"))
    return made
"""


@pytest.mark.parametrize("given", [{}, {"rate": "9", "window": "5"}], ids=str)
def test_the_recorded_parameters_of_a_function_make_the_same_graph_again(tmp_path, given):
    path = str(written(tmp_path, FREE, "free.py"))
    loaded = load_graph_file(path, given)
    defaults = {"share": 2.5, "name": "7", "wide": "true"}
    assert loaded.parameters == {name: int(value) for name, value in given.items()} | defaults
    again = load_graph_file(path, loaded.parameters)
    assert again.graph == loaded.graph and again.parameters == loaded.parameters


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        ("missing", {}, "has no function 'missing'"),
        ("attribute", {}, "has no function 'attribute'"),
        ("", {}, "has no function ''"),
        ("needy", {}, "needy() needs its parameter 'cost': set cost=VALUE"),
        (
            "graph",
            {"lenght": "3"},
            "graph() has no parameter 'lenght' (did you mean 'length'?); its parameters are: "
            "length, rate",
        ),
        ("graph", {"length": "x"}, "parameter length of "),
        ("graph", {"length": "1.5"}, "graph() must be a whole number, not '1.5'"),
        ("graph", {"length": "1,5"}, "not '1,5'; several values are for millrace compare"),
        ("graph", {"rate": "nan"}, "graph() must be a finite number, not 'nan'"),
        ("graph", {"wide": "maybe"}, "graph() must be true or false, not 'maybe'"),
        ("graph", {"rate": "-1"}, "rate of source 'source' must be from"),
        ("nothing", {}, "nothing() must return a Graph, not None"),
        ("broken", {}, "broken(): ValueError: two lines"),
        ("leaves", {}, "leaves(): SystemExit: 3"),
        ("wrong", {}, "wrong(): cost of operator 'w' must be a whole number from 0"),
        ("slashed", {}, "a graph's name must be 1 to 100 printable characters without slashes"),
    ],
)
def test_a_function_that_makes_no_graph_is_told_in_one_line(tmp_path, function, given, told):
    path = written(tmp_path, MAKES, "makes.py")
    with pytest.raises(UserError) as caught:
        load_graph_file(f"{path}:{function}", given)
    assert told in str(caught.value) and str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def graph(:", "SyntaxError: "),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("\x00", "null bytes"),
        ("raise SystemExit", "SystemExit"),
        ("", "has no function 'graph', which must return the graph"),
    ],
)
def test_a_module_that_cannot_be_executed_is_told_in_one_line(tmp_path, text, told):
    path = written(tmp_path, text, "bad.py")
    with pytest.raises(UserError) as caught:
        load_graph(path)
    assert str(caught.value).startswith(f"{path}: ") and told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_may_import_what_is_beside_it(tmp_path):
    written(
        tmp_path,
        "from harness.graph import Graph\n\ndef make():\n    return Graph('made')\n",
        "beside_it.py",
    )
    assert (
        load_graph(written(tmp_path, "from beside_it import make as graph\n", "main.py")).name
        == "made"
    )


BESIDE = """
import parts

def graph():
    from parts import name
    import late.inner
    return parts.Graph(f"{parts.name}, {name}, {late.inner.name}")
"""


def test_what_a_file_imports_comes_from_its_own_folder(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder / "late").mkdir(parents=True)
        for module in ("parts", "late/inner"):
            text = f"from harness.graph import Graph\nname = '{folder} {Path(module).name}'\n"
            (tmp_path / folder / f"{module}.py").write_text(text)
        (tmp_path / folder / "main.py").write_text(BESIDE)
    for folder in ("a", "b", "a"):
        assert (
            load_graph(tmp_path / folder / "main.py").name
            == f"{folder} parts, {folder} parts, {folder} inner"
        )


OPERATORS = """\
operators:
  - {source: a}
  - threading: {model: manual}
    operators:
      - {work: w, cost: 1}
  - {work: v, cost: 1}
  - {sink: out}
streams:
"""
UNSOUND = {
    f"{OPERATORS}  - a -> w\n  - w -> out": (
        ", line 6: output port v[0] feeds nothing; line 6: input port v[0] is fed by nothing"
    ),
    f"{OPERATORS}  - a -> w\n  - w -> v\n  - v -> w\n  - v -> out": ", line 11: cycle w -> v -> w",
    f"{OPERATORS}  - a -> w\n  - w -> v\n  - v -> out\n  - w -> v": ", line 12: stream w[0] -> v[0]",
    "operators:\n  - {source: a}\n  - {barrier: two, inputs: 2}\n  - {filter: few, selectivity: 0.5}\n"
    "  - {sink: out}\nstreams: [a -> two, a -> few, 'few -> two[1]', two -> out]": (
        ", line 3: barrier 'two': inputs 0 and 1 both get"
    ),
    "operators:\n  - {source: a}\n  - parallel: r\n    width: 2\n    inlet: in\n    outlet: in\n"
    "    operators:\n      - {work: in}\n      - {work: alone}\n  - {sink: out}\n"
    "streams: [a -> r, r -> out]": ", line 9: output port r.1.alone[0] feeds nothing; line 9:",
    "operators:\n  - {source: a}\nstreams: []": (
        ": no sink: a graph needs an operator without output ports; line 2: output port a[0] feeds"
    ),
}


@pytest.mark.parametrize("text", UNSOUND)
def test_a_rule_of_the_whole_graph_is_told_with_the_line_that_breaks_it(tmp_path, text):
    path = written(tmp_path, text)
    with pytest.raises(GraphError) as caught:
        load_graph(path).check()
    assert str(caught.value).startswith(f"{path}{UNSOUND[text]}")


def test_a_rule_of_a_whole_graph_in_json_is_told_with_the_file(tmp_path):
    path = written(tmp_path, '{"operators": [{"source": "a"}, {"sink": "b"}]}', "graph.json")
    with pytest.raises(GraphError, match=r"graph\.json: output port a\[0\] feeds nothing; input"):
        load_graph(path).check()


def test_files_of_a_folder_share_what_they_import(tmp_path):
    (tmp_path / "shared.py").write_text("")
    for name in ("first", "second"):
        (tmp_path / f"{name}.py").write_text("import shared\n")
    first, second = (load_file(tmp_path / f"{name}.py") for name in ("first", "second"))
    assert first.shared is second.shared


def test_what_a_file_prints_does_not_mix_with_our_output(tmp_path, capsys):
    load_graph(
        written(
            tmp_path,
            "print('loading')\n"
            + MAKES.replace("    made = Graph", "    print('making')\n    made = Graph"),
            "talks.py",
        )
    )
    assert capsys.readouterr() == ("", "loading\nmaking\n")


def test_a_described_graph_has_no_parameters(tmp_path):
    path = written(tmp_path, "operators: []")
    with pytest.raises(
        UserError, match=r"a graph in a .yaml file has no parameters; 'cost' cannot be set"
    ):
        load_graph_file(str(path), {"cost": "5"})


@pytest.mark.parametrize(
    ("word", "is_one"),
    [
        ("g.yaml", True), ("g.yml", True), ("a/g.json", True), ("g.py", True), ("g.py:f", True), ("a:b/g.py:f", True),
        ("pipeline", False), ("g.yaml:f", False), ("g.toml", False), ("", False), ("py", False), ("yaml", False),
    ],
)  # fmt: skip
def test_a_word_with_such_an_ending_is_a_graph_file(word, is_one):
    assert is_graph_file(word) == is_one
