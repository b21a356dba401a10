"""A table of what operators cost is a graph; each bad row is one line that says what to change."""

from __future__ import annotations

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.graph.files.file import load_graph_file
from harness.models import Coroutine, Dedicated, Dynamic, Manual
from harness.models.layout import layout_of
from harness.models.replicas import replicable

TABLE = """\
operator,ns per tuple,selectivity,stream,keys
# a word count
lines,200,,split
split,1500,3,count;log
count,300,0.1,store,50
log,50,,
store,900,,,1
"""


def written(tmp_path, text, name="costs.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def graph(tmp_path, text=TABLE):
    return load_graph_file(str(written(tmp_path, text))).graph


def test_rows_become_operators_between_sources_and_sinks(tmp_path):
    made = graph(tmp_path)
    made.check()
    assert made.name == "costs"
    assert {str(stream.source) + " > " + str(stream.target) for stream in made.streams} == {
        "lines source[0] > lines[0]", "lines[0] > split[0]", "split[0] > count[0]",
        "split[0] > log[0]", "count[0] > store[0]", "log[0] > log sink[0]",
        "store[0] > store sink[0]",
    }  # fmt: skip
    assert made.operators["lines"].busy_us == 0.2
    assert made.operators["count"].keys == 50


def test_behind_a_selectivity_above_1_a_tuple_stands_for_several(tmp_path):
    operators = graph(tmp_path).operators
    assert operators["split"].selectivity == 1.0
    assert operators["count"].busy_us == pytest.approx(0.9)
    assert operators["count"].selectivity == 0.1
    assert operators["store"].busy_us == pytest.approx(2.7)


def test_where_streams_meet_a_tuple_stands_for_their_mean(tmp_path):
    text = "operator,ns,selectivity,stream\na,1,4,c\nb,1,1,c\nc,100,1,\n"
    assert graph(tmp_path, text).operators["c"].busy_us == pytest.approx(0.25)


RATES = "operator,ns,selectivity,stream,rate\na,1,4,c,3000\nb,1,1,c,1000\nc,100,1,,\n"


def test_a_rate_is_that_of_a_source(tmp_path):
    made = graph(tmp_path, RATES)
    assert made.operators["a source"].rate == 3000.0
    assert made.operators["b source"].rate == 1000.0
    assert graph(tmp_path).operators["lines source"].rate is None


def test_where_streams_meet_the_rates_of_their_sources_count(tmp_path):
    """12,000 and 1,000 tuples of the program in 4,000 of the graph."""
    assert graph(tmp_path, RATES).operators["c"].busy_us == pytest.approx(0.1 * 13 / 4)


def test_a_bar_shares_tuples_out(tmp_path):
    made = graph(tmp_path, "operator,ns,selectivity,stream\na,1,1,b|c\nb,100,1,\nc,100,1,\n")
    assert made.operators["a"].outputs == 2
    assert made.flow().copies == pytest.approx(1.0)


@pytest.mark.parametrize("model", [Dynamic(2), Dedicated(), Coroutine(threads=2), Manual()])
def test_no_queue_is_between_a_source_and_its_row(tmp_path, model):
    layout = layout_of(graph(tmp_path), model)
    queued = {layout.operators[queue.operator].name for queue in layout.queues}
    behind = {"split", "count", "log", "store", "log sink", "store sink"}
    assert queued == (set() if model == Manual() else behind)


def test_keys_say_which_operators_have_a_state(tmp_path):
    able = replicable(graph(tmp_path), Coroutine(threads=2))
    assert {"split", "count", "store"} <= set(able)
    assert graph(tmp_path).operators["store"].keys == 1


BAD = {
    "operator,ns,selectivity,straem\na,1,1,\n": "line 1: unknown column 'straem' (did you mean "
                                                "'stream'?); columns are: operator, ns, ",
    "operator,ns,stream\na,1,\n": "line 1: column 'selectivity' is missing",
    "operator,ns,ns,stream\na,1,1,\n": "line 1: column 'ns' is given twice",
    "operator,ns,selectivity,stream\n": "must have a row of names, operator,ns,selectivity,stream,",
    "": "must have a row of names",
    "operator,ns,selectivity,stream\n\na,fast,1,\n": "line 3, column ns: must be a number from 0 to "
                                                     "1000000000 ns, not 'fast'",
    "operator,ns,selectivity,stream\na,-1,1,\n": "line 2, column ns: must be a number from 0",
    "operator,ns,selectivity,stream\na,nan,1,\n": "line 2, column ns: must be a number from 0",
    "operator,ns,selectivity,stream\na,,1,\n": "line 2, column ns: must be a number from 0",
    "operator,ns,selectivity,stream\na,1,-2,\n": "line 2, column selectivity: must be a number from",
    "operator,ns,selectivity,stream\na,1,1,b\nbb,1,1,\n": "line 2, column stream: must name "
                                                          "operators of the table, not 'b' (did "
                                                          "you mean 'bb'?)",
    "operator,ns,selectivity,stream\na,1,1,b,c\nb,1,1,\nc,1,1,\n": "line 2: must have 4 values, one "
                                                                   "for each column, not 5; several "
                                                                   "targets",
    "operator,ns,selectivity,stream\na,1,1,b;c|b\nb,1,1,\nc,1,1,\n": "line 2, column stream: must "
                                                                     "separate",
    "operator,ns,selectivity,stream\na,1,1,b;b\nb,1,1,\n": "column stream: must name each operator "
                                                           "once, not 'b;b'",
    "operator,ns,selectivity,stream\na,1,1,\na,1,1,\n": "line 3, column operator: must differ from "
                                                        "that in line 2, not 'a'",
    "operator,ns,selectivity,stream\n,1,1,\n": "line 2, column operator: must be a name",
    "operator,ns,selectivity,stream\ns,1,1,a\na,1,1,b\nb,1,1,a\n": "line 3, column stream: must not "
                                                                   "lead back",
    "operator,ns,selectivity,stream,keys\na,1,1,,2.5\n": "line 2, column keys: must be a whole "
                                                         "number from 0 to 1000000000 keys, not "
                                                         "'2.5'",
    "operator,ns,selectivity,stream\na,9e8,1e5,b\nb,9e8,1,\n": "line 3, column ns: must be at most",
    'operator,ns,selectivity,stream\n"a,1,1,\n': "line 2",
    "operator,ns,selectivity,stream,rate\na,1,1,,fast\n": "line 2, column rate: must be a number from "
                                                         "1e-06 to 1000000000 tuples/s, not 'fast'",
    "operator,ns,selectivity,stream,rate\na,1,1,,0\n": "line 2, column rate: must be a number from",
    "operator,ns,selectivity,stream,rate\na,1,1,b,\nb,1,1,,5\n": "line 3, column rate: must be empty "
                                                                 "where the tuples come from a "
                                                                 "stream, not '5'",
    "operator,ns,selectivity,stream,rate\na,1,1,,5\nb,1,1,,\n": "line 3, column rate: must be given "
                                                                "for all sources or for none, not ''",
}  # fmt: skip


@pytest.mark.parametrize(("text", "said"), BAD.items())
def test_a_bad_table_is_refused_in_one_line(tmp_path, text, said):
    path = written(tmp_path, text)
    with pytest.raises(UserError) as refused:
        load_graph_file(str(path))
    assert str(refused.value).startswith(str(path)) and said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("words", ["run FILE --model dynamic --threads 2", "explain FILE"])
def test_commands_take_a_table_as_a_graph(tmp_path, capsys, words):
    given = words.replace("FILE", str(written(tmp_path, TABLE))).split()
    assert main([*given, "--machine", "cstream", "--duration", "0.002"]) == 0
    assert "costs" in capsys.readouterr().out
