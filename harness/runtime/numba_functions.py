"""The runtime's functions that an operator compiled by numba calls (docs/how-to/operators.md)."""

from __future__ import annotations

from typing import Any


def numba_room_and_send() -> tuple[Any, Any]:
    """Return the functions `room(context, output)` and `send(context, output)` for operators that
    numba compiles.

    `room` returns the address for the next tuple of an output port, for `numba.carray`; `send`
    sends that tuple (native/millrace.h).
    """
    from numba import types

    from harness.runtime.path import addresses

    class Function(types.WrapperAddressProtocol):
        def __init__(self, address: int, signature: Any) -> None:
            self.address, self.declared = address, signature

        def __wrapper_address__(self) -> int:
            return self.address

        def signature(self) -> Any:
            return self.declared

    room, send = addresses()
    return (
        Function(room, types.voidptr(types.voidptr, types.int64)),
        Function(send, types.void(types.voidptr, types.int64)),
    )
