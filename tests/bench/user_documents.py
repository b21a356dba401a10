"""Users' documents in tests: read, or refused in one short line."""

from __future__ import annotations

import pytest

from harness.bench.threads.user_curves import parse_scenarios
from harness.errors import UserError

HUGE = 16**6000  # a whole number that Python refuses to print


def one(**entry):
    """The scenario of a document with one."""
    return parse_scenarios([entry])[0]


def curve(throughput, levels=4):
    """The throughputs of an expression."""
    return one(throughput=throughput, max=levels).curve


def refusal(document):
    """Return what is said against a document: one short line."""
    with pytest.raises(UserError) as told:
        parse_scenarios(document)
    line = str(told.value)
    assert line.isprintable()
    assert len(line) < 250
    return line


def parses_or_is_refused(document):
    """Assert that a document is refused, or that a law can see the throughputs that are read from
    it.
    """
    try:
        scenarios = parse_scenarios(document)
    except UserError as error:
        assert str(error).isprintable()
        assert len(str(error)) < 250
        return
    for scenario in scenarios:
        rates = [
            scenario.true(period, level)
            for period in (0, scenario.periods - 1)
            for level in (1, scenario.bounds.maximum)
        ]
        assert all(0.0 <= rate < float("inf") for rate in rates)
        assert scenario.name.encode()
