"""`millrace completion`: the script that makes a shell complete commands, options and files."""

from __future__ import annotations

import argparse
import importlib

from harness.terminal.output import say

SUMMARY = "print the completion script of a shell"

DESCRIPTION = """\
The script completes commands, options, their values, and files.

examples:
  millrace completion bash > ~/.local/share/bash-completion/completions/millrace
      for all further shells

  millrace completion zsh > ~/.zfunc/_millrace
      the same for zsh, if ~/.zfunc is in its fpath"""

FILES = ("FILE", "PATH", "FILE|-", "DIR", "TOPOLOGY", "EXPERIMENT", "FIGURE", "RECORD", "RECORDS")
"""Arguments that may be a file, by their names in the help."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the argument of `completion`."""
    parser.add_argument(
        "shell", choices=("bash", "zsh", "tcsh"), metavar="SHELL", help="bash, zsh, tcsh"
    )


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    import shtab

    say(shtab.complete(_parser_of_all(), shell=args.shell))
    return 0


def _parser_of_all() -> argparse.ArgumentParser:
    """Return one parser that holds all commands; the command line makes that of one alone."""
    import shtab

    from harness.cli import COMMANDS

    top = argparse.ArgumentParser(prog="millrace")
    top.add_argument("--version", action="store_true", help="show the version")
    commands = top.add_subparsers(dest="command")
    for name, summary in COMMANDS.items():
        module = importlib.import_module(f"harness.cli.{name}")
        parser = commands.add_parser(name, help=summary.replace("%", "%%"))
        module.add_arguments(parser)
        for action in parser._actions:
            if action.metavar in FILES:
                action.complete = shtab.FILE
    return top
