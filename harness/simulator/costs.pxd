from harness.simulator.native cimport Machine, Software


cdef void fill_machine(Machine* to, object machine) except *
cdef void fill_software(Software* to, object software, object machine) except *
