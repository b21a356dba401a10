"""The numbers on which both engines and the tests have to agree, for Python: those of native/protocol.hpp, which says what each is for."""

from harness.runtime cimport native


def slot_stride(payload):
    """Bytes from a slot to the next, of tuples with so many bytes of payload."""
    return native.slot_stride(payload)


POLICIES = {POLICY_TABLE[i].name.decode(): POLICY_TABLE[i].meaning.decode() for i in range(POLICY_COUNT)}
"""The scheduling policies of co-routines, name and meaning: those of native/policies.hpp."""
