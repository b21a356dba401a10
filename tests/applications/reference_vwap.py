"""VWAP in plain Python, one record after the other: what its graph must find. It shares the numbers
of columns with it.
"""

from __future__ import annotations

import csv
import math
import re
import sys
from collections import deque
from collections.abc import Iterator
from io import StringIO

from harness.applications.vwap import CHANNELS, columns_of


def reference(text: bytes) -> list[dict[str, object]]:
    """The bargains in a file.

    A plain program, by which the graph is checked: it shares nothing with it but the numbers of
    columns.
    """
    columns = columns_of(text)
    trades: dict[str, deque[tuple[float, float]]] = {}
    numbers = [0] * CHANNELS
    found = []
    for row in _rows(text.decode()):
        tick = _tick(row, columns)
        if tick is None:
            continue
        ticker, trade, price, size = tick
        channel = _channel(ticker)
        number, numbers[channel] = numbers[channel], numbers[channel] + 1
        last = trades.setdefault(ticker, deque(maxlen=4)) if trade else trades.get(ticker)
        if trade:
            last.append((price * size, size))
            continue
        volume = sum(volume for _, volume in last) if last else 0.0
        vwap = sum(value for value, _ in last) / volume if volume > 0.0 else 0.0
        if vwap > price and size > 0.0:
            index = _finite(size, vwap - price)
            entry = {"number": number, "vwap": vwap, "ask": price, "size": size, "index": index}
            found.append(entry | {"ticker": ticker, "channel": channel})
    return found


def _finite(size: float, above: float) -> float:
    try:
        return min(size * math.exp(above), sys.float_info.max)
    except OverflowError:
        return sys.float_info.max


_FIELD = r'(?:[ \t]*"(?:[^"]|"")*"[^,\n]*|[^,\n]*)'
_RECORD = re.compile(rf"{_FIELD}(?:,{_FIELD})*")


def _rows(text: str) -> Iterator[list[str]]:
    """The records behind the header, by the standard library. A quote that is never closed is one
    of its line alone.
    """
    place = _RECORD.match(text).end() + 1
    while place < len(text):
        record = _RECORD.match(text, place)[0]
        place += len(record) + 1
        record = record.removesuffix("\r")
        if len(record.encode()) <= 65_536:
            row = next(csv.reader(StringIO(record, newline=""), skipinitialspace=True), [])
            yield [field.strip(" \t") for field in row]


def _tick(row: list[str], columns: dict[str, int]) -> tuple[str, bool, float, float] | None:
    """Ticker, whether it is a trade, price and size; None: neither a trade nor a quote of two
    sides, or not to be read.
    """
    if len(row) <= max(columns.values()) or row[columns["type"]] not in ("Trade", "Quote"):
        return None
    trade, ticker = row[columns["type"]] == "Trade", row[columns["ticker"]]
    words = [row[columns[name]] for name in (("price", "volume") if trade else ("ask", "ask_size"))]
    if not 1 <= len(ticker.encode()) <= 16 or not all(map(_NUMBER.fullmatch, words)):
        return None
    price, size = map(float, words)
    fine = math.isfinite(price) and math.isfinite(size) and size >= 0
    return (ticker, trade, price, size) if fine else None


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def _channel(ticker: str) -> int:
    hashed = 2166136261
    for byte in ticker.encode():
        hashed = (hashed ^ byte) * 16777619 % 2**32
    return hashed % CHANNELS
