"""Profiles: files of physical constants, each with a tag, a range and a source.

  Constant  one number: `{value: 7.3, tag: measured, range: [5.5, 8.5], source: "..."}`, a leaf of
            the file
  Profile   a file of them, by dotted path (`atomic.fence`), beside plain values
            (`topology.sockets`)

`harness.machines.machine` and `harness.machines.software` say what each kind of profile holds.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from harness.errors import UserError
from harness.files.checked_yaml import (
    Place,
    check_values,
    did_you_mean,
    dotted,
    load_schema,
    read_mapping,
    wrong,
)
from harness.files.places import own_config

TAGS = ("measured", "adjacent", "estimate")
"""Origins of a value: measured on that hardware (the same micro-architecture), on an adjacent one,
or estimated.
"""

TEMPLATE = "template"
"""The name of a file in a folder of profiles that explains the others and is none itself."""


@dataclass(frozen=True)
class Constant:
    """One number of a profile, in the unit that its path names. `low` and `high` are None where the
    file gives no range.

    `tag` is one of TAGS, or "given" for a number that a run has put in place of the profile's.
    """

    value: float
    tag: str
    low: float | None
    high: float | None
    source: str


@dataclass(frozen=True)
class Profile:
    """Base of all profiles: constants and plain values by dotted path. Frozen; `with_constants`
    makes another one.
    """

    name: str
    title: str
    path: Path
    digest: str
    """First 12 hexadecimal digits of the SHA-256 of the file, and of the one that it is based on.
    Numbers that a run replaces do not change it.
    """
    constants: Mapping[str, Constant]
    plain: Mapping[str, Any]
    """Values without a tag, such as `topology.sockets`: numbers are floats, texts and null as they
    are.
    """
    sweep: Mapping[str, tuple[float, float]]
    """Constants that a sensitivity study varies, the most important first: path -> (low, high)."""

    def __getitem__(self, path: str) -> Any:
        """Return the number (or plain text) at a dotted path. Raises KeyError if there is none."""
        if path in self.constants:
            return self.constants[path].value
        return self.plain[path]

    def get(self, path: str, default: Any = None) -> Any:
        """Return the number (or plain text) at a dotted path, or the default."""
        try:
            return self[path]
        except KeyError:
            return default

    def table(self, path: str) -> dict[int, float]:
        """Return the numbers of a table, such as `atomic.contended`, ascending. Raises KeyError if
        there is none.
        """
        steps = {
            where.removeprefix(f"{path}."): each.value
            for where, each in self.constants.items()
            if _inside(where, path)
        }
        if not steps or not all(step.isdecimal() for step in steps):
            raise KeyError(path)
        return {int(step): steps[step] for step in sorted(steps, key=int)}

    def named(self, path: str) -> dict[str, float]:
        """Return the numbers below a path by their names, such as `os.idle_exit_us`; none, if there
        are none.
        """
        return {
            where.removeprefix(f"{path}."): each.value
            for where, each in self.constants.items()
            if _inside(where, path)
        }

    @property
    def uncertain(self) -> dict[str, tuple[float, float]]:
        """Constants that are not measured on that hardware, or that the sweep names, with the ends
        of their ranges.
        """
        return {
            path: (each.low, each.high)
            for path, each in self.constants.items()
            if each.low is not None
            and each.high is not None
            and each.low < each.high
            and (each.tag != "measured" or path in self.sweep)
        }

    def with_constants(self, replaced: Mapping[str, float]) -> Self:
        """Return a copy of the profile with other numbers, by path; they may lie outside the
        ranges.

        Raises UserError for a path that is no constant, and for a number that is not finite or not
        above 0.
        """
        constants = dict(self.constants)
        for path, value in replaced.items():
            if path not in constants:
                raise UserError(
                    f"constants: {path!r} is no constant of the profile "
                    f"{self.name!r}{did_you_mean(path, constants)}"
                )
            constants[path] = dataclasses.replace(
                constants[path],
                value=above_0(path, value),
                tag="given",
                source="given for this run",
            )
        return dataclasses.replace(self, constants=constants)


def above_0(path: str, value: object) -> float:
    """Return a number that a run puts at a path. Raises UserError if it is no number, not finite or
    not above 0.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
        or value <= 0
    ):
        raise UserError(f"constants: {path} must be a number above 0, not {value!r}")
    return float(value)


def unit_and_meaning(schema: str, path: str) -> tuple[str, str]:
    """Return the unit ("" for a ratio or a count) and the description of the constant at a dotted
    path, from the schema.
    """
    rules = _rules(schema)
    node, unit, meaning = rules, "", []
    for step in path.split("."):
        inner = (
            node["properties"].get(step) if "properties" in node else node["additionalProperties"]
        )
        unit = inner.get("unit", unit)
        meaning += [inner["description"]] if "description" in inner else []
        node = (
            {**rules["$defs"][inner["$ref"].rpartition("/")[2]], **inner}
            if "$ref" in inner
            else inner
        )
    return unit, ": ".join(meaning[1:] or meaning)


