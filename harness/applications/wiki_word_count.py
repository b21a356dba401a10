"""WikiWordCount (M19 Figure 2): the frequency of each word in the changes of Wikipedia, in sliding
windows of 60 s by 1 s.

17 operators, as in the paper: a source, 5 tokenisers, 10 counters by word, and a sink. The paper's
tokenisers split whole events; ours split the title and the comment, since the rest is equal in
every event. native/wiki_word_count.hpp describes each operator.
"""

from __future__ import annotations

import json
import random
from functools import partial
from itertools import accumulate
from pathlib import Path

from harness.applications import wiki
from harness.applications.given_input import (
    StreamedInput,
    checked_stream,
    read_or_generate,
    source_of,
    truncated_inputs,
)
from harness.connectors import EventSource, WebSocketSink
from harness.connectors.received import Received
from harness.errors import UserError
from harness.graph import Graph
from harness.graph.schema import Schema
from harness.operators.compiled import collect, kept

SECOND = 10**9  # ns
TOKENISERS, COUNTERS = 5, 10  # M19 Figure 2
WINDOW = 60  # s
PAGE = Path(__file__).with_name("histogram.html")

MOST_BYTES = 2028  # of a change that lies in a tuple
MOST_LINE = 65_536  # bytes of a change; a longer one is broken

RULE = (10 * SECOND, 3600 * SECOND)
"""Lateness of changes, and the jump that a change may make ahead [ns]; guesses."""

CHANGE = Schema("change", {"number": "uint64", "shift": "int64", "text": f"string[{MOST_BYTES}]"})
WORD = Schema("word", {"time": "time", "tokeniser": "uint32", "word": "string[56]"})
WORD_COUNT = Schema("word_count", {"time": "time", "count": "uint32", "word": "string[56]"})
SCHEMAS = (CHANGE, WORD, WORD_COUNT)

COSTS = {"changes": 300, "tokenise": 1500, "count": 150, "sink": 60}
"""Approximate cost of a tuple [FLOP], for the size of batches."""


# -- input -----------------------------------------------------------------------------------------


def input_of(records: int, seed: int, path: str) -> tuple[bytes, bool]:
    """Return recent changes, a line of JSON each: generated, or of the file `path`; and True if
    that is truncated.

    Raises UserError, in one line, for a file without any change.
    """
    return read_or_generate(path, lambda: generate(records, seed), _check)


def stream_of(path: str) -> StreamedInput:
    """Return recent changes that are read once, as a stream. Raises UserError for a file without
    any change.
    """
    return checked_stream(path, _check)


def _check(path: str, head: bytes) -> None:
    if wiki.changes(head, 1, 1).counted(3) == 0:
        rule = (
            "must be recent changes, a line of JSON each (timestamp, title, comment); none of "
            "its first MiB is one"
        )
        raise UserError(f"{path}: {rule}")


A_SECOND = 30  # changes, about (a guess, not measured)
WIKIS = (
    "wikidatawiki",
    "commonswiki",
    *(f"{code}wiki" for code in ("en", "de", "fr", "ru", "ar", "cs", "es", "fa")),
)
WIKI_SHARES = (0.19, 0.16, 0.13, 0.1, 0.09, 0.08, 0.07, 0.07, 0.06, 0.05)
"""The two largest have a tenth to a fifth of the changes each, as in the real stream; those of the
others are guesses."""
WORDS = 50_000
SLOPE = 1.0  # of the frequencies of words, by rank
SYLLABLES = (
    "ka",
    "ro",
    "mi",
    "ten",
    "sul",
    "ver",
    "an",
    "dor",
    "pe",
    "lin",
    "gu",
    "sha",
    "bor",
    "né",
    "ост",
    "ли",
    "京",
)


def generate(records: int, seed: int) -> bytes:
    """Return events like those of the real stream, by its shares of wikis, the frequencies of its
    words, and its sizes.
    """
    draw = random.Random(seed)
    words = ["".join(draw.choices(SYLLABLES, k=draw.randint(1, 5))) for _ in range(WORDS)]
    weights = list(accumulate(rank**-SLOPE for rank in range(1, WORDS + 1)))
    shares = list(accumulate(WIKI_SHARES))
    second, chance, lines = 1_700_000_000, draw.random, []
    for number in range(records):
        second += chance() < 1 / A_SECOND
        picked = draw.choices(words, cum_weights=weights, k=draw.randint(4, 20))
        place = draw.choices(WIKIS, cum_weights=shares)[0]
        title = " ".join(picked[: draw.randint(1, 3)]).capitalize()
        comment = " ".join(picked[3:])
        host = "www.wikidata.org" if place == "wikidatawiki" else f"{place[:-4]}.wikipedia.org"
        uri = f"https://{host}/wiki/{title.replace(' ', '_')}"
        size = draw.randrange(50, 90_000)
        event = {
            "$schema": "/mediawiki/recentchange/1.0.0",
            "meta": {
                "uri": uri,
                "request_id": f"{draw.getrandbits(128):032x}",
                "id": f"{draw.getrandbits(128):032x}",
                "domain": host,
                "stream": "mediawiki.recentchange",
                "topic": "eqiad.mediawiki.recentchange",
                "partition": 0,
                "offset": 4_800_000_000 + number,
            },
            "id": 1_900_000_000 + number,
            "type": "edit" if chance() < 0.7 else "categorize",
            "namespace": 0 if chance() < 0.7 else 14,
            "title": title,
            "title_url": uri,
            "comment": comment,
            "timestamp": second,
            "user": draw.choice(words).capitalize(),
            "bot": chance() < 0.3,
            "minor": chance() < 0.2,
            "length": {"old": size, "new": size + draw.randrange(-40, 400)},
            "revision": {"old": 1_100_000_000 + number, "new": 1_100_000_001 + number},
            "server_url": f"https://{host}",
            "server_name": host,
            "wiki": place,
            "parsedcomment": comment,
        }
        lines.append(json.dumps(event, ensure_ascii=False, separators=(",", ":")))
    return "\n".join([*lines, ""]).encode()


