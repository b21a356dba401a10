"""A peer for a test, if it is built here."""

from __future__ import annotations

import os
import shutil

import pytest

from harness.peers import find_peer
from harness.peers.maven import CLUSTER_WARMUP_S
from harness.peers.peer import Peer

REQUIRED = "MILLRACE_CLUSTERS"
"""Variable of `make test-peers`. With the value `required`, a cluster that is not built is a failure
where Maven is here.
"""


def is_cluster(peer: Peer) -> bool:
    """Return True for a peer that takes many seconds to start."""
    return peer.warmup_s >= CLUSTER_WARMUP_S


def built_peer(name: str) -> Peer:
    """Return a peer; skip the test if it is not built."""
    found = find_peer(name)
    if found.built_version is None:
        reason = f"peer {name} is not built here (make peers)"
        required = os.environ.get(REQUIRED) == "required" and is_cluster(found)
        if required and shutil.which("mvn") is not None:
            lacking = found.missing
            pytest.fail(reason if lacking is None else f"{reason}: it needs {lacking.command}")
        pytest.skip(reason)
    return found
