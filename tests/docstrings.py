"""A check of docstrings: each begins with a verb or a noun, and uses common words. `make lint`
calls it.

    python -m tests.docstrings FOLDER...

It prints each docstring that breaks the rule, with its file and line, and ends with 1 if there is
one.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

OPENINGS = re.compile(
    r"(What|Who|Whose|Whoever|Whether|Which|How|Of|Where|When|By|As|The same|If|For)\b"
)
"""Words that begin a clause or a fragment, where a sentence begins with a verb or a noun."""

WORDS = re.compile(r"\b(whoever|told|shall)\b", re.IGNORECASE)

DOCSTRING = re.compile(r'^[ \t]*(?:[rR]?)"""(.*?)"""', re.DOTALL | re.MULTILINE)


def docstrings(text: str, is_python: bool) -> Iterator[tuple[int, str]]:
    """Yield the line and the words of each docstring: a string that is a statement by itself."""
    if is_python:
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Expr(value=ast.Constant(value=str(words)) as value):
                    yield value.lineno, words.strip()
    else:  # Cython and Snakemake
        for found in DOCSTRING.finditer(text):
            yield text.count("\n", 0, found.start()) + 1, found.group(1).strip()


def faults(text: str, is_python: bool = True) -> Iterator[tuple[int, str]]:
    """Yield the line and the fault of each docstring that breaks the rule."""
    for line, words in docstrings(text, is_python):
        if OPENINGS.match(words):
            yield (
                line,
                f"begins with {OPENINGS.match(words).group()!r}: begin with a verb or a noun",
            )
        if (word := WORDS.search(words)) is not None:
            yield line, f"says {word.group()!r}: use a common word"


def main(folders: list[str]) -> int:
    """Print the faults of all Python and Cython files in the folders; return 1 if there is one."""
    wrong = 0
    for folder in folders:
        for path in sorted(
            path for kind in ("py", "pyx", "smk") for path in Path(folder).rglob(f"*.{kind}")
        ):
            for line, fault in faults(path.read_text(encoding="utf-8"), path.suffix == ".py"):
                print(f"{path}:{line}: docstring {fault}")
                wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
