"""A job's process: the command line, which ends when the workflow that started it is gone.

`python -m harness.rules.job PID COMMAND …`, where PID is the workflow's process. Without this, a workflow killed with -9 would
leave its jobs running, and the next one would meet them: measuring at the same time, writing the same tables. Nothing is lost
by ending them, because every command writes to a temporary name first.
"""

from __future__ import annotations

import os
import sys
import threading
import time

from harness.cli import main

PERIOD_S = (
    0.5  # between two looks; rare enough not to disturb a measurement, and a new workflow takes longer than that to start
)


def end_with(workflow: int) -> None:
    """Return at once; from then on this process ends when its parent is not the process `workflow` any more."""

    def watch() -> None:
        while os.getppid() == workflow:
            time.sleep(PERIOD_S)
        print("ended: the workflow that started this job is gone", file=sys.stderr, flush=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with(int(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
