"""A process that ends when the one that started it is gone.

Without this, what is killed with -9 would leave its processes running, beside whatever is measured next.
"""

from __future__ import annotations

import os
import sys
import threading
import time

PERIOD_S = (
    0.5  # between two looks; rare enough not to disturb a measurement, and a new workflow takes longer than that to start
)


def end_with(parent: int, told: str = "") -> None:
    """Return at once; from then on this process ends when its parent is not the process `parent` any more, with what is `told`
    on stderr.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PERIOD_S)
        if told:
            print(told, file=sys.stderr, flush=True)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
