"""Rust with crossbeam-channel, which Cargo.lock pins. It is compiled for the processor at hand, as
our runtime is.
"""

from pathlib import Path

from harness.peers.peer import Peer, Tool

PEERS = (
    Peer(
        name="crossbeam",
        title="Rust: a thread an operator, a bounded crossbeam channel before each, tuples by "
        "value",
        folder=Path(__file__).resolve().parent,
        command=("{out}/target/release/peer",),
        version=("Cargo.lock", r'name = "crossbeam-channel"\nversion = "([\d.]+)"'),
        tools=(Tool("cargo", "cargo"),),
        build=(
            (
                "cargo",
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--target-dir",
                "{out}/target",
                "--config",
                'build.rustflags=["-Ctarget-cpu=native"]',
            ),
        ),
    ),
)
