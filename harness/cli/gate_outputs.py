"""Outputs of `millrace gate`: stdout, the files asked for, and the CI's step summary."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.cli.arguments import check_writable
from harness.errors import RunFailed, UserError
from harness.files.whole import open_for_writing, write_whole
from harness.gate.report.annotations import annotations
from harness.gate.report.junit import junit
from harness.gate.report.markdown import markdown
from harness.gate.report.sarif import sarif
from harness.gate.report.table import table
from harness.gate.report.text import text
from harness.gate.report.words import conclusion
from harness.gate.results.verdict_file import VerdictFile, as_json
from harness.gate.verdict import Comparison, Exit
from harness.terminal.output import discard, say, tell

FORMS = {
    "json": "--json",
    "markdown": "--report",
    "csv": "--csv",
    "junitxml": "--junitxml",
    "sarif": "--sarif",
}
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
GITHUB = "GITHUB_ACTIONS"  # variable that is `true` in a job of GitHub


def check_outputs(args: argparse.Namespace) -> None:
    """Raise UserError for a file that could not be written after all the measuring, and for two
    reports in one place."""
    taken: dict[str, str] = {}
    for name, option in FORMS.items():
        path = getattr(args, name)
        if path is None:
            continue
        if path != "-":
            check_writable(option, path)
        place = path if path == "-" else str(Path(path).resolve())
        if place in taken:
            raise UserError(
                f"{option} must name a place of its own: {path!r} is that of {taken[place]}"
            )
        taken[place] = option


def write_outputs(
    args: argparse.Namespace,
    comparison: Comparison,
    code: int,
    inconclusive: Exit,
    options: Mapping[str, Any],
    finished: bool,
    explained: Sequence[str] = (),
) -> bool:
    """Write all reports that were asked for. Return True if all could be written; problems are
    printed, and the other reports are written."""
    plain = {"inconclusive": inconclusive, "finished": finished}
    long = {**plain, "explained": explained}
    forms: Mapping[str, Callable[[], str]] = {
        "json": lambda: as_json(VerdictFile(comparison, code, finished, options)),
        "markdown": lambda: markdown(comparison, only_changed=args.only_changed, **long),
        "csv": lambda: table(comparison, only_changed=args.only_changed),
        "junitxml": lambda: junit(comparison, code=code, **plain),
        "sarif": lambda: sarif(comparison, options.get("explained", ()), args.suite or "", **plain),
    }
    asked = {name: getattr(args, name) for name in forms if getattr(args, name) is not None}
    if "-" not in asked.values():
        report = text(comparison, only_changed=args.only_changed, colour=wants_colour(), **long)
    else:
        report = forms[next(name for name, path in asked.items() if path == "-")]()
        tell(f"millrace gate: {conclusion(comparison, inconclusive, finished)}")
    if os.environ.get(GITHUB) == "true":
        for line in annotations(comparison, options.get("explained", ())):
            tell(line)
    files = [(path, forms[name]) for name, path in asked.items() if path != "-"]
    problems = [*_written(files), *_said(report.rstrip("\n")), *_summarised(forms["markdown"])]
    for problem in problems:
        tell(f"millrace gate: {problem}")
    return not problems


def wants_colour() -> bool:
    """Return True on a terminal with colours, unless NO_COLOR is set."""
    return (
        sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    )


def _written(files: list[tuple[str, Callable[[], str]]]) -> Iterator[str]:
    for path, form in files:
        try:
            write_whole(path, form().encode())
        except RunFailed as error:
            yield str(error)


def _said(report: str) -> Iterator[str]:
    try:
        say(report)
    except BrokenPipeError:  # the reader has closed the pipe; the exit code still counts
        discard(sys.stdout)
    except RunFailed as error:
        yield str(error)


def _summarised(form: Callable[[], str]) -> Iterator[str]:
    """Append to the step summary of the CI, which may hold those of other steps."""
    path = os.environ.get(STEP_SUMMARY)
    if path:
        try:
            with os.fdopen(
                open_for_writing(path, os.O_CREAT | os.O_APPEND), "a", encoding="utf-8"
            ) as file:
                file.write(form() + "\n")
        except OSError as error:
            yield f"cannot write {path} (${STEP_SUMMARY}): {error.strerror}"
