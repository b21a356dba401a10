"""Recipe of a peer in Rust. The folder `rust` has what the programs share, and the lock file of all
of them. They are compiled for the processor at hand, as our runtime is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.peers.peer import Tool


def recipe(folder: Path, crate: str) -> dict[str, Any]:
    """Return arguments of `Peer`; the version is that of a crate in the lock file."""
    package = f"{folder.name}-peer"
    return {
        "folder": folder,
        "command": (f"{{out}}/target/release/{package}",),
        "version": ("../rust/Cargo.lock", rf'name = "{crate}"\nversion = "([\d.]+)"'),
        "tools": (
            Tool("cargo", "cargo", version=(("rustc", "--version"), r"rustc ([\d.]+)")),
            Tool("cc", "gcc"),  # it links by that
        ),
        "kept": ("target",),
        "build": (
            (
                "cargo",
                "build",
                "--quiet",
                "--release",
                "--locked",
                "--manifest-path",
                "{rust}/Cargo.toml",
                "--package",
                package,
                "--target-dir",
                "{out}/target",
                "--config",
                'build.rustflags=["-Ctarget-cpu=native"]',
            ),
        ),
    }
