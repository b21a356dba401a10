"""VWAP in plain Python, one record after the other: what its graph must find. It shares the numbers
of columns with it.
"""

from __future__ import annotations

import math
from collections import deque

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
    for line in text.decode().split("\n")[1:]:
        if len(line.removesuffix("\r").encode()) > 212:
            continue
        row = line.removesuffix("\r").split(",")
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
            index = size * math.exp(vwap - price)
            entry = {"number": number, "vwap": vwap, "ask": price, "size": size, "index": index}
            found.append(entry | {"ticker": ticker, "channel": channel})
    return found


def _tick(row: list[str], columns: dict[str, int]) -> tuple[str, bool, float, float] | None:
    """Ticker, whether it is a trade, price and size; None: neither a trade nor a quote, or not to
    be read.
    """
    if len(row) <= max(columns.values()) or row[columns["type"]] not in ("Trade", "Quote"):
        return None
    trade, ticker = row[columns["type"]] == "Trade", row[columns["ticker"]]
    words = [row[columns[name]] for name in (("price", "volume") if trade else ("ask", "ask_size"))]
    if not 1 <= len(ticker.encode()) <= 16 or not all(_plain(word) for word in words):
        return None
    return ticker, trade, float(words[0]), float(words[1])


def _plain(word: str) -> bool:
    """A decimal number without a sign, an exponent or blanks."""
    whole, _, part = word.partition(".")
    return word.isascii() and (whole + part).isdigit()


def _channel(ticker: str) -> int:
    hashed = 2166136261
    for byte in ticker.encode():
        hashed = (hashed ^ byte) * 16777619 % 2**32
    return hashed % CHANNELS
