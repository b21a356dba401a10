"""VWAP (M19 §4.2): bargains among quotes, beside the volume weighted average price of each ticker's
last four trades.

52 operators, as in the paper: a source, a parser, 8 channels of 6 by ticker, a merge and a sink.
The channels are the core of the public sample of IBM Streams; native/vwap.hpp describes each
operator.
"""

from __future__ import annotations

import csv
import math
import random
from functools import partial
from io import StringIO

from harness.applications import vwap_operators
from harness.applications.given_input import StreamedInput, read_input, source_of, truncated_inputs
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.operators.compiled import collect, kept

CHANNELS = 8

LINE = Schema("csv_line", {"number": "uint64", "text": "string[212]"})
TICK = Schema(
    "tick",
    {
        "number": "uint64",
        "price": "float64",
        "volume": "float64",
        "trade": "uint32",
        "ticker": "string[16]",
    },
)
SUMS = Schema(
    "sums",
    {
        "number": "uint64",
        "value": "float64",
        "volume": "float64",
        "ticker": "string[16]",
        "trades": "uint32",
    },
)
AVERAGE = Schema(
    "average", {"number": "uint64", "vwap": "float64", "ticker": "string[16]", "trades": "uint32"}
)
BARGAIN = Schema(
    "bargain",
    {
        "number": "uint64",
        "vwap": "float64",
        "ask": "float64",
        "size": "float64",
        "index": "float64",
        "ticker": "string[16]",
        "channel": "uint32",
    },
)
SCHEMAS = (LINE, TICK, SUMS, AVERAGE, BARGAIN)

HEADER = (
    "#RIC,Date[G],Time[G],GMT Offset,Type,Ex/Cntrb.ID,Price,Volume,Buyer ID,Bid Price,Bid "
    "Size,Seller ID,Ask Price,Ask Size,"
    "Qualifiers,Seq. No.,Exch Time,Block Trd,Floor Trd,PE Ratio,Yield,New Price,New Vol,New "
    "Seqno,Bid Yld,Ask Yld,Div Code,"
    "Div,Market VWAP,Halt Reason"
)
"""30 columns in Reuters style."""

NAMES = {
    "ticker": ("#RIC", "RIC", "Ticker", "ticker"),
    "type": ("Type", "type"),
    "price": ("Price", "price"),
    "volume": ("Volume", "volume"),
    "ask": ("Ask Price", "askprice", "ask"),
    "ask_size": ("Ask Size", "asksize", "ask_size"),
}
"""Possible names of the necessary columns in a file's header."""

TRADE, QUOTE, TITLE, OTHER, BROKEN, ONE_SIDED, UNTRADED = range(7)
"""Counters of a parser."""

MOST_COLUMNS, MOST_HEADER = 64, 2**14  # of a header; its bytes

COSTS = {"lines": 120, "parse": 400, "sums": 150, "index": 200, "other": 60}
"""Approximate cost of a tuple [FLOP], for the size of batches."""


# -- input -----------------------------------------------------------------------------------------


def input_of(records: int, seed: int, path: str) -> tuple[bytes, bool]:
    """Return trades and quotes as CSV with a header: generated, or of the file `path`; and True if
    that is truncated.

    Raises UserError, in one line, for a file whose header lacks a necessary column.
    """
    if not path:
        return generate(records, seed), False
    given = read_input(path)
    _check(path, given.data)
    return given.data, given.truncated


def stream_of(path: str) -> StreamedInput:
    """Return trades and quotes that are read once, as a stream. Raises UserError as `input_of`."""
    stream = StreamedInput(path)
    _check(path, header_of(stream))
    return stream


def header_of(stream: StreamedInput) -> bytes:
    """Return the beginning of a stream, with its first line."""
    return stream.head(lambda head: b"\n" in head)


def _check(path: str, text: bytes) -> None:
    try:
        columns_of(text)
    except ValueError as problem:
        raise UserError(
            f"{path}: must be trades and quotes in CSV with a header; {problem}"
        ) from None


def columns_of(text: bytes) -> dict[str, int]:
    """Return the numbers of the necessary columns, by the header. Raises ValueError if one is
    missing.
    """
    if len(text) > MOST_HEADER and b"\n" not in text[:MOST_HEADER]:
        raise ValueError(f"its first line must have at most {MOST_HEADER:,} bytes")
    first = text[:MOST_HEADER].decode("utf-8-sig", errors="replace")
    try:
        header = [name.strip() for name in next(csv.reader(StringIO(first, newline="")), [])]
    except csv.Error as problem:
        raise ValueError(f"its first line cannot be read: {problem}") from None
    found = {}
    for column, names in NAMES.items():
        places = [header.index(name) for name in names if name in header[:MOST_COLUMNS]]
        if not places:
            raise ValueError(f"its first line names no column {names[0]!r}")
        found[column] = places[0]
    return found


TICKERS = 1924
SHARE_OF_QUOTES = 0.78
SLOPE, SLOPE_TOP, TOP = 1.07, 0.32, 100
TOP_SHARE = 0.26  # share of records of the first 100 tickers


