"""The operators of windows.py once more, in plain Python, slow and short: what the compiled ones
are checked against.

Each is called as a typed operator in Python is: with a port and a tuple, and `finish` at the end;
they return what is sent. They share nothing with the compiled ones but the schemas.
"""

from __future__ import annotations

import math
import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.graph.schema import Schema
from harness.operators.windows import From, Value, Window

Tuple = Mapping[str, Any]

CODES = {
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "time": "q",
    "boolean": "?",
    "float32": "f",
    "float64": "d",
}
CODES |= {"uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q"}


def bytes_of(kind: str, value: Any) -> bytes:
    """A value of a type of attribute, as it lies in memory."""
    if kind.startswith(("string", "bytes")):
        return value.encode() if isinstance(value, str) else value
    return struct.pack(f"<{CODES[kind]}", value)


def hash_of(key: bytes) -> int:
    """A hash of 64 bits: words multiplied and mixed, and MurmurHash3's finalizer (Appleby)."""
    word, times = 2**64 - 1, 0x9E3779B97F4A7C15
    found = len(key) * times & word
    whole = len(key) // 8 * 8
    for place in range(0, whole, 8):
        found = (found ^ int.from_bytes(key[place : place + 8], "little")) * times & word
        found ^= found >> 32
    if whole < len(key):
        found = (found ^ int.from_bytes(key[whole:], "little")) * times & word
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        found = (found ^ found >> 33) * factor & word
    return found ^ found >> 33


# -- sketches --------------------------------------------------------------------------------------


class CountMin:
    """Cormode and Muthukrishnan 2005; rows by two halves of a hash (Kirsch and Mitzenmacher
    2006).
    """

    def __init__(self, width: int, depth: int) -> None:
        self.rows = [[0] * width for _ in range(depth)]

    def add(self, key: bytes, weight: int = 1) -> int:
        """Add; what came of the key until now, or more."""
        hashed = hash_of(key)
        place, apart = hashed % 2**32, hashed >> 32 | 1
        found = []
        for number, row in enumerate(self.rows):
            cell = (place + number * apart) % 2**32 * len(row) >> 32
            row[cell] += weight
            found.append(row[cell])
        return min(found)


