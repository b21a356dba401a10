"""Compiled functions as operators, as scipy.LowLevelCallable does it: an address, a state, and
their owners.

The runtime calls, once a tuple and without the interpreter's lock (docs/how-to/operators.md):

    int32_t f(uint64_t sequence, double *value, char *payload, uint64_t payload_bytes,
              double control, void *state)

Nothing can check that an address is what it is declared to be: a wrong function, or a state that it
does not expect, crashes the process. What can be checked is checked here: that something is a
function, is not null, and declares this signature.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

from harness.graph.functions.c_signature import (
    C_SIGNATURE,
    LOOP,
    NUMBA_SIGNATURE,
    PREDICATE,
    PREEMPTS,
    PROCESS,
    PROTOTYPE,
    SCORE,
    STEP,
    VALUE,
    Interface,
    mismatch,
    signature_of_ctypes,
)
from harness.graph.values import GraphError

__all__ = ["C_SIGNATURE", "NUMBA_SIGNATURE", "PROTOTYPE", "NativeFunction"]

MAX_ADDRESS = 2 ** (8 * ctypes.sizeof(ctypes.c_void_p)) - 1
NEEDS_THE_LOCK = 4  # ctypes' FUNCFLAG_PYTHONAPI: of PyDLL and PYFUNCTYPE

_capsule_name = ctypes.pythonapi.PyCapsule_GetName
_capsule_name.restype, _capsule_name.argtypes = ctypes.c_char_p, (ctypes.py_object,)
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)


@dataclass(frozen=True)
class NativeFunction:
    """A compiled function and its state, as a run needs them. Raises GraphError for an object that
    cannot be one.

    Most are made by `of`. The constructor does not check `address` and `state`; `owners` are the
    objects that must live as long as these are called.
    """

    address: int
    state: int = 0  # address of what the function gets as its last argument; 0: none
    signature: str | None = None  # in C, as the function declares it; None: as it must be
    owners: tuple[object, ...] = field(default=(), repr=False, compare=False)
    # texts for the numbers below 0 that it returns
    meanings: Mapping[int, str] = field(default_factory=dict, repr=False, compare=False)
    interface: ClassVar[Interface] = VALUE  # what the runtime calls

    def __post_init__(self) -> None:
        if not _is_address(self.address):
            raise GraphError(
                f"address of a native function must be from 1 to {MAX_ADDRESS}, not "
                f"{_shown(self.address)}"
            )
        if self.address == 0:
            raise GraphError("a native function must not be a null pointer")
        if not _is_address(self.state):
            raise GraphError(
                f"state of a native function must be from 0 to {MAX_ADDRESS}, not "
                f"{_shown(self.state)}"
            )
        if self.signature is None:
            object.__setattr__(self, "signature", self.interface.c)
        if not isinstance(self.signature, str):
            raise GraphError(
                f"signature of a native function must be text in C, not {_shown(self.signature)}"
            )
        problem = mismatch(self.signature, self.interface)
        if problem is not None:
            raise GraphError(
                f"a native function must be '{self.interface.c}'; '{self.signature}' {problem}"
            )

    @property
    def is_python(self) -> bool:
        """True if it is a ctypes callback, which enters the interpreter."""
        return any(
            isinstance(owner, ctypes._CFuncPtr)
            and any(type(kept).__name__ == "CThunkObject" for kept in _kept_by(owner))
            for owner in self.owners
        )

    def refuse_callbacks(self, what: str, instead: str) -> None:
        """Raise GraphError if the function is a callback into Python, for a caller that must not
        enter the interpreter.
        """
        callback = next((owner for owner in self.owners if _is_callback(owner)), None)
        if callback is not None:
            raise GraphError(
                f"{what} must not be a callback into Python, as {_shown(callback)} is: give "
                f"{instead}"
            )

    @classmethod
    def of(cls, function: object, state: object = None) -> NativeFunction:
        """Return the native function made from `function` and `state`; it keeps both alive.

        `function`: a numba cfunc; a ctypes function or callback; a capsule named by its C
        signature, as in a Cython module's `__pyx_capi__`; what has `function`, `user_data` and
        `signature`, as scipy.LowLevelCallable; or a NativeFunction. `state`: a ctypes object, or a
        pointer to one; a contiguous numpy array; a capsule; an address; or None.

        Raises GraphError for anything else, for a null pointer and for a function that declares
        another signature.
        """
        if isinstance(function, NativeFunction):
            if function.interface is not cls.interface:
                problem = (
                    mismatch(function.signature, cls.interface)
                    or "is meant for another kind of operator"
                )
                raise GraphError(
                    f"a native function must be '{cls.interface.c}'; '{function.signature}' "
                    f"{problem}"
                )
            return function._with_state(state)
        if all(hasattr(function, name) for name in ("function", "user_data", "signature")):
            return cls._of_low_level_callable(function)._with_state(state)
        if isinstance(function, ctypes._CFuncPtr):
            native = cls._of_ctypes(function, function)
        elif _is_capsule(function):
            native = cls._of_capsule(function)
        elif _is_numba_cfunc(function):
            native = cls._of_numba(function)
        else:
            raise GraphError(_not_compiled(function))
        return native._with_state(state)

    @classmethod
    def _of_ctypes(cls, function: ctypes._CFuncPtr, owner: object) -> NativeFunction:
        if getattr(type(function), "_flags_", 0) & NEEDS_THE_LOCK:
            raise GraphError(
                "a native function is called without the interpreter's lock, and "
                f"{_shown(function)} must not be: "
                "take it from a CDLL, not a PyDLL, or make it by CFUNCTYPE, not PYFUNCTYPE"
            )
        address = ctypes.cast(function, ctypes.c_void_p).value or 0
        if address == 0:
            raise GraphError(
                f"a native function must not be a null pointer, as {_shown(function)} is"
            )
        if function.argtypes is None:
            raise GraphError(
                f"a ctypes function must declare its argtypes and restype; {_shown(function)} has "
                "no argtypes "
                "(harness.graph.functions.compiled.PROTOTYPE((name, library)) declares them)"
            )
        return cls(address, 0, signature_of_ctypes(function), (owner,))

    @classmethod
    def _of_numba(cls, function: object) -> NativeFunction:
        try:
            typed = function.ctypes
        except (TypeError, NotImplementedError) as problem:  # numba has types that ctypes has not
            raise GraphError(
                f"a native function must be '{cls.interface.c}', by numba '{cls.interface.numba}', "
                f"not what {_shown(function)} declares: {problem}"
            ) from None
        return cls._of_ctypes(typed, function)

    @classmethod
    def _of_capsule(cls, capsule: object, signature: str | None = None) -> NativeFunction:
        name = _capsule_name(capsule)
        if name is None and signature is None:
            raise GraphError(
                f"a capsule must be named by the C signature of its function; {_shown(capsule)} "
                "has no name"
            )
        return cls(
            _capsule_pointer(capsule, name),
            0,
            signature or name.decode(errors="replace"),
            (capsule,),
        )

    @classmethod
    def _of_low_level_callable(cls, given: object) -> NativeFunction:
        function, signature = given.function, given.signature
        if isinstance(function, ctypes._CFuncPtr):
            native = cls._of_ctypes(function, given)
        elif _is_capsule(function):
            native = cls._of_capsule(function, signature)
        else:
            raise GraphError(
                f"function of {_shown(given)} must be a ctypes function or a capsule, not "
                f"{_shown(function)}"
            )
        return replace(
            native, signature=native.signature if signature is None else signature
        )._with_state(given.user_data)

    def _with_state(self, state: object) -> NativeFunction:
        if state is None:
            return self
        if self.state != 0:
            reason = (
                f"the function has one already, at {self.state:#x}, and {_shown(state)} is another"
            )
            raise GraphError(f"state is given twice: {reason}")
        return replace(self, state=_address_of_state(state), owners=(*self.owners, state))


class ProcessFunction(NativeFunction):
    """A compiled function of a typed operator or sink: called once a tuple."""

    interface = PROCESS


class PredicateFunction(NativeFunction):
    """A compiled function of a typed filter: called once a tuple, says if it passes."""

    interface = PREDICATE


class StepFunction(NativeFunction):
    """A compiled function of a typed source, called until it has no more tuples; or an operator's
    `finish`.
    """

    interface = STEP


class LoopFunction(NativeFunction):
    """A compiled function of an operator with a loop of its own: called once a run, on a
    co-routine's stack.
    """

    interface = LOOP

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_callbacks("a loop", "the async function itself")


class PolicyFunction(NativeFunction):
    """A compiled scheduling policy of co-routines: called for operators that are ready, by the
    thread that resumes one.
    """

    interface = SCORE

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_callbacks("a policy", "the callable itself")


class PreemptsFunction(NativeFunction):
    """A compiled function of a scheduling policy: called for an operator that runs, where it could
    let others run.
    """

    interface = PREEMPTS

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refuse_callbacks("a policy", "the callable itself")


# -- states ----------------------------------------------------------------------------------------


def _address_of_state(state: object) -> int:
    if isinstance(state, ctypes._Pointer | ctypes.c_void_p | ctypes.c_char_p):
        address = ctypes.cast(state, ctypes.c_void_p).value
        if address is None:
            raise GraphError(
                f"state must not be a null pointer, as {_shown(state)} is: leave it out instead"
            )
        return address
    if isinstance(state, ctypes.Structure | ctypes.Union | ctypes.Array | ctypes._SimpleCData):
        return ctypes.addressof(state)
    if _is_capsule(state):
        return _capsule_pointer(state, _capsule_name(state))
    if hasattr(state, "__array_interface__") and hasattr(getattr(state, "ctypes", None), "data"):
        return _address_of_array(state)
    if _is_address(state):
        return state
    raise GraphError(
        "state must be a ctypes object, a numpy array, a capsule or an address from 0 to "
        f"{MAX_ADDRESS}, not {_shown(state)}"
    )


def _address_of_array(array: object) -> int:
    if array.dtype.hasobject:
        raise GraphError(
            f"state must not hold Python objects; the array given has dtype {array.dtype}"
        )
    if not array.flags.c_contiguous:
        raise GraphError(
            f"state must be contiguous; the array given has shape {array.shape} and strides "
            f"{array.strides}"
        )
    if array.size == 0:
        raise GraphError(f"state must not be empty; the array given has shape {array.shape}")
    return int(array.ctypes.data)


def is_compiled(given: object) -> bool:
    """Return True for a compiled function, even one of a wrong signature; anything else is taken as
    Python.
    """
    special = (
        isinstance(given, NativeFunction | ctypes._CFuncPtr)
        or _is_capsule(given)
        or _is_numba_cfunc(given)
    )
    return special or all(hasattr(given, name) for name in ("function", "user_data", "signature"))


# -- kinds of objects ------------------------------------------------------------------------------


def _kept_by(function: ctypes._CFuncPtr) -> list[object]:
    return list((function._objects or {}).values())


def _is_address(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_ADDRESS


def _is_capsule(given: object) -> bool:
    return type(given).__name__ == "PyCapsule"


def _is_callback(given: object) -> bool:
    """Return True if a ctypes function was made from a Python callable."""
    kept = getattr(given, "_objects", None) or {} if isinstance(given, ctypes._CFuncPtr) else {}
    return any(type(each).__name__ == "CThunkObject" for each in kept.values())


def _is_numba_cfunc(given: object) -> bool:
    return (
        hasattr(given, "address")
        and hasattr(given, "native_name")
        and hasattr(type(given), "ctypes")
    )


def _not_compiled(given: object) -> str:
    rule = (
        "a native function must be a numba cfunc, a ctypes function, a capsule or a "
        "scipy.LowLevelCallable"
    )
    if _is_address(given):
        return (
            f"{rule}, not an address alone, {given}: NativeFunction(address, state, "
            "owners=...) takes it on trust"
        )
    if hasattr(given, "py_func") and hasattr(given, "signatures"):
        return f"{rule}, not {_shown(given)}: compile it by numba.cfunc instead of jit"
    if callable(given):
        return (
            f"{rule}, not the Python callable {_shown(given)}: Graph.python takes it, and "
            "PROTOTYPE(callable) makes a callback"
        )
    return f"{rule}, not {_shown(given)}"


def _shown(value: object) -> str:
    """Return a value in an error message: one line, not endless."""
    if isinstance(value, int) and value.bit_length() > 256:
        # Python refuses to write very long ones
        return f"a whole number of {value.bit_length()} bits"
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else f"{text[:77]}..."
