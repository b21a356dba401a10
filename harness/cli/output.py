"""Standard output, which may be a full disk or a closed pipe."""

from __future__ import annotations

from harness.errors import RunFailed


def say(text: str) -> None:
    """Print a text. Raises RunFailed if it cannot be written, BrokenPipeError if nobody reads on."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error
