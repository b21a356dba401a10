"""Tests of what rules are worth: they are switched off and come back, and the table says what was
lost.
"""

from __future__ import annotations

import pytest

from harness.cli import call
from harness.elasticity.threads import millrace
from studies import ablation
from studies.ablation import RULES, Rule, Worth, ablate, held_out, summary, without


def names_of(rule):
    return [ablation._owner(path) for path, _ in rule.off]


@pytest.mark.parametrize("bench", RULES)
def test_every_rule_is_there_differs_and_comes_back(bench):
    for rule in RULES[bench]:
        before = [getattr(owner, name) for owner, name in names_of(rule)]
        with without(rule):
            for (owner, name), (_, value) in zip(names_of(rule), rule.off, strict=True):
                assert getattr(owner, name) is value
        after = [getattr(owner, name) for owner, name in names_of(rule)]
        assert all(one is other for one, other in zip(before, after, strict=True))
        assert before != [value for _, value in rule.off], rule.name
    assert len({rule.name for rule in RULES[bench]}) == len(RULES[bench])


def test_a_rule_comes_back_after_a_failure():
    price = millrace.DOUBLING_PRICE
    with (
        pytest.raises(ValueError),
        without(Rule("price", (("threads.millrace.DOUBLING_PRICE", 9.0),))),
    ):
        raise ValueError
    assert price == millrace.DOUBLING_PRICE != 9.0


def test_only_scenarios_that_are_held_out_count():
    assert all(each.held_out for bench in RULES for each in held_out(bench, 9))


def test_a_law_that_may_not_move_loses_and_a_number_that_nobody_reads_is_worth_nothing():
    told = []
    rules = [
        Rule(
            "moves",
            (("threads.millrace.MillraceThreads._within", lambda self, level: self.bounds.start),),
        ),
        Rule("none", ()),
    ]
    moves, none = ablate(
        "threads", rules, held_out("threads", 30), lambda done, of: told.append((done, of)), jobs=1
    )
    assert moves.mean > 0.1 and moves.pays and moves.differ == moves.scenarios
    assert (none.mean, none.half, none.differ, none.pays) == (0.0, 0.0, 0, False)
    assert told[-1][0] == told[-1][1] == 3 * moves.scenarios


def test_the_mean_and_its_interval_are_those_of_the_differences():
    worth = ablation._worth("threads", "rule", [0.1, 0.2, 0.3], [0.11, 0.22, 0.33])
    assert worth.mean == pytest.approx(0.02)
    assert worth.half == pytest.approx(4.303 * 0.01 / 3**0.5, rel=1e-3), (
        "Student's t with 2 degrees of freedom"
    )
    assert worth.pays and worth.law == pytest.approx(0.2)


def test_the_table_has_the_rules_in_the_order_of_their_worth():
    text = summary(
        [
            Worth("threads", name, mean, 0.001, 9, 3, 0.05)
            for name, mean in (("low", 0.0), ("high", 0.01))
        ]
    )
    assert (
        text.index("| high") < text.index("| low")
        and "9 held-out scenarios, regret with all rules 5.00%" in text
    )
    lines = [
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    assert lines[1:] == [
        ["high", "+1.00", "± 0.10", "3", "yes"],
        ["low", "+0.00", "± 0.10", "3", "no"],
    ]


def test_the_command_prints_it(capsys):
    assert (
        call("ablation", ablation, ["--every", "50", "--rule", "ONE_STEP_LOSS", "--jobs", "1"]) == 0
    )
    assert "| ONE_STEP_LOSS " in capsys.readouterr().out
    assert call("ablation", ablation, ["--rule", "magic"]) == 2
    assert (
        "rule 'magic' is unknown; rules are: DOUBLING_PRICE, MIN_LADDER_FACTOR"
        in capsys.readouterr().err
    )
