"""Steps of an advice: profile, halving, a climb to better neighbours, and the last comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from harness.advise.advice import Advice
from harness.advise.candidates import (
    Candidate,
    candidates,
    choose,
    found_by_law,
    neighbours,
    words_of,
)
from harness.advise.costs import GraphCosts, costs_of
from harness.advise.halving import SCREENING, Screening, arms_for, runs_of
from harness.advise.placements import can_be_named
from harness.compare.contest import Audience, By, Contender, Contest
from harness.compare.entrants import RunTerms, entrant, execute
from harness.compare.standing import ALPHA
from harness.errors import RunFailed, UserError
from harness.experiments.experiment import Arm
from harness.explain import explain
from harness.graph import Graph
from harness.graph.schedule import Schedule
from harness.measurement.spec import arm_name
from harness.measurement.subject import Subject
from harness.models import model_on
from harness.terminal.output import tell

LEAST_FOR_LAW_S = 120.0  # of the budget, from which on the law of multilevel has a run
PROFILED = ("manual", "dedicated", "dynamic", "coroutine")
"""Models of which a run is explained first; the first one that can run the graph has the times that
are taken for the operators' own."""


@dataclass(frozen=True)
class Asked:
    """Graph and terms of an advice. `word` names the graph for the user, `given` are its parameters
    as text; `by`: None if the graph decides; `place_words`: options of `millrace run` that say
    where the arms run, `compare_words` further ones of `millrace compare`; `rests_on`: sentences;
    `baseline`: the arm that gains are over, if one was named.
    """

    word: str
    given: Mapping[str, str]
    subject: Subject
    graph: Graph
    terms: RunTerms
    budget_s: float
    by: By | None = None
    place_words: Sequence[str] = ()
    compare_words: Sequence[str] = ()
    rests_on: tuple[str, ...] = ()
    baseline: Arm | None = None

    def made(self, arm: Arm, words: str = "") -> Contender:
        """Return an arm with its run. Raises UserError if it cannot run the graph."""
        run = self.terms.run_of(arm, self.subject)
        return entrant(arm, words or words_of(arm), run, self.graph)


class StepAudience(Audience, Protocol):
    """Receiver of progress through several contests."""

    def begin(self, contest: Contest, step: str = "") -> None:
        """Show the contest that begins, and which step it is."""


def entrants(asked: Asked, models: Iterable[str]) -> Iterator[Contender]:
    """Yield the models with their defaults that can run the graph; tell of the others."""
    for name in models:
        model = model_on(asked.terms.place, name, {})
        yield from _able(asked, [(Arm(arm_name(model), model), "")])


def _able(asked: Asked, arms: Iterable[tuple[Arm, str]]) -> Iterator[Contender]:
    for arm, words in arms:
        try:
            yield asked.made(arm, words)
        except UserError as error:
            tell(f"millrace advise: {arm.name} is left out: {error}")


