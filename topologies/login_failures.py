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
from harness.graph.values import MAX_TUPLES
from topologies import Parameter, Topology

ENDLESS, GENERATED, HAND, NONE = "endless", "generated", "hand", "none"
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
    from harness.applications.login_failures import FORMS, SECOND, input_of

    text, truncated = input_of(records, seed, "" if input == GENERATED else input)
    times = 0 if cycles == ENDLESS else cycles
    rule = lateness * SECOND, jump * SECOND
    return FORMS[form](text, truncated, times, placement == HAND, rule=rule).graph


TOPOLOGY = Topology(
    name="login-failures",
    summary="failed logins in a system log: an application on real data",
    source="P17 §2.1, Figure 1",
    takes=(
        Parameter(
            "form",
            FIGURE,
            "",
            None,
            None,
            "the paper's figure, or the larger one with break-ins",
            (FIGURE, LARGE),
        ),
        Parameter("records", 100_000, "lines", 1, MOST_RECORDS, "of the generated input"),
        Parameter(
            "input",
            GENERATED,
            "",
            None,
            None,
            "a file of lines to read instead, plain or gzip",
            (GENERATED,),
            path=True,
        ),
        Parameter(
            "cycles", ENDLESS, "times", 1, MAX_TUPLES, "that the input is gone through", (ENDLESS,)
        ),
        Parameter("lateness", 3600, "s", 0, 10**9, "of lines, for break-ins"),
        Parameter("jump", 3600, "s", 0, 10**9, "ahead that one line may make, for break-ins"),
        Parameter("placement", NONE, "", None, None, "of threaded ports", (NONE, HAND)),
    ),
    size=lambda form, **_: OPERATORS[form],
    build=build,
)
