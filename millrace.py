"""The public interface of Millrace: `import millrace` and `millrace.Graph`.

Each name is imported when it is first used, so that a program loads what it needs. The modules
behind the names are those of the documentation's examples, and may be imported directly.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from harness import __version__

if TYPE_CHECKING:
    from harness.connectors import *  # noqa: F403

_HOMES = {
    "harness.connectors": (
        *("EventSink", "EventSource", "FileSink", "FileSource", "StandardInput"),
        *("TcpSink", "TcpSource", "WebSocketSink", "WebSocketSource"),
    ),
    "harness.elasticity": ("Bounds", "Decision", "Law", "Reading", "Setting"),
    "harness.engine": ("machines", "open_engine"),
    "harness.errors": ("RunFailed", "UserError"),
    "harness.graph": ("Graph", "GraphError", "Operator", "PortId", "Stream", "Threading"),
    "harness.graph.annotations": ("parallel", "threading"),
    "harness.graph.functions.compiled": ("NativeFunction", "PolicyFunction"),
    "harness.graph.keys": ("key_of",),
    "harness.graph.schema": ("Schema",),
    "harness.machines.machine": ("load_machine",),
    "harness.machines.software": ("load_software",),
    "harness.measurement.process": ("run_in_fresh_process",),
    "harness.models": ("Coroutine", "Dedicated", "Dynamic", "Manual", "Multilevel", "make_model"),
    "topologies": ("build",),
}
"""The public names, by the module that defines them."""

_MODULES = {"windows": "harness.operators.windows"}
"""Modules that are public as a whole, by their names here."""

_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF), *sorted(_MODULES)]


def __getattr__(name: str) -> Any:
    """Return a public name from the module that defines it."""
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOME_OF:
        raise AttributeError(f"module 'millrace' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    """Return the public names."""
    return list(__all__)
