"""Tests of what an edit of a file makes out of date: exactly the results that depend on it. On the
quick profile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from harness.bench.queues.known import answer_files
from harness.experiments import freshness
from harness.experiments.config import Config, load_config
from harness.experiments.experiment import Arm, Block, Cell
from harness.files.closure import ROOT
from harness.measurement.spec import PeerModel
from harness.peers import all_peers
from harness.plots.figures import FIGURES

REPLICATION = {f"cstream_fig{number}" for number in (9, 10)}
POLICIES = {"cstream_policies", *(f"cstream_fig{number}" for number in (4, 6, 7, 8, 9, 10, 11))}
THREADS = {f"pldi17_fig{number}" for number in (9, 10, 11)} | {
    "saso",
    "saso_placement",
    "crossover",
}
THREADS |= {f"mw19_fig{number}" for number in (1, 6, 9, 10, 11, 12, 13, 15)} | {"mw19_design"}
THREADS |= {f"elb_{load}" for load in ("cost", "bursty_cost", "bursty_rate")}
OVER_TIME = {
    "pldi17_fig11",
    "mw19_fig6",
    "mw19_design",
    "mw19_fig13",
    *(name for name in THREADS if name.startswith("elb_")),
}
BENCHES = {"bench threads", "bench queues", "answers"}
GRAPHS = {"mw19_fig14", *BENCHES}
SIMULATED_GRAPHS = {"mw19_fig14", "answers", "bench queues"}
"""Results that lay graphs out, or compare queues on the simulator."""


@cache
def config() -> Config:
    return load_config(ROOT / "config/quick.yaml")


@cache
def results() -> dict[str, frozenset[Path]]:
    """The files that each result of the profile depends on."""
    found = {block.name: freshness.of_block(block) for block in config().blocks()}
    found |= {name: freshness.of_figure(FIGURES[name].module) for name in config().drawn}
    found |= {f"bench {library}": freshness.of_bench(library) for library in ("threads", "queues")}
    return found | {
        "tables": freshness.of_tables(),
        "claims": freshness.of_claims(),
        "answers": answer_files(),
    }


def blocks(which: Callable[[Block], bool] = lambda block: True) -> set[str]:
    return {block.name for block in config().blocks() if which(block)}


def simulated(block: Block) -> bool:
    return block.place.simulated


def measured(block: Block) -> bool:
    return not block.place.simulated


def on(machine: str) -> Callable[[Block], bool]:
    return lambda block: block.place.simulated and block.place.machine.partition(":")[0] == machine


def of(*topologies: str) -> Callable[[Block], bool]:
    return lambda block: block.cell.topology in topologies


def places_queues(block: Block) -> bool:
    return any(arm.model.name == "multilevel" and arm.model.law == "millrace" for arm in block.arms)


APPLICATIONS = ("vwap", "login-failures", "wiki-word-count", "packet-analysis")


def runs_threads(block: Block) -> bool:
    """Measured, or simulated with operators whose costs are profiled on real threads."""
    return measured(block) or of(*APPLICATIONS)(block)


EDITS: dict[str, Callable[[], set[str]]] = {
    "harness/plots/replica_panels.py": lambda: REPLICATION,
    "harness/plots/storm_panels.py": lambda: set(),  # the quick profile draws neither figure
    "harness/plots/means.py": lambda: POLICIES,
    "harness/plots/graph_drawing.py": lambda: {"mw19_fig14"},
    "harness/plots/application_panels.py": lambda: {"mw19_fig15"},
    "harness/plots/thread_panels.py": lambda: THREADS,
    "harness/plots/switch_table.py": lambda: {"pldi17_fig9"},
    "harness/plots/figures.py": lambda: set(),  # the workflow compares a figure's row
    "harness/plots/__init__.py": lambda: set(),
    "harness/models/layout.py": lambda: blocks() | SIMULATED_GRAPHS,
    "harness/models/analysis.py": lambda: blocks() | SIMULATED_GRAPHS,
    "harness/native/spsc_ring.hpp": blocks,
    "harness/runtime/pool.pxi": lambda: blocks(runs_threads),
    "harness/simulator/native/calendar.hpp": lambda: blocks(simulated),
    "harness/simulator/engine.pyx": lambda: blocks(simulated),
    "harness/models/port_queues.py": lambda: blocks() | GRAPHS,
    "harness/graph/flow.py": lambda: blocks() | GRAPHS,
    "harness/engine/conservation.py": lambda: blocks() | SIMULATED_GRAPHS,
    "harness/measurement/observe.py": blocks,
    "harness/measurement/control.py": blocks,
    "harness/elasticity/queues/cuts.py": lambda: blocks(places_queues) | {"bench queues"},
    "harness/elasticity/queues/work_shares.py": lambda: blocks(places_queues) | {"bench queues"},
    "harness/elasticity/threads/aimd.py": lambda: {"bench threads"},
    "harness/elasticity/threads/elastic_load_balance.py": lambda: (
        blocks(of("load-balance")) | {"bench threads"}
    ),
    "topologies/mix.py": lambda: blocks(of("mix")) | {"bench queues", "answers"},
    "topologies/vwap.py": lambda: blocks(of("vwap")) | {"mw19_fig14", "bench queues", "answers"},
    "config/machines/power8.yaml": lambda: blocks(on("power8")),
    "config/machines/xeon.yaml": lambda: blocks(on("xeon")) | {"bench queues", "answers"},
    "harness/bench/queues/scenario.py": lambda: {"bench queues"},
    "harness/bench/queues/surface.py": lambda: {"bench queues", "answers"},
    "harness/bench/threads/curves.py": lambda: {"bench threads"},
    "harness/spark/schemas.py": lambda: {"tables"},
    "harness/claims/pldi17.yaml": lambda: {"claims"},
    "harness/peers/peer.py": lambda: set(),
    "harness/peers/go/main.go": lambda: set(),
    "harness/cli/__init__.py": lambda: set(),
    "harness/experiments/config.py": lambda: set(),
    "harness/experiments/load_changes.py": lambda: OVER_TIME | {"claims"},
    "harness/files/closure.py": lambda: set(),
    "harness/experiments/freshness.py": lambda: set(),
    "docs/explanation/design.md": lambda: set(),
    "Makefile": lambda: set(),
}


@pytest.mark.parametrize("file", EDITS)
def test_an_edit_makes_exactly_those_results_out_of_date_that_depend_on_it(file):
    assert (ROOT / file).is_file()
    assert {name for name, files in results().items() if ROOT / file in files} == EDITS[file]()


def test_every_file_exists_and_lies_in_the_project():
    for name, files in results().items():
        assert files and all(file.is_file() and file.is_relative_to(ROOT) for file in files), name


def test_what_is_built_counts_as_well_as_its_source():
    for source in (file for files in results().values() for file in files if file.suffix == ".pyx"):
        (built,) = source.parent.glob(f"{source.stem}.*so")
        assert all((built in files) == (source in files) for files in results().values())


def with_peers(*names: str) -> frozenset[Path]:
    arms = [Arm(name, PeerModel(name, f"{name} 1.0")) for name in names]
    return freshness.of_block(Block("peers", Cell("cell", "mix", {}), arms, 1, 1.0, "auto", 1))


@pytest.mark.parametrize("name", all_peers())
def test_records_of_a_peer_depend_on_its_program_and_on_no_other_one(name):
    found = with_peers(name)
    folders = {
        file.relative_to(ROOT / "harness/peers").parts[0] for file in found if "peers" in file.parts
    }
    programs = {path.parent.name for path in (ROOT / "harness/peers").glob("*/adaptor.py")}
    assert folders & programs == {name.partition("-")[0]}
    assert set(all_peers()[name].sources) <= found
    assert ROOT / "harness/runtime/engine.pyx" not in found


def test_records_of_peers_and_of_our_own_runtime_depend_on_both():
    (block,) = [block for block in config().blocks() if block.name.startswith("pldi17_fig10/mix")][
        :1
    ]
    assert freshness.of_block(block) - with_peers("go")
    arms = [*block.arms, Arm("go", PeerModel("go", "go 1.0"))]
    both = Block("both", block.cell, arms, 1, 1.0, "auto", 1)
    assert freshness.of_block(both) == freshness.of_block(block) | with_peers("go")
