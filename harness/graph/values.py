"""Limits of the numbers in a graph. The error for a value out of range is one line: the value's
name, the rule, the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import UserError

MAX_OPERATORS = 10**6  # of a graph; about 1 GB of Python objects
MAX_COST = 10**9  # FLOP a tuple: about a second on a slow core
MAX_BUSY_US = 1e6  # µs a tuple: a second
MAX_PAYLOAD = 64 * 2**20  # bytes a tuple
MAX_PORTS = 10**6  # of one operator
MAX_BARRIER = 1024  # inputs of a barrier, which keeps some tuples of each
MAX_TUPLES = 10**15  # that a burst or a window may span
MAX_BURSTS = 1000  # in the cycle of a work operator or source
MIN_RATE, MAX_RATE = 1e-6, 1e9  # tuples/s; the slowest sends one in twelve days
MIN_BURST_S, MAX_BURST_S = 1e-3, 1e6  # seconds of a burst of rate
MAX_KEYS = 10**9
MAX_THREADS = 1024  # scheduler threads
MAX_REPLICAS = 64  # of one operator
MAX_QUEUE_CAPACITY = 2**20  # tuples
MAX_BATCH = 32  # tuples, as in protocol.hpp
DEFAULT_THREADED_CAPACITY = 1000  # tuples, as the queues of IBM Streams 4.2


class GraphError(UserError):
    """A graph that cannot run. The message names the operator or port and the rule."""


def several_values(value: object) -> str:
    """Return what a user may want who gives several values of a parameter in one text, as the end
    of an error; "" for one value.
    """
    several = isinstance(value, str) and "," in value
    return "; several values are for millrace compare" if several else ""


def whole(what: str, value: object, low: int, high: int, unit: str) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise GraphError(
            f"{what} must be a whole number from {low} to {high} {unit}, not {shown(value)}"
        )


def real(
    what: str, value: object, low: float, high: float, unit: str, or_zero: bool = False
) -> float:
    """Return the number as a float. Raises GraphError if it is no number, NaN, or out of range."""
    fits = (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and (low <= value <= high or (or_zero and value == 0))
    )
    if not fits:
        raise GraphError(f"{what} must be from {low:g} to {high:g} {unit}, not {shown(value)}")
    return float(value)


def promise(name: str, stateless: object, keys: object) -> None:
    """Raise GraphError for a wrong number of keys, and for an operator that is both stateless and
    has keys.
    """
    whole(f"keys of operator {name!r}", keys, 0, MAX_KEYS, "keys")
    if stateless and keys:
        raise GraphError(f"operator {name!r}: stateless and keys exclude each other")


def pairs(what: str, bursts: object, pair: str) -> Iterator[tuple[int, tuple[object, object]]]:
    """Yield the bursts with their numbers. Raises GraphError if they are not pairs, or too many."""
    if not isinstance(bursts, list | tuple) or len(bursts) > MAX_BURSTS:
        raise GraphError(
            f"{what} must be a list of at most {MAX_BURSTS} pairs {pair}, not {shown(bursts)}"
        )
    for place, burst in enumerate(bursts):
        if not isinstance(burst, list | tuple) or len(burst) != 2:
            raise GraphError(f"{what} must be pairs {pair}, not {shown(burst)}")
        yield place, tuple(burst)


def shown(value: object) -> str:
    """Return a value for an error message: one line of at most 80 characters."""
    if isinstance(value, int) and value.bit_length() > 256:
        # Python refuses to write very long ones
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
