"""Standard output and standard error: their encoding may lack our characters, and they may be a
full disk or a closed pipe.
"""

from __future__ import annotations

import codecs
import os
import sys
from typing import TextIO

from harness.errors import RunFailed

IN_ASCII = {
    "µ": "u",
    "±": "+-",
    "…": "...",
    "→": "->",
    "←": "<-",
    "×": "x",
    "·": ".",
    "≥": ">=",
    "≤": "<=",
    "∞": "inf",
    "§": "sec. ",
    "–": "-",
    "−": "-",
}
"""Replacements of our characters that an encoding lacks."""

LOSSY = "millrace.lossy"
"""Name of the error handler of both streams."""


def accept_any_text() -> None:
    """Let both streams take any text: what their encoding lacks is written in ASCII, as in
    `IN_ASCII` or as an escape.
    """
    codecs.register_error(LOSSY, _in_ascii)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a closed stream or a replacement has no such method
            stream.reconfigure(errors=LOSSY)


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    return "".join(
        IN_ASCII.get(each) or each.encode("ascii", "backslashreplace").decode() for each in lacking
    ), error.end


def say(text: str) -> None:
    """Print a text. Raises RunFailed if it cannot be written, BrokenPipeError if the reader has
    gone.
    """
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error


def tell(text: str, end: str = "\n") -> None:
    """Print a text on stderr. If it cannot be written, nothing more goes there, and the command
    goes on.
    """
    try:
        print(text, end=end, file=sys.stderr, flush=True)
    except OSError:
        discard(sys.stderr)


def discard(stream: TextIO) -> None:
    """Redirect a stream that cannot be written to the null device; else the interpreter fails when
    it flushes it at its end.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
