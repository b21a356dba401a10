"""Costs of made graphs: operators by name, with time [ns] and those that send to them."""

from __future__ import annotations

from harness.advise.costs import GraphCosts, OperatorCost

HOPS = {"dynamic": 10.0, "dedicated": 12.0, "coroutine": 20.0}


def made(**operators):
    """Costs of operators as `name=(ns, senders)`; one without senders is a source."""
    return GraphCosts(
        {
            name: OperatorCost(name, not behind, 1.0, ns, tuple(behind), bool(behind))
            for name, (ns, behind) in operators.items()
        },
        HOPS,
    )


def chain(*costs):
    """A source of 1 ns and operators `w0`, `w1`, ... one behind the other."""
    operators = {"source": (1.0, ())}
    for index, ns in enumerate(costs):
        operators[f"w{index}"] = (float(ns), (list(operators)[-1],))
    return made(**operators)
