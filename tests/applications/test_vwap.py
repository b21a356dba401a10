"""VWAP finds the bargains that a plain program finds, under every model, in good input and in
bad.
"""

import gzip
import random
import sys
from collections import Counter
from functools import cache

import pytest
from harness.applications.vwap_operators import sizes
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import topologies
from harness.applications.vwap import HEADER, SCHEMAS, Vwap, columns_of, generate, input_of
from harness.errors import UserError
from harness.models import Manual
from tests.applications.drive import MODELS, run
from tests.applications.reference_vwap import reference

ODD = (
    b"",
    b"no record",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Trade,NYS,12.5",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Trade,NYS,12x5,300,,,,,,,,0,,,,,,,,,,,,,,",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Trade,NYS,1,-300,,,,,,,,0,,,,,,,,,,,,,,",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Trade,NYS,1e999,300,,,,,,,,0,,,,,,,,,,,,,,",
    b",27-DEC-2005,09:30:00.1,-5,Trade,NYS,1,300,,,,,,,,0,,,,,,,,,,,,,,",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Quote,NYS,,,,1.5,10,,,,R,0,,,,,,,,,,,,,,",
    b"A.N,27-DEC-2005,09:30:00.1,-5,Correction,NYS,1,300,,,,,,,,0,,,,,,,,,,,,,,",
    b"x" * 400,
)
BROKEN_ODD = len(ODD) - 2  # all but the record of another type and the quote of one side


def with_odd_lines(text, seed):
    draw = random.Random(seed)
    lines = text.split(b"\n")[:-1]
    for line in ODD:
        lines.insert(draw.randrange(1, len(lines)), line)
    return b"\n".join(lines)


def check(built, expected):
    """All bargains of the plain program and no others; each channel's in its order, which no thread
    may change.
    """
    found = built.results()
    for channel in range(8):
        assert [each for each in found if each["channel"] == channel] == [
            each for each in expected if each["channel"] == channel
        ]
    assert len(found) == len(expected)


def test_tuples_in_c_are_as_large_as_their_schemas():
    assert {schema.name: schema.size for schema in SCHEMAS} == sizes()


def test_the_graph_has_the_papers_operators_and_threaded_ports():
    for placement, ports in (("none", 0), ("hand", 9)):
        graph, _ = topologies.build("vwap", {"records": 10, "placement": placement}, 0)
        graph.check()
        assert len(graph.operators) == 52 and len(graph.threaded) == ports


@cache
def many_records():
    """Records, and the bargains that the plain program finds in them."""
    text = with_odd_lines(generate(6000, 3), 5)
    return text, reference(text)


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_the_result_is_that_of_a_plain_program(model):
    text, expected = many_records()
    built = Vwap(text, False, 1, False, keep=10**6)
    totals = run(built, MODELS[model]())
    assert totals.correct and totals.drained, (totals.error, totals.conservation)
    assert len(expected) > 200
    check(built, expected)
    counts = built.counts()
    assert counts["records"] == 6000 + len(ODD) and counts["trades"] + counts["quotes"] == 6000
    assert counts["broken"] == BROKEN_ODD and counts["others"] == counts["one-sided"] == 1


FIELD = st.sampled_from(
    [
        "",
        "Trade",
        "Quote",
        "A.N",
        "B.N",
        "12.5",
        "7",
        "0",
        "-1",
        "1e5",
        ".5",
        "5.",
        ".",
        "x",
        "é",
        "1" * 17,
        " 3 ",
        "+2",
        '"4"',
        ' "B.N" ',
        '"a ""b"", c"',
        '"two\nlines"',
    ]
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(FIELD, max_size=7).map(",".join), max_size=30))
def test_lines_of_any_fields_are_read_as_the_plain_program_reads_them(lines):
    text = "\n".join(
        [
            "ticker,type,price,volume,askprice,asksize",
            "A.N,Trade,100,5,,",
            *lines,
            "A.N,Quote,,,1,2",
        ]
    ).encode()
    built = Vwap(text, False, 1, False, keep=10**6)
    assert run(built, Manual()).correct
    check(built, reference(text))


def test_an_average_is_that_of_the_last_four_trades():
    trades = "\n".join(
        f"A.N,Trade,{price},{volume},,"
        for price, volume in ((1000, 9), (10, 1), (20, 2), (30, 3), (40, 4))
    )
    text = f"ticker,type,price,volume,askprice,asksize\n{trades}\nA.N,Quote,,,29,5\n".encode()
    built = Vwap(text, False, 1, False, keep=10)
    assert run(built, Manual()).correct
    (bargain,) = built.results()
    assert bargain["vwap"] == 30.0 == (10 * 1 + 20 * 2 + 30 * 3 + 40 * 4) / 10
    assert bargain["index"] == pytest.approx(5 * 2.718281828459045)


