"""A function of a Cython module, by its capsule in `__pyx_capi__`: gate.pyx."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType

from examples.building import BUILT, HERE, shared_library
from examples.pipeline import GateState, show
from harness.graph import Graph, Operator


def cython_module(source: str | Path) -> ModuleType:
    """The module made from a .pyx file. Your project's setup.py would do that (cythonize)."""
    source = Path(source)
    BUILT.mkdir(parents=True, exist_ok=True)
    translated = BUILT / f"{source.stem}_module.c"
    subprocess.run(
        [sys.executable, "-m", "cython", "-3", "-o", translated, source], check=True, timeout=300
    )
    library = shared_library(translated, f"-I{sysconfig.get_path('include')}")
    spec = importlib.util.spec_from_file_location(source.stem, library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def module() -> ModuleType:
    return cython_module(HERE / "gate.pyx")


def add_gate(graph: Graph, name: str, threshold: float) -> tuple[Operator, GateState]:
    state = GateState(threshold)
    return graph.native(name, module().__pyx_capi__["gate"], state=state), state


if __name__ == "__main__":
    show(add_gate)
