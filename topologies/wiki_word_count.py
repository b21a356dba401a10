"""WikiWordCount (M19 Figure 2): changes -> tokenise x5 -> count x10 -> published.

17 operators. 16 threaded ports if they are placed by hand (our placement): before each tokeniser,
each counter, and the sink. The input is generated, or a file of recent changes, a line of JSON
each, plain or gzip. It is repeated, with times that go on, without end or `cycles` times. Or it is
live: standard input, or a stream of server-sent events. With a `port` the sink publishes on a web
socket, and serves a page.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import Parameter, Topology, choice
from topologies.inputs import (
    CYCLES,
    ENDLESS,
    GENERATED,
    HAND,
    NONE,
    ONCE,
    PLACEMENT,
    file_of,
    given,
)

MOST_RECORDS = 10**7


def build(
    records: int,
    input: str,
    url: str,
    port: int | str,
    cycles: int | str,
    lateness: int,
    jump: int,
    placement: str,
    seed: int,
) -> Graph:
    """Return the graph; `graph.counts()` returns the numbers of records and results when a run is
    over.
    """
    # late: it is compiled, and other topologies do not need it
    from harness.applications import wiki_word_count as application

    by_hand, published = placement == HAND, None if port == NONE else port
    rule = lateness * application.SECOND, jump * application.SECOND
    if url != NONE:
        return application.WikiWordCount.live(url, by_hand, published, rule=rule).graph
    text, truncated, times = given(
        input, cycles, records, seed, application.input_of, application.stream_of
    )
    return application.WikiWordCount(
        text, truncated, times, by_hand, port=published, rule=rule
    ).graph


def wrong(input: str, url: str, cycles: int | str, **_: object) -> str | None:
    """Return the broken rule if there are two inputs, or a live one must be repeated; else None."""
    if url != NONE and input != GENERATED:
        return "url must be none where input is given"
    if url != NONE and cycles not in (ENDLESS, ONCE):
        return f"cycles must be endless or once where url is given, not {cycles}"
    return None


TOPOLOGY = Topology(
    name="wiki-word-count",
    summary="words in the changes of Wikipedia, by sliding windows: an application on real data",
    source="M19 §2, Figure 2",
    takes=(
        Parameter("records", 20_000, "changes", 1, MOST_RECORDS, "of the generated input"),
        file_of("changes in lines of JSON"),
        choice("url", "of a stream of server-sent events to read instead", NONE, url=True),
        Parameter(
            "port", NONE, "", 1, 65535, "of a web socket and a page that show the result", (NONE,)
        ),
        CYCLES,
        Parameter("lateness", 10, "s", 0, 10**9, "of changes"),
        Parameter("jump", 3600, "s", 0, 10**9, "ahead that one change may make"),
        PLACEMENT,
    ),
    size=lambda **_: 17,
    build=build,
    wrong=wrong,
)
