"""The command that measures how often the gate is wrong on this machine."""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cli import call
from harness.cli.arguments import check_writable, seconds, shown, whole
from harness.cli.ending import ended_like_ctrl_c
from harness.errors import RunFailed, UserError
from harness.files.whole import write_whole
from harness.terminal.output import say, tell
from harness.terminal.overwritten_line import OverwrittenLine

if TYPE_CHECKING:
    from studies.gate_error_rates.replay import Call
    from studies.gate_error_rates.report import Study

SUMMARY = "measure how often the gate raises false alarms and misses slowdowns on this machine"

DESCRIPTION = """\
The study compares a binary with itself, and with itself doing more work in one cell, again and
again.

It builds the current commit with code that can do more work for every tuple: multiplies (flop),
copies of the tuple (copy), atomic operations on one cache line (atomic), short sleeps (sleep). It
measures how much of it makes a slowdown of 1.05, and reports the slowdown that it really made. Base
and head are this one binary.

A real call takes minutes. So the study records processes, in the blocks that a call would measure,
and replays calls from them with the statistics of real calls. The first calls use processes that no
call has seen; the others use the same ones with new coins. Everything is kept in --record DIR. A
study that was killed resumes there, and a second one adds to it. Leave the machine alone meanwhile.

examples:
  python -m studies.gate_error_rates --simulated
      minutes: invented noise in place of this machine's

  python -m studies.gate_error_rates --time-budget 14400 --markdown FILE
      four hours on this machine; the file's section of this suite and disturbance is replaced

  python -m studies.gate_error_rates --kinds flop --effects 1.05 --disturb half --time-budget 3600
      one slowdown only, while a process of ours keeps one CPU busy half of the time

  python -m studies.gate_error_rates --kinds none --time-budget 18000
      false alarms only: all of the time goes to base against itself

  python -m studies.gate_error_rates --time-budget 0 --calls 1000
      nothing is measured: more calls of what was recorded

What the numbers mean: docs/appendices/gate-error-rates.md."""

NAME = "python -m studies.gate_error_rates"
PROJECT = Path(__file__).resolve().parents[2]
RECORDINGS = PROJECT / ".millrace" / "gate" / "error-rates"
SUITE = PROJECT / "config" / "gate" / "short.yaml"
KINDS = ("flop", "copy", "atomic", "sleep")
NO_KIND = "none"
EFFECTS = "1.02,1.05,1.1"
MOST_EFFECTS = 10
DISTURB = ("none", "half")
CALLS, MAX_CALLS = 200, 100_000
TIME_BUDGET_S = 3600.0
QUIET_S = 30.0  # between two lines of progress if stderr is no terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--simulated",
        action="store_true",
        help="simulated noise in place of processes; nothing is built",
    )
    parser.add_argument(
        "--calls",
        type=whole(1, MAX_CALLS),
        default=CALLS,
        metavar="N",
        help=f"a condition (default: {CALLS})",
    )
    parser.add_argument(
        "--suite", metavar="FILE", help="whose calls (default: config/gate/short.yaml)"
    )
    parser.add_argument(
        "--cell",
        metavar="NAME",
        help="where work is injected (default: the first that is not the control's)",
    )
    parser.add_argument(
        "--effects",
        default=EFFECTS,
        metavar="R,R",
        help=f"slowdowns as ratios above 1 (default: {EFFECTS})",
    )
    parser.add_argument(
        "--kinds",
        default=",".join(KINDS),
        metavar="K,K",
        help=f"of work, or none (default: {','.join(KINDS)})",
    )
    parser.add_argument("--noises", metavar="N,N", help="with --simulated: which (default: all)")
    parser.add_argument(
        "--disturb",
        default="none",
        metavar="HOW",
        help="none, or half: one busy CPU half of the time",
    )
    parser.add_argument(
        "--record",
        metavar="DIR",
        help="the recording (default: .millrace/gate/error-rates/SUITE-DISTURB)",
    )
    parser.add_argument(
        "--time-budget",
        type=seconds(0),
        default=TIME_BUDGET_S,
        metavar="S",
        help=f"for recording, amounts found before (default: {TIME_BUDGET_S:g})",
    )
    parser.add_argument(
        "--real",
        type=whole(0, MAX_CALLS),
        default=0,
        metavar="N",
        help="true calls besides, of two conditions",
    )
    parser.add_argument(
        "--seed",
        type=whole(0, 2**63),
        default=0,
        metavar="N",
        help="of coins and orders (default: 0)",
    )
    parser.add_argument(
        "--markdown",
        metavar="FILE",
        help="write the tables there: to its section, if the file has one",
    )
    parser.add_argument("--json", metavar="FILE", help="write all numbers there")


def run(args: argparse.Namespace) -> int:
    """Simulate, or record and replay; then report."""
    from studies.gate_error_rates.report import into, markdown, plain

    effects = _effects(args.effects)
    kinds = [] if args.kinds == NO_KIND else _names("--kinds", args.kinds, KINDS)
    if args.disturb not in DISTURB:
        raise UserError(f"--disturb must be one of {', '.join(DISTURB)}, not {shown(args.disturb)}")
    if args.noises is not None and not args.simulated:
        raise UserError("--noises is of --simulated only")
    for option, path in (("--markdown", args.markdown), ("--json", args.json)):
        if path is not None:
            check_writable(option, path)
    with ended_like_ctrl_c(), _Progress() as progress:
        study = (
            _simulated(args, effects, progress)
            if args.simulated
            else _recorded(args, kinds, effects, progress)
        )
    if args.markdown is not None:
        write_whole(args.markdown, into(_text(args.markdown), study).encode())
    if args.json is not None:
        write_whole(
            args.json, (json.dumps(plain(study), indent=2, allow_nan=False) + "\n").encode()
        )
    say(markdown(study))
    return 0


