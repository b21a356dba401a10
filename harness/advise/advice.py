"""Advice: the arm to use, what it gains, how certain that is, and what it rests on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.advise.candidates import Candidate
from harness.advise.costs import GraphCosts
from harness.advise.halving import Screening
from harness.compare.contest import By, Contender, Contest
from harness.compare.standing import ArmRatio
from harness.compare.would_help import MOST_S, are_close, budget_text, clearly_out, is_open, more_of
from harness.experiments.arms import option_of
from harness.explain import RunExplanation
from harness.models import OPTIONS
from harness.models.option import Flag, Settings
from harness.terminal.listed import listed


@dataclass
class Trial:
    """An arm that was run, in the last screening that it was in. `to_best`: estimated ratio to the
    best arm; 0: unknown. `runs`: of all screenings.
    """

    arm: Contender
    to_best: float
    runs: int
    screening: Screening

    @property
    def left_out_in_round(self) -> int | None:
        """Round of the screening in which it was left out; None if it was not."""
        return self.screening.left_out.get(self.arm.name)


def _to_best(contest: Contest, arm: Contender) -> float:
    ratio = contest.to_best(arm).estimate if arm.records and contest.blocks else 0.0
    return 0.0 if ratio != ratio else ratio


@dataclass(frozen=True)
class Advice:
    """Findings. `ranked`: all arms that are worth a run; `screenings`: those that were run;
    `baseline`: the arm that gains are over. `rests_on`: sentences. `terms`: options of `millrace
    run` that say where the arms ran and what was drawn at random; `compare_terms`: further ones of
    `millrace compare`; `profiles`: explained runs of models with their defaults, by arm.
    """

    subject: str  # the word that names the graph
    given: Mapping[str, object]  # its parameters
    costs: GraphCosts
    ranked: Sequence[Candidate]
    screenings: Sequence[Screening]
    final: Contest
    baseline: str
    rests_on: Sequence[str] = ()
    terms: Sequence[str] = ()
    compare_terms: Sequence[str] = ()
    profiles: Mapping[str, RunExplanation] = field(default_factory=dict)

    @property
    def arm(self) -> Contender:
        """The arm to use."""
        return self.final.leaders[0]

    @property
    def rivals(self) -> list[Contender]:
        """Arms that cannot be distinguished from it."""
        return self.final.leaders[1:]

    @property
    def gain(self) -> ArmRatio | None:
        """Ratio of the best arm to the baseline, with an interval for any of those that may be the
        best; None if the baseline is the arm to use.
        """
        if self.arm.name == self.baseline:
            return None
        return self.over(next(arm for arm in self.final.contenders if arm.name == self.baseline))

    def over(self, other: Contender) -> ArmRatio:
        """Return the ratio of the best arm to another one of the last."""
        return self.final.to_best(other).inverse

    @property
    def contests(self) -> list[Contest]:
        """All contests, in the order in which they were held."""
        return [*(each.contest for each in self.screenings), self.final]

    @property
    def tried(self) -> list[Trial]:
        """Arms of the screenings, each once, the best first."""
        found: dict[str, Trial] = {}
        scale = 1.0  # of a screening's best arm to the best one of the last screening
        later: Contest | None = None
        for screening in reversed(self.screenings):
            contest = screening.contest
            if later is not None:
                best = screening.last[0].name
                scale *= _to_best(later, next(a for a in later.contenders if a.name == best))
            for arm in contest.contenders:
                trial = Trial(arm, scale * _to_best(contest, arm), len(arm.records), screening)
                known = found.setdefault(arm.name, trial)
                if known is not trial:
                    known.runs += trial.runs
            later = contest
        return sorted(found.values(), key=lambda each: -each.to_best)

    @property
    def command(self) -> str:
        """The command line that runs the arm."""
        model = ["--model", self.arm.run.model.name, *options_of_arm(self.arm)]
        return shlex.join([*self._of_graph("run"), *model, *self.terms])

    @property
    def would_help(self) -> str:
        """Command that helps if the best of the last arms is not known, or why none does; "": it is
        known.
        """
        final = self.final
        if not is_open(final):
            return ""
        if are_close(final):
            names = ", ".join(arm.name for arm in final.leaders)
            return f"nothing: {names} seem to differ by less than 1 %, so take any of them"
        needed_s = final.elapsed_s + more_of(final)
        if needed_s > MOST_S:
            return "nothing: the last arms differ too little to be distinguished within a day"
        out = clearly_out(final)
        arms = [arm for arm in final.leaders if arm not in out]
        if len(arms) < 2:
            arms = final.leaders[:2]
        options = [word for arm in arms for word in option_of(arm.name, arm.run.model)]
        words = [*self._of_graph("compare"), *options, *self.terms, *self.compare_terms]
        return f"{shlex.join(words)} --budget {budget_text(needed_s)}"

    def _of_graph(self, command: str) -> list[str]:
        """Return the words of a command for the graph."""
        words = ["millrace", command, self.subject]
        for name, value in self.given.items():
            words += ["--set", f"{name}={value}"]
        return words


def options_of_arm(arm: Contender) -> list[str]:
    """Return the options of an arm's model, as the command line takes them."""
    words = []
    for name, value in arm.run.model.changed.items():
        declared = OPTIONS[name]
        flag = f"--{declared.flag_of(name)}"
        if isinstance(declared, Settings):
            words += [word for key, each in value for word in (flag, f"{key}={each}")]
        elif isinstance(declared, Flag):
            words.append(flag)
        else:
            words += [flag, f"{value}"]
    return words


