"""A job's process: the command line, which ends when the workflow that started it has ended.

`python -m harness.workflow.job PID COMMAND …`, where PID is the workflow's process. Without this, a
workflow killed with -9 would leave its jobs running, and the next workflow would run beside them:
both would measure at the same time and write the same tables. Ending the jobs loses nothing,
because every command writes to a temporary name first.
"""

from __future__ import annotations

import sys

from harness.cli import main
from harness.machines.host.parent import end_with

WORKFLOW_GONE = "ended: the workflow that started this job is gone"

if __name__ == "__main__":
    end_with(int(sys.argv[1]), WORKFLOW_GONE)
    sys.exit(main(sys.argv[2:]))
