"""Standard output and standard error, which may be a full disk or a closed pipe."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from harness.errors import RunFailed


def say(text: str) -> None:
    """Print a text. Raises RunFailed if it cannot be written, BrokenPipeError if nobody reads on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error


def tell(text: str, end: str = "\n") -> None:
    """Print a text on stderr. If it cannot be written, nothing more goes there: that is no reason to stop what goes on."""
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Let a stream that cannot be written lead nowhere; else the interpreter fails when it flushes it at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
