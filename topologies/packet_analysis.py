"""PacketAnalysis (M19 §4.3): packets -> meter -> 16 channels, for each source; then merge -> three
analyses -> reports.

274 S + 113 operators for S sources. 16 S + 1 threaded ports by hand: before each channel and before
the merge. The input is generated, or a file of packets in pcap or pcapng, plain or gzip. Each
source has the packets of some clients. The input is repeated, with times that go on, without end or
`cycles` times.
"""

from __future__ import annotations

from harness.errors import UserError
from harness.graph import Graph
from topologies import Parameter, Topology, choice
from topologies.inputs import CYCLES, GENERATED, HAND, NONE, ONCE, PLACEMENT, file_of, given

BUILT_IN = "built-in"
MOST_RECORDS = 10**7
MOST_SOURCES = 64


def build(
    sources: int,
    records: int,
    input: str,
    cycles: int | str,
    lateness: int,
    jump: int,
    listed: str,
    services: str,
    own: str,
    placement: str,
    seed: int,
) -> Graph:
    """Return the graph; `graph.counts()` returns the numbers of records and results when a run is
    over.
    """
    # late: it is compiled, and other topologies do not need it
    from harness.applications import packet_analysis as application
    from harness.applications.given_input import is_stream

    if sources > 1 and cycles == ONCE and input != GENERATED:
        if is_stream(input):
            raise UserError(f"sources must be 1 where input is a pipe, not {sources}")
        cycles = 1  # several sources share what is held in memory
    rule = lateness * application.SECOND, jump * application.SECOND
    known = application.KnownDomains(
        application.LISTED if listed == BUILT_IN else application.domains_in(listed),
        application.SERVICES + (() if services == BUILT_IN else application.domains_in(services)),
        () if own == NONE else application.domains_in(own),
    )
    data, truncated, times = given(
        input, cycles, records, seed, application.input_of, application.stream_of
    )
    return application.PacketAnalysis(
        data, truncated, times, sources, placement == HAND, rule=rule, known=known
    ).graph


def of_domains(name: str, default: str, meaning: str) -> Parameter:
    """Return a parameter for a file of domains, one a line."""
    return choice(name, meaning, default, path=True)


TOPOLOGY = Topology(
    name="packet-analysis",
    summary="made-up names, tunnels and volumes in packets of DNS: an application on real data",
    source="M19 §4.3",
    takes=(
        Parameter("sources", 1, "sources", 1, MOST_SOURCES, "each with 16 channels"),
        Parameter("records", 100_000, "packets", 1, MOST_RECORDS, "of the generated input"),
        file_of("a file in pcap or pcapng"),
        CYCLES,
        Parameter("lateness", 3600, "s", 0, 10**9, "of packets"),
        Parameter("jump", 3600, "s", 0, 10**9, "ahead that one packet may make"),
        of_domains("listed", BUILT_IN, "of domains to report: a block list"),
        of_domains("services", BUILT_IN, "of more domains whose names may carry data"),
        of_domains("own", NONE, "of domains of your own, in which nothing is searched"),
        PLACEMENT,
    ),
    size=lambda sources, **_: 274 * sources + 113,
    build=build,
)
