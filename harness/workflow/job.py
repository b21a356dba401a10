"""A job's process: the command line, which ends when the workflow that started it is gone.

`python -m harness.workflow.job PID COMMAND …`, where PID is the workflow's process. Without this, a workflow killed with -9
would leave its jobs running, and the next one would meet them: measuring at the same time, writing the same tables. Nothing is
lost by ending them, because every command writes to a temporary name first.
"""

from __future__ import annotations

import sys

from harness.cli import main
from harness.machines.host.parent import end_with

GONE = "ended: the workflow that started this job is gone"

if __name__ == "__main__":
    end_with(int(sys.argv[1]), GONE)
    sys.exit(main(sys.argv[2:]))
