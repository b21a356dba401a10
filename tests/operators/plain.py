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


# -- time ------------------------------------------------------------------------------------------

WITNESSES = 5
LONGEST = 44 * 10**17
"""Times are within this [ns] of 1970; others are none."""


def reached(times: Sequence[int], jump: int) -> int:
    """Return the time that a stream has reached with these times.

    That is the greatest time that was at most `jump` ahead when it came. If five in a row are
    further ahead, it is the least of these. It begins at the least of the first five.
    """
    found = min(times[:WITNESSES])
    for place, time in enumerate(times):
        if time <= found + jump:
            found = max(found, time)
        elif place + 1 >= WITNESSES:
            found = max(found, min(times[place + 1 - WITNESSES : place + 1]))
    return found


class Timed:
    """Base of operators on streams whose tuples have times: `times` are the attributes, a port
    each. They are passed on to `take` when five of their port have come.
    """

    def __init__(self, lateness: int, jump: int, *times: str) -> None:
        self.lateness, self.jump, self.attributes = lateness, jump, times
        self.streams: list[list[Tuple]] = [[] for _ in times]
        self.taken = [0] * len(times)  # of each stream
        self.late = self.without_time = 0

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        if abs(given[self.attributes[port]]) > LONGEST:
            self.without_time += 1
            return
        self.streams[port].append(given)
        if len(self.streams[port]) >= WITNESSES:
            yield from self._take_all(port)

    def finish(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        for port in range(len(self.streams)):
            yield from self._take_all(port)
        yield from self.end()

    def _take_all(self, port: int) -> Iterator[tuple[int, Tuple]]:
        while self.taken[port] < len(self.streams[port]):
            self.taken[port] += 1
            yield from self.take(port, self.streams[port][self.taken[port] - 1])

    def passed(self, port: int, before: int = 0) -> float:
        """Time that nothing earlier is waited for, after the tuples that were taken of a port less
        the last `before`.
        """
        taken = self.taken[port] - before
        if taken <= 0:
            return -math.inf
        times = [each[self.attributes[port]] for each in self.streams[port]]
        if taken < WITNESSES:  # the first five say together where it begins
            first = min(times[:WITNESSES])
            return reached([first] * WITNESSES + times[:taken], self.jump) - self.lateness
        return reached(times[:taken], self.jump) - self.lateness

    def take(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        raise NotImplementedError

    def end(self) -> Iterator[tuple[int, Tuple]]:
        yield from ()


def normal(value: Any) -> Any:
    """A value of a key: equal ones are one, -0.0 and 0.0 too, and all NaN."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return value


# -- windows ---------------------------------------------------------------------------------------


class Aggregate(Timed):
    """Plain form of `windows.aggregate`."""

    def __init__(
        self, takes: Schema, window: Window, values: Mapping[str, Value], by: Sequence[str] = ()
    ) -> None:
        super().__init__(window.lateness, window.jump, window.on)
        self.takes, self.window, self.values, self.by = takes, window, values, by
        self.pane = math.gcd(window.length, window.step)
        self.came: dict[Any, list[Tuple]] = defaultdict(list)  # by count
        # By time: time, key, tuple, and how far time had come before it.
        self.open: list[tuple[int, Any, Tuple, float]] = []
        self.before = -math.inf
        # Sessions by number: key, begin, last, tuples.
        self.sessions: dict[int, tuple[Any, int, int, list[Tuple]]] = {}
        self.begun = 0

    def __call__(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        if self.window.on is not None:
            yield from super().__call__(port, given)
            return
        key = self._key(given)
        self.came[key].append(given)
        count = len(self.came[key])
        if count % self.window.step == 0:
            begin = max(0, count - self.window.length)
            panes = [
                self.came[key][place : place + self.pane]
                for place in range(begin, count, self.pane)
            ]
            yield 0, self._result(begin, count, panes)

    def _key(self, given: Tuple) -> Any:
        return tuple(normal(given[each]) for each in self.by)

    def take(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple of a stream with times."""
        time, key = given[self.window.on], self._key(given)
        before = self.passed(0, before=1)
        if self.window.session:
            self._join_session(key, time, given, before)
        elif time // self.window.step * self.window.step + self.window.length <= before:
            self.late += 1
        else:
            self.open.append((time, key, given, before))
        yield from self._advance(self.passed(0))

    def end(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        if self.window.on is not None:
            yield from self._advance(math.inf)

    def _join_session(self, key: Any, time: int, given: Tuple, before: float) -> None:
        gap = self.window.length
        near = sorted(
            (
                number
                for number, (other, begin, last, _) in self.sessions.items()
                if other == key and begin - gap < time < last + gap
            ),
            key=lambda number: self.sessions[number][1],
        )
        if not near and time + gap <= before:
            self.late += 1
            return
        if not near:
            near, self.begun = [self.begun], self.begun + 1
            self.sessions[near[0]] = (key, time, time, [])
        own = [self.sessions.pop(number) for number in near]
        tuples = own[0][3] + [given] + (own[1][3] if len(own) > 1 else [])
        times = [time, *(each for _, begin, last, _ in own for each in (begin, last))]
        self.sessions[near[0]] = (key, min(times), max(times), tuples)

    def _advance(self, time: float) -> Iterator[tuple[int, Tuple]]:
        length, step = self.window.length, self.window.step
        before, self.before = self.before, max(self.before, time)
        ended = sorted(
            (last + length, number)
            for number, (_, _, last, _) in self.sessions.items()
            if last + length <= self.before
        )
        for end, number in ended:
            _, begin, _, tuples = self.sessions.pop(number)
            yield 0, self._result(begin, end, [tuples])
        begins = {
            begin
            for each, *_ in self.open
            for begin in range(each // step * step, each - length, -step)
            if before < begin + length <= self.before
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
            for lists in panes.values():
                yield 0, self._result(begin, begin + length, list(lists.values()))

    def _result(self, begin: int, end: int, panes: list[list[Tuple]]) -> Tuple:
        out = {"begin": begin, "end": end} | {each: panes[0][0][each] for each in self.by}
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
                    value = math.nan if normal(each) == "NaN" else normal(each)
                    hyperloglog_add(registers, hash_of(bytes_of(kind, value)))
                return hyperloglog_estimate(registers)
            case "least":
                return _extreme(every, min, -0.0)
            case "greatest":
                return _extreme(every, max, 0.0)
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


def _extreme(numbers: list[Any], best: Any, zero: float) -> Any:
    """The least or greatest; NaN if one is NaN; of zeros `zero`, if it is there."""
    if any(number != number for number in numbers):
        return math.nan
    found = best(numbers)
    zeros = [str(number) for number in numbers if number == 0]
    return zero if isinstance(found, float) and str(zero) in zeros and found == 0 else found


# -- joins and the rest ----------------------------------------------------------------------------


class Join(Timed):
    """Plain form of `windows.join`; it forgets nothing, and says at the end which tuples found no
    partner.
    """

    def __init__(
        self,
        within: int,
        values: Mapping[str, From],
        by: Sequence[tuple[str, str]],
        times: tuple[str, str] = ("time", "time"),
        lateness: int = 0,
        jump: int = 2**60,
        outer: str | None = None,
    ) -> None:
        super().__init__(lateness, jump, *times)
        self.within, self.values, self.by, self.outer = within, values, by, outer
        self.sides: tuple[list[Tuple], list[Tuple]] = ([], [])

    def take(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple of a port."""
        if given[self.attributes[port]] < self.passed(port, before=1):
            self.late += 1
        else:
            self.sides[port].append(given)
        yield from ()

    def end(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        paired: tuple[set[int], set[int]] = (set(), set())
        for i, one in enumerate(self.sides[0]):
            for j, other in enumerate(self.sides[1]):
                near = abs(one[self.attributes[0]] - other[self.attributes[1]]) < self.within
                if near and all(normal(one[a]) == normal(other[b]) for a, b in self.by):
                    paired[0].add(i)
                    paired[1].add(j)
                    yield 0, self._out((one, other))
        for port, name in enumerate(("left", "right")):
            for i, each in enumerate(self.sides[port]):
                if self.outer in (name, "both") and i not in paired[port]:
                    yield 0, self._out((each, None) if port == 0 else (None, each))

    def _out(self, pair: tuple[Tuple | None, Tuple | None]) -> Tuple:
        out = {}
        for name, value in self.values.items():
            side = pair[value.port]
            out[name] = None if side is None else side[value.attribute]
        if self.outer is not None:
            out |= {"has_left": pair[0] is not None, "has_right": pair[1] is not None}
        return out


class TopK(Timed):
    """Plain form of `windows.top_k`."""

    def __init__(self, window: Window, k: int, by: Sequence[str], counters: int) -> None:
        super().__init__(window.lateness, window.jump, window.on)
        self.window, self.k, self.by, self.capacity = window, k, by, counters
        self.windows: dict[int, SpaceSaving] = {}  # by their begin

    def take(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        length, step, time = self.window.length, self.window.step, given[self.window.on]
        begins = [
            begin
            for begin in range(time // step * step, time - length, -step)
            if begin + length > self.passed(0, before=1)
        ]
        self.late += not begins
        for begin in begins:
            self.windows.setdefault(begin, SpaceSaving(self.capacity)).add(
                tuple(given[each] for each in self.by)
            )
        yield from self._until(self.passed(0))

    def end(self) -> Iterator[tuple[int, Tuple]]:
        """The end of all streams."""
        yield from self._until(math.inf)

    def _until(self, time: float) -> Iterator[tuple[int, Tuple]]:
        for begin in sorted(self.windows):
            end = begin + self.window.length
            if end > time:
                continue
            found = self.windows.pop(begin)
            for rank, (key, count, error) in enumerate(found.top(self.k), 1):
                out = {"begin": begin, "end": end, **dict(zip(self.by, key, strict=True))}
                yield 0, out | {"rank": rank, "count": count, "error": error}


class Frequencies(Timed):
    """Plain form of `windows.frequencies`, for keys of one attribute."""

    def __init__(self, takes: Schema, window: Window, by: str, width: int, depth: int) -> None:
        super().__init__(window.lateness, window.jump, window.on)
        self.kind, self.window, self.by = dict(takes.types)[by], window, by
        self.counts: dict[int, CountMin] = defaultdict(lambda: CountMin(width, depth))

    def take(self, port: int, given: Tuple) -> Iterator[tuple[int, Tuple]]:
        """One tuple."""
        index = given[self.window.on] // self.window.length
        if (index + 1) * self.window.length <= self.passed(0, before=1):
            self.late += 1
            return
        key = bytes_of(self.kind, given[self.by])
        yield 0, {**given, "frequency": self.counts[index].add(key)}
