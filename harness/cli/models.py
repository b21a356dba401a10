"""`millrace models`: the threading models with their options."""

from __future__ import annotations

import argparse
import inspect
from dataclasses import fields
from typing import NamedTuple

from harness.graph.values import MAX_QUEUE_CAPACITY, MAX_REPLICAS, MAX_THREADS
from harness.machines.host.cpu import allowed_cpus, usable_cpus
from harness.models import DEFAULT_LAW, DEFAULT_POLICY, DEFAULT_QUEUE_CAPACITY, MODELS, QUANTUM_MS
from harness.models.policy import policies
from harness.terminal.output import say

SUMMARY = "list the threading models with their options"

DESCRIPTION = """\
A run chooses one with --model.

examples:
  millrace models
  millrace run pipeline --model dynamic --threads 2      one of them, with one of its options
"""


class Option(NamedTuple):
    """Description of a model's option for people."""

    default: str
    unit: str
    range: str
    meaning: str


OPTIONS: dict[str, Option] = {
    "threads": Option(
        f"one a CPU ({allowed_cpus()}); elastic: the least",
        "threads",
        f"1 .. {MAX_THREADS}",
        "scheduler threads, if elastic to begin with",
    ),
    "queue_capacity": Option(
        f"at most {DEFAULT_QUEUE_CAPACITY}",
        "tuples",
        f"1 .. {MAX_QUEUE_CAPACITY}",
        "what a queue holds",
    ),
    "elastic": Option("no", "", "", "a law changes the threads while tuples flow"),
    "policy": Option(DEFAULT_POLICY, "", "see below", "which co-routine goes on next"),
    "quantum": Option(f"{QUANTUM_MS:g}", "ms", "above 0", "after which one that runs is preempted"),
    "replicas": Option(
        "1", "replicas", f"1 .. {MAX_REPLICAS}", "of each operator that may have some"
    ),
    "queued": Option(
        "all", "ports", "all, none, 7, 30%, names", "which scheduled ports have queues"
    ),
    "law": Option(DEFAULT_LAW, "", "millrace laws", "the control law; makes the threads elastic"),
    "law_set": Option("the law's own", "", "NAME=VALUE", "a setting of the law"),
    "min_threads": Option(
        "least of the graph", "threads", f"1 .. {MAX_THREADS}", "lowest level of the law"
    ),
    "max_threads": Option(
        f"one a usable CPU ({usable_cpus()})", "threads", f"1 .. {MAX_THREADS}", "its highest"
    ),
}
"""Options by their names in `millrace run`."""

OF_MODEL = {
    ("multilevel", "threads"): {
        "default": "the least",
        "meaning": "scheduler threads to begin with",
    },
    ("coroutine", "threads"): {
        "meaning": "threads that resume co-routines, if elastic to begin with"
    },
    ("coroutine", "elastic"): {"meaning": "a law changes threads and replicas while tuples flow"},
    ("coroutine", "replicas"): {"meaning": "of each that may have some, if elastic to begin with"},
    ("coroutine", "law"): {"meaning": "the control law; makes threads and replicas elastic"},
}
"""Descriptions that differ for a model, by model and option."""

OPTION_OF = {
    "quantum_ms": "quantum",
    "law_settings": "law_set",
    "minimum": "min_threads",
    "maximum": "max_threads",
}
"""Option of a model's field that has another name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: `models` has no options."""


def run(args: argparse.Namespace) -> int:
    """Print the listing."""
    say(as_text())
    return 0


def as_text() -> str:
    """Return the models with their summaries and a table of their options."""
    parts = []
    for name, model in MODELS.items():
        rows = [("option", "default", "unit", "range", "meaning")]
        for field in fields(model):
            option = OPTION_OF.get(field.name, field.name)
            if option in OPTIONS:  # other fields are for control laws, not for people
                told = OPTIONS[option]._replace(**OF_MODEL.get((name, option), {}))
                rows.append((f"--{option.replace('_', '-')}", *told))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        summary = (inspect.getdoc(model) or "").partition("\n")[0]
        parts.append(
            "\n  ".join([f"{name}: {summary}", *(lines if len(rows) > 1 else ["no options"])])
        )
    width = max(map(len, policies()))
    lines = [f"  {name.ljust(width)}  {meaning}" for name, meaning in policies().items()]
    lines.append(
        "  FILE.py:NAME or FILE.so:SYMBOL: a function of yours that scores an operator that is ready (docs/operators.md)"
    )
    parts.append("\n".join(["policies of coroutine, --policy: what goes on next", *lines]))
    parts.append(
        "Splits and load balances have a queue before them only if the graph threads their port: they run on the thread that\n"
        "submits to them."
    )
    return "\n\n".join(parts)
