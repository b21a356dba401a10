"""`millrace run --peer NAME`: another runtime in the place of a threading model."""

from __future__ import annotations

import argparse

from harness.cli.settings import parse_settings
from harness.errors import UserError
from harness.measurement.spec import RunSpec
from harness.measurement.subject import build_subject, find_subject

OURS = (
    "model", "threads", "elastic", "law", "law_set", "period", "min_threads", "max_threads", "queued", "policy", "quantum",
    "machine", "cpus", "simulated", "software", "set_constant",
)  # fmt: skip
"""Options that say how our own runtime executes a graph, or where."""


def add_peer_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--peer`."""
    parser.add_argument(
        "--peer",
        metavar="NAME",
        help="run it in another runtime instead: asyncio, go, java and others (docs/peers.md); `make peers` builds them",
    )


def peer_spec(args: argparse.Namespace, defaults: argparse.Namespace, duration_s: float) -> RunSpec:
    """The run of a peer that is asked for. `defaults`: what the options are if nothing is said; `duration_s`: of the window.

    Raises UserError for a peer that is not there, for an option of ours, and for a graph that peers do not run.
    """
    from harness.peers import find_peer
    from harness.peers.plan import plan_of

    peer = find_peer(args.peer)
    for option in OURS:
        if getattr(args, option) != getattr(defaults, option):
            raise UserError(f"--{option.replace('_', '-')} applies to our own runtime, not to peer {peer.name}")
    subject = find_subject(args.topology, parse_settings(args.set), args.seed)
    spec = RunSpec(
        topology=subject.topology,
        parameters=subject.given,
        model=peer.name,
        peer=peer.label,
        queue_capacity=args.queue_capacity,
        warmup=args.warmup,
        seed=args.seed,
        tuples=args.tuples,
        cell=subject.cell,
        arm=peer.name,
        graph_file=subject.file,
        digest=subject.digest,
        duration_s=duration_s,
    )
    plan_of(subject.graph or build_subject(spec)[0], 1, spec.tuples)
    return spec
