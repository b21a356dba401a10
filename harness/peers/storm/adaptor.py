"""Apache Storm in one process: a local cluster with its own ZooKeeper. Tuples are handed on by
themselves, or in batches.
"""

from pathlib import Path

from harness.peers.maven import command, recipe
from harness.peers.peer import Peer

RECIPE = recipe(Path(__file__).resolve().parent, "storm-server")
ALONE, TOGETHER = (command("-Dlog4j2.level=ERROR", f"-Dbatch={tuples}") for tuples in (1, 100))

PEERS = (
    Peer(
        name="storm",
        title="Apache Storm, local cluster: an executor, with a thread, an operator",
        command=ALONE,
        **RECIPE,
    ),
    Peer(
        name="storm-batched",
        title="the same, tuples handed on in batches of 100",
        command=TOGETHER,
        **RECIPE,
    ),
)
