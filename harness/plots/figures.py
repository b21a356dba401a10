"""The table of figures: a row has all facts of a figure, and names the function that draws it.

Captions are text with *words* that are stressed, for the report. docs/reference/figures.md lists
the rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import cleandoc


@dataclass(frozen=True)
class FigureRow:
    """Facts of one figure. Its experiment, or its bench, has the same name."""

    name: str
    title: str
    source: str  # paper and section; or what it adds to the papers
    panel: (
        str  # function of a module of this package that draws: `function(tables, title, **options)`
    )
    tables: tuple[str, ...]  # that it reads
    caption: str
    paper_figure: str = ""  # the figure that it repeats
    options: Mapping[str, str | int | bool] = field(default_factory=dict)
    shows_means: bool = True  # of an arm's runs; False if it shows runs over time, or graphs

    @property
    def heading(self) -> str:
        """Title as it is drawn, with the paper's figure."""
        return f"{self.title} ({self.paper_figure})" if self.paper_figure else self.title

    @property
    def full_caption(self) -> str:
        """Caption that begins with the title."""
        return f"**{self.heading}.**\n{cleandoc(self.caption)}"

    @property
    def module(self) -> str:
        """Module of this package that has the panel function."""
        return self.panel.partition(".")[0]


# -- sentences of several captions -----------------------------------------------------------------

OTHERS_MEASURED_HERE = "the other panels are measured on this machine."
PAPERS_MACHINES = (
    "Tinted panels are SIMULATED on the papers' machines (config/machines), where *dynamic* is the "
    "scheduler of the software that a title names, and fills with dashed edges show how the mean "
    "moves with all uncertain constants; a point that is not stationary is left out and named; "
    f"{OTHERS_MEASURED_HERE} There *dynamic* is our own scheduler. Payloads of 128 bytes and the "
    "costs of the mix are assumptions, since the paper gives none."
)
STREAMS_COSTS = (
    "Tinted panels are SIMULATED on the papers' machines with the estimated costs of IBM Streams "
    f"4.2 (the paper measured 4.3); {OTHERS_MEASURED_HERE}"
)
CSTREAM_CORES = (
    "Tinted panels are SIMULATED on the paper's 12 cores with 4 threads; the others are measured "
    "on this machine."
)
STORM_IS_MEASURED = (
    "Tinted panels are SIMULATED on the paper's 12 cores (config/machines/cstream.yaml). Storm "
    "cannot run there: it is measured on this machine only, as docs/how-to/peers.md describes."
)
INTERVALS = "Bars are 95 % intervals over runs, and a pale marker has runs that never settled."
POLICY_LINES = (
    "Each line is a scheduling policy, bars are 95 % intervals over runs, and a pale marker has "
    "runs that never settled."
)
THREAD_LINES = (
    "Blue circles are the dynamic model with fixed numbers of threads, the pink diamond is where "
    "a control law ended, and the orange and green lines are manual and dedicated, which have no "
    "scheduler threads; bars and bands are 95 % intervals over runs, and a pale marker has runs "
    "that never settled."
)
BALANCER_AXES = (
    "The horizontal axis is the time since the run began; the left axis is the throughput at the "
    "sink, and the right axis is the active output ports of the balancer"
)
BALANCER_RUNS = (
    "Each panel is one run: the solid line with dots is the throughput of each period, and the "
    "dashed line is the active ports"
)
AUTHORS_MACHINES = (
    "Tinted panels are SIMULATED on as many CPUs as the author's machines had, with the estimated "
    f"costs of IBM Streams 4.2; {OTHERS_MEASURED_HERE}"
)
BENCH_STRIPS = (
    "A dot is the median of the scenarios, a thick bar is their quartiles, and a thin line is 5 to "
    "95 % of them"
)


def _gains(along: str, graphs: str) -> str:
    """Return the caption of a figure of `gain_panels`."""
    return f"""\
        The horizontal axis is the {along} of a tuple, the upper vertical axis is the throughput
        over that of manual, on a logarithmic scale, and the lower one is the share of input ports
        with a queue; {graphs}.
        Pink (`millrace`) and purple (`streams`) bars are the dynamic model with a law for its
        threads; yellow (`millrace`), brown (`middleware19`) and dark (`streams`) bars are
        multilevel; the number on a multilevel bar compares it with thread elasticity alone, and the
        number below is its scheduler threads; lines are 95 % intervals, paired by repeat, and a
        hatched bar has runs that never settled.
        {STREAMS_COSTS}
        """


