"""The fast selftest: the gate's error rates under noise that is made up."""

from __future__ import annotations

import pytest

from harness.gate.verdict import Exit
from studies.gate_error_rates.rates import clopper_pearson, said
from studies.gate_error_rates.simulate import INJECTED, SUITE, simulated_calls
from tests.gate.kinds_of_noise import KINDS

CALLS = 50  # tests/gate has more calls, and each cell by itself
ALPHA = 0.01


@pytest.mark.parametrize("noise", KINDS)
def test_false_alarms_are_as_rare_as_promised(noise: str) -> None:
    """Not proven to be more than alpha; the same of hosts that are called unstable."""
    codes = [call.exit_code for call in simulated_calls(noise, 1.0, CALLS, seed=1)]
    assert len(codes) == CALLS
    for code in (Exit.REGRESSED, Exit.HOST_UNSTABLE):
        assert clopper_pearson(codes.count(code), CALLS).low <= ALPHA


def test_five_percent_is_found_where_it_is_quiet() -> None:
    words = [
        said(call, INJECTED.cell.name) for call in simulated_calls("quiet", 1.05, CALLS, seed=1)
    ]
    assert words.count("regressed") >= 0.95 * CALLS
    assert words.count("ok") == 0


@pytest.mark.parametrize("noise", KINDS)
def test_five_percent_is_never_called_ok(noise: str) -> None:
    words = [
        said(call, INJECTED.cell.name) for call in simulated_calls(noise, 1.05, CALLS // 2, seed=2)
    ]
    assert words.count("ok") == 0


def test_a_slowdown_is_found_in_its_cell_only() -> None:
    for call in simulated_calls("quiet", 1.1, 20, seed=1):
        assert [name for name, verdict in call.verdicts.items() if verdict == "regressed"] == [
            INJECTED.cell.name
        ]


def test_calls_are_disjoint_and_keep_to_the_time_budget() -> None:
    for call in simulated_calls("bursts", 1.0, 20, seed=1):
        assert call.disjoint
        assert call.seconds <= SUITE.time_budget_s


def test_a_seed_is_repeatable() -> None:
    one, again, other = (list(simulated_calls("bursts", 1.05, 20, seed)) for seed in (1, 1, 2))
    assert one == again != other
