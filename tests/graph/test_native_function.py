"""Tests of what may be a compiled operator, and of the errors about what may not. Nothing is called
here.
"""

from __future__ import annotations

import ctypes
import datetime
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from harness.graph import Graph, GraphError
from harness.graph.functions.compiled import C_SIGNATURE, NUMBA_SIGNATURE, PROTOTYPE, NativeFunction

FORMS = {
    "the wanted one": C_SIGNATURE,
    "other names for the same": "int (unsigned long, double *, unsigned char *, size_t, double, "
    "struct State *)",
    "as Cython writes it": "int (uint64_t, double *, unsigned char const *, unsigned PY_LONG_LONG, "
    "double, struct __pyx_t_S *)",
    "as scipy writes ctypes": "int (ulong, double *, char *, ulong, double, void *)",
    "a pointer to a function": "int32_t (*)(uint64_t, double *, void *, uint64_t, double, double "
    "**)",
}
MISMATCHES = {
    "int32_t (uint64_t, double *)": "takes 2 argument(s), not 6",
    "int32_t (void)": "takes 0 argument(s), not 6",
    "int64_t (uint64_t, double *, char *, uint64_t, double, "
    "void *)": "returns int64_t, not int32_t",
    "void (uint64_t, double *, char *, uint64_t, double, void *)": "returns void, not int32_t",
    "int32_t (int64_t, double *, char *, uint64_t, double, "
    "void *)": "takes as argument 1 (sequence) int64_t, not uint64_t",
    "int32_t (uint64_t, double, char *, uint64_t, double, void "
    "*)": "takes as argument 2 (value) double, not double *",
    "int32_t (uint64_t, float *, char *, uint64_t, double, "
    "void *)": "takes as argument 2 (value) float *, not double *",
    "int32_t (uint64_t, double *, int *, uint64_t, double, "
    "void *)": "takes as argument 3 (payload) int *, not char *",
    "int32_t (uint64_t, double *, char *, int, double, void "
    "*)": "takes as argument 4 (payload_bytes) int, not uint64_t",
    "int32_t (uint64_t, double *, char *, uint64_t, float, "
    "void *)": "takes as argument 5 (control) float, not double",
    "int32_t (uint64_t, double *, char *, uint64_t, double, "
    "uint64_t)": "takes as argument 6 (state) uint64_t, not void *",
    "rubbish": "is not of the form 'RESULT (ARGUMENT, ...)'",
    "": "is not of the form 'RESULT (ARGUMENT, ...)'",
}


def passes(*_: object) -> int:
    return 1


@cache
def compiled() -> object:
    import numba

    @numba.cfunc(NUMBA_SIGNATURE)
    def compiled(sequence, value, payload, payload_bytes, control, state):
        return 1

    return compiled


@pytest.mark.parametrize("form", FORMS)
def test_a_signature_may_be_spelled_otherwise(form: str) -> None:
    assert NativeFunction(1, signature=FORMS[form]).signature == FORMS[form]


@pytest.mark.parametrize("signature", MISMATCHES)
def test_a_wrong_signature_is_told_with_the_rule_and_what_is_wrong(signature: str) -> None:
    with pytest.raises(GraphError) as problem:
        NativeFunction(1, signature=signature)
    assert (
        str(problem.value)
        == f"a native function must be '{C_SIGNATURE}'; '{signature}' {MISMATCHES[signature]}"
    )


def test_the_address_is_that_of_the_function_and_the_owner_is_kept() -> None:
    callback = PROTOTYPE(passes)
    native = NativeFunction.of(callback)
    assert native.address == ctypes.cast(callback, ctypes.c_void_p).value
    assert native.owners == (callback,)
    native = NativeFunction.of(compiled())
    assert (native.address, native.owners) == (compiled().address, (compiled(),))
    assert NativeFunction.of(native) is native


def test_what_looks_like_a_low_level_callable_is_taken_with_its_state() -> None:
    given = SimpleNamespace(function=PROTOTYPE(passes), user_data=ctypes.c_int64(1), signature=None)
    native = NativeFunction.of(given)
    assert native.address == ctypes.cast(given.function, ctypes.c_void_p).value
    assert native.state == ctypes.addressof(given.user_data)
    assert given in native.owners and given.user_data in native.owners


def test_states_are_taken_by_their_address() -> None:
    number, row, table = ctypes.c_double(1), (ctypes.c_int64 * 3)(), np.zeros((2, 3))
    assert NativeFunction.of(compiled()).state == 0
    for state, address in (
        (number, ctypes.addressof(number)),
        (row, ctypes.addressof(row)),
        (ctypes.pointer(number), ctypes.addressof(number)),
        (ctypes.c_void_p(4096), 4096),
        (table, table.ctypes.data),
        (4096, 4096),
    ):
        native = NativeFunction.of(compiled(), state)
        assert native.state == address
        assert any(owner is state for owner in native.owners)


def test_a_capsule_is_taken_as_state_too() -> None:
    assert NativeFunction.of(compiled(), capsule(4096, None)).state == 4096


def capsule(address: int, name: bytes | None) -> object:
    make = ctypes.pythonapi.PyCapsule_New
    make.restype = ctypes.py_object
    make.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(address, name, None)


