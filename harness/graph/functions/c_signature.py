"""Signatures that compiled functions must have, and the comparison with a function's declared one.

Signatures are compared by what a call passes, not by spelling: `unsigned long` is as good as
`uint64_t` where it has its size, and a pointer may point to what the function wants to see
(payload: any type of one byte; state: anything).
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from typing import NamedTuple

C_SIGNATURE = "int32_t (uint64_t, double *, char *, uint64_t, double, void *)"
"""C signature that the runtime calls: sequence, value, payload, payload_bytes, control, state."""

NUMBA_SIGNATURE = "int32(uint64, CPointer(float64), CPointer(uint8), uint64, float64, voidptr)"
"""`C_SIGNATURE` as `numba.cfunc` takes it."""

PROTOTYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_double),
    ctypes.POINTER(ctypes.c_char),
    ctypes.c_uint64,
    ctypes.c_double,
    ctypes.c_void_p,
)
"""`C_SIGNATURE` for ctypes: `PROTOTYPE(("name", library))` is a function of a library,
`PROTOTYPE(callable)` a callback.
"""

_INTEGERS = {
    "char": ctypes.c_byte,
    "signed char": ctypes.c_byte,
    "unsigned char": ctypes.c_ubyte,
    "short": ctypes.c_short,
    "unsigned short": ctypes.c_ushort,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "long": ctypes.c_long,
    "unsigned long": ctypes.c_ulong,
    "long long": ctypes.c_longlong,
    "unsigned long long": ctypes.c_ulonglong,
    "size_t": ctypes.c_size_t,
    "ssize_t": ctypes.c_ssize_t,
    **{f"int{8 * size}_t": getattr(ctypes, f"c_int{8 * size}") for size in (1, 2, 4, 8)},
    **{f"uint{8 * size}_t": getattr(ctypes, f"c_uint{8 * size}") for size in (1, 2, 4, 8)},
}
_SYNONYMS = {  # the short ones are what scipy makes of ctypes' names
    "byte": "signed char",
    "ubyte": "unsigned char",
    "uint": "unsigned int",
    "ulong": "unsigned long",
    "longlong": "long long",
    "ulonglong": "unsigned long long",
    "unsigned": "unsigned int",
    "long int": "long",
    "unsigned long int": "unsigned long",
    "Py_ssize_t": "ssize_t",
    "intptr_t": "ssize_t",
    "uintptr_t": "size_t",
}
_OTHER_CTYPES = {
    "d": "double",
    "f": "float",
    "g": "long double",
    "P": "void *",
    "z": "char *",
    "?": "bool",
    "c": "char",
}


class _CType(NamedTuple):
    # "int32_t" for every signed integer of four bytes, and so on; otherwise the name as it was
    # given
    base: str
    stars: int


def _is(base: str, stars: int = 0) -> Callable[[_CType], bool]:
    return lambda given: given == (base, stars)


def _is_pointer(given: _CType) -> bool:
    return given.stars >= 1


class Interface(NamedTuple):
    """A signature that the runtime calls: in C, for numba, and what each argument may be declared
    as.
    """

    c: str
    numba: str
    arguments: tuple[tuple[str, str, Callable[[_CType], bool]], ...]
    result: str = "int32_t"


_BYTES = ("int8_t", "uint8_t", "void")
VALUE = Interface(
    C_SIGNATURE,
    NUMBA_SIGNATURE,
    (
        ("sequence", "uint64_t", _is("uint64_t")),
        ("value", "double *", _is("double", 1)),
        ("payload", "char *", lambda given: given.base in _BYTES and given.stars == 1),
        ("payload_bytes", "uint64_t", _is("uint64_t")),
        ("control", "double", _is("double")),
        ("state", "void *", _is_pointer),
    ),
)
"""Function of an operator on untyped tuples."""

PROCESS = Interface(
    "int32_t (millrace_context *, uint32_t, const void *, void *)",
    "int32(voidptr, uint32, voidptr, voidptr)",
    (
        ("context", "millrace_context *", _is_pointer),
        ("port", "uint32_t", _is("uint32_t")),
        ("tuple", "const void *", lambda given: given.stars == 1),
        ("state", "void *", _is_pointer),
    ),
)
"""Function of a typed operator or sink, called once a tuple (native/millrace.h)."""

PREDICATE = Interface(
    "int32_t (const void *, void *)",
    "int32(voidptr, voidptr)",
    (("tuple", "const void *", lambda given: given.stars == 1), ("state", "void *", _is_pointer)),
)
"""Function of a typed filter, called once a tuple: above 0, the tuple passes; below 0, an error."""

STEP = Interface(
    "int32_t (millrace_context *, void *)",
    "int32(voidptr, voidptr)",
    (("context", "millrace_context *", _is_pointer), ("state", "void *", _is_pointer)),
)
"""Function of a typed source, called again and again; or of a typed operator, called when its last
stream has ended.
"""

LOOP = Interface(
    "int32_t (millrace_loop *, void *)",
    "int32(voidptr, voidptr)",
    (("loop", "millrace_loop *", _is_pointer), ("state", "void *", _is_pointer)),
)
"""Function of a loop operator, called once a run."""

_STATE = ("state", "void *", _is_pointer)
ADD = Interface(
    "int32_t (void *, const void *, uint64_t)",
    "int32(voidptr, voidptr, uint64)",
    (
        _STATE,
        ("tuple", "const void *", lambda given: given.stars == 1),
        ("count", "uint64_t", _is("uint64_t")),
    ),
)
"""Function of an aggregate that adds a tuple to a state (native/millrace.h)."""

COMBINE = Interface(
    "int32_t (void *, const void *)",
    "int32(voidptr, voidptr)",
    (_STATE, ("later", "const void *", _is_pointer)),
)
"""Function of an aggregate that adds the state of the tuples that follow."""

RESULT = Interface(
    "int32_t (const void *, const millrace_window *, void *)",
    "int32(voidptr, voidptr, voidptr)",
    (_STATE, ("window", "const millrace_window *", _is_pointer), ("out", "void *", _is_pointer)),
)
"""Function of an aggregate that makes a tuple from the state of a window."""

SCORE = Interface(
    "double (const millrace_ready *, void *)",
    "float64(voidptr, voidptr)",
    (("ready", "const millrace_ready *", _is_pointer), ("state", "void *", _is_pointer)),
    "double",
)
"""Function of a scheduling policy, called for operators that are ready (native/millrace.h)."""


PREEMPTS = Interface(
    "int32_t (const millrace_ready *, void *)",
    "int32(voidptr, voidptr)",
    (("running", "const millrace_ready *", _is_pointer), ("state", "void *", _is_pointer)),
)
"""Function of a scheduling policy, called for an operator that runs: whether it is preempted."""


def mismatch(signature: str, interface: Interface = VALUE) -> str | None:
    """Return a phrase that says why a function of this C signature does not fit the interface; None
    if it fits.
    """
    found = re.fullmatch(r"([^()]+?)\s*(?:\(\s*\*\s*\)\s*)?\(([^()]*)\)", signature.strip())
    if found is None:
        return "is not of the form 'RESULT (ARGUMENT, ...)'"
    result, listed = found[1].strip(), found[2].strip()
    arguments = (
        [] if listed in ("", "void") else [argument.strip() for argument in listed.split(",")]
    )
    if len(arguments) != len(interface.arguments):
        return f"takes {len(arguments)} argument(s), not {len(interface.arguments)}"
    if _parsed(result) != (interface.result, 0):
        return f"returns {result}, not {interface.result}"
    for place, (argument, (name, wanted, fits)) in enumerate(
        zip(arguments, interface.arguments, strict=True), 1
    ):
        if not fits(_parsed(argument)):
            return f"takes as argument {place} ({name}) {argument}, not {wanted}"
    return None


def signature_of_ctypes(function: ctypes._CFuncPtr) -> str:
    """Return the C signature that a ctypes function declares by its argtypes and restype."""
    arguments = ", ".join(_name(argument) for argument in function.argtypes)
    return f"{_name(function.restype)} ({arguments})"


def _parsed(text: str) -> _CType:
    text = " ".join(
        word
        for word in text.replace("*", " * ").split()
        if word not in ("const", "volatile", "restrict")
    )
    base = (
        text.replace("*", "").strip().removeprefix("struct ").replace("PY_LONG_LONG", "long long")
    )
    base = _SYNONYMS.get(base, base)
    if base in _INTEGERS:
        base = _integer(_INTEGERS[base])
    return _CType(base, text.count("*"))


def _integer(kind: type) -> str:
    """Return the name of an integer type of C by its size and sign."""
    return f"{'u' if kind(-1).value > 0 else ''}int{8 * ctypes.sizeof(kind)}_t"


def _name(kind: object) -> str:
    """Return a ctypes type in C."""
    if kind is None:
        return "void"
    if not isinstance(kind, type):
        return repr(kind)
    target = getattr(kind, "_type_", None)
    if issubclass(kind, ctypes._Pointer):
        return f"{_name(target)} *".replace("* *", "**")
    if issubclass(kind, ctypes._SimpleCData) and isinstance(target, str):
        return _OTHER_CTYPES.get(target) or (
            _integer(kind) if target in "bBhHiIlLqQ" else kind.__name__
        )
    return kind.__name__
