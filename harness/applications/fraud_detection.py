"""FraudDetection: customers whose last five transactions a Markov model finds unlikely.

DSPBench (Bordin et al., IEEE Access 2020) with its defaults. A transaction is of one of the model's
states. Each step from state to state misses with one less the probability of the step, and a
customer is an outlier when the last four steps miss with more than 0.96 on average (miss
probability: Ghosh, beymani). A file has lines of customer, transaction and state, separated by
commas; a model is a line of states and then, for each state, a line of probabilities.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from harness.applications.benchmark_job import BenchmarkJob, FileOfLines, Generated
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators.ready import each
from harness.operators.windows import aggregate, by_count, count, first, last, mean

Probabilities = tuple[tuple[float, ...], ...]
"""Probability of each step, by the state before and the state after."""

STEPS = 4  # of which the misses are averaged: five transactions
THRESHOLD = 0.96

TRANSACTION = Schema(
    "transaction", {"customer": "string[28]", "number": "string[28]", "state": "uint32"}
)
MISS = Schema("miss", {"customer": "string[28]", "number": "string[28]", "miss": "float64"})
OUTLIER = Schema("outlier", {"customer": "string[28]", "number": "string[28]", "score": "float64"})


@cache  # so that each model is compiled once
def misses(steps: Probabilities) -> Callable[[Any, Any], bool]:
    """Return the function that writes how much a step misses."""

    def missed(step: Any, out: Any) -> bool:
        out.customer, out.number = step.customer, step.number
        out.miss = 1 - steps[step.before][step.after]
        return step.transactions == 2

    return missed


def is_outlier(scored: Any, out: Any) -> bool:
    """Write a customer whose steps are unlikely."""
    out.customer, out.number, out.score = scored.customer, scored.number, scored.score
    return scored.steps == STEPS and scored.score > THRESHOLD


@dataclass(frozen=True)
class MarkovModel:
    """States, and the probabilities of each step from one to another."""

    states: tuple[str, ...]
    steps: Probabilities

    @cached_property
    def numbers(self) -> dict[bytes, int]:
        """The number of each state."""
        return {state.encode(): number for number, state in enumerate(self.states)}

    def add(self, graph: Graph, transactions: Operator) -> Operator:
        """Add the steps of each customer, their misses, and the search for outliers."""
        by = "customer"
        ends = {"before": first("state"), "after": last("state"), "transactions": count()}
        values = {"number": last("number"), **ends}
        pairs = aggregate(graph, "steps", TRANSACTION, by_count(2, 1), values, by=by)
        missed = misses(self.steps)
        missing = each(graph, "misses", missed, pairs.typed.gives[0], MISS)
        values = {"number": last("number"), "score": mean("miss"), "steps": count()}
        scores = aggregate(graph, "scores", MISS, by_count(STEPS, 1), values, by=by)
        outliers = each(graph, "outliers", is_outlier, scores.typed.gives[0], OUTLIER)
        graph.chain(transactions, pairs, missing, scores, outliers)
        return outliers


# -- input -----------------------------------------------------------------------------------------

CUSTOMERS = 1000
FRAUDS = 0.01  # share of customers
USUAL = (0.5, 0.25, 0.1)  # probabilities of the three most likely steps; the others share the rest
STATES = tuple(  # low to high amount; costly item or not; long to short time since the last
    amount + item + since for amount in "LNH" for item in "HN" for since in "LNS"
)


def model() -> MarkovModel:
    """Return a model whose customers have habits: from each state, three steps are usual."""
    draw = random.Random(1)
    rest = (1 - sum(USUAL)) / (len(STATES) - len(USUAL))
    rows = []
    for _ in STATES:
        row = [rest] * len(STATES)
        for state, share in zip(draw.sample(range(len(STATES)), len(USUAL)), USUAL, strict=True):
            row[state] = share
        rows.append(tuple(row))
    return MarkovModel(STATES, tuple(rows))


def read_model(path: str) -> MarkovModel:
    """Return the model in a file. Raises UserError, in one line, for a file that holds none."""
    try:
        head, *lines = Path(path).read_text(encoding="utf-8").splitlines()
        states = tuple(state.strip() for state in head.split(","))
        rows = tuple(tuple(map(float, line.split(","))) for line in lines if line.strip())
    except OSError as problem:
        raise UserError(f"{path}: cannot be read: {problem.strerror}") from None
    except ValueError:
        rows = states = ()
    if not states or {len(row) for row in rows} != {len(states)} or len(rows) != len(states):
        raise UserError(
            f"{path}: must be a Markov model: a line of states, and for each a line of as many "
            "probabilities, separated by commas"
        )
    return MarkovModel(states, rows)


def transactions(records: int, seed: int, of: MarkovModel) -> Iterator[dict[str, Any]]:
    """Yield transactions of customers who follow the model, but for those who are robbed."""
    draw = random.Random(seed)
    every = range(len(of.states))
    robbed = {number for number in range(CUSTOMERS) if draw.random() < FRAUDS}
    at = [draw.choice(every) for _ in range(CUSTOMERS)]
    for number in range(records):
        customer = draw.randrange(CUSTOMERS)
        weights: Sequence[float] | None = None if customer in robbed else of.steps[at[customer]]
        at[customer] = draw.choices(every, weights)[0]
        yield {"customer": f"C{customer:09}", "number": f"T{number:09}", "state": at[customer]}


def parse(line: bytes, of: MarkovModel) -> dict[str, Any]:
    """Return a transaction of a file. Raises ValueError for a line that cannot be read."""
    customer, number, state = (field.strip() for field in line.split(b",")[:3])
    if state not in of.numbers or max(len(customer), len(number)) > TRANSACTION["number"].bound:
        raise ValueError("unknown state, or too long")
    return {"customer": customer, "number": number, "state": of.numbers[state]}


def job(
    path: str, records: int, seed: int, cycles: int | None, model_path: str = "", keep: int = 0
) -> BenchmarkJob:
    """Return the job: over the file `path`, or over generated transactions if it is empty."""
    of = read_model(model_path) if model_path else model()
    if path:
        given = FileOfLines(TRANSACTION, path, lambda line: parse(line, of), 0)
    else:
        tuples = ((0, each) for each in transactions(records, seed, of))
        given = Generated((TRANSACTION,), tuples, 0)
    return BenchmarkJob("fraud-detection", given, of.add, cycles, keep)
