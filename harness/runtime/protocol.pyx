"""The numbers on which both engines and the tests have to agree, for Python: those of native/protocol.hpp, which says what each is for."""
