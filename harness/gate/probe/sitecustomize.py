"""Records the files that a Python process loads, or samples its stacks, from its start: Python's
`site` imports this module because `PYTHONPATH` names its folder.

Used only in the rehearsal of a program (`harness/gate/loaded.py`) and in its profile
(`harness/gate/explain`), never in a measured process.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

PROBE_FOLDER = str(Path(__file__).parent.absolute())
# environment variable with the prefix of the files that receive the paths, each ended by a zero
# byte
PATHS_VARIABLE = "MILLRACE_LOADED"
# environment variable with the prefix of the files that receive the sampled stacks
STACKS_VARIABLE = "MILLRACE_STACKS"


def _record(prefix: str) -> None:
    handle = os.open(
        f"{prefix}.{os.getpid()}", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
    )
    seen = set()

    def hook(event: str, details: tuple[Any, ...]) -> None:
        path = None
        if event == "open":
            opened = details[0]
            if isinstance(opened, str) and opened.endswith((".py", ".pyc")):
                path = opened
        elif event == "import":
            path = details[1]  # set for extension modules; None for other modules
        if path and path not in seen:
            seen.add(path)
            os.write(handle, bytes(Path(path).absolute()) + b"\0")

    sys.addaudithook(hook)


def _go_on() -> None:
    """Import the `sitecustomize` module that this one hides, if there is one."""
    sys.path[:] = [each for each in sys.path if each != PROBE_FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if __name__ == "sitecustomize":
    if PATHS_VARIABLE in os.environ:
        _record(os.environ[PATHS_VARIABLE])
    if STACKS_VARIABLE in os.environ:
        import sampler

        sampler.begin(os.environ[STACKS_VARIABLE])
    _go_on()