def gain_text(advice: Advice, gain: ArmRatio) -> str:
    """Return the gain over the baseline with its interval."""
    if advice.final.by is By.LATENCY:
        return f"its p99 latency is {ratio_text(gain.inverse, 'that of')} {advice.baseline}"
    return f"{ratio_text(gain, 'as fast as')} {advice.baseline}"


def certainty(advice: Advice) -> str:
    """Return how certain the advice is, in one sentence."""
    return ": ".join(filter(None, certainty_parts(advice)))


def certainty_parts(advice: Advice) -> tuple[str, str]:
    """Return how certain the advice is, and the numbers behind it, "" if there are none."""
    final, arm = advice.final, advice.arm
    what = "as good as" if final.by is By.LATENCY else "as fast as"
    others = [each for each in final.contenders if each is not arm and not each.is_out]
    if not final.blocks and others:
        why = "the budget ended before the last arms were compared; give it more time"
        return "unknown", why
    if not others:
        return "no other arm ran correctly, so nothing is compared", ""
    comparisons = [f"{ratio_text(advice.over(other), what)} {other.words}" for other in others]
    found = f"it is {listed(comparisons)}"
    if not advice.rivals:
        return f"certain at 95 % among the last {len(others) + 1} arms", found
    names = listed([each.words for each in advice.rivals])
    return f"not distinguished from {names} within the budget", found


def ratio_text(ratio: ArmRatio, what: str) -> str:
    """Return a ratio with its interval: `1.2 times as fast as [1.1, 1.3]`."""
    if ratio.estimate != ratio.estimate:  # nan: no whole block was run
        return f"an unknown number of times {what}"
    known = ratio.low > 0.0 and ratio.high < float("inf")
    interval = f" [{ratio.low:.3g}, {ratio.high:.3g}]" if known else ""
    return f"{ratio.estimate:.3g} times{interval} {what}"


def to_mapping(advice: Advice, words: Sequence[str], bound: str | None, why: str) -> dict[str, Any]:
    """Return everything, for JSON."""
    gain = advice.gain
    final = advice.final
    ranks = {each.arm.name: each for each in advice.ranked}

    def row(trial: Trial) -> dict[str, Any]:
        found = ranks.get(trial.arm.name)
        return {
            "arm": trial.arm.name,
            "options": shlex.join(option_of(trial.arm.name, trial.arm.run.model)),
            "words": trial.arm.words,
            "bound_per_s": _finite(found.bound_per_s) if found else None,
            "to_best": trial.to_best or None,
            "runs": trial.runs,
            "left_out_in_round": trial.left_out_in_round,
            "failure": trial.arm.failure or None,
        }

    return {
        "graph": final.title,
        "parameters": dict(final.parameters),
        "machine": advice.arm.run.place.machine,
        "simulated": final.simulated,
        "compared_by": str(final.by),
        "arm": advice.arm.name,
        "model": advice.arm.run.model.name,
        "options": {
            name: dict(value) if isinstance(OPTIONS[name], Settings) else value
            for name, value in advice.arm.run.model.changed.items()
        },
        "command": advice.command,
        "why": why,
        "gain": None
        if gain is None
        else {
            "over": advice.baseline,
            "estimate": _finite(gain.estimate),
            "low": _finite(gain.low),
            "high": _finite(gain.high),
        },
        "alpha": final.alpha,
        "is_distinguished": not advice.rivals,
        "not_distinguished_from": [arm.name for arm in advice.rivals],
        "certainty": certainty(advice),
        "would_help": advice.would_help or None,
        "bound": bound,
        "in_your_runtime": list(words),
        "rests_on": list(advice.rests_on),
        "candidates": len(advice.ranked),
        "tried": [row(trial) for trial in advice.tried],
        "operators": [
            {"name": each.name, "share": each.share, "tuple_ns": each.tuple_ns}
            for each in advice.costs.operators.values()
        ],
        "hop_ns": dict(advice.costs.hop_ns),
    }


def _finite(value: float) -> float | None:
    return value if abs(value) < float("inf") else None
