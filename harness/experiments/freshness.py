"""The files that a result depends on: it is out of date when one of them has changed since.

Each function names where a result begins: a few modules, and what it asks for by name, as an
engine, a topology or a law. `harness.files.closure` finds the rest. Settings are no files: the
workflow compares `Block.settings`, and records hold a digest of what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from harness.bench.bench import LIBRARIES
from harness.elasticity import DEFAULT_LAW, LAWS, Decides, decides_of, law_module
from harness.experiments.experiment import Block
from harness.files.closure import ROOT, closure, strings
from harness.graph.kinds import ELASTIC_LOAD_BALANCE
from harness.measurement.spec import PeerModel
from harness.peers import find_peer

RUNTIME = "harness.runtime.engine"
SIMULATOR = "harness.simulator.engine"
PEERS = "harness.peers.measure"
PROTOCOL = "harness.runtime.protocol"
PROFILING = "harness.measurement.profiling"
APPLICATIONS = ROOT / "harness" / "applications"


def of_block(block: Block) -> frozenset[Path]:
    """Return the files that the records of a block depend on."""
    place = block.place
    modules = {"harness.measurement.block", "harness.measurement.records", *_laws(block)}
    names = set() if block.cell.graph_file else {block.cell.topology}
    files: set[Path] = set()
    if place.simulated:
        modules.add(SIMULATOR)
        names |= {place.machine.partition(":")[0], place.software}
        names |= {place.costs().get("based_on", place.software)}
        if any(
            path.is_relative_to(APPLICATIONS)
            for path in closure("harness.measurement.subject", names=frozenset(names))
        ):
            modules |= {PROFILING, RUNTIME}  # real threads tell what typed operators cost
    for arm in block.arms:
        if isinstance(arm.model, PeerModel):
            peer = find_peer(arm.model.name)
            modules |= {PEERS, PROTOCOL, f"harness.peers.{peer.folder.name}.adaptor"}
            files.update(peer.sources)
        elif not place.simulated:
            modules.add(RUNTIME)
    return closure(*sorted(modules), names=frozenset(names)) | files


def _laws(block: Block) -> Iterator[str]:
    """Yield the modules of the laws that decide in a block: about pools, or about the ports of a
    balancer.
    """
    by_graph = bool(block.cell.graph_file)  # its operators may be elastic by themselves
    for arm in block.arms:
        model = arm.model
        if arm.elastic or (by_graph and not isinstance(model, PeerModel)):
            name = getattr(model, "law", DEFAULT_LAW)
            yield law_module(name, decides_of(name, model.name))
    if by_graph or block.cell.parameters.get("elastic") == "yes":
        yield law_module(ELASTIC_LOAD_BALANCE.name, Decides.THREADS)


def of_tables() -> frozenset[Path]:
    """Return the files that the tables of an experiment depend on, besides its records."""
    return closure("harness.spark.aggregate", "harness.spark.together")


def of_bench(library: str) -> frozenset[Path]:
    """Return the files that the scores of all laws on one of `bench.LIBRARIES` depend on."""
    decides = Decides.THREADS if library == "paced" else Decides(library)
    modules = {"harness.bench.bench", "harness.bench.report", f"harness.bench.{LIBRARIES[library]}"}
    modules |= {law_module(name, decides) for name in LAWS[decides]}
    names: frozenset[str] = frozenset()
    if decides is Decides.QUEUES:
        modules.add(law_module(DEFAULT_LAW, Decides.THREADS))  # of the contestant `dynamic`
        names = strings("harness.bench.queues.scenario")
    return closure(*sorted(modules), names=names)


def of_figure(module: str) -> frozenset[Path]:
    """Return the files that a figure depends on, besides its tables and its row in the table of
    figures. `module`: that of `harness.plots` with the function that draws it.
    """
    return closure(f"harness.plots.{module}", "harness.plots.draw")


def of_claims() -> frozenset[Path]:
    """Return the files that the report of the papers' claims depends on, besides the tables."""
    return closure(
        *(f"harness.claims.{module}" for module in ("evaluate", "page", "report", "tables"))
    )
