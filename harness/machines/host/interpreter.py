"""The interpreter that executes this process."""

import sys


def has_interpreter_lock() -> bool:
    """Return True if the interpreter executes Python on one thread at a time. Before 3.13 every
    interpreter does.
    """
    return getattr(sys, "_is_gil_enabled", lambda: True)()
