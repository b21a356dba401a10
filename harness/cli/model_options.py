"""Options of the threading models on the command line: as many as the models declare."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from harness.cli.arguments import shown
from harness.cli.settings import parse_settings
from harness.models import OPTIONS, describe
from harness.models.option import Flag, Option, Settings, Text


def model_name(text: str) -> str:
    """Return the value of an option `--model`. Raises ArgumentTypeError for an arm of millrace
    compare.
    """
    if ":" in text:
        raise argparse.ArgumentTypeError(
            f"must be the name of a model, not the arm {shown(text)}: arms are for millrace "
            "compare; here each option of a model is one of the command, as in --model dynamic "
            "--threads 2"
        )
    return text


def add_model_options(parser: argparse.ArgumentParser, names: Iterable[str] = OPTIONS) -> None:
    """Add the models' options of these names; `given_options` reads them."""
    for name in names:
        declared = OPTIONS[name]
        if isinstance(declared, Flag):
            how: dict[str, Any] = {"action": "store_true"}
        elif isinstance(declared, Settings):
            how = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
        elif isinstance(declared, Text):
            how = {"metavar": "NAME"}
        else:
            how = {"type": _number(declared), "metavar": "N"}
        parser.add_argument(
            f"--{declared.flag_of(name)}", dest=name, help=describe(name).replace("%", "%%"), **how
        )


def given_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the models' options of a command by name, as `make_model` takes them."""
    given = {name: getattr(args, name) for name in OPTIONS if hasattr(args, name)}
    return {
        name: parse_settings(value, flag_of(name)) if isinstance(OPTIONS[name], Settings) else value
        for name, value in given.items()
    }


def flag_of(name: str) -> str:
    """Return the word for an argument of a command, by its name in the parsed arguments."""
    return f"--{OPTIONS[name].flag_of(name) if name in OPTIONS else name.replace('_', '-')}"


def _number(declared: Option) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            return declared.parse(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"must be {declared.rule}, not {shown(text)}"
            ) from None

    return parse