class SpaceSaving:
    """Metwally, Agrawal and El Abbadi 2005; of equal counters the one is taken over that was
    changed longest ago.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.time = capacity, 0
        self.counters: dict[
            Any, tuple[int, int, int]
        ] = {}  # by key: count, when it was changed, error

    def add(self, key: Any, weight: int = 1) -> None:
        """Add `weight` to what came of a key."""
        self.time += 1
        count, error = 0, 0
        if key in self.counters:
            count, _, error = self.counters[key]
        elif len(self.counters) == self.capacity:
            least = min(self.counters, key=lambda each: self.counters[each][:2])
            count = error = self.counters.pop(least)[0]
        self.counters[key] = count + weight, self.time, error

    def top(self, most: int) -> list[tuple[Any, int, int]]:
        """Keys, counts and errors, the highest count first."""
        order = sorted(
            self.counters, key=lambda each: (-self.counters[each][0], self.counters[each][1])
        )
        return [(key, self.counters[key][0], self.counters[key][2]) for key in order[:most]]


def hyperloglog_add(registers: list[int], hashed: int) -> None:
    """Flajolet et al. 2007, with a hash of 64 bits."""
    precision = len(registers).bit_length() - 1
    rest = hashed << precision & 2**64 - 1
    rank = 65 - rest.bit_length() if rest else 65 - precision
    place = hashed >> 64 - precision
    registers[place] = max(registers[place], rank)


def hyperloglog_estimate(registers: Sequence[int]) -> int:
    """About how many different hashes were added."""
    m = len(registers)
    alpha = {16: 0.673, 32: 0.697, 64: 0.709}.get(m, 0.7213 / (1 + 1.079 / m))
    total = 0.0
    for register in registers:
        total += 2.0**-register
    found, zeros = alpha * m * m / total, sum(register == 0 for register in registers)
    if found <= 2.5 * m and zeros:
        found = m * math.log(m / zeros)
    return int(found + 0.5)


# -- windows ---------------------------------------------------------------------------------------


class Aggregate:
    """As `windows.aggregate`."""

    def __init__(
        self, takes: Schema, window: Window, values: Mapping[str, Value], by: Sequence[str] = ()
    ) -> None:
        self.takes, self.window, self.values, self.by = takes, window, values, by
        self.pane = math.gcd(window.length, window.step)
        self.came: dict[Any, list[Tuple]] = defaultdict(list)  # by count
        # By time: time, key, tuple, and how far time had come before it.
        self.open: list[tuple[int, Any, Tuple, float]] = []
        self.passed = -math.inf
        self.late = 0

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        key = tuple(given[each] for each in self.by)
        if self.window.on is not None:
            yield from self._by_time(given[self.window.on], key, given)
            return
        self.came[key].append(given)
        count = len(self.came[key])
        if count % self.window.step == 0:
            begin = max(0, count - self.window.length)
            panes = [
                self.came[key][place : place + self.pane]
                for place in range(begin, count, self.pane)
            ]
            yield 0, self._result(key, begin, count, panes)

    def finish(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        yield from self._advance(math.inf)

    def _by_time(self, time: int, key: Any, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        length, step = self.window.length, self.window.step
        if time // step * step + length <= self.passed:
            self.late += 1
        else:
            self.open.append((time, key, given, self.passed))
        yield from self._advance(time - self.window.lateness)

    def _advance(self, time: float) -> Iterator[tuple[int, Tuple]]:
        length, step = self.window.length, self.window.step
        before, self.passed = self.passed, max(self.passed, time)
        begins = {
            begin
            for each, *_ in self.open
            for begin in range(each // step * step, each - length, -step)
            if before < begin + length <= self.passed
        }
        for begin in sorted(begins):
            panes: dict[Any, dict[int, list[Tuple]]] = {}
            # A tuple is in the windows that had not ended when it came.
            inside = [
                each
                for each in self.open
                if begin <= each[0] < begin + length and begin + length > each[3]
            ]
            for at, key, given, _ in sorted(inside, key=lambda each: each[0] // self.pane):
                panes.setdefault(key, {}).setdefault(at // self.pane, []).append(given)
            for key, lists in panes.items():
                yield 0, self._result(key, begin, begin + length, list(lists.values()))

    def _result(self, key: Any, begin: int, end: int, panes: list[list[Tuple]]) -> Tuple:
        out = {"begin": begin, "end": end, **dict(zip(self.by, key, strict=True))}
        for name, value in self.values.items():
            out[name] = self._value(value, panes)
        return out

    def _value(self, value: Value, panes: list[list[Tuple]]) -> Any:
        if value.does == "count":
            return sum(map(len, panes))
        given = [[each[value.attribute] for each in pane] for pane in panes]
        every = [each for pane in given for each in pane]
        kind = dict(self.takes.types)[value.attribute]
        match value.does:
            case "first":
                return every[0]
            case "last":
                return every[-1]
            case "distinct":
                registers = [0] * 2**value.precision
                for each in every:
                    hyperloglog_add(registers, hash_of(bytes_of(kind, each)))
                return hyperloglog_estimate(registers)
            case "least":
                return _best(every, lambda each, found: each < found)
            case "greatest":
                return _best(every, lambda each, found: each > found)
            case "mean":
                return _sum([_sum(map(float, pane)) for pane in given]) / len(every)
            case _ if kind.startswith("float"):
                return _sum([_sum(pane) for pane in given])
            case _:
                whole = sum(every) % 2**64
                return (
                    whole if kind.startswith(("u", "boolean")) or whole < 2**63 else whole - 2**64
                )


def _sum(numbers: Any) -> float:
    """One after the other, as a processor adds them: `sum` may do better."""
    total = None
    for number in numbers:
        total = (0.0 if total is None else total) + number
    return total


def _best(numbers: list[Any], better: Any) -> Any:
    found = numbers[0]
    for number in numbers[1:]:
        found = number if better(number, found) else found
    return found


# -- joins and the rest ----------------------------------------------------------------------------


class Join:
    """As `windows.join`; it forgets nothing."""

    def __init__(
        self,
        within: int,
        values: Mapping[str, From],
        by: Sequence[tuple[str, str]],
        times: tuple[str, str] = ("time", "time"),
    ) -> None:
        self.within, self.values, self.by, self.times = within, values, by, times
        self.sides: tuple[list[Tuple], list[Tuple]] = ([], [])

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple of a port."""
        self.sides[port].append(given)
        for other in self.sides[1 - port]:
            pair = (given, other) if port == 0 else (other, given)
            near = abs(pair[0][self.times[0]] - pair[1][self.times[1]]) < self.within
            if near and all(pair[0][one] == pair[1][two] for one, two in self.by):
                yield (
                    0,
                    {out: pair[value.port][value.attribute] for out, value in self.values.items()},
                )


class TopK:
    """As `windows.top_k`."""

    def __init__(self, window: Window, k: int, by: Sequence[str], counters: int) -> None:
        self.window, self.k, self.by, self.capacity = window, k, by, counters
        self.begin: int | None = None
        self.counters = SpaceSaving(counters)

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        begin = given[self.window.on] // self.window.length * self.window.length
        if self.begin is not None and begin < self.begin:
            return
        if begin != self.begin:
            yield from self.finish()
        self.begin = begin
        self.counters.add(tuple(given[each] for each in self.by))

    def finish(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        for rank, (key, count, error) in enumerate(self.counters.top(self.k), 1):
            out = {
                "begin": self.begin,
                "end": self.begin + self.window.length,
                **dict(zip(self.by, key, strict=True)),
            }
            yield 0, out | {"rank": rank, "count": count, "error": error}
        self.counters = SpaceSaving(self.capacity)


class Frequencies:
    """As `windows.frequencies`; of keys of one attribute."""

    def __init__(self, takes: Schema, window: Window, by: str, width: int, depth: int) -> None:
        self.kind, self.window, self.by, self.shape = (
            dict(takes.types)[by],
            window,
            by,
            (width, depth),
        )
        self.index, self.counts = -math.inf, CountMin(width, depth)

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        index = given[self.window.on] // self.window.length
        if index > self.index:
            self.index, self.counts = index, CountMin(*self.shape)
        yield 0, {**given, "frequency": self.counts.add(bytes_of(self.kind, given[self.by]))}
