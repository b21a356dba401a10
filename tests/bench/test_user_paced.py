"""A user's own paced sources: what may be said, and what is refused in one line that names place,
rule and value.
"""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
import yaml

from harness.bench.bench import row_of
from harness.bench.threads.paced import PERIODS
from harness.bench.threads.user_curves import PACED_KEYS, parse_paced
from harness.cli import main
from harness.elasticity import Bounds
from harness.errors import UserError

PAGE = (Path(__file__).resolve().parents[2] / "docs/appendices/laws-bench.md").read_text(
    encoding="utf-8"
)
PART = PAGE.partition("### Paced sources of your own")[2].partition("\n## ")[0]
PLAIN = {"throughput": "1000 * n", "max": 16, "target": 5500}


def one(**entry):
    return parse_paced([PLAIN | entry])[0]


def test_the_least_is_what_threads_can_do_and_what_the_source_sends():
    own = one()
    assert (own.name, own.kind, own.targets, own.bound_s, own.periods) == (
        "curve-1",
        "own",
        (5500.0,),
        math.inf,
        PERIODS,
    )
    assert (own.bounds, own.curve[15], own.noise, own.held_out) == (
        Bounds(1, 16, 1),
        16000.0,
        0.0,
        False,
    )


def test_everything_that_may_be_said_is_heard():
    own = one(
        name="mine",
        target=[1000, 2000, 500],
        bound=0.01,
        min=2,
        start=3,
        noise=0.03,
        drift=0.02,
        periods=50,
        seed=7,
    )
    assert (own.name, own.targets, own.bound_s, own.bounds) == (
        "mine",
        (1000.0, 2000.0, 500.0),
        0.01,
        Bounds(2, 16, 3),
    )
    assert (own.noise, own.drift, own.periods, own.seed, own.event) == (0.03, 0.02, 50, 7, "phases")


@pytest.mark.parametrize("periods", [3, 50, 64])
def test_a_stretch_has_one_target_whether_or_not_their_number_divides_the_periods(periods):
    own = one(target=[1000, 2000, 500], periods=periods)
    stretches = [[own.target(period) for period in range(*stretch)] for stretch in own.segments()]
    assert [set(stretch) for stretch in stretches] == [{1000.0}, {2000.0}, {500.0}]


def test_without_a_bound_laws_are_told_none_and_only_the_rate_counts():
    assert one().contestant("millrace")[0].set["bound"] == 0.0
    assert one(bound=0.01).contestant("millrace")[0].set["bound"] == 0.01
    row = row_of("millrace", one(periods=60))
    assert (row.kind, row.best_threads, row.accuracy) == ("own", 6, 1.0)
    assert 6 <= row.settled_threads <= 7


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"target": None}, "[0] must have the key 'target'"),
        ({"target": 0}, "[0].target must be a number from 1e-09 to 1e+18 tuples/s, not 0"),
        (
            {"target": "fast"},
            "[0].target must be a number from 1e-09 to 1e+18 tuples/s, not 'fast'",
        ),
        (
            {"target": []},
            "[0].target must be a number or a list of 1 to 120, one a period at most, not []",
        ),
        (
            {"target": [1] * 4, "periods": 3},
            "[0].target must be a number or a list of 1 to 3, one a period at most, not [1",
        ),
        (
            {"target": [1, -1]},
            "[0].target[1] must be a number from 1e-09 to 1e+18 tuples/s, not -1",
        ),
        ({"bound": 0}, "[0].bound must be a number from 1e-09 to 1e+06 s, not 0"),
        ({"bound": True}, "[0].bound must be a number from 1e-09 to 1e+06 s, not True"),
        (
            {"throughput": [1, 0], "max": 2},
            "[0].throughput[1] must be a number from 1e-09 to 1e+18 tuples/s, not 0",
        ),
        (
            {"throughput": "n - 1"},
            "[0].throughput at level 1 must be a number from 1e-09 to 1e+18 tuples/s, not 0.0",
        ),
        ({"max": None}, "[0].throughput: an expression needs the key 'max' beside it"),
        ({"start": 17}, "[0]: start level must be from 1 to 16 threads, not 17"),
        ({"events": []}, "[0] has no key 'events'; its keys are: name, throughput"),
    ],
)
def test_mistakes_are_told(change, told):
    with pytest.raises(UserError) as said:
        parse_paced([PLAIN | change])
    assert str(said.value).startswith(told) and str(said.value).isprintable()


def test_the_example_of_the_page_runs_and_has_every_key(tmp_path, monkeypatch, capsys):
    (text,) = re.findall(r"^```yaml\n(.*?)^```$", PART, re.DOTALL | re.MULTILINE)
    assert {key for entry in yaml.safe_load(text) for key in entry} == set(PACED_KEYS)
    assert all(f"`{word}`" in PART for word in {*PACED_KEYS} - {"name"})
    (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"^millrace (laws bench .*)$", PART, re.MULTILINE)
    assert main([*command.split(), "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert (
        "**your curves** (2 scenarios)\n" in out and "\n| flink " in out and "\n| millrace " in out
    )
