"""One run of a peer and its record, as in `measurement.run`, with a peer's program in the place of
our engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from harness.errors import RunFailed, UserError
from harness.measurement.assemble import blank_record, fail_record, fill_record
from harness.measurement.observe import observe
from harness.measurement.spec import Run
from harness.measurement.subject import build_subject
from harness.peers import find_peer
from harness.peers.engine import PeerEngine
from harness.peers.peer import Peer

ALIKE_WITHIN = 3.0
"""Factor by which the time of a floating-point operation may differ between compiled code of a peer
and ours. A guess, not tuned: both wait for the same instruction.
"""

TRIES = 5
"""Measurements of our own time, whose least counts, until both agree: others may have the CPU."""


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
        return _with_versions(fail_record(record, str(error)), peer)
    seen.disturbance = engine.disturbance(len(seen.samples))
    record = fill_record(record, seen, graph, engine, calibrate=False)
    host = record["host"]
    host["ns_per_flop"] = engine.ns_per_flop
    if not peer.interpreted and (warning := flop_warning(engine.ns_per_flop)):
        host |= {"host_fit": False, "host_warnings": [*host["host_warnings"], warning]}
    warmup_s = record["warmup_s"] + engine.settling_s
    record |= {"warmup_s": warmup_s, "batch": engine.batch}
    record |= {"order_violations": engine.out_of_order}
    return _with_versions(record, peer)


def _with_versions(record: dict[str, Any], peer: Peer) -> dict[str, Any]:
    """Add the versions of the tools that have built the program, and of those that run it."""
    record["host"]["versions"] |= peer.tool_versions
    return record


def flop_warning(theirs_ns: float | None) -> str:
    """Return a warning if a floating-point operation takes far more or less time in a peer's
    compiled code than in ours, so that a cost would not be the same work; "" if not.
    """
    # Late, and for this alone: a change of our runtime puts no record of a peer out of date.
    from harness.runtime.engine import ns_per_flop

    if theirs_ns is None:
        return "the peer's program did not measure the time of a floating-point operation"
    ours_ns = math.inf
    for _ in range(TRIES):
        ours_ns = min(ours_ns, ns_per_flop())
        if ours_ns / ALIKE_WITHIN < theirs_ns < ours_ns * ALIKE_WITHIN:
            return ""
    return (
        f"a floating-point operation took {theirs_ns:.3g} ns in the peer's program and "
        f"{ours_ns:.3g} ns in ours: a cost was not the same work, or others had the CPU"
    )
