"""One run of a peer and its record, as in `measurement.run`, with a peer's program in the place of
our engine.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness.errors import RunFailed, UserError
from harness.measurement.assemble import blank_record, fail_record, fill_record
from harness.measurement.observe import observe
from harness.measurement.spec import Run
from harness.measurement.subject import build_subject
from harness.peers import find_peer
from harness.peers.engine import PeerEngine


def measure_peer(run: Run, announce: Callable[[str], None] = lambda phase: None) -> dict[str, Any]:
    """Do the run in a process of its own; return its record, marked as failed if the run failed.

    Raises UserError for a peer that is missing or has another version than requested, and for a
    graph that peers do not run.
    """
    graph, parameters, _ = build_subject(run)
    graph.check()
    peer = find_peer(run.model.name)
    if peer.label != run.model.label:
        raise UserError(
            f"peer {peer.name} is {peer.label} now, not {run.model.label}, as the run was asked for"
        )
    record = blank_record(run, parameters, run.model)
    engine = PeerEngine(
        graph, peer, peer.filled(peer.command), run.tuples, run.model.queue_capacity
    )
    try:
        seen = observe(engine, run, graph, announce)
    except RunFailed as error:
        return fail_record(record, str(error))
    seen.disturbance = engine.disturbance(len(seen.samples))
    record = fill_record(record, seen, graph, engine, calibrate=False)
    record["host"]["ns_per_flop"] = engine.ns_per_flop
    warmup_s = record["warmup_s"] + engine.settling_s
    of_peer = {"warmup_s": warmup_s, "batch": engine.batch}
    return record | of_peer | {"order_violations": engine.out_of_order}
