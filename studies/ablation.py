"""The worth of the rules and numbers of our laws: each is switched off, or replaced, and the law is
scored on held-out scenarios.

The worth of a rule is the regret without it minus the regret with it, scenario by scenario. Its
mean has a 95 % interval (Student's t over scenarios). A rule whose interval ends below `MIN_WORTH`
does not pay.

    python -m studies.ablation --every 10
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import fmean, stdev

from scipy.stats import t as student

from harness.bench.bench import Row, library, row_of
from harness.bench.report import markdown
from harness.bench.scenario import Scenario
from harness.bench.side_by_side import each_of
from harness.cli import call
from harness.cli.arguments import check_writable, whole
from harness.elasticity import DEFAULT_LAW
from harness.errors import UserError
from harness.files.whole import write_whole
from harness.terminal.countdown import Countdown
from harness.terminal.output import say

MIN_WORTH = 0.002  # share of throughput: the upper end of a rule's interval must reach it
CONFIDENCE = 0.95
NEVER, ALWAYS = 10**9, math.inf


@dataclass(frozen=True)
class Rule:
    """A rule and the values that switch it off. `off`: names within `harness.elasticity.`, of a
    module or of a class in it, with their values without the rule."""

    name: str
    off: tuple[tuple[str, object], ...]


def _no_placements(*_: object, **__: object) -> list[object]:
    return []


def _numbers(room: str, *rules: tuple[str, object]) -> list[Rule]:
    return [Rule(name.rsplit(".", 1)[-1], ((f"{room}.{name}", value),)) for name, value in rules]


RULES: dict[str, list[Rule]] = {
    "threads": [
        *_numbers(
            "threads.millrace",
            ("DOUBLING_PRICE", 0.0),
            ("MIN_LADDER_FACTOR", 2.0),
            ("ONE_STEP_LOSS", ALWAYS),
            ("MAX_CHECK_ROUNDS", 0),
            ("NOISE_SIGMAS", 0.0),
            ("EXPECTATION_SHARE", 0.0),
            ("NEIGHBOUR_PAUSE", NEVER),
            ("LONGEST_LOOK", 1),
        ),
        Rule(
            "looks between levels", (("threads.millrace.MillraceThreads._hopes", _no_placements),)
        ),
    ],
    "queues": [
        *_numbers(
            "queues.millrace",
            ("DOUBLING_PRICE", 0.0),
            ("TWO_STEP_LOSS", ALWAYS),
            ("ONE_STEP_LOSS", ALWAYS),
            ("MAX_LAG", ALWAYS),
            ("MIN_SLOPE_RATIO", 1.001),
            ("WIDE_SWITCH_SHARE", NEVER),
            ("CONFIRMING_PERIODS", 0),
            ("MAX_CHECK_ROUNDS", 0),
            ("MAX_STANDARD_ERROR", ALWAYS),
        ),
        *_numbers("queues.work_shares", ("DECLARED_LOOKS", 5.0), ("MOVED_SHARE", ALWAYS)),
        Rule("the bracket", (("queues.millrace.MillraceQueues._bracket", _no_placements),)),
        Rule(
            "a look at queues everywhere",
            (("queues.millrace.MillraceQueues._everywhere", _no_placements),),
        ),
        Rule(
            "placements near the best one",
            (("queues.millrace.MillraceQueues._near", _no_placements),),
        ),
        Rule("one queue less, more or elsewhere", (("queues.millrace.MAX_MISSES", 0),)),
        Rule("other levels", (("queues.millrace.MillraceQueues._levels", _no_placements),)),
    ],
    "replicas": [
        *_numbers(
            "replicas.millrace",
            ("PLANNED_RATE_SHARE", 1.0),
            ("MAX_SHORTFALL", ALWAYS),
            ("GROWN_WORK", ALWAYS),
        ),
        *_numbers("replicas.millrace", ("SERIAL_GROWTH", ALWAYS), ("RATE_BAND", (1.0, 1.0, 1.0))),
    ],
}

RULES["paced"] = [
    *_numbers(
        "threads.pace",
        ("FIRST_SLACK", 0.0),
        ("CATCH_UP", ALWAYS),
        ("LATE_LEVEL_PERIODS", 1),
        ("MAX_SLACK_FACTOR", 1.0),
    ),
    *RULES["threads"],
]


@dataclass(frozen=True)
class Worth:
    """Regret without a rule minus regret with it: mean, and half the width of its interval. `law`:
    mean regret with all rules."""

    bench: str
    rule: str
    mean: float
    half: float
    scenarios: int
    differ: int  # scenarios in which it made any difference
    law: float

    @property
    def pays(self) -> bool:
        """True if the rule may be worth as much as a rule must be."""
        return self.mean + self.half >= MIN_WORTH


@contextmanager
def without(rule: Rule) -> Iterator[None]:
    """Switch a rule off in this process, inside the context."""
    before = []
    try:
        for path, value in rule.off:
            owner, name = _owner(path)
            before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in reversed(before):
            setattr(owner, name, value)


def _owner(path: str) -> tuple[object, str]:
    parts = path.split(".")
    room = parts[:-2] if parts[-2][0].isupper() else parts[:-1]
    owner: object = importlib.import_module(".".join(["harness.elasticity", *room]))
    return (getattr(owner, parts[-2]) if room == parts[:-2] else owner), parts[-1]


def held_out(bench: str, every: int) -> list[Scenario]:
    """Return every `every`-th of the scenarios that only score."""
    return [scenario for scenario in library(bench) if scenario.held_out][::every]


def ablate(
    bench: str,
    rules: Sequence[Rule],
    scenarios: Sequence[Scenario],
    progress: Callable[[int, int], None],
    jobs: int | None = None,
) -> list[Worth]:
    """Return the worth of each rule. `progress` receives the number of scenarios done and their
    total; `jobs`: as in `run_bench`."""
    whole = Rule("", ())
    done, regrets = 0, {}
    for rule in [whole, *rules]:
        regrets[rule.name] = []
        for rows in each_of(partial(_rows, rule), [DEFAULT_LAW], scenarios, jobs):
            regrets[rule.name] += [row.regret for row in rows]
            done += 1
            progress(done, (1 + len(rules)) * len(scenarios))
    return [_worth(bench, rule.name, regrets[""], regrets[rule.name]) for rule in rules]


def _rows(rule: Rule, laws: Sequence[str], scenario: Scenario) -> list[Row]:
    with without(rule):
        return [row_of(law, scenario) for law in laws]


def _worth(bench: str, name: str, law: Sequence[float], off: Sequence[float]) -> Worth:
    lost = [without - regret for without, regret in zip(off, law, strict=True)]
    count = len(lost)
    half = (
        float(student.ppf(0.5 + CONFIDENCE / 2.0, count - 1)) * stdev(lost) / math.sqrt(count)
        if count > 1
        else math.inf
    )
    return Worth(
        bench, name, fmean(lost), half, count, sum(each != 0.0 for each in lost), fmean(law)
    )


def summary(found: Sequence[Worth]) -> str:
    """Return a Markdown table for each law: its rules, the one with the greatest worth first."""
    parts = []
    for bench in dict.fromkeys(each.bench for each in found):
        some = sorted((each for each in found if each.bench == bench), key=lambda each: -each.mean)
        lines = [
            (
                each.rule,
                f"{100 * each.mean:+.2f}",
                f"± {100 * each.half:.2f}",
                f"{each.differ}",
                "yes" if each.pays else "no",
            )
            for each in some
        ]
        heads = ("switched off", "regret [% of throughput]", "interval", "differ", "may pay")
        about = f"{some[0].scenarios} held-out scenarios, regret with all rules {some[0].law:.2%}"
        parts.append(f"**{DEFAULT_LAW}, {bench}** ({about})\n\n{markdown([heads, *lines])}")
    return "\n\n".join([*parts, EXPLANATION]) + "\n"


EXPLANATION = f"""\
Regret without a rule less regret with it, mean over scenarios, and the interval that holds the true
mean with {CONFIDENCE:.0%}. Differ: scenarios in which it made any difference. A rule may pay if the
interval reaches {MIN_WORTH:.1%}."""


SUMMARY = "measure what the rules and numbers of our laws are worth"
DESCRIPTION = """\
Switches off each rule or number of a law of ours, and scores it without them on scenarios that only
score.

