"""Kinds of values that a record has, and objects made of named fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class String:
    """Text. `pattern`: a regular expression that describes all of it."""

    may_be_empty: bool = False
    pattern: str = ""


@dataclass(frozen=True)
class Boolean:
    """True or false."""


@dataclass(frozen=True)
class Integer:
    """Whole number of at least `least`, which a signed integer of so many bits can hold."""

    least: int = 0
    bits: int = 64


@dataclass(frozen=True)
class Number:
    """Number, whole or not. `least`: the smallest one, None for no limit; `above`: larger than
    `least`."""

    least: int | None = 0
    above: bool = False


@dataclass(frozen=True)
class Array:
    """List of values of one kind."""

    of: Kind


@dataclass(frozen=True)
class Map:
    """Values of one kind by names that the declaration does not know."""

    of: Kind


@dataclass(frozen=True)
class OneOf:
    """Value of one of several kinds, or null. Spark reads it as text."""

    kinds: tuple[Kind, ...]
    or_null: bool = False


@dataclass(frozen=True)
class Struct:
    """Object with declared fields, in their order. `title`: heading of its table in the docs."""

    title: str
    fields: tuple[Field, ...]


Kind = String | Boolean | Integer | Number | Array | Map | OneOf | Struct


@dataclass(frozen=True)
class Field:
    """Named value of a record.

    Parameters
    ----------
    name : str
    kind : Kind
    meaning : str
        What the value is, without its unit.
    unit : str
        Empty if it has none.
    null : str
        When the value is null: `null if` these words. Empty if it never is.
    since : str
        Day on which records got the field; earlier records are good without it. Empty if each
        record has it.
    optional : bool
        True for a field that is written only where it was measured.
    """

    name: str
    kind: Kind
    meaning: str
    unit: str = ""
    null: str = ""
    since: str = ""
    optional: bool = False

    @property
    def required(self) -> bool:
        """True if a record without this field cannot be read."""
        return not (self.since or self.optional)


def build(struct: Struct, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object with these values, in the order of the declaration; likewise the objects
    within it.

    Raises TypeError for values that are not declared, and for fields without a value.
    """
    _check_names(struct, values)
    missing = [
        field.name for field in struct.fields if field.name not in values and not field.optional
    ]
    if missing:
        raise TypeError(f"fields without a value: {', '.join(missing)}")
    return {
        field.name: _built(field.kind, values[field.name])
        for field in struct.fields
        if field.name in values
    }


def _built(kind: Kind, value: Any) -> Any:
    if isinstance(kind, Struct) and value is not None:
        return build(kind, value)
    if isinstance(kind, Array) and isinstance(kind.of, Struct):
        return [build(kind.of, each) for each in value]
    return value


def blank(struct: Struct, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object in which fields without a value are null, zero, false or empty.

    Raises TypeError for values that are not declared, and for a field that can be none of these.
    """
    _check_names(struct, values)
    return {
        field.name: values[field.name] if field.name in values else _zero(field)
        for field in struct.fields
        if field.name in values or not field.optional
    }


def _check_names(struct: Struct, values: Mapping[str, Any]) -> None:
    unknown = values.keys() - {field.name for field in struct.fields}
    if unknown:
        raise TypeError(f"not declared as fields: {', '.join(sorted(unknown))}")


def _zero(field: Field) -> Any:
    if field.null:
        return None
    match field.kind:
        case Boolean():
            return False
        case Integer(least=0):
            return 0
        case Number(least=0, above=False):
            return 0.0
        case Array():
            return []
        case Map():
            return {}
        case String(may_be_empty=True):
            return ""
        case Struct() as struct:
            return blank(struct, {})
    raise TypeError(f"fields without a value: {field.name}")
