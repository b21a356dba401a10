"""WordCount: how often each word is in a text.

DSPBench (Bordin et al., IEEE Access 2020) splits sentences at what is no letter, digit or
underscore, and counts. Here the counts are sent when the text has ended.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from harness.applications.benchmark_job import BenchmarkJob, FileOfLines, Generated
from harness.graph import Graph, Operator
from harness.graph.functions.c_signature import PROCESS
from harness.graph.schema import Schema
from harness.operators.ready import each
from harness.operators.windows import aggregate, by_time, count

MOST_LINE = 4000  # bytes; a longer line is broken
MOST_WORD = 60  # bytes; a longer word is cut

# The time of a line is the number of times that the text was gone through before.
SENTENCE = Schema("sentence", {"time": "time", "text": "string[124]"})
LINE = Schema("line", {"time": "time", "text": f"string[{MOST_LINE}]"})
WORD = Schema("word", {"time": "time", "text": f"string[{MOST_WORD}]"})
COUNT = Schema("count", {"word": f"string[{MOST_WORD}]", "count": "uint64"})


@cache
def splitter(takes: Schema) -> object:
    """Return the compiled function that sends each word of a line."""
    # late: most commands need no compiler
    import numba

    from harness.runtime.numba_functions import numba_room_and_send

    room, send = numba_room_and_send()
    line, word = takes.dtype, WORD.dtype

    @numba.cfunc(PROCESS.numba)
    def split(context, port, tuple_, state):
        given = numba.carray(tuple_, 1, line)[0]
        length = 0
        for place in range(given.text.length + 1):
            letter = given.text.text[place] if place < given.text.length else 32
            of_word = (letter >= 128 or 48 <= letter <= 57 or letter == 95) or (
                65 <= letter & 0xDF <= 90
            )
            if of_word:
                length += 1
            elif length > 0:
                out = numba.carray(room(context, 0), 1, word)[0]
                out.time = given.time
                out.text.length = min(length, MOST_WORD)
                for at in range(MOST_WORD):  # what is behind the word is zero
                    of_text = given.text.text[place - length + at] if at < length else 0
                    out.text.text[at] = of_text
                send(context, 0)
                length = 0
        return 0

    return split


def without_times(counted: Any, out: Any) -> bool:
    """Write a word and how often it is."""
    out.word, out.count = counted.text, counted.count
    return True


def steps(graph: Graph, lines: Operator) -> Operator:
    """Add the splitter and the counter."""
    (takes,) = lines.typed.gives
    split = graph.typed("split", splitter(takes), takes, WORD)
    counts = aggregate(graph, "count", WORD, by_time(1), {"count": count()}, by="text")
    words = each(graph, "words", without_times, counts.typed.gives[0], COUNT)
    graph.chain(lines, split, counts, words)
    return words


# -- input -----------------------------------------------------------------------------------------

WORDS = 10_000
WORDS_OF_A_SENTENCE = 10


def sentences(records: int, seed: int) -> list[str]:
    """Return sentences of ten words, whose frequencies follow Zipf's law."""
    draw = random.Random(seed)
    syllables = [first + last for first in "bdfgklmnprst" for last in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(WORDS)]
    weights = [1 / rank for rank in range(1, WORDS + 1)]
    drawn = draw.choices(words, weights, k=records * WORDS_OF_A_SENTENCE)
    return [
        " ".join(drawn[begin : begin + WORDS_OF_A_SENTENCE])
        for begin in range(0, len(drawn), WORDS_OF_A_SENTENCE)
    ]


def parse(line: bytes) -> dict[str, Any]:
    """Return a line of a text. Raises ValueError for one that is too long."""
    if len(line) > MOST_LINE:
        raise ValueError("too long")
    return {"time": 0, "text": line}


def job(path: str, records: int, seed: int, cycles: int | None, keep: int = 0) -> BenchmarkJob:
    """Return the job: over the file `path`, or over generated sentences if it is empty."""
    if path:
        return BenchmarkJob("word-count", FileOfLines(LINE, path, parse, 1), steps, cycles, keep)
    tuples = ((0, {"time": 0, "text": text}) for text in sentences(records, seed))
    return BenchmarkJob("word-count", Generated((SENTENCE,), tuples, 1), steps, cycles, keep)
