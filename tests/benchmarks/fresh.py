"""A fresh process for every measurement, so that none inherits the memory, the threads or the
caches of the one before.

`call(function, ...)` runs a function of a module there; arguments and result are what JSON can say.
Its other end is here, too: `python -m tests.benchmarks.fresh MODULE FUNCTION ARGUMENTS`.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import RunFailed, UserError

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 180.0  # of a measurement: a hung one must not end the session


class Missing(Exception):
    """Raised where this build lacks what a benchmark needs. The message names it."""

    def __str__(self) -> str:
        return f"not available in this build: {self.args[0]}"


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)` in a process of its own. Raises Missing as the function does,
    RunFailed if it fails otherwise.
    """
    words = [
        sys.executable,
        "-m",
        __spec__.name,
        function.__module__,
        function.__qualname__,
        json.dumps(arguments),
    ]
    try:
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired as error:
        raise RunFailed(f"no result after {TIMEOUT_S:.0f} s") from error
    if done.returncode != 0:
        raise RunFailed((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1])
    answer = json.loads(done.stdout.splitlines()[-1])
    if "missing" in answer:
        raise Missing(answer["missing"])
    return answer["result"]


def main(module: str, name: str, arguments: str) -> int:
    function = getattr(importlib.import_module(module), name)
    try:
        answer = {"result": function(*json.loads(arguments))}
    except Missing as error:
        answer = {"missing": error.args[0]}
    except (UserError, RunFailed) as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    # As another module than `tests.benchmarks.fresh`, this one would not know that module's
    # Missing.
    code = importlib.import_module("tests.benchmarks.fresh").main(*sys.argv[1:])
    sys.stdout.flush()
    os._exit(code)  # nothing that happens while an engine is torn down can cost a result