def undeclared() -> object:
    return ctypes.CDLL(None).abs


def declared_otherwise() -> object:
    function = ctypes.CDLL(None).abs
    function.argtypes = (ctypes.c_int,)
    return function


def other_cfunc(signature: str) -> object:
    import numba

    return numba.cfunc(signature)(lambda x: x)


def jitted() -> object:
    import numba

    return numba.njit(passes)


REFUSED = {
    "null ctypes pointer": (
        lambda: PROTOTYPE(0),
        "must not be a null pointer, as <CFunctionType object at",
    ),
    "no argtypes": (undeclared, "must declare its argtypes and restype; <_FuncPtr object at"),
    "ctypes, other argtypes": (
        declared_otherwise,
        "'int32_t (int32_t)' takes 1 argument(s), not 6",
    ),
    "ctypes, no result": (
        lambda: ctypes.CFUNCTYPE(None, *PROTOTYPE._argtypes_)(passes),
        "returns void, not int32_t",
    ),
    "needs the interpreter's lock": (
        lambda: ctypes.PYFUNCTYPE(ctypes.c_int)(passes),
        "is called without the interpreter's lock",
    ),
    "a function of Python": (
        lambda: ctypes.pythonapi.Py_IncRef,
        "take it from a CDLL, not a PyDLL",
    ),
    "numba, other types": (
        lambda: other_cfunc("int32(int32)"),
        "'int32_t (int32_t)' takes 1 argument(s), not 6",
    ),
    "numba, no type of C": (
        lambda: other_cfunc("complex128(complex128)"),
        "Cannot convert Numba type 'complex128'",
    ),
    "numba jit": (jitted, "compile it by numba.cfunc instead of jit"),
    "a capsule of something else": (
        lambda: datetime.datetime_CAPI,
        "'datetime.datetime_CAPI' is not of the form",
    ),
    "a capsule without a name": (
        lambda: capsule(1, None),
        "must be named by the C signature of its function; <capsule object NULL at",
    ),
    "a Python callable": (lambda: passes, "not the Python callable <function passes at"),
    "an address": (
        lambda: 4096,
        "not an address alone, 4096: NativeFunction(address, state, owners=...) takes it on trust",
    ),
    "text": (
        lambda: "gate",
        "a numba cfunc, a ctypes function, a capsule or a scipy.LowLevelCallable, not 'gate'",
    ),
    "None": (lambda: None, "a scipy.LowLevelCallable, not None"),
    "an odd low-level callable": (
        lambda: SimpleNamespace(function=7, user_data=None, signature=None),
        "must be a ctypes function or a capsule, not 7",
    ),
    "a low-level callable of another signature": (
        lambda: SimpleNamespace(
            function=PROTOTYPE(passes), user_data=None, signature="double (double)"
        ),
        "'double (double)' takes 1 argument(s), not 6",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_called_is_refused_with_its_operator_what_it_is_and_the_rule(
    case: str,
) -> None:
    make, told = REFUSED[case]
    with pytest.raises(GraphError) as problem:
        Graph("g").native("gate", make())
    assert str(problem.value).startswith("operator 'gate': ")
    assert told in str(problem.value)
    assert "\n" not in str(problem.value)


REFUSED_STATES = {
    "text": (
        "a state",
        "must be a ctypes object, a numpy array, a capsule or an address from 0 to",
    ),
    "negative address": (-1, "not -1"),
    "huge address": (2**64, f"not {2**64}"),
    "bool": (True, "not True"),
    "null pointer": (ctypes.c_void_p(), "must not be a null pointer, as c_void_p(None) is"),
    "a column": (
        np.zeros((4, 4))[:, 1],
        "must be contiguous; the array given has shape (4,) and strides (32,)",
    ),
    "no elements": (np.zeros(0), "must not be empty; the array given has shape (0,)"),
    "Python objects": (
        np.array([None]),
        "must not hold Python objects; the array given has dtype object",
    ),
}


@pytest.mark.parametrize("case", REFUSED_STATES)
def test_a_state_without_an_address_is_refused_with_the_rule(case: str) -> None:
    state, told = REFUSED_STATES[case]
    with pytest.raises(GraphError, match=r"^operator 'gate': state ") as problem:
        Graph("g").native("gate", compiled(), state=state)
    assert told in str(problem.value)


def test_two_states_are_one_too_many() -> None:
    with pytest.raises(
        GraphError,
        match="state is given twice: the function has one already, at 0x8, and 16 is another",
    ):
        NativeFunction.of(NativeFunction(1, 8), 16)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"address": 0}, "must not be a null pointer"),
        ({"address": -1}, "must be from 1 to"),
        ({"address": "f"}, "must be from 1 to .*, not 'f'"),
        (
            {"address": 1, "state": None},
            "state of a native function must be from 0 to .*, not None",
        ),
        ({"address": 1, "signature": 3}, "must be text in C, not 3"),
    ],
)
def test_one_made_by_hand_is_checked_as_far_as_that_goes(
    fields: dict[str, object], told: str
) -> None:
    with pytest.raises(GraphError, match=told):
        NativeFunction(**fields)
