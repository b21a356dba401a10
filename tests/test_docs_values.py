"""Docs, captions, profiles and `--help` that name a value of a profile, or of the code, name the
one that holds.

A row of `SENTENCES` is a page, a pattern of a sentence in which each group is a value, and a
function that tells the values. Pages are read without line breaks; `--help run` is what `millrace
run --help` prints.
"""

from __future__ import annotations

import inspect
import re
from collections import Counter
from functools import cache
from pathlib import Path
from unittest import mock

import pytest
from harness.runtime.protocol import LEAST_RESCHEDULED

import topologies
from harness.bench.bench import library
from harness.claims.claim import papers
from harness.cli import main
from harness.elasticity import Decides, law_class
from harness.engine import thread_room
from harness.experiments import effort
from harness.experiments.config import Config, load_config
from harness.gate import suite
from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS, MAX_REPLICAS, MAX_THREADS
from harness.machines.machine import load_machine
from harness.machines.software import load_software
from harness.measurement import control, laws, observe, profiling, spec
from harness.models import QUANTUM_MS
from harness.models.port_queues import QUEUE_BYTES, QUEUE_CACHE, THREADED_BYTES
from harness.validation import cases, comparison, order

ROOT = Path(__file__).resolve().parents[1]
WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

CLOSE = 0.15
"""Share by which the time that a page names may differ from what a dry run of the profile counts.
"""


@cache
def profile(name: str) -> Config:
    """A profile of config/ on two CPUs, which is what pages speak of."""
    with mock.patch("os.sched_getaffinity", lambda _: {0, 1}):
        return load_config(ROOT / "config" / f"{name}.yaml")


def arms(name: str, experiment: str, machine: str = "local") -> list:
    """The arms that a profile's experiment has on a machine."""
    blocks = profile(name).experiment(experiment).blocks()
    return [arm for block in blocks if block.place.machine == machine for arm in block.arms]


def periods_ms(experiment: str) -> list[float]:
    """The shortest and the longest period of an experiment's simulated runs, in both sizes [virtual
    ms].
    """
    blocks = [
        block
        for name in ("quick", "paper")
        for block in profile(name).experiment(experiment).blocks()
    ]
    found = sorted(1000 * block.period_s for block in blocks if block.place.simulated)
    return [found[0], found[-1]]


def periods(name: str, experiment: str) -> int:
    """Periods of an experiment's simulated runs."""
    block = next(
        block for block in profile(name).experiment(experiment).blocks() if block.place.simulated
    )
    return round(block.duration_s / block.period_s)


def seconds(name: str) -> float:
    """Return what a dry run counts for a profile on two CPUs [s]: they share simulations."""
    blocks, benches = list(profile(name).blocks()), profile(name).benches
    alone = sum(block.estimated_s for block in blocks if not block.place.simulated)
    shared = sum(block.estimated_s for block in blocks if block.place.simulated)
    shared += sum(effort.BENCHES_S[each] / profile(name).bench_every[each] for each in benches)
    drawn = len(profile(name).drawn) * (effort.TABLES_S + effort.DRAWING_S)
    return alone + shared / 2 + 2 * effort.SPARK_START_S + drawn


def minutes(name: str):
    """Return the time of a profile on two CPUs, about [min]."""
    return pytest.approx(seconds(name) / 60, rel=CLOSE)


def hours(name: str):
    """Return the same in hours."""
    return pytest.approx(seconds(name) / 3600, rel=CLOSE)


def by_hand(name: str, **given: object) -> list[int]:
    """Operators of an application, and its ports that are threaded by hand."""
    graph, _ = topologies.build(name, {"records": 100, "placement": "hand"} | given, 0)
    return [len(graph.operators), len(graph.threaded)]


def default(function: object, name: str) -> object:
    """The default of a parameter."""
    return inspect.signature(function).parameters[name].default


def by_sources() -> list[int]:
    """Return of PacketAnalysis: operators a source, and those in common; ports that are threaded by
    hand likewise.
    """
    one, two = (by_hand("packet-analysis", sources=sources) for sources in (1, 2))
    return [two[0] - one[0], 2 * one[0] - two[0], two[1] - one[1], 2 * one[1] - two[1]]


