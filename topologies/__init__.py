"""Topologies: the named graphs that a run can execute. One module of this package is one topology.

A module that holds `TOPOLOGY = Topology(...)` is found automatically; no other file lists it
(`costs` and `jobs` are shared by them). Its file has the topology's name, with `_` for `-`, and is
imported when the topology is requested.

Each mistake of a user about a topology is a UserError that names the parameter, the rule and the
value.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.graph import Graph
from harness.graph.values import MAX_OPERATORS, MAX_PAYLOAD, MAX_RATE, several_values

Value = int | str

MAX_PATH = 4096  # characters


@dataclass(frozen=True)
class Parameter:
    """A parameter of a topology.

    A value is a whole number from `low` to `high` in `unit` (None: no number), one of `words`, a
    path, or a URL.
    """

    name: str
    default: Value
    unit: str
    low: int | None
    high: int | None
    meaning: str
    words: tuple[str, ...] = ()
    path: bool = False  # it may name a file
    url: bool = False  # it may be a web address

    @property
    def rule(self) -> str:
        """Rule for a value, in words."""
        numbers = [] if self.low is None else [f"a whole number from {self.low} to {self.high}"]
        return " or ".join(
            [*numbers, *self.words, *["a file"] * self.path, *["a URL (http:, https:)"] * self.url]
        )

    def parse(self, topology: str, value: Value) -> Value:
        """Return the value meant by a number, or by text from the command line. Raises UserError if
        it breaks the rule.
        """
        if isinstance(value, str):
            free = self.path or (self.url and value.startswith(("http://", "https://")))
            if value in self.words or (free and 0 < len(value) <= MAX_PATH and value.isprintable()):
                return value
            # Longer numbers break the rule as well, and Python refuses to read very long ones.
            number = int(value) if re.fullmatch("[0-9]{1,19}", value) else None
        else:
            number = value if isinstance(value, int) and not isinstance(value, bool) else None
        if (
            number is None
            or self.low is None
            or self.high is None
            or not self.low <= number <= self.high
        ):
            raise UserError(
                f"parameter {self.name} of topology {topology} must be {self.rule}, not "
                f"{_shown(value)}{several_values(value)}"
            )
        return number


def choice(name: str, meaning: str, *words: str, **further: Any) -> Parameter:
    """Return a parameter that takes one of `words`, the first one by default; `further` as of
    `Parameter`.
    """
    return Parameter(name, words[0], "", None, None, meaning, words, **further)


@dataclass(frozen=True)
class Topology:
    """Family of graphs.

    `size(**values)` is the number of operators that `build(**values, seed=...)` makes, or any
    number above `MAX_OPERATORS` if it is above; it must be quick. `seed` decides the random
    placements of the topology. `wrong(**values)` returns the reason why values do not go together,
    or None.
    """

    name: str
    summary: str
    source: str  # paper and section
    takes: tuple[Parameter, ...]
    size: Callable[..., int]
    build: Callable[..., Graph]
    wrong: Callable[..., str | None] | None = None

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Parameters by name."""
        return {parameter.name: parameter for parameter in self.takes}

    def values(self, given: Mapping[str, Value]) -> dict[str, Value]:
        """Return all parameters with their values, defaults filled in. Raises UserError for an
        unknown name or a wrong value.
        """
        parameters = self.parameters
        for name in given:
            if name not in parameters:
                raise UserError(
                    f"topology {self.name} has no parameter "
                    f"{_shown(name)}{did_you_mean(name, parameters)}; "
                    f"its parameters are: {', '.join(parameters)}"
                )
        values = {
            name: each.parse(self.name, given.get(name, each.default))
            for name, each in parameters.items()
        }
        problem = self.wrong(**values) if self.wrong is not None else None
        if problem is not None:
            raise UserError(f"{problem} (topology {self.name})")
        if self.size(**values) > MAX_OPERATORS:
            shape = ", ".join(
                f"{name}={value}"
                for name, value in values.items()
                if name not in ("cost", "payload", "rate")
            )
            raise UserError(
                f"topology {self.name} must have at most {MAX_OPERATORS} operators, not more with "
                f"{shape}"
            )
        return values


PAYLOAD = Parameter(
    "payload", 128, "bytes", 0, MAX_PAYLOAD, "what a tuple carries besides its header"
)

RATE = Parameter(
    "rate",
    0,
    "tuples/s",
    0,
    int(MAX_RATE),
    "of the source, whose tuples are born when they are due; 0: full speed",
)


def find(name: str) -> Topology:
    """Return the topology called `name`. Raises UserError for an unknown name."""
    if name not in TOPOLOGIES:
        raise UserError(
            f"topology {_shown(name)} is unknown{did_you_mean(name, TOPOLOGIES)}; topologies are: "
            f"{', '.join(TOPOLOGIES)}"
        )
    return TOPOLOGIES[name]


def build(name: str, values: Mapping[str, Value], seed: int) -> tuple[Graph, dict[str, Value]]:
    """Return the graph, and all its parameters with defaults filled in. Values may be text, as
    given on the command line.

    Raises UserError for an unknown topology or parameter, or for a value that its parameter does
    not accept.
    """
    topology = find(name)
    complete = topology.values(values)
    return topology.build(**complete, seed=seed), complete


def _shown(value: object) -> str:
    """Return a value for an error message: one line, shortened."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


class _Topologies(Mapping[str, Topology]):
    """Mapping of names to topologies. One is imported when it is looked up."""

    def __init__(self) -> None:
        modules = {module.name for module in pkgutil.iter_modules(__path__)} - SHARED
        self._modules = {name.replace("_", "-"): name for name in sorted(modules)}

    def __getitem__(self, name: str) -> Topology:
        topology: Topology = importlib.import_module(f"{__name__}.{self._modules[name]}").TOPOLOGY
        return topology

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


SHARED = frozenset(("costs", "inputs", "jobs", "nexmark"))
"""Modules of this package that are no topologies."""

TOPOLOGIES: Mapping[str, Topology] = _Topologies()
"""Every topology by its name, in alphabetical order."""