def generate(records: int, seed: int) -> bytes:
    """Return records like those of a real file: its share of quotes, its tickers with their
    frequencies, its records a second.
    """
    draw = random.Random(seed)
    names = [
        f"{chr(65 + rank % 26)}{chr(65 + rank // 26 % 26)}{chr(65 + rank // 676)}.N"
        for rank in range(TICKERS)
    ]
    top = [rank**-SLOPE_TOP for rank in range(1, TOP + 1)]
    rest = [rank**-SLOPE for rank in range(TOP + 1, TICKERS + 1)]
    weights = [TOP_SHARE * weight / sum(top) for weight in top] + [
        (1 - TOP_SHARE) * weight / sum(rest) for weight in rest
    ]
    picked = draw.choices(range(TICKERS), weights, k=records)
    prices = [round(math.exp(draw.uniform(1.0, 5.0)), 2) for _ in range(TICKERS)]
    lines = [HEADER]
    second, chance = 9 * 3600 + 1800, draw.random
    for number, ticker in enumerate(picked):
        if chance() < 379 / 29_999:
            second += 1
        clock = f"{second // 3600 % 24:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        time = f"{clock}.{draw.randrange(1000):03d}"
        price = prices[ticker] = max(
            0.05, round(prices[ticker] * (1.0 + draw.gauss(0.0, 0.0004)), 2)
        )
        begin = f"{names[ticker]},27-DEC-2005,{time},-5,"
        if chance() < SHARE_OF_QUOTES:
            spread = draw.choice((0.0, 0.01, 0.01, 0.02, 0.03))
            bid = round(price - spread, 2)
            ask = round(price + spread - draw.choice((0.0, 0.0, 0.01, 0.02)), 2)
            sizes = draw.randrange(1, 60), draw.randrange(1, 60)
            lines.append(
                f"{begin}Quote,NYS,,,,{bid},{sizes[0]},,{max(0.01, ask)},{sizes[1]},R,{number}"
                f",{time},,,,,,,,,,,,,"
            )
        else:
            lines.append(
                f"{begin}Trade,NYS,{price},{draw.randrange(1, 50) * 100},,,,,,,,{number},{time}"
                ",,,,,,,,,,,,,"
            )
    return "\n".join([*lines, ""]).encode()


# -- graph -----------------------------------------------------------------------------------------


class Vwap:
    """The graph, and the counters of its operators; the sink keeps the first `keep` bargains."""

    def __init__(
        self,
        text: bytes | StreamedInput,
        truncated: bool,
        cycles: int,
        by_hand: bool,
        keep: int = 0,
    ) -> None:
        self.graph = graph = Graph("vwap", payload=0)
        graph.counts = self.counts
        self.lines, self.step = source_of(
            text,
            truncated,
            partial(vwap_operators.lines, text, cycles),
            vwap_operators.lines_in_pieces,
        )
        head = header_of(text) if isinstance(text, StreamedInput) else text
        self.parser = vwap_operators.parse(columns_of(head), CHANNELS)
        self.sink = collect(BARGAIN, keep)

        def add(
            name: str, compiled: object, takes: object, gives: object, cost: str = "other"
        ) -> object:
            return graph.typed(name, compiled.process, takes, gives, cost=COSTS[cost])

        source = graph.typed_source("lines", self.step, LINE, cost=COSTS["lines"])
        parse = add("parse", self.parser, LINE, [TICK] * CHANNELS, "parse")
        merge = add("merge", vwap_operators.merge(), BARGAIN, BARGAIN)
        sink = graph.typed_sink("bargains", self.sink.process, BARGAIN)
        graph.connect(source, parse)
        graph.connect(merge, sink)
        for channel in range(CHANNELS):
            route = add(f"route{channel}", vwap_operators.route(), TICK, [TICK, TICK])
            sums = add(f"sums{channel}", vwap_operators.sum_trades(), TICK, SUMS, "sums")
            divide = add(f"divide{channel}", vwap_operators.divide(), SUMS, AVERAGE)
            project = add(f"quotes{channel}", vwap_operators.project(), TICK, TICK)
            index = add(
                f"index{channel}",
                vwap_operators.bargain_index(channel),
                [AVERAGE, TICK],
                BARGAIN,
                "index",
            )
            only = add(f"bargains only{channel}", vwap_operators.bargains_only(), BARGAIN, BARGAIN)
            graph.connect(parse.output(channel), route)
            graph.connect(route.output(0), sums)
            graph.connect(sums, divide)
            graph.connect(divide, index.input(0))
            graph.connect(route.output(1), project)
            graph.connect(project, index.input(1))
            graph.connect(index, only)
            graph.connect(only, merge)
            if by_hand:
                graph.threaded_port(route)
        if by_hand:
            graph.threaded_port(merge)

    def counts(self) -> dict[str, int]:
        """Return the number of records read, by kind, and of results."""
        return {
            "records": self.lines.counted(0),
            "trades": self.parser.counted(TRADE),
            "quotes": self.parser.counted(QUOTE),
            "others": sum(map(self.parser.counted, (OTHER, TITLE, UNTRADED))),
            "one-sided": self.parser.counted(ONE_SIDED),
            "broken": self.parser.counted(BROKEN) + self.lines.counted(1),
            "truncated": truncated_inputs(self.step),
            "bargains": self.sink.counted(0),
        }

    def results(self) -> list[dict[str, object]]:
        """Return the bargains that the sink has kept, in the order of arrival."""
        return kept(self.sink, BARGAIN)
