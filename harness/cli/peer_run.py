"""`millrace run --peer NAME`: another runtime in the place of a threading model."""

from __future__ import annotations

import argparse
from dataclasses import fields

from harness.cli.model_options import flag_of
from harness.cli.settings import parse_settings
from harness.errors import UserError
from harness.measurement.spec import PeerModel, Run, run_of
from harness.measurement.subject import build_subject, find_subject
from harness.models import OPTIONS

REFUSED_OPTIONS = (
    "model",
    *(name for name in OPTIONS if name not in {each.name for each in fields(PeerModel)}),
    *("period", "machine", "cpus", "simulated", "software", "set_constant"),
)
"""Options that say how our own runtime executes a graph, or where."""


def add_peer_argument(parser: argparse.ArgumentParser) -> None:
    """Add `--peer`."""
    parser.add_argument(
        "--peer",
        metavar="NAME",
        help="run it in another runtime instead: asyncio, go, java and others "
        "(docs/how-to/peers.md); `make peers` builds them",
    )


def run_of_peer(args: argparse.Namespace, defaults: argparse.Namespace) -> Run:
    """Return the run of a peer that is asked for. `defaults`: what the options are if nothing is
    said.

    Raises UserError for a peer that is not there, for an option of ours, and for a graph that peers
    do not run.
    """
    from harness.peers import find_peer

    peer = find_peer(args.peer)
    for option in REFUSED_OPTIONS:
        if getattr(args, option) != getattr(defaults, option):
            raise UserError(
                f"{flag_of(option)} applies to our own runtime, not to peer {peer.name}"
            )
    subject = find_subject(args.topology, parse_settings(args.set), args.seed)
    run = run_of(
        subject.topology,
        subject.given,
        peer.name,
        peer=peer.label,
        queue_capacity=args.queue_capacity,
        warmup=args.warmup,
        duration_s=args.duration,
        seed=args.seed,
        tuples=args.tuples,
        cell=subject.cell,
        arm=peer.name,
        graph_file=subject.file,
        digest=subject.digest,
    )
    peer.plan(subject.graph or build_subject(run).graph, 1, run.tuples)
    return run