def validated() -> list[int]:
    """Cases that `millrace validate` looks at: all, those of other models than coroutine, those of
    coroutine, of these with replicas, the deep ones, the new ones.
    """
    every = cases.cases()
    kinds = Counter(case.kind for case in every)
    of_coroutine = sum(
        case.arm.startswith("coroutine") for case in every if case.kind in ("known", "replicas")
    )
    classic = kinds["known"] + kinds["replicas"] - of_coroutine
    return [len(every), classic, of_coroutine, *(kinds[of] for of in ("replicas", "deep", "new"))]


def scenarios(bench: str) -> list[int]:
    """Scenarios of a bench: all, and those that only score."""
    every = library(bench)
    return [len(every), sum(scenario.held_out for scenario in every)]


def setting(law: str, name: str, decides: Decides = Decides.THREADS) -> object:
    """The default of a setting of a law."""
    return next(each.default for each in law_class(law, decides).SETTINGS if each.name == name)


def drained() -> int:
    """Tuples after which a thread of IBM Streams gives up a port."""
    return load_software("streams-4.2")["how.queue_capacity"] + 2


ADAPTATION = [
    spec.ADAPTATION_PERIODS,
    spec.ADAPTATION_S,
    spec.PLACING_PERIODS,
    2 * spec.ADAPTATION_S,
]

