"""`gate --bisect`: the commit that made a program slower, and the chance that it is another one."""

from __future__ import annotations

import random
from contextlib import nullcontext
from pathlib import Path

import pytest

from harness.cli import main
from harness.errors import UserError
from harness.gate.bisect import BisectionResult, code_of, commits_between, search
from harness.gate.cell import GateCell, Metric, Program
from harness.gate.compare import compare
from harness.gate.sample import ProcessSample
from harness.gate.suite import Suite
from harness.gate.tree import Tree
from harness.gate.verdict import Comparison, Exit, Side, Verdict
from tests.gate.ci.repositories import git
from tests.gate.made_comparisons import comparison, result

SUITE = Suite(
    "mine",
    tuple(Program(name, (name,), (GateCell(name, Metric(factor=1.1)),)) for name in ("a", "b")),
    "a",
)
COMMITS = [f"c{n}" for n in range(9)]


class Past:
    """Commits, the first slow one, and those that do not build or stay undecided."""

    def __init__(self, first_slow: int, broken: tuple[int, ...] = (), vague: tuple[int, ...] = ()):
        self.first_slow, self.broken, self.vague = first_slow, broken, vague
        self.tests: list[tuple[str, int, float, float]] = []

    def compare(self, commit: str, of: Suite, factor: float, alpha: float) -> Comparison | None:
        place = COMMITS.index(commit)
        self.tests.append((commit, len(of.cells), factor, alpha))
        if place in self.broken:
            return None
        slow = Verdict.REGRESSED if place >= self.first_slow else Verdict.OK
        verdict = Verdict.INCONCLUSIVE if place in self.vague else slow
        names = [cell.name for cell in of.cells]
        return comparison(result(names[0], verdict), *(result(name) for name in names[1:]))

    def search(self) -> BisectionResult | Comparison | None:
        return search(COMMITS, SUITE, self.compare, 1.02, 0.01, lambda text: None)


@pytest.mark.parametrize("first_slow", range(1, 9))
def test_commit_is_found_in_few_tests_whose_levels_add_up_to_the_chance(first_slow: int) -> None:
    past = Past(first_slow)
    found = past.search()
    assert isinstance(found, BisectionResult)
    assert (found.before, found.suspects) == (f"c{first_slow - 1}", (f"c{first_slow}",))
    assert found.chance == pytest.approx(sum(alpha for *_, alpha in past.tests))
    assert found.chance < 0.01
    assert len(past.tests) <= 4
    assert code_of(found) == 0
    # the whole suite first, then the slower cell alone, at a limit within what is proven
    assert [cells for _, cells, *_ in past.tests] == [2] + [1] * (len(past.tests) - 1)
    assert past.tests[0][2] == 1.02
    assert {factor for *_, factor, _ in past.tests[1:]} <= {found.limit}
    assert found.suite.cells[0].metric.factor is None


def test_commits_that_cannot_be_judged_stay_suspects() -> None:
    found = Past(5, broken=(4,), vague=(5,)).search()
    assert isinstance(found, BisectionResult)
    assert found.suspects == ("c4", "c5", "c6")
    assert code_of(found) == 125
    found = Past(5, broken=(3,), vague=(7,)).search()
    assert isinstance(found, BisectionResult)
    assert found.suspects == ("c5",)


def test_without_a_slower_end_there_is_nothing_to_find() -> None:
    found = Past(9).search()
    assert isinstance(found, Comparison)
    assert code_of(found) == 1
    assert code_of(Past(1, vague=(8,)).search()) == 125
    assert code_of(Past(1, broken=(8,)).search()) == 125


