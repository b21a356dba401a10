"""The measuring process: `python -m harness.measurement.child < spec.json > record.json`. Its other end is `process`.

It ends by `os._exit`, so that nothing that happens while the engine is torn down can cost a record that is written already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from harness.errors import UserError


def main(words: Sequence[str]) -> int:
    """Do the run that stdin asks for; returns the exit code."""
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an operator prints must not mix with the record
    # A law's matrices are small, and a numerical library's threads spin on the CPUs of those that are measured. Snakemake
    # exports as many as the job has CPUs; the library reads it when it is loaded, later than here.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    announce = _attach(int(words[1])) if words[:1] == ["--parent"] else lambda phase: None
    from harness.measurement.run import RunSpec, measure

    try:
        record = measure(RunSpec.from_json(sys.stdin.read()), announce)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    import json

    with answer:
        answer.write(json.dumps(record, allow_nan=False) + "\n")
    return 0


def _attach(parent: int) -> Callable[[str], None]:
    """End this process when the parent's end of the socket closes; returns how to tell it the phase."""
    import _thread

    def outlive_nobody() -> None:
        while os.read(parent, 64):
            pass
        os._exit(1)

    _thread.start_new_thread(outlive_nobody, ())
    return lambda phase: os.write(parent, f"{phase}\n".encode()) and None


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