examples:
  python -m studies.ablation --every 10
      every rule of the law of threads, on one in ten scenarios

  python -m studies.ablation --bench queues --rule DOUBLING_PRICE --report rules.md
      one rule of the law that places queues, on all scenarios"""
MAX_EVERY, MAX_JOBS = 1000, 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--bench", choices=tuple(RULES), default="threads", help="whose law (default: threads)"
    )
    parser.add_argument(
        "--rule",
        action="append",
        metavar="NAME",
        help="this rule only; may be repeated (default: all)",
    )
    every, jobs = whole(1, MAX_EVERY), whole(1, MAX_JOBS)
    parser.add_argument(
        "--every",
        type=every,
        default=1,
        metavar="N",
        help="one in N held-out scenarios (default: all)",
    )
    parser.add_argument(
        "--jobs", type=jobs, metavar="N", help="processes (default: one for each CPU allowed)"
    )
    parser.add_argument("--report", metavar="PATH", help="write the table to PATH (Markdown)")


def run(args: argparse.Namespace) -> int:
    """Print and write the worth of each rule."""
    rules = {rule.name: rule for rule in RULES[args.bench]}
    for name in args.rule or ():
        if name not in rules:
            raise UserError(f"rule {name!r} is unknown; rules are: {', '.join(rules)}")
    chosen = [rules[name] for name in dict.fromkeys(args.rule or rules)]
    if args.report is not None:
        check_writable("--report", args.report)
    scenarios = held_out(args.bench, args.every)
    count = (1 + len(chosen)) * len(scenarios)
    with Countdown("ablation", float(count), count) as line:
        found = ablate(
            args.bench,
            chosen,
            scenarios,
            lambda done, _: line.reached(done, "rules and scenarios"),
            args.jobs,
        )
    if args.report is not None:
        write_whole(args.report, summary(found).encode())
    say(summary(found).rstrip())
    return 0


if __name__ == "__main__":
    sys.exit(call("python -m studies.ablation", sys.modules[__name__], sys.argv[1:]))
