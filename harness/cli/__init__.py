"""The command line: `python -m harness COMMAND …`, also installed as `millrace`.

One module of this package is one command. A command module holds `SUMMARY` (one line),
`DESCRIPTION` (what `--help` teaches below that line), `add_arguments(parser)` and `run(args) ->
int` (the exit code), and is imported only when it is called: a measuring process must start fast
and must not load what it does not use. A command with words of its own (`gate history`) names their
modules in `SUBCOMMANDS`; one that has `TAKES_COMMAND` gets the words behind `--` as `args.command`,
None if there is no `--`.

Exit codes: 0 done; 1 the run failed (a wrong result, an operator that raised, a full disk); 2 bad
input, reported in one line; 130 interrupted by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP. `gate` has
more, and 1 means one thing only there.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType

from harness import __version__
from harness.cli.arguments import shown
from harness.cli.ending import ended_like_ctrl_c, exit_code
from harness.cli.extras import missing_extra
from harness.cli.parser import OneLineParser
from harness.errors import TRACEBACK, RunFailed, UserError, show_traceback
from harness.files.checked_yaml import did_you_mean
from harness.files.instructions import missing
from harness.files.places import HARNESS, IS_INSTALLED, other_owner
from harness.terminal.output import accept_any_text, tell

COMMANDS: dict[str, str] = {
    "run": "run one topology or graph file under one threading model and report it",
    "compare": "find out which threading model is the fastest for a graph, and how surely",
    "advise": "say which threading model, threads, queues and replicas a graph should have",
    "watch": "show a run while it adapts, and write a page that plays it again",
    "explain": "say where a run's time goes, and what bounds its throughput",
    "profile": "measure what the operators of a graph cost, for simulated runs of it",
    "topologies": "list the topologies with their parameters, defaults and units",
    "models": "list the threading models with their options",
    "machines": "list the machines that can be simulated, or the constants of one",
    "calibrate": "measure this machine and this runtime, for simulated runs on it",
    "laws": "compare control laws on the SASO bench, replay a trace, list them",
    "show": "draw a topology or graph file with its queues and threads under a model",
    "sweep": "measure an experiment, or one block of it",
    "bundle": "pack experiments for a machine without a network, which measures with one command",
    "aggregate": "turn the records of runs into tables (Spark)",
    "plot": "draw a figure from the tables",
    "report": "write the figures that are made, with captions, claims and data, as one page",
    "claims": "check the papers' claims against the tables",
    "validate": "compare what the simulator predicts of this machine with what it measures",
    "gate": "compare the speed of two versions of a program, for CI: slower, fine, or cannot tell",
    "doctor": "say what disturbs measurements on this machine, and what to do about it",
    "init": "write a graph, operator, experiment or suite to start from",
    "completion": "print the completion script of a shell",
    "repro": "reproduce figures one by one; says first what time, disk and memory each needs",
    "artifact": "write the appendix of an artifact, or a run as an RO-Crate",
    "figures": "make the figures: measure, aggregate and draw what is not up to date",
}

EXAMPLES = """\
examples:
  millrace run mix --set cost=1000 --model dynamic --threads 2 --repeats 3
      run a graph under a threading model and report its throughput

  millrace compare mix
      find out which threading model is the fastest for it

  millrace watch mix --model multilevel --html run.html
      see how a control law adapts threads and queues"""

VARIABLES: dict[str, str] = {
    "MILLRACE_LOCK": "file that lets one measurement at a time run on a machine",
    "MILLRACE_CACHE": "folder in which the gate keeps trees and builds",
    "MILLRACE_STACK_KIB": "stack of threads that execute your operators [KiB]",
    "MILLRACE_CFLAGS": "compiler's flags, in place of -O3 -march=native, when Millrace is built",
    "XDG_CACHE_HOME": "folder of caches of the gate and an installed package (default: ~/.cache)",
    "XDG_DATA_HOME": "folder of an installed package's profiles (default: ~/.local/share)",
    "JAVA_HOME": "Java for Spark, if it is version 17 or newer",
    "NO_COLOR": "anything: no colours in the terminal",
}
"""Variables of the environment that a user may set."""


def _top_parser() -> OneLineParser:
    listing, variables = _listed(COMMANDS), _listed(VARIABLES)
    parser = OneLineParser(
        prog="millrace",
        description="Millrace runs operator graphs under several threading models, measures them, "
        "and draws the figures.",
        epilog=f"commands:\n{listing}\n\nenvironment:\n{variables}\n\n{EXAMPLES}\n\n"
        "`millrace COMMAND --help` explains one command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"millrace {__version__}")
    parser.add_argument("command", metavar="COMMAND", help="one of: " + ", ".join(COMMANDS))
    return parser


def _listed(meanings: Mapping[str, str]) -> str:
    width = max(map(len, meanings))
    return "\n".join(f"  {name:<{width}}  {meaning}" for name, meaning in meanings.items())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code. A user's mistake is one line on stderr, never a
    traceback.
    """
    accept_any_text()
    words = list(sys.argv[1:] if argv is None else argv)
    top = _top_parser()
    if not words:
        top.print_help(sys.stderr)
        return 2
    name, rest = words[0], words[1:]
    if name in ("-h", "--help", "--version"):
        top.parse_args([name])
    if name not in COMMANDS:
        kind = "option" if name.startswith("-") else "command"
        meant = did_you_mean(name, COMMANDS)
        top.error(f"unknown {kind} {name!r}{meant}; commands are: {', '.join(COMMANDS)}")
    if (lacks := _lacks()) is not None:
        tell(f"millrace: {lacks}")
        return 1
    if (owner := other_owner()) is not None:
        tell(f"millrace: the environment in .venv belongs to {owner}; rm -r .venv, then make build")
    try:
        module = importlib.import_module(f"harness.cli.{name}")
    except ModuleNotFoundError as error:
        if (extra := missing_extra(error, name)) is None:
            raise
        tell(f"millrace {name}: {extra}")
        return 2
    words_of_its_own = getattr(module, "SUBCOMMANDS", {})
    if rest and rest[0] in words_of_its_own:
        module = importlib.import_module(words_of_its_own[rest[0]])
        name, rest = f"{name} {rest[0]}", rest[1:]
    return call(f"millrace {name}", module, rest)