def _simulated(args: argparse.Namespace, effects: list[float], progress: _Progress) -> Study:
    from studies.gate_error_rates import study
    from studies.gate_error_rates.report import Study
    from studies.gate_error_rates.simulate import PROCESS_S
    from studies.gate_error_rates.simulate import SUITE as SIMULATED

    noises = _names("--noises", args.noises or ",".join(study.known_noises()), study.known_noises())
    rows = study.simulated(noises, effects, args.calls, args.seed, progress.show)
    about = (
        f"Made by `python -m studies.gate_error_rates --simulated --calls {args.calls} --seed "
        f"{args.seed}`.\n"
        "The noise is that of `studies/gate_error_rates/noise.py`; no process was run.\n"
        f"A call has {len(SIMULATED.cells)} cells, {PROCESS_S:g} s a process, and a time budget of "
        f"{SIMULATED.time_budget_s:g} s, at factor {SIMULATED.factor:g} and alpha "
        f"{SIMULATED.alpha:g}.\n"
        "The slowdown multiplies the time of one cell."
    )
    return Study("simulated", "Simulated noise", about, tuple(rows))


def _recorded(
    args: argparse.Namespace, kinds: list[str], effects: list[float], progress: _Progress
) -> Study:
    from harness.gate.suite import load_suite
    from studies.gate_error_rates import identity, recording, study
    from studies.gate_error_rates.recording import WorkAmount
    from studies.gate_error_rates.report import Study

    suite = load_suite(Path(args.suite) if args.suite else SUITE)
    place = study.injected_cell(suite, args.cell)
    directory = Path(args.record) if args.record else RECORDINGS / f"{suite.name}-{args.disturb}"
    samples = directory / recording.SAMPLES
    true: dict[str, list[Call]] = {}
    if args.time_budget > 0 or args.real:
        from studies.gate_error_rates.session import SessionOptions, sit

        options = SessionOptions(
            repository=PROJECT,
            directory=directory,
            disturb=args.disturb,
            calls=args.calls,
            time_budget_s=args.time_budget,
            true_calls=args.real,
            seed=args.seed,
            show=progress.show,
            note=progress.note,
        )
        true = sit(
            suite,
            place,
            [WorkAmount(kind, effect) for kind in kinds for effect in effects],
            options,
        )
    elif not samples.exists():
        raise UserError(f"--time-budget 0 measures nothing, and {directory} holds no recording")
    found = recording.read(samples)
    identity.check(samples, found.about, identity.of_suite(suite, place))
    rows = study.recorded(found, suite, place, args.calls, args.seed, progress.show)
    rows += study.real(true, place, found)
    notes = []
    if not rows[0].calls:
        notes.append(
            f"{len(found.rounds)} rounds are less than a call of {suite.time_budget_s:g} s may "
            "take: record more"
        )
    disturb = found.about["disturb"]
    disturbed = (
        "without a disturbance of ours" if disturb == "none" else "one CPU busy half of the time"
    )
    title = f"Suite {suite.name}, {disturbed}"
    return Study(
        f"{suite.name} {disturb}",
        title,
        identity.paragraph(found, suite, place),
        tuple(rows),
        tuple(notes),
    )


def _effects(text: str) -> list[float]:
    words = text.split(",")
    try:
        effects = [float(word) if re.fullmatch(r"[0-9.]{1,12}", word) else 0.0 for word in words]
    except ValueError:
        effects = [0.0]
    if not all(1 < effect <= MOST_EFFECTS for effect in effects) or len(set(effects)) < len(
        effects
    ):
        raise UserError(
            f"--effects must be different ratios above 1, up to {MOST_EFFECTS}, as {EFFECTS}, not "
            f"{shown(text)}"
        )
    return effects


def _names(option: str, text: str, known: tuple[str, ...]) -> list[str]:
    from harness.files.checked_yaml import did_you_mean

    names = text.split(",")
    for name in names:
        if name not in known:
            raise UserError(
                f"{option} must be of {', '.join(known)}, not "
                f"{shown(name)}{did_you_mean(name, known)}"
            )
    return list(dict.fromkeys(names))


def _text(path: str) -> str:
    """Return the text that is in a file already; "" for a device or a missing file."""
    try:
        return Path(path).read_text(encoding="utf-8") if Path(path).is_file() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise RunFailed(f"cannot read {path}: {error}") from error


class _Progress(OverwrittenLine):
    """Progress on stderr: a line that is overwritten on a terminal, else one now and then."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._printed_s = -QUIET_S

    def show(self, text: str) -> None:
        """Show the present step."""
        if self._live:
            self._overwrite(text)
        elif self._now() - self._printed_s >= QUIET_S:
            self._printed_s = self._now()
            tell(f"{NAME}: {text}")

    def note(self, text: str) -> None:
        """Print a line that stays."""
        self._overwrite("")
        tell(f"{NAME}: {text}")


if __name__ == "__main__":
    sys.exit(call(NAME, sys.modules[__name__], sys.argv[1:]))