SENTENCES = [
    # -- times -------------------------------------------------------------------------------------
    ("README.md", r"then takes about (\d+) minutes on two CPUs", lambda: [minutes("quick")]),
    ("docs/reference/figures.md", r"the quick profile: about (\d+) minutes", lambda: [minutes("quick")]),
    ("config/quick.yaml", r"figures in about (\d+) minutes on two "
                          r"CPUs", lambda: [minutes("quick")]),
    ("--help figures", r"quick profile, in about (\d+) minutes on two "
                       r"CPUs", lambda: [minutes("quick")]),
    ("docs/reference/figures.md", r"the full study: about (\d+) hours", lambda: [hours("paper")]),
    ("docs/appendices/claims.md", r"paper'` takes about (\d+) hours on two CPUs", lambda: [hours("paper")]),
    ("config/paper.yaml", r"About (\d+) hours on two CPUs", lambda: [hours("paper")]),
    ("--help figures", r"sizes of the papers, in about (\d+) hours on "
                       r"two CPUs", lambda: [hours("paper")]),
    ("docs/how-to/gate.md", r"default budget of (\d+) minutes", lambda: [suite.TIME_BUDGET_S / 60]),
    # -- profiles and experiments ------------------------------------------------------------------
    ("docs/explanation/design.md", r"`--period` seconds in it: (\d+) by default, ([\d.]+) in the "
                       r"profiles", lambda: [
        spec.PERIOD_S, profile("paper").period_s]),
    ("docs/explanation/design.md", r"`--period` seconds in it: \d+ by default, ([\d.]+) in the "
                       r"profiles", lambda: [
        profile("quick").period_s]),
    ("config/paper.yaml", r"1,000 operators, (\d+) repeats", lambda: [profile("paper").repeats]),
    ("harness/plots/figures.py", r"periods of ([\d.]+) or (\d+) "
                                 r"ms", lambda: periods_ms("pldi17_fig11")),
    ("config/experiments/pldi17_fig11.yaml", r"looks every ([\d.]+) or (\d+) ms of "
                                             r"virtual time", lambda: periods_ms("pldi17_fig11")),
    *((f"config/experiments/cstream_fig{number}.yaml", r"on (\d+) threads \(§5.1\), here on "
                                                       r"(\d+)\.", lambda number=number: [
        arms("paper", f"cstream_fig{number}", "cstream")[0].threads, arms("paper", f"cstream_fig{number}")[0].threads])
      for number in (6, 7, 8)),
    ("config/experiments/mw19_fig6.yaml", r"the full study has (\d+)", lambda: [periods("paper", "mw19_fig6")]),
    ("harness/claims/middleware19.yaml", r"Simulated runs have (\d+) periods, of the quick profile "
                                         r"(\d+)\.", lambda: [
        periods("paper", "mw19_fig6"), periods("quick", "mw19_fig6")]),
    ("config/experiments/mw19_fig6.yaml", r"(\d+) operators \(quick: (\d+)\)", lambda: [
        profile(name).experiment("mw19_fig6").cells[0].parameters["operators"] for name in ("paper", "quick")]),
    ("config/experiments/mw19_fig13.yaml", r"a pipeline of (\d+) operators \(quick: "
                                           r"(\d+)\)", lambda: [
        profile(name).experiment("mw19_fig13").cells[0].parameters["operators"] for name in ("paper", "quick")]),
    ("docs/appendices/claims.md", r"as long as our queues, (\d+) tuples", lambda: [
        profile("paper").experiment("cstream_fig12").blocks()[0].arms[0].model.queue_capacity]),
    ("docs/how-to/peers.md", r"buffers of (\d+), as our queues", lambda: [
        profile("paper").experiment("cstream_fig13").blocks()[0].arms[0].model.queue_capacity]),
    ("docs/appendices/claims.md", r"holds (\d+) such claims", lambda: [
        sum(len(paper.claims) for paper in papers().values())]),
    ("README.md", r"papers' curves up to (\d+) threads", lambda: [load_machine("power8").cpus]),
    # -- runs --------------------------------------------------------------------------------------
    ("README.md", r"two windows differ by less than (\d+) %", lambda: [100 * observe.WINDOWS_AGREE_WITHIN]),
    ("README.md", r"at any moment, from 1 to ([\d,]+)", lambda: [MAX_THREADS]),
    ("--help run", r"two windows in a row differ by less than "
                   r"(\d+) %", lambda: [100 * observe.WINDOWS_AGREE_WITHIN]),
    ("--help run", r"kept its number of threads for (\d+) "
                   r"periods", lambda: [control.SETTLED_PERIODS]),
    ("--help run", r"at most (\d+) periods .*? more than (\d+) s\..* limits are (\d+) periods and "
                   r"([\d,]+) s",
     lambda: ADAPTATION),
    ("--help run", r"is measured for (\d+) periods or longer", lambda: [spec.WINDOW_PERIODS]),
    ("docs/explanation/design.md", r"over a window of its last two to (\w+) periods, of ([\d.]+) s at "
                       r"least", lambda: [
        laws.PROFILE_PERIODS, laws.SHORTEST_PROFILE_S]),
    ("docs/explanation/design.md", r"drain for at most (\w+) seconds", lambda: [observe.STOP_S]),
    ("docs/explanation/simulator.md", r"simulates (\d+) ms of that machine, in (\w+) samples, .* A law looks every "
                       r"(\d+) ms", lambda: [
        1000 * spec.VIRTUAL_DURATION_S, observe.WINDOW_SAMPLES, 1000 * spec.VIRTUAL_PERIOD_S]),
    ("docs/explanation/simulator.md", r"look every (\w+) quanta, (\d+) "
                       r"ms", lambda: [spec.MIN_QUANTA_PER_PERIOD, spec.MIN_QUANTA_PER_PERIOD * QUANTUM_MS]),
    ("docs/explanation/design.md", r"A run may have ([\d,]+) real threads", lambda: [thread_room.MOST_THREADS]),
    ("docs/explanation/design.md", r"fit in (\d+) KiB; of large tuples about (\d+) KiB a queue, and (\d+) "
                       r"MiB", lambda: [
        QUEUE_CACHE / 2**10, QUEUE_BYTES / 2**10, THREADED_BYTES / 2**20]),
    ("docs/explanation/design.md", r"executes a quarter, (\d+) tuples at least", lambda: [LEAST_RESCHEDULED]),
    ("docs/explanation/laws.md", r"adds a thread if U > `high` \(([\d.]+)\), and takes one away if U < `low` "
                     r"\(([\d.]+)\)", lambda: [
        setting("utilisation", "high"), setting("utilisation", "low")]),
    ("docs/explanation/laws.md", r"it doubles while that brings (\d+) % more, .*? that differ by (\d+) % begin "
                     r"it anew", lambda: [
        100 * setting("plain_search", "gain"), 100 * setting("plain_search", "change")]),
    ("docs/explanation/laws.md", r"by more than (\d+) % of the swing, the level climbs, by at most (\w+) "
                     r"threads a second", lambda: [
        100 * setting("hill_climbing", "ratio"), setting("hill_climbing", "speed")]),
    ("docs/explanation/laws.md", r"climbs by at most ([\d.]+) threads a period", lambda: [
        setting("gradient2", "queue") * setting("gradient2", "smoothing")]),
    ("docs/explanation/laws.md", r"within a `bound` \((\d+) s\)", lambda: [setting("aimd", "bound")]),
    ("docs/explanation/laws.md", r"After a change it lets (\w+) "
                     r"periods pass", lambda: [setting("ds2", "warm_up")]),
    ("docs/explanation/laws.md", r"It wants them used to (\d+) %", lambda: [100 * setting("flink", "utilisation")]),
    ("docs/explanation/laws.md", r"a share `tau` \(([\d.]+)\) of "
                     r"the period", lambda: [setting("cstream", "tau", Decides.REPLICAS)]),
    ("docs/explanation/laws.md", r"takes in less than `gain` \(([\d.]+)\) "
                     r"more", lambda: [setting("cstream", "gain", Decides.REPLICAS)]),
    ("docs/explanation/laws.md", r"have stayed the same for (\w+) periods", lambda: [control.SETTLED_PERIODS]),
    ("docs/explanation/simulator.md", r"By default it simulates (\d+) "
                          r"ms", lambda: [1000 * spec.VIRTUAL_DURATION_S]),
    ("docs/explanation/simulator.md", r"also after ([\d,]+) tuples", lambda: [drained()]),
    ("docs/reference/machines.md", r"gives a port back after ([\d,]+) tuples", lambda: [drained()]),
    ("docs/explanation/simulator.md", r"runs on this machine for about (\w+) seconds", lambda: [
        pytest.approx(profiling.SETTLE_S + profiling.LOOK_ROUNDS * profiling.LOOK_S, abs=0.5)]),
    ("docs/how-to/operators.md", r"An operator has up to (\d+) replicas", lambda: [MAX_REPLICAS]),
    ("docs/how-to/graphs.md", r"graphs of more than ([\d,]+) operators", lambda: [MAX_OPERATORS]),
    # -- the validation of the simulator -----------------------------------------------------------
    ("docs/appendices/simulator-validation.md",
        r"runs (\d+) cases .* Of these cases (\d+) are .* Another (\d+) are co-routines .* graphs, "
        r"(\d+) of them with two replicas .* come (\d+) of pipelines .* The last (\d+) are", validated),
    ("docs/appendices/simulator-validation.md", r"known \| (\d+) \|.* replicas \| (\d+) \|.* deep \| (\d+) \|.* "
        r"new \| (\d+) \|", lambda: [
        validated()[1] + validated()[2] - validated()[3], *validated()[3:]]),
    ("docs/appendices/simulator-validation.md", r"median error of at most (\d+) %, none above (\d+) %, .* differ by more "
                       r"than (\d+) %", lambda: [
        100 * comparison.MEDIAN_TARGET, 100 * comparison.WORST_TARGET, 100 * order.MIN_ORDERED_DIFFERENCE]),
    ("docs/appendices/simulator-validation.md", r"`validate` runs (\d+) cases", lambda: validated()[:1]),
    ("--help validate", r"predict the same (\d+) cases", lambda: validated()[:1]),
    # -- benches of laws ---------------------------------------------------------------------------
    ("docs/appendices/laws-bench.md", r"has ([\d,]+) scenarios, of which (\d+) are "
                           r"held out", lambda: scenarios("threads")),
    ("docs/appendices/laws-bench.md", r"has (\d+) scenarios\. (\d+) of them are pipelines", lambda: [
        scenarios("queues")[0], scenarios("queues")[0] - scenarios("queues")[1]]),
    ("docs/appendices/laws-bench.md", r"has (\d+) scenarios, 60 of each .* only score \((\d+) "
                           r"scenarios", lambda: scenarios("replicas")),
    # -- graphs ------------------------------------------------------------------------------------
    ("docs/how-to/applications.md", r"`form=figure` \|[^|]*\| (\d+) \| "
                             r"(\d+) \|", lambda: by_hand("login-failures", form="figure")),
    ("docs/how-to/applications.md", r"`form=large` \|[^|]*\| (\d+) \| "
                             r"(\d+) \|", lambda: by_hand("login-failures", form="large")),
    ("docs/how-to/applications.md", r"`vwap` \|[^|]*\| (\d+) \| (\d+) \|", lambda: by_hand("vwap")),
    ("docs/how-to/applications.md", r"`wiki-word-count` \|[^|]*\| (\d+) \| (\d+) "
                             r"\|", lambda: by_hand("wiki-word-count")),
    ("docs/how-to/applications.md", r"`sources=S` \|[^|]*\| (\d+) S \+ (\d+) \| (\d+) S \+ "
                             r"(\d+) \|", by_sources),
    *(("config/schemas/graph.schema.json", rf'"{name}": {{"description": "[^"]* \(default: ([\d.]+)\)"', lambda name=name: [
        default(Graph.elastic_load_balance, name)])
      for name in ("congestion_tolerance", "throughput_tolerance", "measure_period")),
]  # fmt: skip