class Adviser:
    """The steps, each a contest within what is left of the budget."""

    def __init__(self, asked: Asked, audience: StepAudience) -> None:
        self._asked, self._audience = asked, audience
        self._schedule = Schedule.of(asked.graph)
        self._is_paced = self._schedule.mean_per_s is not None
        self._by = asked.by or (By.LATENCY if self._is_paced else By.THROUGHPUT)
        self._left_s = asked.budget_s
        self._run_s = 0.0  # that a run takes, about, with the one at full speed if it has one
        self._unsettled: dict[str, Contender] = {}  # simulated arms that do not become stationary
        self._screenings: list[Screening] = []
        self._advice: Advice | None = None  # as far as it has come

    def advise(self) -> Advice:
        """Return the advice. Raises RunFailed if no model can run the graph."""
        asked = self._asked
        profiles = self._profile()
        costs = self._costs(profiles)
        ranked = candidates(asked.graph, costs, asked.terms.place)
        if asked.baseline is None:
            baseline = next(arm for arm in profiles.contenders if arm.explained is not None)
        else:
            baseline = self._baseline(asked.baseline, ranked)
        found = self._by_law(costs)
        reserve_s = (1.0 - 2.0 * SCREENING) * self._left_s  # for the last comparison
        count = arms_for(self._left_s, self._run_s, len(ranked))
        arms = [baseline, *self._made([*found, *choose(ranked, count)])]
        self._advice = Advice(
            asked.word,
            asked.given,
            costs,
            ranked,
            self._screenings,
            self._contest([baseline]),
            baseline.name,
            terms=asked.place_words,
            compare_terms=asked.compare_words,
            profiles={
                arm.name: explain(arm.explained)
                for arm in profiles.contenders
                if arm.explained is not None
            },
        )
        self._screen(arms, SCREENING * self._left_s, "halving of {} arms")
        self._climb(ranked, reserve_s)
        final = self._contest([baseline, *self._screenings[-1].last], explains=True)
        self._advice = replace(self._advice, final=final)
        self._audience.begin(final, f"the last {len(final.contenders)} arms")
        if len(final.contenders) > 1:
            final.budget_s = self._left_s
            final.compare(execute, self._audience)
        if not final.leaders:
            why = [f"{arm.name}: {arm.failure}" for arm in final.contenders if arm.failure]
            why += [
                f"{arm.name} was not stationary after {arm.unsettled}"
                + (f": {arm.unsettled_help}" if arm.unsettled_help else "")
                for arm in final.contenders
                if arm.unsettled
            ]
            raise RunFailed("; ".join(why))
        return replace(self._advice, rests_on=tuple(self._rests_on(final)))

    @property
    def so_far(self) -> Advice | None:
        """Findings of an adviser that was interrupted; None if no arms were compared."""
        found = self._advice
        return found if found and any(contest.blocks for contest in found.contests) else None

    # -- steps -------------------------------------------------------------------------------------

    def _profile(self) -> Contest:
        """Explain a run of each model."""
        contenders = list(entrants(self._asked, PROFILED))
        if not contenders:
            raise RunFailed("no model can run the graph")
        contest = self._contest(contenders)
        self._explain(contest, f"profile of {len(contenders)} models")
        self._run_s = contest.elapsed_s / len(contenders)
        if self._is_paced:
            self._run_s *= 2.0  # each has another one at full speed
        if all(arm.explained is None for arm in contest.contenders):
            failed = [f"{arm.name}: {arm.failure}" for arm in contest.contenders if arm.failure]
            raise RunFailed("; ".join(failed) or "the budget is too short for a run")
        return contest

    def _baseline(self, named: Arm, ranked: Sequence[Candidate]) -> Contender:
        """Return the arm that gains are over. Names leave out some options, so it gets a name of
        its own if another arm has its name.
        """
        made = self._asked.made(named)
        if any(
            each.arm.name == made.name and f"{each.arm.model}" != f"{made.run.model}"
            for each in ranked
        ):
            made = self._asked.made(replace(named, name=f"{made.name}-baseline"))
        return made

    def _explain(self, contest: Contest, step: str) -> None:
        self._audience.begin(contest, step)
        with contest.timed():
            contest.explain_arms(execute, self._audience)
        self._spend(contest)

    def _costs(self, profiles: Contest) -> GraphCosts:
        runs = {
            arm.run.model.name: explain(arm.explained)
            for arm in profiles.contenders
            if arm.explained is not None
        }
        plain = next(name for name in PROFILED if name in runs)
        return costs_of(runs, plain)

    def _by_law(self, costs: GraphCosts) -> list[Candidate]:
        """Return the arm with what the law of the multilevel model finds, from one run of it. A run
        with a law takes long, so a short budget has none.
        """
        if self._left_s < LEAST_FOR_LAW_S or "dynamic" not in costs.hop_ns:
            return []
        contest = self._contest(list(entrants(self._asked, ("multilevel",))))
        if not contest.contenders:
            return []
        self._explain(contest, "what the law of multilevel finds")
        record = contest.contenders[0].explained
        if record is None:
            return []
        queued = {
            each.name
            for each in explain(record).operators
            if each.queue_capacity is not None and each.kind != "source"
        }
        if not record["threads"] or not queued or not all(map(can_be_named, queued)):
            return []
        return [found_by_law(self._asked.terms.place, record["threads"], queued)]

    def _climb(self, ranked: Sequence[Candidate], reserve_s: float) -> None:
        """Halve the best arm with its neighbours that were not tried, as long as one is better."""
        tried = {f"{arm.run.model}" for arm in self._screenings[0].contest.contenders}
        while last := self._screenings[-1].last:
            best = last[0].run.model
            new = [each for each in neighbours(ranked, best) if f"{each.arm.model}" not in tried]
            tried |= {f"{each.arm.model}" for each in new}
            arms = list(self._made(new))
            spare_s = self._left_s - reserve_s
            if not arms or runs_of(len(arms) + len(last)) * self._run_s > spare_s:
                return
            step = "halving of {} arms: the best and its neighbours"
            self._screen([*last, *arms], spare_s, step)
            now = self._screenings[-1].last
            if not now or now[0].run.model == best:
                return

    def _screen(self, arms: Iterable[Contender], budget_s: float, step: str) -> None:
        """Halve arms within a budget."""
        contest = self._contest(arms)
        contest.budget_s = budget_s
        self._audience.begin(contest, step.format(len(contest.contenders)))
        self._screenings.append(Screening(contest))
        try:
            self._screenings[-1].halve(execute, self._audience)
        finally:
            self._spend(contest)

    def _made(self, chosen: Iterable[Candidate]) -> Iterator[Contender]:
        """Yield arms as the graph allows them."""
        return _able(self._asked, ((each.arm, each.words) for each in chosen))

    def _rests_on(self, final: Contest) -> Iterator[str]:
        place = self._asked.terms.place
        where = f"on simulated {place.machine}" if place.simulated else "on this machine"
        contests = [*(each.contest for each in self._screenings), final]
        runs = sum(len(arm.records) for each in contests for arm in each.contenders)
        tried = {arm.name for each in self._screenings for arm in each.contest.contenders}
        rounds = sum(each.rounds for each in self._screenings)
        yield (
            f"{runs} runs {where}: {len(tried)} arms in {rounds} round{'' if rounds == 1 else 's'} "
            f"of halving, and {len(final.contenders)} compared to the end"
        )
        yield from self._asked.rests_on
        if any(each.left_out for each in self._screenings):
            yield "arms that were left out only seemed worse; the last arms alone are tested"

    # -- contests ----------------------------------------------------------------------------------

    def _contest(self, contenders: Iterable[Contender], explains: bool = False) -> Contest:
        """Return a contest of arms without runs, each setting once, under the name that comes
        first. How long a run takes is kept.
        """
        found: dict[str, Contender] = {}
        for arm in contenders:
            new = Contender(arm.name, arm.words, arm.run, longest_s=arm.longest_s, notes=arm.notes)
            if known := self._unsettled.get(f"{arm.run.model}"):
                new.unsettled, new.unsettled_help = known.unsettled, known.unsettled_help
            found.setdefault(f"{arm.run.model}", new)
        asked = self._asked
        return Contest(
            asked.subject.topology,
            asked.subject.parameters,
            list(found.values()),
            self._by,
            ALPHA,
            self._left_s,
            asked.terms.seed,
            self._schedule,
            explains=explains,
        )

    def _spend(self, contest: Contest) -> None:
        self._left_s = max(0.0, self._left_s - contest.elapsed_s)
        self._unsettled |= {f"{arm.run.model}": arm for arm in contest.contenders if arm.unsettled}
