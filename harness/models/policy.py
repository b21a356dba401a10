"""Scheduling policies, which choose the ready co-routine to resume next: the built-in ones, and
users' own (C-Stream §3.2.6).

A policy gives each operator that is ready a score, and the highest one goes on. It may also decide
when one that runs lets others run. docs/how-to/operators.md says how to write one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from harness.errors import UserError
from harness.files.checked_yaml import did_you_mean
from harness.graph import GraphError
from harness.graph.files.function import load_attribute
from harness.graph.functions.compiled import PolicyFunction, PreemptsFunction, is_compiled

SCORE_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p, ctypes.c_void_p)
"""The signature of a compiled policy for ctypes: `SCORE_PROTOTYPE(("name", library))`."""

PREEMPTS_PROTOTYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)
"""The signature of its function that decides preemption, likewise."""


@dataclass(frozen=True)
class Policy:
    """A policy by its name as records have it.

    `function`: a user's, compiled or `function(ready) -> number`; None: it is one of `policies()`.
    `preempts`: compiled or `preempts(running) -> bool`; None: the model's quantum decides.
    """

    name: str
    function: PolicyFunction | Callable[[Any], float] | None = None
    preempts: PreemptsFunction | Callable[[Any], object] | None = None


def policies() -> dict[str, str]:
    """Return the scheduling policies of co-routines: a description of each, by name
    (`native/policies.hpp`).
    """
    # compiled; imported late, so that graphs can be read without it
    from harness.runtime.protocol import POLICIES

    return POLICIES


def find_policy(given: object) -> Policy:
    """Return the policy that is given by a name of `policies()`; by FILE.py:NAME, module:NAME or
    FILE.so:SYMBOL, as text, where a file is relative to the working directory; or by a function
    itself, compiled or in Python. What has `score` and `preempts` gives two functions; of a library
    the second one is SYMBOL_preempts, if it is there.

    Raises UserError for anything else, and for a function that cannot be called.
    """
    if isinstance(given, str) and ":" not in given:
        known = policies()
        if given not in known:
            raise UserError(
                f"policy must be one of {', '.join(known)}, or FILE.py:NAME or FILE.so:SYMBOL, not "
                f"{given!r:.80}{did_you_mean(given, known)}"
            )
        return Policy(given)
    name = given if isinstance(given, str) else getattr(given, "__name__", "")
    try:
        function = _load(given) if isinstance(given, str) else given
        # a function of ctypes or in a capsule does not know its name
        name = str(name or ("compiled" if is_compiled(function) else type(function).__name__))
        preempts = _preempts_of(getattr(function, "preempts", None))
        function = getattr(function, "score", function)
        is_machine_code = is_compiled(function)
        if is_machine_code:
            return Policy(name, PolicyFunction.of(function), preempts)
        if not callable(function):
            raise UserError(
                "must be a function of a ready operator that returns its score, not "
                f"{function!r:.60}"
            )
        return Policy(name, function, preempts)
    except (UserError, GraphError) as problem:
        raise UserError(f"policy {name!r}: {problem}") from None


def _preempts_of(function: object) -> Any:
    if function is None or not is_compiled(function):
        if function is not None and not callable(function):
            raise UserError(f"preempts must be a function, not {function!r:.60}")
        return function
    return PreemptsFunction.of(function)


def _load(reference: str) -> object:
    place, _, name = reference.rpartition(":")
    if not place.endswith(".so"):
        return load_attribute(reference, Path())[0]
    try:
        library = ctypes.CDLL(str(Path(place).resolve()))
        score = SCORE_PROTOTYPE((name, library))
        if not hasattr(library, f"{name}_preempts"):
            return score
        preempts = PREEMPTS_PROTOTYPE((f"{name}_preempts", library))
        return SimpleNamespace(score=score, preempts=preempts)
    except (OSError, AttributeError) as problem:  # what the loader says names the file
        raise UserError(" ".join(str(problem).split())) from None
