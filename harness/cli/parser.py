"""Parser of a command's words: each error is one line, and names what was probably meant."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, NoReturn

from harness.cli.arguments import shown
from harness.files.checked_yaml import did_you_mean
from harness.files.whole import write_whole
from harness.terminal.output import say, tell

INSTEAD = "instead"
"""Attribute of an option: what a user may want who gives it twice."""


class StoreOnce(argparse._StoreAction):
    """Action that keeps the one value of an option, and refuses a second one."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the value. Raises ArgumentError if the option has one already."""
        assert isinstance(parser, OneLineParser)
        if self.option_strings and self.dest in parser.given:
            both = f"{shown(str(parser.given[self.dest]))} and {shown(str(values))}"
            hint = getattr(self, INSTEAD, "")
            raise argparse.ArgumentError(self, f"must be given once, not as {both}{hint}")
        parser.given[self.dest] = values
        super().__call__(parser, namespace, values, option_string)


class OldSpelling(argparse.Action):
    """Option under a name that it no longer has. It says the new one, and does what that does."""

    def __init__(self, *args: Any, now: str, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.now = now

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Call the action of the new name."""
        tell(
            f"{parser.prog}: {option_string} is now {self.now}; the next release drops the old one"
        )
        parser._option_string_actions[self.now](parser, namespace, values, self.now)


def add_old_spelling(parser: argparse._ActionsContainer, old: str, now: str) -> None:
    """Let an option, which the parser has already, be given under an old name too."""
    meant = parser._option_string_actions[now]
    parser.add_argument(
        old,
        action=OldSpelling,
        now=now,
        dest=meant.dest,
        type=meant.type,
        nargs=meant.nargs,
        default=argparse.SUPPRESS,
        help=argparse.SUPPRESS,
    )


class JsonFile(StoreOnce):
    """Option `--json FILE|-`. Without a value, as it once was, it means standard output."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Keep the file."""
        if values is None:
            tell(f"{parser.prog}: --json is now --json -; the next release drops the old one")
        super().__call__(parser, namespace, "-" if values is None else values, option_string)


def add_json(parser: argparse._ActionsContainer, what: str) -> None:
    """Add the option `--json` of a listing, in place of its table; `what` is written."""
    parser.add_argument(
        "--json",
        action=JsonFile,
        nargs="?",
        metavar="FILE|-",
        help=f"write {what} as JSON: to FILE, or with - to stdout, in place of the table",
    )


class OneLineParser(argparse.ArgumentParser):
    """Parser whose errors are one line on stderr, without the usage text; its help begins with its
    description. An option that takes one value is refused if it is given twice.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.given: dict[str, Any] = {}  # options of the words that are being parsed
        for name in (None, "store"):
            self.register("action", name, StoreOnce)

    def format_help(self) -> str:
        """Return the description, the usage, and then all options."""
        about, self.description = self.description, None
        try:
            return "\n\n".join(filter(None, (about and about.rstrip(), super().format_help())))
        finally:
            self.description = about

    def parse_args(
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """Return the arguments. An unknown option ends the process with what may be meant."""
        self.given = {}
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            word = unknown[0].partition("=")[0]
            known = [each for each in self._option_string_actions if each.startswith("--")]
            meant = did_you_mean(word, known) if word.startswith("-") else ""
            self.error(f"unrecognized arguments: {' '.join(unknown)}{meant}")
        return parsed

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(value, map(str, action.choices or ()))
            raise

    def error(self, message: str) -> NoReturn:
        """End the process with code 2 and the message in one line."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())} (see {self.prog} --help)\n")


def write_json(name: str, data: object) -> None:
    """Write data where `--json` says. Raises RunFailed if the file cannot be written."""
    text = json.dumps(data, indent=2)
    if name == "-":
        say(text)
    else:
        write_whole(name, f"{text}\n".encode())
        say(f"wrote {name}")
