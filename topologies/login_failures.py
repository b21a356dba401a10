"""LoginFailures (P17 Figure 1): failed logins in a system log; in the larger form suspects and
break-ins as well.

  figure   14 operators: lines -> parse x7 -> failures only -> failure x4 -> failures; 13 threaded
           ports by hand
  large    27 operators: the order of lines restored, suspects by three windows, break-ins by a
           join; 9 threaded ports by hand

The input is generated, or a file of real lines, plain or gzip. It is repeated, with times that go
on, without end or `cycles` times.
"""

from __future__ import annotations

from harness.graph import Graph
from topologies import Parameter, Topology, choice
from topologies.inputs import CYCLES, HAND, PLACEMENT, file_of, given

FIGURE, LARGE = "figure", "large"
OPERATORS = {FIGURE: 14, LARGE: 27}
MOST_RECORDS = 10**8


def build(
    form: str,
    records: int,
    input: str,
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
    from harness.applications.login_failures import FORMS, SECOND, input_of, stream_of

    rule = lateness * SECOND, jump * SECOND
    text, truncated, times = given(input, cycles, records, seed, input_of, stream_of)
    return FORMS[form](text, truncated, times, placement == HAND, rule=rule).graph


TOPOLOGY = Topology(
    name="login-failures",
    summary="failed logins in a system log: an application on real data",
    source="P17 §2.1, Figure 1",
    takes=(
        choice("form", "the paper's figure, or the larger one with break-ins", FIGURE, LARGE),
        Parameter("records", 100_000, "lines", 1, MOST_RECORDS, "of the generated input"),
        file_of("a file of lines to read instead"),
        CYCLES,
        Parameter("lateness", 3600, "s", 0, 10**9, "of lines, for break-ins"),
        Parameter("jump", 3600, "s", 0, 10**9, "ahead that one line may make, for break-ins"),
        PLACEMENT,
    ),
    size=lambda form, **_: OPERATORS[form],
    build=build,
)
