"""`millrace laws`: the control laws of the thread level: a listing, and a trace replayed."""

from __future__ import annotations

import argparse
import json
import sys
from importlib.util import find_spec
from pathlib import Path

from harness.elasticity import DEFAULT_LAW, LAWS, Law, law_class
from harness.errors import RunFailed, UserError

SUMMARY = "compare control laws on the SASO bench, replay a trace, list them"

DESCRIPTION = """\
The control laws that choose the number of threads while a graph runs. Without a command: the listing.

examples:
  millrace laws list
      every law with its settings

  millrace laws replay --law streams trace.json
      what the law would have decided on a recorded trace, and why

How to write a law, and how to read a trace: docs/laws.md."""

REPLAY_DESCRIPTION = """\
Feed a recorded trace to a law and print what it decides after each sample. The throughputs are those of the trace, whatever
the law decides.

A trace is a JSON object, in a file or (with -) on standard input:
  {"min": 1, "max": 16, "start": 1, "throughputs": [100, 190, 350]}
and, as far as wanted:
  "cpu_ok": [true, ...]       one answer a request to climb; beyond its end requests are granted
  "congested": [true, ...]    one a sample, for elastic_load_balance
  "utilisation": [0.9, ...]   one a sample, for utilisation
  "untrust_above": true       levels above the start are untrusted at first, for streams
The record of a run (one line of results/raw/*.jsonl) is a trace, too."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One parser a command; what it does is `args.action`."""
    parser.set_defaults(action=list_laws)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    listing = commands.add_parser("list", help="every law with its settings", description="Every law with its settings.")
    listing.set_defaults(action=list_laws)
    replaying = commands.add_parser(
        "replay",
        help="what a law would have decided on a recorded trace",
        description=REPLAY_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    replaying.set_defaults(action=replay_trace)
    replaying.add_argument("trace", metavar="TRACE", help="a JSON file, or - for standard input")
    replaying.add_argument("--law", required=True, metavar="NAME", help=f"one of: {', '.join(LAWS)}")
    replaying.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the law; may be repeated (see list)"
    )
    replaying.add_argument(
        "--json", metavar="PATH|-", help="write the decisions as JSON: to PATH, or with - to stdout in place of the table"
    )


def run(args: argparse.Namespace) -> int:
    """Do what the command says."""
    return args.action(args)


def list_laws(args: argparse.Namespace) -> int:
    """Print the listing."""
    known = [name for name in LAWS if find_spec(f"harness.elasticity.{name}") is not None]
    print("\n\n".join(law_as_text(law_class(name)) for name in known), flush=True)
    return 0


def law_as_text(law: type[Law]) -> str:
    """What a law does, and a table of its settings."""
    title = f"{law.name}{' (the default)' if law.name == DEFAULT_LAW else ''}: {law.summary}"
    rows = [("setting", "default", "unit", "range", "meaning")]
    for setting in law.SETTINGS:
        if isinstance(setting.default, bool):
            default, allowed = str(setting.default).lower(), "true, false"
        else:
            default, allowed = f"{setting.default:g}", f"{'>' if setting.above_low else ''}{setting.low:g} .. {setting.high:g}"
        rows.append((setting.name, default, setting.unit or "-", allowed, setting.meaning))
    return "\n  ".join([title, *(_table(rows) if len(rows) > 1 else ["no settings"])])


def replay_trace(args: argparse.Namespace) -> int:
    """Print what a law decides on a trace, or write it as JSON."""
    from harness.cli.settings import parse_settings
    from harness.saso.replay import answer, parse_trace, replay

    settings = parse_settings(args.set)
    law_class(args.law)  # a wrong name is told before anything is read
    trace = parse_trace(_text_of(args.trace))
    decisions = replay(args.law, trace, settings)
    document = json.dumps(answer(args.law, decisions), ensure_ascii=False)
    if args.json == "-":
        _print(document)
        return 0
    rows = [("sample", "tuples/s", "level", "state", "reason")]
    for i, (reading, decision) in enumerate(zip(trace.readings, decisions, strict=True)):
        rows.append((str(i), f"{reading.throughput:.6g}", str(decision.threads), decision.state, decision.reason))
    if args.json is not None:
        try:
            Path(args.json).write_text(document + "\n", encoding="utf-8")
        except OSError as error:
            raise UserError(f"--json {args.json[:80]!r}: cannot be written: {error.strerror}") from None
    _print("\n".join(_table(rows, right=3)))
    return 0


def _text_of(path: str) -> str:
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path[:80]}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path[:80]}: must be UTF-8 text: {error.reason} at byte {error.start}") from None


def _table(rows: list[tuple[str, ...]], right: int = 0) -> list[str]:
    """Lines of columns of equal width; the first `right` ones are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_cell(row, i, widths[i], i < right) for i in range(len(row))).rstrip() for row in rows]


def _cell(row: tuple[str, ...], column: int, width: int, right: bool) -> str:
    return row[column].rjust(width) if right else row[column].ljust(width)


def _print(text: str) -> None:
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise RunFailed(f"cannot write to standard output: {error.strerror}") from error
