"""Python code that a graph comes from or refers to: the function in a .py file that makes a graph,
and operators' functions.

An error in a user's code becomes one line that names the file, the exception and its text.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import math
import re
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.files.given import read_given
from harness.graph.builder import Graph
from harness.graph.values import several_values

Value = int | float | str

PLAIN = (bool, int, float, str)
"""Types of defaults that a record can have."""

_BESIDE: dict[str, Path] = {}
"""Modules that files have imported from their own folder, by name: in another folder the name means
another module.
"""


def load_attribute(reference: str, folder: Path) -> tuple[Any, Path | None]:
    """Return the object named by `module:attribute` or `path.py:attribute`, and its file; a path is
    relative to `folder`.
    """
    place, colon, attribute = reference.rpartition(":")
    if not colon or not place or not attribute:
        raise UserError(f"must be module:attribute or path.py:attribute, not {_short(reference)}")
    if place.endswith(".py"):
        path = folder / place
        found: Any = load_file(path)
    else:
        found = _import(place)
        path = Path(found.__file__) if getattr(found, "__file__", None) else None
    for step in attribute.split("."):
        if not hasattr(found, step):
            raise UserError(f"{place} has no {attribute!r}{did_you_mean(step, dir(found))}")
        found = getattr(found, step)
    return found, path


def load_file(path: Path) -> ModuleType:
    """Return the module in a .py file, executed once a process for each content; its imports search
    its folder first.
    """
    source = read_given(path)
    name = f"millrace_file_{sha256(str(path.resolve()).encode() + source).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and the like look themselves up there
    try:
        with _imports_from(path):
            spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise UserError(f"{path}: {_one_line(error)}") from error
    return module


@contextmanager
def _imports_from(path: Path) -> Iterator[None]:
    """Let the code of a file import modules from its own folder first, never from the folder of
    another file.
    """
    folder = path.resolve().parent
    for name in [name for name, home in _BESIDE.items() if home != folder]:
        del _BESIDE[name]
        sys.modules.pop(name, None)
    before = set(sys.modules)
    sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(sys.stderr):  # stdout is for records
            yield
    finally:
        _BESIDE.update(
            (name, folder) for name in set(sys.modules) - before if _lies_in(name, folder, before)
        )
        sys.path.remove(str(folder))


def _lies_in(name: str, folder: Path, before: Collection[str]) -> bool:
    """Return True if a new module, or its top-level package, lies directly in a folder."""
    top = name.partition(".")[0]
    module = sys.modules.get(top)
    places = getattr(module, "__path__", None) or [getattr(module, "__file__", None)]
    return top not in before and any(
        isinstance(place, str) and Path(place).parent == folder for place in places
    )


def graph_of_function(
    path: Path, name: str, given: Mapping[str, Value], seed: int
) -> tuple[Graph, dict[str, Value]]:
    """Return the graph that a function in a .py file makes, and its parameters, defaults filled in
    if they are `PLAIN`.

    With these parameters as `given` the function returns the same graph again.

    `given`: values of its parameters, as numbers or as text from the command line. A parameter
    `seed` that is not among them gets the run's seed.
    """
    function = getattr(load_file(path), name, None)
    if not callable(function):
        raise UserError(
            f"{path}: has no function {name!r}"
            + (", which must return the graph" if name == "graph" else "")
        )
    where = f"{path}: {name}()"
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise UserError(f"{where} must be a plain function, neither a generator nor async")
    parameters = _parameters(where, function)
    for key in given:
        if key not in parameters:
            names = f"; its parameters are: {', '.join(parameters)}" if parameters else ""
            raise UserError(
                f"{where} has no parameter {_short(key)}{did_you_mean(key, parameters)}{names}"
            )
    values = {key: _value(where, parameters[key], value) for key, value in given.items()}
    for key, parameter in parameters.items():
        if key not in values and key == "seed":
            values[key] = seed
        elif key not in values and parameter.default is parameter.empty:
            raise UserError(f"{where} needs its parameter {key!r}: set {key}=VALUE")
    try:
        with _imports_from(path):
            graph = function(**values)
    except (Exception, SystemExit) as error:
        raise UserError(f"{where}: {_one_line(error)}") from error
    if not isinstance(graph, Graph):
        raise UserError(f"{where} must return a Graph, not {_short(graph)}")
    complete = {
        key: parameter.default
        for key, parameter in parameters.items()
        if isinstance(parameter.default, PLAIN)
    }
    complete |= values
    # The run's seed has a place of its own in records.
    recorded = [key for key in parameters if key in complete and (key != "seed" or key in given)]
    return graph, {key: _recorded(complete[key]) for key in recorded}


def _parameters(where: str, function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise UserError(f"{where}: cannot be called by us: {error}") from error
    settable = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return {name: parameter for name, parameter in parameters.items() if parameter.kind in settable}


def _value(where: str, parameter: inspect.Parameter, value: Value) -> object:
    """Return a value in the type that the parameter declares, by its annotation or its default."""
    if isinstance(parameter.default, PLAIN) and str(value) == str(_recorded(parameter.default)):
        return parameter.default  # which may be of a type that no text would be read as
    declared = parameter.annotation
    if declared is parameter.empty:
        declared = type(parameter.default)
    kind = declared if isinstance(declared, str) else getattr(declared, "__name__", "")
    text = str(value)
    whole = re.fullmatch("-?[0-9]{1,19}", text)
    if kind == "str":
        return text
    if kind == "bool" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "float":
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
    if kind not in ("bool", "float") and whole:
        return int(text)
    rules = {"int": "a whole number", "float": "a finite number", "bool": "true or false"}
    if kind in rules:
        raise UserError(
            f"parameter {parameter.name} of {where} must be {rules[kind]}, not "
            f"{_short(value)}{several_values(value)}"
        )
    return value


def _recorded(value: object) -> Value:
    """Return a parameter's value as records have it: a number or a text."""
    if isinstance(value, bool):
        return str(value).lower()
    return (
        value
        if isinstance(value, int | str) or (isinstance(value, float) and math.isfinite(value))
        else str(value)
    )


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # the module's own code may raise anything
        raise UserError(f"module {_short(name)} cannot be imported: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    """Return an exception as one line: the text alone of a UserError, else the exception's name and
    text.
    """
    text = " ".join(str(error).split())
    text = text if len(text) <= 300 else f"{text[:297]}..."
    kind = "" if isinstance(error, UserError) else f"{type(error).__name__}: "
    return f"{kind}{text}{'' if ', line ' in text else _place(error)}"


def _place(error: BaseException) -> str:
    """Return the last line of a user's code that an exception passed; "" if there is none."""
    ours = str(Path(__file__).resolve().parents[2])  # the folder harness
    lines = [
        (frame.filename, frame.lineno)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((ours, "<", sys.base_prefix, sys.prefix))
    ]
    return f" ({lines[-1][0]}, line {lines[-1][1]})" if lines else ""


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
