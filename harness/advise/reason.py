"""Reason for an advice, in two sentences: what bounds the graph, and what the arm does about it."""

from __future__ import annotations

from harness.advise.advice import Advice, certainty_parts, gain_text
from harness.explain import RunExplanation, explain
from harness.explain.report import time_ns
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Model
from harness.terminal.listed import listed_names

MOST_NAMED = 4  # operators in a sentence


def reason_for(advice: Advice, run: RunExplanation) -> str:
    """Return the reason. `run`: an explained run of the advised arm."""
    certain, _ = certainty_parts(advice)
    gain = advice.gain
    if gain is None:
        return f"{advice.arm.words} is bound by {run.own_bound}. {_of_costs(advice)} ({certain})."
    before = _baseline(advice)
    bound = "" if before is None else f"{advice.baseline} is bound by {before.own_bound}. "
    turns = "; operators in Python still take turns" if _takes_turns(advice) else ""
    known = gain.estimate == gain.estimate  # not nan
    found = f"{gain_text(advice, gain)} ({certain})" if known else f"its gain is {certain}"
    return f"{bound}{advice.arm.words} {_does(advice.arm.run.model)}{turns}: {found}."


def _baseline(advice: Advice) -> RunExplanation | None:
    for arm in advice.final.contenders:
        if arm.name == advice.baseline and arm.explained is not None:
            return explain(arm.explained)
    return advice.profiles.get(advice.baseline)


def _takes_turns(advice: Advice) -> bool:
    """Return True if most of the work holds the interpreter's lock."""
    return advice.costs.interpreter_ns > 0.5 * advice.costs.total_ns


def _of_costs(advice: Advice) -> str:
    """Say why no other arm was found to be faster."""
    costs = advice.costs
    found = "No other arm was found to be faster: " if advice.final.blocks else ""
    work = f"{found}all operators together take {time_ns(costs.total_ns)} ns a tuple"
    work = work[0].upper() + work[1:]
    if _takes_turns(advice):
        return f"{work}, most of it with the interpreter's lock"
    hops = [each for name, each in costs.hop_ns.items() if name != Manual.name]
    if not hops:
        return work
    return f"{work}, and a queue takes {time_ns(min(hops))} ns of each"


def _does(model: Model) -> str:
    """Say what an arm does about the bound."""
    if isinstance(model, Manual):
        return "has no queues, whose transfers cost time"
    if isinstance(model, Dedicated):
        return "has a queue and a thread before each operator, so that several work at once"
    if isinstance(model, Coroutine):
        if model.replicas > 1:
            return f"lets {model.replicas} threads execute an operator at once, as replicas"
        return f"has a queue before each operator, and {_threads(model.threads)} for all of them"
    if isinstance(model, Dynamic):
        return f"has {_queues(model.queued)}, and {_threads(model.threads)} for all operators"
    return "lets a law choose threads and queues"


def _threads(count: int | None) -> str:
    return f"{count} thread{'' if count == 1 else 's'}"


def _queues(queued: str) -> str:
    if queued in ("all", "none"):
        return "a queue before each operator" if queued == "all" else "no queues"
    names = queued.split(",")
    before = listed_names(names, MOST_NAMED)
    return f"{'a queue' if len(names) == 1 else 'queues'} before {before}"