def find_profile(kind: str, folder: Path, name_or_path: str | Path) -> Path:
    """Return the file of a profile by name, or a path (a word with a slash, or ending in .yaml).
    `kind`: its name in messages.

    Raises UserError if there is no profile of that name. A path is not opened here.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, Path) or "/" in text or text.endswith((".yaml", ".yml")):
        return Path(name_or_path)
    names = profile_names(folder)
    if text != TEMPLATE and text not in names:
        shown = repr(text if len(text) <= 80 else f"{text[:77]}...")
        raise UserError(
            f"{kind} {shown} is unknown{did_you_mean(text[:80], names)}; known are: "
            f"{', '.join(names)}"
        )
    return next(path for each in _own_first(folder) if (path := each / f"{text}.yaml").is_file())


def profile_names(folder: Path) -> list[str]:
    """Return the names of the profiles in a folder, and of the user's own of that kind, in order of
    the alphabet, without the template.
    """
    names = {path.stem for each in _own_first(folder) for path in each.glob("*.yaml")}
    return sorted(names - {TEMPLATE})


def _own_first(folder: Path) -> tuple[Path, ...]:
    """Return the folders with profiles: the user's own if there is one, and the project's."""
    return tuple(dict.fromkeys((own_config() / folder.name, folder)))


def read_profile(path: Path, schema: str, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the values of a profile's file, and the arguments of `Profile`. Raises UserError for a
    file that breaks a rule.

    In the folder, where profiles are found by name, the name inside a file must be the file's own.
    A file with `based_on` says only what differs from the profile of that name.
    """
    own, whole = read_mapping(path, numbered=True), hashlib.sha256(path.read_bytes())
    base = None
    if "based_on" in own:
        base = find_profile(schema, folder, f"{own['based_on']}")
        whole.update(base.read_bytes())
    values = deepcopy(_checked(path, base, schema, whole.hexdigest()))
    if path.parent.resolve() in _own_first(folder) and values["name"] != path.stem:
        raise wrong(path, ("name",), f"must be the file's, {path.stem!r}", values["name"])
    constants: dict[str, Constant] = {}
    plain: dict[str, Any] = {}
    for place, value in _leaves(values, ()):
        if isinstance(value, dict):
            constants[dotted(place)] = _constant(path, place, value)
        else:
            plain[dotted(place)] = float(value) if _is_number(value) else value
    shared = {
        "name": values["name"],
        "title": values["title"],
        "path": path,
        "digest": whole.hexdigest()[:12],
        "constants": constants,
        "plain": plain,
        "sweep": dict(_sweep(path, constants, values.get("sweep", []))),
    }
    return values, shared


@functools.lru_cache(maxsize=64)
def _checked(path: Path, base: Path | None, schema: str, _digest: str) -> dict[str, Any]:
    """Return the values of a profile with those of its base, checked. A process asks for the same
    profile many times, and checks take long. `_digest`: of both files, which may change.
    """
    values = read_mapping(path, numbered=True)
    if base is not None:
        other = read_mapping(base, numbered=True)
        if "based_on" in other:
            rule = "must be a profile that is not based on another itself"
            raise wrong(path, ("based_on",), rule, values["based_on"])
        values = _put_into(other, values)
    return check_values(path, values, load_schema(schema))


def _put_into(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Return a base's values with a file's own in their places. A constant is put there whole."""
    return {
        **base,
        **{
            key: _put_into(base[key], value)
            if isinstance(value, dict) and isinstance(base.get(key), dict) and "value" not in value
            else value
            for key, value in own.items()
        },
    }


@functools.cache
def _rules(schema: str) -> dict[str, Any]:
    return load_schema(schema)


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Yield the constants and plain values of a file, with their places. Lists are plain values."""
    if not isinstance(value, dict) or "value" in value:
        yield place, value
        return
    for step, inner in value.items():
        yield from _leaves(inner, (*place, step))


def _constant(path: Path, place: Place, leaf: dict[str, Any]) -> Constant:
    value, span = float(leaf["value"]), leaf.get("range")
    if span is None:
        if leaf["tag"] == "estimate":
            raise UserError(
                f"{path}: {dotted((*place, 'range'))}: missing key: an estimate says between what "
                "the value may be"
            )
        return Constant(value, leaf["tag"], None, None, leaf["source"])
    low, high = map(float, span)
    if low > high:
        raise wrong(path, (*place, "range"), "must be [low, high] with low below high", span)
    if not low <= value <= high:
        raise wrong(
            path,
            (*place, "value"),
            f"must be within its own range, {low:g} to {high:g}",
            leaf["value"],
        )
    return Constant(value, leaf["tag"], low, high, leaf["source"])


def _sweep(
    file: Path, constants: Mapping[str, Constant], paths: list[str]
) -> Iterator[tuple[str, tuple[float, float]]]:
    for index, path in enumerate(paths):
        place: Place = ("sweep", index)
        if path not in constants:
            raise wrong(
                file, place, "must be the path of a constant, as in atomic.fence", path, constants
            )
        constant = constants[path]
        if constant.low is None or constant.high is None:
            raise wrong(file, place, "must be a constant with a range", path)
        yield path, (constant.low, constant.high)


def _inside(where: str, path: str) -> bool:
    """Return True if a constant is directly below a path."""
    return where.rpartition(".")[0] == path


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
