"""WikiWordCount (M19 Figure 2): changes -> tokenise x5 -> count x10 -> published.

17 operators. 16 threaded ports if they are placed by hand, which is ours: before each tokeniser, each counter, and the sink.
The input is generated, or a file of recent changes, a line of JSON each, plain or gzip. It is gone through again and again,
with times that go on, or `cycles` times.
"""

from __future__ import annotations

from harness.graph import MAX_TUPLES, Graph
from topologies import Parameter, Topology

ENDLESS, GENERATED, HAND, NONE = "endless", "generated", "hand", "none"
MOST_RECORDS = 10**7


def build(records: int, input: str, cycles: int | str, placement: str, seed: int) -> Graph:
    """The graph; `graph.counts()` tells what it has read and found when a run is over."""
    from harness.applications.wiki_word_count import WikiWordCount, input_of  # late: compiled, and others need it not

    text, truncated = input_of(records, seed, "" if input == GENERATED else input)
    return WikiWordCount(text, truncated, 0 if cycles == ENDLESS else cycles, placement == HAND).graph


TOPOLOGY = Topology(
    name="wiki-word-count",
    summary="words in the changes of Wikipedia, by sliding windows: an application on real data",
    source="M19 §2, Figure 2",
    takes=(
        Parameter("records", 20_000, "changes", 1, MOST_RECORDS, "of the generated input"),
        Parameter(
            "input", GENERATED, "", None, None, "a file of changes in lines of JSON, plain or gzip", (GENERATED,), path=True
        ),
        Parameter("cycles", ENDLESS, "times", 1, MAX_TUPLES, "that the input is gone through", (ENDLESS,)),
        Parameter("placement", NONE, "", None, None, "of threaded ports", (NONE, HAND)),
    ),
    size=lambda **_: 17,
    build=build,
)