def bargains_of(text):
    built = Vwap(text.encode(), False, 1, False, keep=100)
    assert run(built, Manual()).correct
    return built.results(), built.counts()


NAMED = '#RIC,"Name, in full",Type,Price,Volume,Ask Price,Ask Size\n'


def test_quotes_blanks_signs_and_exponents_are_read():
    found, counts = bargains_of(
        NAMED
        + 'A,"Agilent, ""the"" Inc.",Trade, 1.2e1 ,+100,,\n'
        + 'A,"two\nlines",Trade,"12",100,,\r\n'
        + f'A,"{"long " * 2000}",Quote,,,11,7\n'
        + "CL,oil,Trade,-37.63,5,,\nCL,oil,Quote,,,-40,2\n"
    )
    assert sorted((each["vwap"], each["ask"], each["size"]) for each in found) == [
        (-37.63, -40.0, 2.0),
        (12.0, 11.0, 7.0),
    ]
    assert counts["records"] == 5 and counts["broken"] == 0


def test_a_quote_of_one_side_is_not_broken_and_an_index_is_finite():
    found, counts = bargains_of(NAMED + "A,,Trade,9999,1,,\nA,,Quote,,,,\nA,,Quote,,,1,5\n")
    assert counts["one-sided"] == 1 and counts["broken"] == 0
    assert [each["index"] for each in found] == [sys.float_info.max]


def test_a_trade_without_price_and_volume_is_another_kind_of_record():
    records = ("A,,Trade,,,,", "A,,Trade,,1,,", "A,,Trade,2,1,,", "A,,Quote,,,1,5")
    found, counts = bargains_of(NAMED + "".join(f"{each}\n" for each in records))
    assert (counts["trades"], counts["others"], counts["broken"]) == (1, 1, 1)
    assert [each["vwap"] for each in found] == [2.0]


def test_a_quote_that_is_never_closed_hides_only_its_line():
    _, counts = bargains_of(NAMED + 'A,"open,Trade,1,1,,\nA,b,Trade,1,1,,\n')
    assert counts["records"] == 2 and counts["trades"] == 1


def test_a_quote_within_a_field_is_a_character_of_it():
    _, counts = bargains_of(NAMED + 'A,a 5" pipe,Trade,1,1,,\n' * 3)
    assert counts["records"] == 3 and counts["trades"] == 3


def test_a_packed_file_and_a_cut_one_are_read(tmp_path):
    text = generate(2000, 4)
    for name, data in (("whole.gz", gzip.compress(text)), ("cut.gz", gzip.compress(text)[:-900])):
        (tmp_path / name).write_bytes(data)
        found, cut = input_of(1, 0, str(tmp_path / name))
        assert text.startswith(found) and cut == (found != text) == (name == "cut.gz")
    built = Vwap(found, cut, 1, False, keep=10**6)
    assert run(built, Manual()).correct and built.counts()["truncated"] == 1
    check(built, reference(found))


def test_a_header_without_an_end_is_refused_in_one_line(tmp_path):
    path = tmp_path / "other"
    path.write_bytes(b"#RIC," * 2**14)
    with pytest.raises(UserError) as refused:
        topologies.build("vwap", {"input": str(path)}, 0)
    assert "its first line must have at most 16,384 bytes" in str(refused.value)


@pytest.mark.parametrize(
    ("content", "missing"),
    [
        (b"", "#RIC"),
        (b"\x00\xff" * 999, "#RIC"),
        (HEADER.replace("Ask Size", "").encode(), "Ask Size"),
    ],
)
def test_a_file_of_another_kind_is_refused_in_one_line(tmp_path, content, missing):
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(UserError) as refused:
        topologies.build("vwap", {"input": str(path)}, 0)
    rule = (
        "must be trades and quotes in CSV with a header; its first line names no column "
        f"{missing!r}"
    )
    assert str(refused.value) == f"{path}: {rule}"


def test_generated_records_are_like_those_of_a_real_file():
    text = generate(20_000, 9)
    assert text == generate(20_000, 9) != generate(20_000, 10)
    rows = [line.split(",") for line in text.decode().split("\n")[1:-1]]
    columns = columns_of(text)
    assert len(rows) == 20_000 and {len(row) for row in rows} == {30}
    assert sum(row[columns["type"]] == "Quote" for row in rows) / len(rows) == pytest.approx(
        0.78, abs=0.02
    )
    often = [count for _, count in Counter(row[columns["ticker"]] for row in rows).most_common(100)]
    assert sum(often) / len(rows) == pytest.approx(0.26, abs=0.03)
