"""The command that judges `millrace advise` on graphs drawn at random."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.cli import call
from harness.cli.arguments import (
    SHORTEST_DURATION_S,
    SHORTEST_VIRTUAL_S,
    check_length,
    check_writable,
    seconds,
    span,
    whole,
)
from harness.cli.ending import ended_like_ctrl_c
from harness.compare.entrants import RunTerms
from harness.errors import RunFailed, UserError
from harness.files.whole import write_whole
from harness.machines.place import Place, find_place
from harness.terminal.output import say, tell
from harness.terminal.overwritten_line import OverwrittenLine
from studies.advice.graphs import DrawnGraph, draw
from studies.advice.judge import Judgement, JudgingTerms, judge
from studies.advice.report import markdown

SUMMARY = "judge the advice of millrace advise on graphs drawn at random"

DESCRIPTION = """\
Draws graphs by a seed: pipelines, data-parallel graphs, mixes, trees and reverse trees, of random
sizes, costs and payloads. For each it calls millrace advise with a budget, then runs all arms of a
set that does not depend on the advice, and reports the throughput of the advised arm over that of
the best one. Advice is good if it is within 5 % of the best.

Each judged graph is kept in --record FILE. A study that was killed goes on there. Leave the machine
alone meanwhile, unless it is a simulated one.

examples:
  python -m studies.advice --graphs 30 --markdown FILE
      this machine: about 7 minutes a graph on two CPUs

  python -m studies.advice --machine cstream --graphs 30 --budget 60s --duration 0.005
      a described machine with 12 CPUs"""

NAME = "python -m studies.advice"
RECORDINGS = Path(__file__).resolve().parents[2] / ".millrace" / "advice"
GRAPHS, MAX_GRAPHS = 30, 10_000
BUDGET_S = 300.0
MAX_SEED = 2**63 - 1
QUIET_S = 30.0  # between two lines of progress if stderr is no terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--graphs",
        type=whole(1, MAX_GRAPHS),
        default=GRAPHS,
        metavar="N",
        help=f"graphs to judge (default: {GRAPHS})",
    )
    parser.add_argument(
        "--machine",
        default="local",
        metavar="NAME",
        help="local, or a simulated machine (default: local)",
    )
    parser.add_argument(
        "--budget",
        type=span,
        default=BUDGET_S,
        metavar="TIME",
        help="budget of a call of advise, such as 90s or 5m (default: 5m)",
    )
    parser.add_argument(
        "--duration",
        type=seconds(0.0),
        metavar="S",
        help="seconds to measure in a run (default: as advise)",
    )
    parser.add_argument(
        "--seed", type=whole(0, MAX_SEED), default=0, metavar="N", help="of the graphs (default: 0)"
    )
    parser.add_argument(
        "--record",
        metavar="FILE",
        help="judgements, one JSON object a line (default: "
        ".millrace/advice/MACHINE-BUDGET-DURATION-SEED.jsonl)",
    )
    parser.add_argument("--markdown", metavar="FILE", help="write the report there, too")


def run(args: argparse.Namespace) -> int:
    """Judge the graphs that the record does not have, and report all."""
    place = find_place(args.machine, False, "", None)
    shortest_s = SHORTEST_VIRTUAL_S if place.simulated else SHORTEST_DURATION_S
    check_length("duration", args.duration, shortest_s)
    if args.markdown is not None:
        check_writable("--markdown", args.markdown)
    terms = JudgingTerms(RunTerms(place, "advice", args.duration), args.budget)
    kept = _record_path(args)
    kept.parent.mkdir(parents=True, exist_ok=True)
    known = _known(kept)
    with ended_like_ctrl_c(), _GraphProgress(args.graphs) as progress:
        for number in range(args.graphs):
            if number not in known:
                known[number] = _judged(number, draw(number, args.seed), terms, progress)
                lines = [json.dumps(each.to_mapping()) for each in known.values()]
                write_whole(kept, "".join(f"{line}\n" for line in lines).encode())
            progress.judged(known[number])
    text = markdown(
        [known[number] for number in range(args.graphs)], _where(place, args), _command(args)
    )
    if args.markdown is not None:
        write_whole(args.markdown, text.encode())
    say(text.rstrip("\n"))
    return 0


def _judged(
    number: int, drawn: DrawnGraph, terms: JudgingTerms, progress: _GraphProgress
) -> Judgement:
    def show(step: str) -> None:
        progress.show(f"graph {number + 1} ({drawn.title}): {step}")

    return judge(number, drawn, terms, show)


def _where(place: Place, args: argparse.Namespace) -> str:
    where = f"simulated on {place.machine} ({place.cpus} CPUs)" if place.simulated else "measured"
    return f"{where}, with {args.budget:g} s for each advice"


def _command(args: argparse.Namespace) -> str:
    words = ["python", "-m", "studies.advice", "--graphs", f"{args.graphs}"]
    words += ["--machine", args.machine, "--budget", f"{args.budget:g}s"]
    words += ["--duration", f"{args.duration:g}"] if args.duration else []
    return shlex.join([*words, "--seed", f"{args.seed}"])


def _record_path(args: argparse.Namespace) -> Path:
    if args.record is not None:
        return Path(args.record)
    duration = f"{args.duration:g}" if args.duration else "usual"
    return RECORDINGS / f"{args.machine}-{args.budget:g}s-{duration}-{args.seed}.jsonl"


def _known(path: Path) -> dict[int, Judgement]:
    """Return the judgements of a record, by the number of the graph."""
    if not path.exists():
        return {}
    return {each.number: each for each in _lines(path)}


def _lines(path: Path) -> Iterator[Judgement]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RunFailed(f"cannot read {path}: {error}") from error
    for place, line in enumerate(lines, start=1):
        try:
            yield Judgement(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise UserError(f"{path}, line {place}, is no judgement") from error


class _GraphProgress(OverwrittenLine):
    """Progress on stderr: a line that is overwritten on a terminal, else one now and then."""

    def __init__(self, graphs: int, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._graphs, self._now = graphs, now
        self._done = 0
        self._printed_s = -QUIET_S

    def show(self, text: str) -> None:
        """Show the present step."""
        if self._live:
            self._overwrite(text, self._done, self._graphs)
        elif self._now() - self._printed_s >= QUIET_S:
            self._printed_s = self._now()
            tell(f"{NAME}: {text}")

    def judged(self, found: Judgement) -> None:
        """Print a line that stays."""
        self._done += 1
        self._overwrite("")
        tell(
            f"{NAME}: {self._done} of {self._graphs}: {found.graph}: {found.advised} has "
            f"{found.ratio:.3f} of {found.best}"
        )


if __name__ == "__main__":
    sys.exit(call(NAME, sys.modules[__name__], sys.argv[1:]))
