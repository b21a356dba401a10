"""Declaration of a model's option: its type, bounds, help, unit and source, once for every user.

The field of a model's dataclass holds it. From it follow the check of a value, the command line's
option, the entries of the schemas of experiments and suites, the name of an arm, the listing of
`millrace models`, and the record's column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any

from harness.errors import UserError

Schema = Mapping[str, Any]
"""Rules of a value, as JSON Schema has them."""


@dataclass(frozen=True, kw_only=True)
class Option:
    """Declaration of an option. A subclass is a type of value with its bounds."""

    help: str
    default: str  # that stands in for a value that is not given, for people
    source: str = ""  # paper and section; "": our own
    unit: str = ""
    flag: str = ""  # on the command line, without dashes; "": as its field
    # field of a record that has what became of it; "": a column of its own, as it was given
    recorded_as: str = ""
    # its part of an arm's name if it is not at its default; None: by its flag and value
    arm: Callable[[Any], str] | None = None

    @property
    def rule(self) -> str:
        """Rule for a value, as it follows `must be` in a message."""
        raise NotImplementedError

    @property
    def range(self) -> str:
        """Bounds of a number, for a listing; "" if it is none."""
        return ""

    @property
    def schema(self) -> Schema:
        """Rules of a value in a file. `read` makes it one of the model's."""
        raise NotImplementedError

    def fits(self, value: object) -> bool:
        """Return True if a model may have this value. Raises UserError if that says more."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """Return the value that a text on the command line means. Raises ValueError."""
        return text

    def read(self, value: Any) -> Any:
        """Return the value that a file means, which fits the schema."""
        return value

    def check(self, name: str, value: object) -> None:
        """Raise UserError, with the option's name, for a value that breaks the rule."""
        if not self.fits(value):
            raise UserError(f"{name} must be {self.rule}, not {value!r:.80}")

    def in_arm(self, name: str, value: object) -> str:
        """Return its part of an arm's name; "" for none."""
        return f"{self.flag_of(name)}-{value}" if self.arm is None else self.arm(value)

    def flag_of(self, name: str) -> str:
        """Return its name on the command line, without dashes; `name` is that of its field."""
        return self.flag or name.replace("_", "-")


@dataclass(frozen=True, kw_only=True)
class Whole(Option):
    """Whole number from 1."""

    most: int

    @property
    def rule(self) -> str:
        return f"a whole number from 1 to {self.most}"

    @property
    def range(self) -> str:
        return f"1 .. {self.most}"

    @property
    def schema(self) -> Schema:
        return {"type": "integer", "minimum": 1, "maximum": self.most, "rule": self.rule}

    def fits(self, value: object) -> bool:
        return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= self.most

    def parse(self, text: str) -> int:
        if re.fullmatch(r"[0-9]{1,19}", text) and self.fits(int(text)):
            return int(text)
        raise ValueError(text)

    def read(self, value: float) -> int:
        return int(value)  # JSON Schema takes 2.0 for a whole number


@dataclass(frozen=True, kw_only=True)
class Real(Option):
    """Number above 0."""

    most: float

    @property
    def rule(self) -> str:
        return f"above 0 and at most {self.most:,.0f} {self.unit}"

    @property
    def range(self) -> str:
        return f"above 0, to {self.most:,.0f}"

    @property
    def schema(self) -> Schema:
        return {"type": "number", "exclusiveMinimum": 0, "maximum": self.most, "rule": self.rule}

    def fits(self, value: object) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and 0.0 < value <= self.most

    def parse(self, text: str) -> float:
        value = float(text) if text.isascii() and "_" not in text else math.nan
        if not self.fits(value):
            raise ValueError(text)
        return value


@dataclass(frozen=True, kw_only=True)
class Flag(Option):
    """Yes or no; no by default."""

    default: str = "no"

    @property
    def rule(self) -> str:
        return "true or false"

    @property
    def schema(self) -> Schema:
        return {"type": "boolean", "rule": self.rule}

    def fits(self, value: object) -> bool:
        return isinstance(value, bool)


@dataclass(frozen=True, kw_only=True)
class Text(Option):
    """Word or words, which `find` looks up."""

    words: str  # that it takes, as they follow `must be`
    in_files: str = ""  # pattern of a text in a file; "": any text
    or_whole: bool = False  # in a file it may be a whole number, which YAML reads as one
    find: Callable[[Any], object] | None = None  # raises UserError for what cannot be

    @property
    def rule(self) -> str:
        return self.words

    @property
    def schema(self) -> Schema:
        number = {"type": ["string", "integer"], "minimum": 0} if self.or_whole else {}
        pattern = {"pattern": self.in_files} if self.in_files else {}
        return {"type": "string", "minLength": 1, "rule": self.rule} | number | pattern

    def fits(self, value: object) -> bool:
        if self.find is None:
            return isinstance(value, str)
        self.find(value)
        return True

    def read(self, value: object) -> str:
        return str(value)


@dataclass(frozen=True, kw_only=True)
class Settings(Option):
    """Names with values, as pairs; another part of the program knows which there are."""

    @property
    def rule(self) -> str:
        return "names with numbers, texts, true or false"

    @property
    def schema(self) -> Schema:
        values = {"type": ["number", "boolean", "string"]}
        return {"type": "object", "additionalProperties": values}

    def fits(self, value: object) -> bool:
        return isinstance(value, tuple) and all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in value
        )


def option(default: object, declared: Option) -> Any:
    """Return the field of a model for an option, with its value if none is given."""
    return field(default=default, metadata={"option": declared})


def options_of(model: object) -> dict[str, Option]:
    """Return the options of a model, or of its class, by the names of their fields."""
    return {each.name: declared_in(each) for each in fields(model)}


def declared_in(each: Field[Any]) -> Option:
    """Return what the field of a model declares."""
    return each.metadata["option"]


class HasOptions:
    """Base of the models: checks each option that is not left at its default."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not each.default:
                declared_in(each).check(each.name, value)

    @property
    def changed(self) -> dict[str, Any]:
        """Values of the options that are not at their defaults, by name."""
        values = {each.name: (getattr(self, each.name), each.default) for each in fields(self)}
        return {name: value for name, (value, default) in values.items() if value != default}