# -- the table -------------------------------------------------------------------------------------

ROWS = (
    FigureRow(
        "pldi17_fig9",
        "Throughput against scheduler threads: pure pipeline and pure data parallelism",
        "P17 §5.1 and §5.2",
        paper_figure="P17 Figure 9",
        panel="switch_table.figure",
        tables=("throughput",),
        options={"topology": "pipeline", "assumed": "payload of 128 bytes"},
        caption=f"""\
        The horizontal axis is the number of scheduler threads, the vertical axis is the mean
        throughput at the sinks from 0 upwards, each row is one graph on one machine, and each panel
        is one cost of a tuple. The table below counts the context switches of the pipeline.
        {THREAD_LINES}
        {PAPERS_MACHINES}
        """,
    ),
    FigureRow(
        "pldi17_fig10",
        "Throughput against scheduler threads: data parallelism of pipelines",
        "P17 §5.3",
        paper_figure="P17 Figure 10",
        panel="thread_panels.figure",
        tables=("throughput",),
        options={"assumed": "payload of 128 bytes, costs of a tuple"},
        caption=f"""\
        The horizontal axis is the number of scheduler threads, the vertical axis is the mean
        throughput at the sinks from 0 upwards, each row is one machine, and each panel is one cost
        of a tuple; the graph has pipelines side by side between a split and one sink.
        {THREAD_LINES}
        {PAPERS_MACHINES}
        """,
    ),
    FigureRow(
        "pldi17_fig11",
        "Elastic runs: throughput and scheduler threads over time",
        "P17 §5.4",
        paper_figure="P17 Figure 11",
        panel="time_panels.threads",
        shows_means=False,
        tables=("throughput", "timeline"),
        options={"assumed": "payload of 128 bytes, cost of the mix"},
        caption=f"""\
        The horizontal axis is the time since the run began with the fewest threads; the left axis
        is the tuples submitted by all operators, and the right axis is the active scheduler
        threads; both start at 0, and all runs of a cell have the same.
        Each panel is one run: a dot on the solid pink line is the mean of one period of the law in
        the title, and the dashed line is the number of threads in that period.
        Tinted panels are SIMULATED on the papers' machines with periods of 30 or 60 ms and queues
        of 8 tuples, where the paper has 10 s and gives no length, so compare shapes and thread
        levels and not seconds;
        {OTHERS_MEASURED_HERE}
        """,
    ),
    FigureRow(
        "elb_cost",
        "ElasticLoadBalance: throughput and active ports over time, by tuple cost",
        "ElasticLoadBalance, How It Performs",
        panel="time_panels.ports",
        shows_means=False,
        tables=("throughput", "timeline"),
        options={"cells_across": True},
        caption=f"""\
        {BALANCER_AXES}, each of which has a thread. A panel has cheap, medium or expensive tuples.
        {BALANCER_RUNS}; where the ports change too often for lines, each period is a dot and a
        tick.
        Tinted panels are SIMULATED on 16 and 4 CPUs, as many as the author's machines had, with the
        estimated costs of IBM Streams 4.2; {OTHERS_MEASURED_HERE}
        """,
    ),
    FigureRow(
        "elb_tolerance",
        "ElasticLoadBalance: active ports over time, by throughput tolerance",
        "ElasticLoadBalance, Cheap Tuples",
        panel="time_panels.ports",
        tables=("throughput", "timeline"),
        options={"cells_across": True, "compared": "tolerance", "compared_unit": "%"},
        caption=f"""\
        {BALANCER_AXES}, each of which has a thread. A panel has cheap, medium or expensive tuples,
        and the tolerance [%] within which the law takes throughputs for the same.
        {BALANCER_RUNS}; where the ports change too often for lines, each period is a dot and a
        tick.
        All panels are SIMULATED on 16 CPUs, as many as the author's machine had, with the estimated
        costs of IBM Streams 4.2.
        """,
    ),
    FigureRow(
        "elb_bursty_cost",
        "ElasticLoadBalance under bursts of expensive tuples",
        "ElasticLoadBalance, Bursty Cost",
        panel="time_panels.ports",
        shows_means=False,
        tables=("throughput", "timeline"),
        options={"shaded": "expensive tuples"},
        caption=f"""\
        {BALANCER_AXES}; shading marks the time in which expensive tuples pass.
        {BALANCER_RUNS}, of which the balancer should wake some when expensive tuples come and put
        them to sleep afterwards.
        {AUTHORS_MACHINES}
        """,
    ),
    FigureRow(
        "elb_bursty_rate",
        "ElasticLoadBalance under bursts of tuples",
        "ElasticLoadBalance, Bursty Rate",
        panel="time_panels.ports",
        shows_means=False,
        tables=("throughput", "timeline"),
        options={"shaded": "silence"},
        caption=f"""\
        {BALANCER_AXES}; shading marks the time in which the source sends nothing.
        {BALANCER_RUNS}, which the balancer should put to sleep while there is nothing to do.
        {AUTHORS_MACHINES}
        """,
    ),
    FigureRow(
        "saso",
        "Control laws of the thread level, over scenarios of the SASO bench",
        "beyond the papers; the properties of M19 §1",
        panel="saso.figure",
        tables=("saso",),
        caption=f"""\
        Each row is a control law, with the lowest mean regret on top, and each column is a score
        over all scenarios: *accuracy* is the throughput at the law's last level over that of the
        best level, *settling* is the periods until the level stays, *overshoot* is the highest
        level over the best one, *stability* is the changes of level in the 50 periods after that,
        and *regret* is the throughput lost against an oracle that knows the best level.
        {BENCH_STRIPS}, which shows how much scenarios differ and is no interval of a mean;
        `millrace` is our own law. The quick profile has one in six of the bench's scenarios.
        The table below has the share of scenarios of each kind in which a law settled at 97 % of
        the best throughput, with noise up to 5 %; the best law of a kind is bold, and no constant
        of `millrace` was chosen on the kinds below the line.
        Nothing is measured: each scenario is a curve of throughput over threads, most of them
        invented, with noise, states and events, and every law meets the same ones.
        """,
    ),
    FigureRow(
        "saso_placement",
        "Laws that place queues and choose threads, over scenarios of the SASO bench",
        "beyond the papers; the properties of M19 §1",
        panel="saso_placement.figure",
        tables=("saso_placement",),
        caption=f"""\
        Each row is a law or a model, with the lowest mean regret on top, and each column is a score
        over all scenarios: *accuracy*, *settling* and *regret* are as for laws of threads, against
        an oracle that knows the best queues and threads, and *threads* and *queues* are in
        doublings of the oracle's.
        {BENCH_STRIPS}; *hand-placed* keeps the oracle's first choice, and `millrace` is our own
        law.
        Nothing is measured: throughput is computed from models of graphs on described machines,
        with noise, phases and deviations that no law knows.
        """,
    ),
    FigureRow(
        "elastic_levels",
        "The default control law against every fixed thread level",
        "beyond the papers; P17 §5 repeats each level 5 times, on graphs of 1,000 operators",
        panel="elastic_levels.figure",
        tables=("throughput", "speedup"),
        caption="""\
        The horizontal axis is the number of scheduler threads, and the vertical axis is the mean
        throughput at the sinks from 0 upwards, with 95 % intervals over runs.
        Blue circles are the dynamic model with fixed numbers of threads, the pink diamond is where
        the law ended, and a pale marker has runs that never settled; the line under each title is
        the law's throughput over that of the best other arm, paired by block, with an interval that
        allows for the choice of the best.
        Tinted panels are SIMULATED; the others are measured on this machine.
        """,
    ),
    FigureRow(
        "multilevel",
        "Multi-level elastic against the best of all other arms",
        "beyond the papers; the graphs of M19 §4.1",
        panel="multilevel.figure",
        tables=("throughput", "speedup"),
        caption="""\
        Each line is a cell, the horizontal axis is the throughput at the sinks of each arm over the
        highest mean of the arms other than multilevel, with 95 % intervals over runs, and the
        dotted line is 95 %.
        A marker is an arm in the colour of its model, and a pale one has runs that never settled;
        the text at the end of a line is the ratio of multilevel, paired by block, with an interval
        that allows for the choice of the best, and the queues and scheduler threads that its law
        chose.
        Tinted lines are SIMULATED; the others are measured on this machine.
        """,
    ),
    FigureRow(
        "crossover",
        "Which threading model wins, over tuple cost and payload",
        "beyond the papers; topologies of P17 §5 and M19 Figure 8",
        panel="crossover.figure",
        tables=("throughput", "speedup"),
        caption="""\
        The horizontal axis is the cost of a tuple, the vertical axis is its payload (or the
        topology, if there is one payload), and each tile is a cell.
        The colour of a tile is the model with the highest mean throughput at the sinks; its text
        names the best arm and its lead over the best arm of another model, with a 95 % interval
        that is paired by repeat and allows for the number of arms; a hatched tile is a tie, since
        the interval includes 1, and a dotted tile has no interval.
        Tinted maps are SIMULATED on the machine in the title; the others are measured on this
        machine.
        """,
    ),
    FigureRow(
        "peers",
        "Other runtimes beside ours, over tuple cost",
        "beyond the papers; topologies of P17 §5",
        panel="peers.figure",
        tables=("throughput", "latency"),
        caption="""\
        The horizontal axis is the cost of a tuple; the upper panels show the throughput at the
        sinks, and the lower ones the median latency, on the same graphs with the same checks.
        Each arm ran twice; then the three fastest of ours and of the peers, the finalists, ran
        eight times more, and only these runs make their means, with large markers and 95 %
        intervals; others have no interval (the quick size has one run of each arm).
        The text at each cost names the fastest peer and its mean as a share of the fastest model of
        ours, both of the finalists, with a 95 % interval that allows for the choice of one of three
        on each side; where it includes 1, it is a tie.
        Pale arms of ours hand tuples over one by one.
        Source and sink alone are the pipeline without operators, which costs all others as much.
        Sources send as fast as they can, so latencies are those of full queues; they differ with
        the length of the queues: 1,000 tuples but in the quick size, fewer in ours where operators
        are cheap, and none where a runtime bounds the tuples in flight (docs/how-to/peers.md).
        """,
    ),
    FigureRow(
        "peer_rates",
        "Latency below saturation, ours beside other runtimes",
        "beyond the papers; topologies of P17 §5",
        panel="peer_rates.figure",
        tables=("throughput", "latency"),
        caption="""\
        The horizontal axis is the rate at which the source offers tuples, the upper vertical axis
        is the median latency from source to sink, and the lower one its 99th percentile; all are
        logarithmic.
        A line has a point at each rate that the arm keeps up with, and ends with a bar at the most
        that it can; latency counts from the time at which a tuple is due.
        The lowest line at your rate answers which one to take for it.
        Each arm ran twice; then the three of ours and of the peers with the lowest 99th percentile
        ran six times more: their points, with large markers, are medians of these runs, and bars go
        from the least to the greatest.
        Under the axis stand the best of ours and the best peer at each rate; a tie is where their
        bars overlap, and of equal arms any two are apart in at most 2 % of cases.
        Bold names and thick lines are ours, and pale ones hand tuples over one by one.
        """,
    ),
    FigureRow(
        "mw19_fig1",
        "Throughput against the share of ports with queues, and what multi-level elasticity finds",
        "M19 §1",
        paper_figure="M19 Figure 1",
        panel="mw19_fig1.figure",
        tables=("throughput",),
        caption="""\
        The horizontal axis is the share of input ports that have a queue, and the vertical axis is
        the mean throughput at the sinks from 0 upwards, with 95 % intervals over runs; each panel
        is one payload on one machine, and the graph is a pipeline of 100 operators of 100 FLOP.
        A diamond has queues placed by hand and threads chosen by a law (pink: `millrace`, purple:
        `streams`); a plus or cross is where a law for queues and threads ended (yellow: `millrace`,
        brown: `middleware19`, dark: `streams`); the number at a point is its scheduler threads, and
        a pale marker has runs that never settled.
        Tinted panels are SIMULATED on the papers' machines, with the CPUs that the title names and
        the estimated costs of IBM Streams 4.2; the other panels are measured on this machine.
        """,
    ),
    FigureRow(
        "mw19_fig6",
        "How multi-level elasticity settles",
        "M19 §3.3",
        paper_figure="M19 Figure 6",
        panel="adaptation_panels.settling",
        shows_means=False,
        tables=("throughput", "timeline"),
        caption=f"""\
        The horizontal axis is the time since the run began without queues and with the fewest
        threads; the upper panels show the throughput at the sinks, the middle ones the ports with
        a queue, and the lower ones the scheduler threads, from 0 and on the same axes along a row.
        Each panel is an arm. Lines are one run, that of median throughput, and bands go from the
        least to the greatest run. A dot is the mean of one period, and the line between two of them
        has the colour of the elasticity that changed before the second: the thread count, the
        placement of queues, both or neither. The numbers are the sums of these changes.
        The axes end at twice the time of the last change. *Plain* is the law without its
        shortcuts, *history* uses what it learnt at other levels, and *satisfied* also has a
        satisfaction factor of 0.
        Tinted panels are SIMULATED with the estimated costs of IBM Streams 4.2, so compare periods
        and shapes and not seconds; {OTHERS_MEASURED_HERE}
        """,
    ),
    FigureRow(
        "mw19_design",
        "What M19 decided against: longer periods, a start with all queues, queues first",
        "M19 §3.1.1, §3.2",
        panel="adaptation_panels.settling",
        tables=("throughput", "timeline"),
        caption="""\
        The horizontal axis is the time since the run began; the upper panels show the throughput at
        the sinks, the middle ones the ports with a queue, and the lower ones the scheduler threads,
        from 0 and on the same axes along a row.
        Each panel is an arm: lines are the median of its runs in each period, and bands go from the
        least to the greatest run; *30s* decides over the mean of six periods, *full* begins
        with a queue at every port and a thread on every CPU, and *reversed* searches for
        threads within each number of queues.
        Tinted panels are SIMULATED with the estimated costs of IBM Streams 4.2, so compare periods
        and shapes and not seconds.
        """,
    ),
    FigureRow(
        "mw19_fig9",
        "Pipelines: dynamic elastic and multilevel over manual",
        "M19 §4.1",
        paper_figure="M19 Figure 9",
        panel="gain_panels.figure",
        tables=("throughput", "speedup"),
        options={"along": "payload", "across": "operators", "down": "cost"},
        caption=_gains("payload", "the graphs are pipelines"),
    ),
    FigureRow(
        "mw19_fig10",
        "Data parallelism: dynamic elastic and multilevel over manual",
        "M19 §4.1",
        paper_figure="M19 Figure 10",
        panel="gain_panels.figure",
        tables=("throughput", "speedup"),
        options={"along": "payload", "across": "width", "down": "cost"},
        caption=_gains(
            "payload", "the graphs are operators side by side before one sink that locks"
        ),
    ),
    FigureRow(
        "mw19_fig11",
        "Mixes: dynamic elastic and multilevel over manual",
        "M19 §4.1",
        paper_figure="M19 Figure 11",
        panel="gain_panels.figure",
        tables=("throughput", "speedup"),
        options={"along": "payload", "across": "depth", "down": "cost"},
        caption=_gains("payload", "the graphs are pipelines side by side"),
    ),
    FigureRow(
        "mw19_fig12",
        "Bushy graph: dynamic elastic and multilevel over manual",
        "M19 §4.1",
        paper_figure="M19 Figure 12",
        panel="gain_panels.figure",
        tables=("throughput", "speedup"),
        options={"along": "cost", "across": "payload", "down": "topology"},
        caption=_gains(
            "cost",
            "the graph has 82 operators: a tree that spreads tuples, and its mirror image that "
            "joins them",
        ),
    ),
    FigureRow(
        "mw19_fig13",
        "Adaptation to a change of load in mid-run",
        "M19 §4.1",
        paper_figure="M19 Figure 13",
        panel="adaptation_panels.changing_load",
        shows_means=False,
        tables=("throughput", "timeline"),
        caption=f"""\
        The horizontal axis is the time since the run began; the upper panels show the throughput at
        the sinks, the middle ones the ports with a queue, and the lower ones the scheduler threads;
        the graph is a pipeline in which 10 % of the operators are heavy, and 90 % where the panel
        is shaded.
        Lines are medians over the runs, period by period, and bands go from the lowest to the
        highest run; a dot is one period, solid lines are in the colour of the law (yellow:
        `millrace`, brown: `middleware19`), and the dashed line is the threads; the
        load changes at a given tuple, so a faster law meets the change sooner.
        Tinted panels are SIMULATED with the estimated costs of IBM Streams 4.2;
        {OTHERS_MEASURED_HERE}
        """,
    ),
    FigureRow(
        "mw19_fig14",
        "The graphs of VWAP and PacketAnalysis with threads placed by hand",
        "M19 §4.2 and §4.3",
        paper_figure="M19 Figure 14",
        panel="mw19_fig14.figure",
        shows_means=False,
        tables=("throughput",),
        caption="""\
        Boxes are operators, arrows are streams; bars before a box are a queue with a thread of its
        own. Colours and `t1`, `t2` say which thread executes an operator where ports are threaded
        by hand. Operators that do the same side by side are one box of several sheets.
        PacketAnalysis is drawn by the paper profile only.
        """,
    ),
    FigureRow(
        "mw19_fig15",
        "Applications by hand and elastic, and the threads used",
        "M19 §4.2 and §4.3",
        paper_figure="M19 Figure 15",
        panel="application_panels.figure",
        tables=("throughput",),
        caption="""\
        Bars are the throughput at the sinks: under manual, with threaded ports placed by hand
        (under manual, too), with thread elasticity (IBM's law), and with multi-level elasticity
        (M19's law and ours). The number on a bar is the threads beside the sources'. A hatched bar
        has runs that never settled.
        Tinted panels are SIMULATED on the papers' machine: operators have the costs and
        selectivities of a profiled run on the machine that simulated. The other panels are measured
        on this machine. PacketAnalysis reports little, so its bars are the tuples that all
        operators submit; it is of the paper profile only.
        """,
    ),
    FigureRow(
        "applications",
        "Applications under every model",
        "beyond the papers; M19 §4.2, P17 Figure 1, M19 Figure 2; Nexmark; DSPBench",
        panel="application_panels.figure",
        tables=("throughput",),
        caption="""\
        Bars are the throughput, measured on this machine: at the sinks, or over all operators where
        results may be few; bars compare within a panel only. `by hand` is the manual model with
        threaded ports. The number on a bar is the threads beside the source's; under coroutine it
        is all threads. A hatched bar has runs that never settled.
        """,
    ),
    FigureRow(
        "cstream_fig4",
        "Throughput and latency over threads, by policy",
        "C-Stream §5.1",
        paper_figure="C-Stream Figures 4 and 5",
        panel="policy_panels.figure",
        tables=("throughput", "latency"),
        options={"column": "threads", "name": "threads"},
        caption=f"""\
        Across are threads, above is the mean throughput at the sinks and below the average latency
        of the same runs, and each column is one of the paper's topologies, whose operators are busy
        for 100 µs a tuple.
        {POLICY_LINES}
        Tinted panels are SIMULATED on the paper's 12 cores (config/machines/cstream.yaml); the
        others are measured on this machine, where sources send as fast as they can, so that
        latencies are those of full queues.
        """,
    ),
    FigureRow(
        "cstream_fig6",
        "Throughput and latency over operator cost, by policy",
        "C-Stream §5.1",
        paper_figure="C-Stream Figure 6",
        panel="policy_panels.figure",
        tables=("throughput", "latency"),
        options={"column": "busy", "name": "time a tuple keeps an operator busy [µs]"},
        caption=f"""\
        Across is the time for which a tuple keeps an operator busy, above is the mean throughput at
        the sinks and below the average latency of the same runs; 12 operators stand side by side
        between a split and a merge that restores the order.
        {POLICY_LINES}
        {CSTREAM_CORES}
        """,
    ),
    FigureRow(
        "cstream_fig7",
        "Throughput and latency over operators, by policy",
        "C-Stream §5.1",
        paper_figure="C-Stream Figure 7",
        panel="policy_panels.figure",
        tables=("throughput", "latency"),
        options={"column": "width", "name": "busy operators"},
        caption=f"""\
        Across are busy operators side by side, above is the mean throughput at the sinks and below
        the average latency of the same runs; each operator is busy for 100 µs a tuple.
        {POLICY_LINES}
        {CSTREAM_CORES}
        """,
    ),
    FigureRow(
        "cstream_fig8",
        "Source rate and latency over selectivity, by policy",
        "C-Stream §5.1",
        paper_figure="C-Stream Figure 8",
        panel="policy_panels.source_rates",
        tables=("throughput", "latency"),
        options={"column": "selectivity", "name": "tuples that each operator passes on [%]"},
        caption=f"""\
        Across is the share of its tuples that each of 12 operators in a chain passes on, above is
        the mean rate at which the source sends and below the average latency of the same runs; each
        operator is busy for 100 µs a tuple.
        {POLICY_LINES}
        {CSTREAM_CORES}
        """,
    ),
    FigureRow(
        "cstream_fig9",
        "Adaptation of threads and replicas, one busy operator",
        "C-Stream §5.2",
        paper_figure="C-Stream Figure 9",
        panel="replica_panels.figure",
        tables=("throughput", "timeline"),
        options={"shown_us": 80},
        caption=f"""\
        Across the left panels is the time for which a tuple keeps the operator busy: first the
        throughput under the paper's law and under ours, with one thread and one replica, and with
        the best of a few numbers of threads and replicas chosen by hand; then the threads and
        replicas that each law ended with.
        The right panels show one run of each law over time, at 80 µs. The source takes 18 µs for a
        tuple: the paper does not say what its source can send, but its replicas do.
        {INTERVALS} Tinted panels are SIMULATED on the paper's 12 cores in virtual time; the others
        are measured on this machine.
        """,
    ),
    FigureRow(
        "cstream_fig10",
        "Adaptation of threads and replicas, two busy operators",
        "C-Stream §5.2",
        paper_figure="C-Stream Figure 10",
        panel="replica_panels.figure",
        tables=("throughput", "timeline"),
        options={"shown_us": 60},
        caption=f"""\
        Across the left panels is the time for which a tuple keeps each operator busy: first the
        throughput under the paper's law and under ours, with one thread and one replica, and with
        the best of a few numbers of threads and replicas chosen by hand; then the threads and
        replicas an operator that each law ended with.
        The right panels show one run of each law over time, at 60 µs. The source takes 18 µs for a
        tuple: the paper does not say what its source can send, but its replicas do.
        {INTERVALS} Tinted panels are SIMULATED on the paper's 12 cores in virtual time; the others
        are measured on this machine.
        """,
    ),
    FigureRow(
        "cstream_fig11",
        "Threads by two thresholds of utilisation",
        "C-Stream §5.2",
        paper_figure="C-Stream Figure 11",
        panel="cstream_fig11.figure",
        tables=("throughput", "timeline"),
        caption="""\
        On the left is the throughput of 12 busy operators side by side, over fixed numbers of
        threads; markers show where the paper's law of threads ended with a high threshold of 0.90
        and of 0.95, and our law of threads and replicas. On the right are the threads of the first
        run of each over time.
        A pale marker has runs that never settled: their threads go up and down. Tinted panels are
        SIMULATED on the paper's 12 cores in virtual time; the others are measured on this machine.
        """,
    ),
    FigureRow(
        "cstream_fig12",
        "Co-routines beside Storm, without adaptation",
        "C-Stream §5.3",
        paper_figure="C-Stream Figure 12",
        panel="storm_panels.figure",
        tables=("throughput",),
        caption=f"""\
        Above each of the paper's topologies stand the mean rates at the sinks of our arms and of
        Storm's, and the best rate of ours over the best of Storm's, with a 95 % interval that
        allows for both choices.
        {INTERVALS}
        {STORM_IS_MEASURED}
        """,
    ),
    FigureRow(
        "cstream_fig13",
        "Co-routines with adaptation beside Storm",
        "C-Stream §5.3",
        paper_figure="C-Stream Figure 13",
        panel="storm_panels.figure",
        tables=("throughput",),
        caption=f"""\
        Above each chain stand the mean rates at the sinks of our arms and of Storm's, and the best
        rate of ours over the best of Storm's, with a 95 % interval that allows for both choices.
        Under an arm that adapts stand the threads and replicas that it ended with, replicas as the
        mean of the busy operators.
        {INTERVALS}
        {STORM_IS_MEASURED}
        """,
    ),
    FigureRow(
        "cstream_policies",
        "Latency against throughput of all scheduling policies",
        "beyond the paper; the topologies of C-Stream §5.1",
        panel="cstream_policies.figure",
        tables=("throughput", "latency"),
        caption="""\
        Across is the mean throughput at the sinks with its 95 % interval over runs, upwards the
        average latency of the same runs, and each column is one of C-Stream's topologies, whose
        operators are busy for 100 µs a tuple: the best policies are at the lower right.
        Each line is a policy and each point a number of threads, which stands at the uppermost one;
        full lines are the paper's policies, dashed ones ours.
        Tinted panels are SIMULATED on the paper's 12 cores; the others are measured on this
        machine.
        """,
    ),
)
FIGURES = {row.name: row for row in ROWS}
"""Figures that `millrace plot` draws, by name."""