LAWS = {
    ("docs/explanation/laws.md", "**middleware19**"): (Decides.QUEUES, "middleware19"),
    ("docs/explanation/laws-millrace.md", "## Threads"): (Decides.THREADS, "millrace"),
    ("docs/explanation/laws-millrace.md", "## Queues and threads"): (Decides.QUEUES, "millrace"),
    ("docs/explanation/laws-millrace.md", "## Threads and replicas"): (
        Decides.REPLICAS,
        "millrace",
    ),
}
"""Texts after which the first table of settings is that of a law."""


def value_of(text: str) -> float:
    """A number in figures or in words."""
    return float(WORDS.index(text)) if text in WORDS else float(text.replace(",", ""))


def read(page: str, capsys: pytest.CaptureFixture[str]) -> str:
    """A page as one line, comments of YAML without their marks."""
    if page.startswith("--help "):
        with pytest.raises(SystemExit):
            main([page.removeprefix("--help "), "--help"])
        text = capsys.readouterr().out
    else:
        text = (ROOT / page).read_text(encoding="utf-8")
    return " ".join(re.sub(r"^# ?", "", text, flags=re.MULTILINE).split())


@pytest.mark.parametrize(
    ("page", "pattern", "values"), SENTENCES, ids=lambda each: each if isinstance(each, str) else ""
)
def test_a_sentence_names_the_value_that_holds(page, pattern, values, capsys):
    found = re.search(pattern, read(page, capsys))
    assert found is not None, f"{page} has no sentence like this any more"
    assert [value_of(group) for group in found.groups()] == values()


@pytest.mark.parametrize(("page", "after"), LAWS, ids=lambda each: each)
def test_a_table_of_settings_names_the_defaults_of_its_law(page, after):
    decides, law = LAWS[page, after]
    text = (ROOT / page).read_text(encoding="utf-8")
    table = text[text.index(after) :].partition("| setting |")[2].partition("\n\n")[0]
    told = dict(re.findall(r"^\| `(\w+)` \(([\w.]+)\)", table, re.MULTILINE))
    words = {True: "true", False: "false"}
    defaults = {setting.name: setting.default for setting in law_class(law, decides).SETTINGS}
    assert told == {
        name: words[value] if isinstance(value, bool) else f"{value:g}"
        for name, value in defaults.items()
    }