def _lacks() -> str | None:
    """Return what this CPU lacks to run the package, in words; None if nothing or not installed."""
    return missing(HARNESS / "built_for.json") if IS_INSTALLED else None


def call(name: str, module: ModuleType, rest: Sequence[str]) -> int:
    """Run a command module with the words that follow its name; returns its exit code. Errors begin
    with `name`.
    """
    parser = OneLineParser(
        prog=name,
        description=f"{module.SUMMARY[0].upper()}{module.SUMMARY[1:]}.\n\n{module.DESCRIPTION}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    module.add_arguments(parser)
    parser.add_argument(
        "--traceback",
        action="store_true",
        help="show the full traceback of an error in your Python code",
    )
    command = None
    if getattr(module, "TAKES_COMMAND", False) and "--" in rest:
        rest, command = rest[: rest.index("--")], list(rest[rest.index("--") + 1 :])
    args = parser.parse_args(rest, argparse.Namespace(command=command))
    if args.traceback:
        os.environ[TRACEBACK] = "1"
    try:
        with ended_like_ctrl_c():
            return module.run(args)
    except ModuleNotFoundError as error:
        lacks = missing_extra(error, name.removeprefix("millrace "))
        if lacks is None:
            raise
        tell(f"{name}: {lacks}")
        return 2
    except UserError as error:
        show_traceback(error)
        tell(f"{name}: {error}")
        return 2
    except RunFailed as error:
        tell(f"{name}: {error}")
        return error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # whoever read our output has gone; nothing is left to tell
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        tell(f"{name}: {shown(str(error.filename), 200)}: {error.strerror}")
        return 2  # what was given: already the question whether there is such a file may be refused
    except KeyboardInterrupt as interrupt:  # it may say how far the command was
        tell(f"{name}: interrupted {interrupt}".rstrip())
        # An interrupt that passes through code from a string, as an import of a dataclass has,
        # makes CPython end with SIGINT although we caught it. The next such code undoes that.
        exec("")
        return exit_code()
