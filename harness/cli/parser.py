"""Parser of a command's words: each error is one line, and names what was probably meant."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

from harness.cli.arguments import shown
from harness.files.checked_yaml import did_you_mean

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

    def parse_args(  # type: ignore[override]
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