def change_of(record: bytes) -> dict[str, object]:
    """Return the tuple of a record from outside; of a long one only what is needed. Raises
    ValueError if that is too long, or cannot be read.
    """
    if len(record) > MOST_BYTES:
        event = json.loads(record)
        if not isinstance(event, dict):
            raise ValueError("a change must be an object")
        needed = {name: event.get(name) for name in ("timestamp", "title", "comment")}
        record = json.dumps(needed, ensure_ascii=False, separators=(",", ":")).encode()
    if len(record) > MOST_BYTES:
        raise ValueError(f"a change must need at most {MOST_BYTES} bytes, not {len(record)}")
    return {"number": 0, "shift": 0, "text": record}


# -- graph -----------------------------------------------------------------------------------------


class WikiWordCount:
    """The graph, and the counters of its operators; the sink keeps the first `keep` counts, or
    publishes all on `port`.
    """

    def __init__(
        self,
        text: bytes | StreamedInput,
        truncated: bool,
        cycles: int,
        by_hand: bool,
        keep: int = 0,
        port: int | None = None,
        rule: tuple[int, int] = RULE,
    ) -> None:
        self.received: Received | None = None
        self.lines, self.step = source_of(
            text,
            truncated,
            partial(wiki.changes, text, TOKENISERS, cycles),
            partial(wiki.changes_in_pieces, TOKENISERS),
        )
        self._build(self.step, by_hand, keep, port, rule)

    @classmethod
    def live(
        cls, url: str, by_hand: bool, port: int | None, keep: int = 0, rule: tuple[int, int] = RULE
    ) -> WikiWordCount:
        """Return the application on a stream of server-sent events."""
        made = cls.__new__(cls)
        made.received = EventSource(url, CHANGE, change_of, TOKENISERS)
        made._build(made.received, by_hand, keep, port, rule)
        return made

    def _build(
        self, changes: object, by_hand: bool, keep: int, port: int | None, rule: tuple[int, int]
    ) -> None:
        self.graph = graph = Graph("wiki-word-count", payload=0)
        graph.counts = self.counts
        self.tokenisers = [wiki.tokenise(number, COUNTERS, rule) for number in range(TOKENISERS)]
        self.sink = collect(WORD_COUNT, keep)
        self.web = (
            None if port is None else WebSocketSink(port, WORD_COUNT, page=PAGE.read_text("utf-8"))
        )
        source = graph.typed_source(
            "changes", changes, [CHANGE] * TOKENISERS, cost=COSTS["changes"]
        )
        sink = graph.typed_sink("published", self.web or self.sink.process, WORD_COUNT)
        counters = [
            graph.typed(
                f"count{number}",
                wiki.count_words(TOKENISERS).process,
                WORD,
                WORD_COUNT,
                cost=COSTS["count"],
            )
            for number in range(COUNTERS)
        ]
        for number, each in enumerate(self.tokenisers):
            gives = [WORD] * COUNTERS
            tokeniser = graph.typed(
                f"tokenise{number}",
                each.process,
                CHANGE,
                gives,
                finish=each.finish,
                cost=COSTS["tokenise"],
            )
            graph.connect(source.output(number), tokeniser)
            for port, counter in enumerate(counters):
                graph.connect(tokeniser.output(port), counter)
            if by_hand:
                graph.threaded_port(tokeniser)
        for counter in counters:
            graph.connect(counter, sink)
        if by_hand:
            for operator in (*counters, sink):
                graph.threaded_port(operator)

    def counts(self) -> dict[str, int]:
        """Return the number of records read, broken, late and ahead of time, of words, and of
        results.
        """
        broken = sum(each.counted(0) for each in self.tokenisers)
        words = {
            "late": sum(each.counted(3) for each in self.tokenisers),
            "ahead of time": sum(each.counted(4) for each in self.tokenisers),
            "words": sum(each.counted(1) for each in self.tokenisers),
            "long words": sum(each.counted(2) for each in self.tokenisers),
        }
        words |= {"published": self.sink.counted(0)} if self.web is None else self.web.counts()
        if self.received is not None:
            read = self.received.counts()
            return read | {"broken": broken + read["broken"]} | words
        records, too_long = self.lines.counted(0), self.lines.counted(1)
        read = {
            "records": records + too_long,
            "broken": broken + too_long,
            "truncated": truncated_inputs(self.step),
        }
        return read | words

    def results(self) -> list[dict[str, object]]:
        """Return the counts that the sink has kept, in the order of arrival."""
        return kept(self.sink, WORD_COUNT)
