"""Records that are no JSON: CSV, and what a function of the user's makes of a line."""

from __future__ import annotations

import pytest

from harness.connectors import CsvLines, FileSource
from harness.engine import open_engine
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.models import Manual

READING = Schema(
    "reading",
    {"time": "time", "sensor": "string[20]", "value": "float64", "n": "uint8", "up": "boolean"},
)


def read(path, parse, schema=READING):
    """Return the tuples that a run gets of a file, and its totals."""
    graph, found = Graph("g"), []
    source = graph.typed_source("in", FileSource(str(path), schema, parse=parse), schema)
    graph.connect(source, graph.typed_sink("out", lambda port, each: found.append(each), schema))
    engine = open_engine(graph, Manual())
    engine.start()
    while not engine.finished():
        engine.sample(0.002)
    return found, engine.stop(drain=True, timeout_s=10.0)


def test_csv_is_read_by_the_names_of_its_first_line(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(
        b"\xef\xbb\xbfnote,value,time,sensor,up,n\r\n"
        b'"a, ""b""",-2.5e1,2026-10-10T13:00:00.25+02:00,"hall, ""north""",true,7.0\r\n'
        b"x,nan,1970-01-01T00:00:01,,0, 255 \n"
        b"x,1,5,five,FALSE,0"
    )
    found, totals = read(path, CsvLines(READING))
    assert totals.correct and totals.left_out == {}
    assert found[0] == {
        "time": 1_791_630_000_250_000_000,
        "sensor": 'hall, "north"',
        "value": -25.0,
        "n": 7,
        "up": True,
    }
    assert (found[1]["time"], found[1]["sensor"], found[1]["n"], found[1]["up"]) == (
        10**9,
        "",
        255,
        False,
    )
    assert found[2]["time"] == 5 and found[1]["value"] != found[1]["value"]


NOTE = Schema("note", {"n": "uint8", "text": "string[40]"})


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_field_of_csv_in_quotes_may_have_line_ends(tmp_path, end):
    path = tmp_path / "in.csv"
    lines = ['\ufeff"a', 'b",text,n', '1,"once ', ' upon ""a"" ', '",2', ',"",3', 'x,5" pipe,4']
    path.write_bytes(end.join([*lines, 'x,"y",5']).encode())
    found, totals = read(path, CsvLines(NOTE), NOTE)
    assert totals.correct and totals.left_out == {}
    texts = ["once " + end + ' upon "a" ' + end, "", '5" pipe', "y"]
    assert [(each["n"], each["text"]) for each in found] == [*zip((2, 3, 4, 5), texts, strict=True)]


@pytest.mark.parametrize("lines", [2, 10_000])
def test_a_quote_of_csv_that_is_never_closed_hides_one_line_alone(tmp_path, lines):
    path = tmp_path / "in.csv"
    path.write_bytes(b'n,text\n1,"open\n' + b"2,whole\n" * lines + b"3,last")
    found, totals = read(path, CsvLines(NOTE), NOTE)
    assert totals.correct and totals.left_out == {"in: broken": 1}
    assert [each["text"] for each in found] == ["whole"] * lines + ["last"]


@pytest.mark.parametrize(
    "line",
    [
        b"1,a,2,3",
        b"1,a,2,256,1",
        b"1,a,2,1.5,1",
        b"1,a,much,3,1",
        b"1,a,2,3,perhaps",
        b"noon,a,2,3,1",
        b'1,"a,2,3,1',
        b"1,a\xff,2,3,1",
        b"1,longer than twenty bytes,2,3,1",
        b"",
    ],
)
def test_a_line_of_csv_that_does_not_fit_is_broken(tmp_path, line):
    path = tmp_path / "in.csv"
    path.write_bytes(b"time,sensor,value,n,up\n" + line + b"\n1,a,2,3,1\n")
    found, totals = read(path, CsvLines(READING))
    assert totals.correct and len(found) == 1 and totals.left_out == {"in: broken": 1}


def test_a_column_that_is_missing_ends_the_run_in_one_line(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"time,sensor,value,up\n1,a,2,1\n")
    _, totals = read(path, CsvLines(READING))
    assert f"{path}: the first line must name a column 'n'" in totals.error
    assert "\n" not in totals.error


def test_values_of_a_function_may_be_as_those_of_json_are(tmp_path):
    path = tmp_path / "in.log"
    path.write_bytes(b"# comment\n2026-10-10T13:00:00+02:00 hall 1\nbroken\n")

    def parse(line):
        if line.startswith(b"#"):
            return None
        time, sensor, n = line.decode().split()
        return {"time": time, "sensor": sensor, "value": float(n), "n": float(n), "up": True}

    found, totals = read(path, parse)
    assert totals.left_out == {"in: broken": 1} and totals.correct
    assert found == [
        {"time": 1_791_630_000_000_000_000, "sensor": "hall", "value": 1.0, "n": 1, "up": True}
    ]


def test_a_function_that_fails_ends_the_run_with_the_record_and_the_rule(tmp_path):
    path = tmp_path / "in.log"
    path.write_bytes(b"one\ntwo\n")
    _, totals = read(path, lambda line: None if line == b"one" else None.groups())
    assert (
        f"{path}: parse raised AttributeError at record 2: 'NoneType' object has no attribute "
        "'groups' (a record that cannot be read must be a ValueError)"
    ) in totals.error