def test_commit_is_right_as_often_as_promised() -> None:
    """Simulated processes with noise of 2 %; one commit of 16 makes the program 8 % slower."""
    draw = random.Random(7)
    commits = [f"c{n:02d}" for n in range(17)]
    suite = Suite("mine", (Program("a", ("a",), (GateCell("a", Metric()),)),), "a")
    trees = {name: Tree(Path("/", name), "", Side(name, name)) for name in commits}
    named = 0
    for first_slow in (1, 6, 11, 16):
        level = {name: 1.08 if place >= first_slow else 1.0 for place, name in enumerate(commits)}

        def take(
            tree: Tree, program: Program, *_: object, level: dict[str, float] = level
        ) -> ProcessSample:
            value = 100.0 * level[tree.side.label] * draw.lognormvariate(0.0, 0.02)
            return ProcessSample({"a": value}, seconds=1.0)

        def compared(commit: str, of: Suite, factor: float, alpha: float) -> Comparison:
            return compare(
                trees[commits[0]],
                trees[commit],
                of,
                factor=factor,
                alpha=alpha,
                pairs=None,
                time_budget_s=float("inf"),
                seed=draw.randrange(2**32),
                take=take,
                lock=lambda notify: nullcontext(),
            )

        found = search(commits, suite, compared, 1.02, 0.01, lambda text: None)
        assert isinstance(found, BisectionResult)
        assert found.suspects == (commits[first_slow],)
        named += 1
    assert named == 4


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that gets slower in the fourth of six commits, and does not build in the third."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet", "--initial-branch", "main")
    for place, number in enumerate((100, 100, 100, 140, 140, 140)):
        answer = f"echo '{{\"ns_per_hop\": {number}.'$(date +%N)'}}'"
        (path / "program.sh").write_text(f"# {place}\n{answer}\n", encoding="utf-8")
        (path / "works").write_text("" if place != 2 else "no", encoding="utf-8")
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "-m", f"commit {place}")
    suite = "{build: [[test, '!', -s, works]], programs: [{name: it, command: sh program.sh}]}"
    (tmp_path / "suite.yaml").write_text(suite, encoding="utf-8")
    monkeypatch.chdir(path)
    monkeypatch.setenv("MILLRACE_LOCK", str(tmp_path / "lock"))
    return path


def test_words_that_are_no_range_of_commits_are_told(repository: Path) -> None:
    assert len(commits_between(repository, "main~3..main")) == 4
    for words, told in (
        ("main", "must be GOOD..BAD"),
        ("main~1...main", "must be GOOD..BAD"),
        ("main..main~3", "main is no ancestor of main~3"),
        ("main..main", "must have a commit after main"),
        ("none..main", "--bisect none..main: "),
    ):
        with pytest.raises(UserError, match=told):
            commits_between(repository, words)


@pytest.mark.heavy
def test_slow_commit_of_a_repository_is_named(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["gate", "--suite", str(tmp_path / "suite.yaml")]
    assert main([*words, "--bisect", "main~5..main~1"]) == 125  # commit 2 does not build
    told = capsys.readouterr().out
    assert "one of these 2 commits is slower by more than" in told
    assert "commit 2 (" in told and "commit 3 (" in told
    assert main([*words, "--bisect", "main~3..main"]) == 4  # the good one does not build
    git(repository, "checkout", "--quiet", "main~1")
    assert main([*words, "--bisect", "main~1..main", "--time-budget", "100"]) == 1
    assert "not proven slower" in capsys.readouterr().out


def test_options_of_reports_and_sides_do_not_go_with_a_search(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for more in (["--base", "main"], ["--json", "v.json"], ["--inconclusive", "pass"]):
        assert main(["gate", "--bisect", "main~1..main", *more, "--", "true"]) == 2
        assert f"{more[0]} and --bisect do not go together" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("code", "for_git"),
    [(Exit.OK, 0), (Exit.REGRESSED, 1), (Exit.INCONCLUSIVE, 125), (Exit.WRONG_RESULTS, 7)],
)
def test_exit_codes_may_be_those_that_git_bisect_run_understands(
    monkeypatch: pytest.MonkeyPatch, code: Exit, for_git: int
) -> None:
    monkeypatch.setattr("harness.cli.gate._guarded", lambda args: int(code))
    assert main(["gate", "--base", "main", "--inconclusive", "skip"]) == for_git


def test_call_that_is_wrong_stops_git_bisect_run_and_what_does_not_build_is_skipped(
    repository: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["gate", "--suite", str(tmp_path / "suite.yaml"), "--inconclusive", "skip"]
    assert main([*words, "--base", "main", "--head", "nonesuch"]) == 128
    assert main([*words, "--base", "main", "--head", "main~3"]) == 125
    assert "does not build" in capsys.readouterr().err
