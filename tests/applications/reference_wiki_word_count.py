"""WikiWordCount in plain Python, one record after the other: what its graph must publish. It shares
no code with it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import accumulate

from harness.applications.wiki_word_count import RULE, SECOND, TOKENISERS, WINDOW
from tests.operators import plain

DEEPEST = 64  # arrays and objects within each other
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def reference(text: bytes) -> Counter[tuple[int, str, int]]:
    """Return the published counts of a text: end of a window [s], word, and number in it.

    A plain program, by which the graph is checked: it shares nothing with it.
    """
    streams: list[list[tuple[int, list[str]]]] = [[] for _ in range(TOKENISERS)]
    number = 0
    for line in text.split(b"\n")[: -1 if text.endswith(b"\n") else None]:
        line = line.removesuffix(b"\r")
        if len(line) > 65_536:
            continue
        event = _event(line)
        if event is not None:
            streams[number % TOKENISERS].append(event)
        number += 1
    lateness, jump = (each // SECOND for each in RULE)
    seconds: dict[int, Counter[str]] = {}
    for stream in streams:
        times = [time for time, _ in stream]
        begin = [min(times[: plain.WITNESSES], default=0)] * plain.WITNESSES
        for place, (time, words) in enumerate(stream):
            if place > 0 and time < plain.reached(begin + times[:place], jump) - lateness:
                continue
            seconds.setdefault(time, Counter()).update(
                word for word in words if 1 <= len(word.encode()) <= 56
            )
    ends = {second + after for second in seconds for after in range(1, WINDOW + 1)}
    found: Counter[tuple[int, str, int]] = Counter()
    for end in ends:
        total: Counter[str] = Counter()
        for second in range(end - WINDOW, end):
            total.update(seconds.get(second, ()))
        found.update((end, word, count) for word, count in total.items())
    return found


def _event(line: bytes) -> tuple[int, list[str]] | None:
    """Time [s] and words of a change; None: it cannot be read."""
    try:
        text = line.decode()
        event = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if not isinstance(event, dict) or _depth(text) > DEEPEST:
        return None
    time, texts = event.get("timestamp"), [event.get("title"), event.get("comment", 0)]
    texts[1] = "" if texts[1] is None else texts[1]
    if (
        type(time) is not int
        or not 0 <= time < 2**33
        or not all(isinstance(each, str) for each in texts)
    ):
        return None
    whole = (each.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for each in texts)
    return time, [word for each in whole for word in each.split(" ")]


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


def _depth(text: str) -> int:
    depths = accumulate((each in "{[") - (each in "]}") for each in STRING.sub("", text))
    return max(depths, default=0)
