"""`millrace models`: the threading models with their options."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import fields
from typing import NamedTuple

from harness.models import DEFAULT_QUEUE_CAPACITY, MAX_QUEUE_CAPACITY, MAX_THREADS, MODELS, allowed_cpus

SUMMARY = "list the threading models with their options"

DESCRIPTION = """\
List the threading models that a run may choose with --model, and the options that each of them has.

example:
  millrace models
"""


class Option(NamedTuple):
    """How an option of a model is told to people."""

    default: str
    unit: str
    range: str
    meaning: str


OPTIONS: dict[str, Option] = {
    "threads": Option(
        f"one for each CPU allowed ({allowed_cpus()} here)",
        "threads",
        f"1 .. {MAX_THREADS}",
        "scheduler threads; each source has a thread besides",
    ),
    "queue_capacity": Option(
        f"{DEFAULT_QUEUE_CAPACITY}, fewer where queues are many", "tuples", f"1 .. {MAX_QUEUE_CAPACITY}", "what a queue holds"
    ),
}
"""By the name of a model's field."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """`models` has no options of its own."""


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    print(as_text(), flush=True)
    return 0


def as_text() -> str:
    """The models with what they do and a table of their options."""
    parts = []
    for name, model in MODELS.items():
        rows = [("option", "default", "unit", "range", "meaning")]
        for field in fields(model):
            if field.name not in OPTIONS:  # for control laws, not for people
                continue
            rows.append((f"--{field.name.replace('_', '-')}", *OPTIONS[field.name]))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        summary = (inspect.getdoc(model) or "").partition("\n")[0]
        parts.append("\n  ".join([f"{name}: {summary}", *(lines if len(rows) > 1 else ["no options"])]))
    parts.append("Splits and load balances never have a queue before them: they run on the thread that submits to them.")
    return "\n\n".join(parts)
