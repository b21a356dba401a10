"""The engine on a described machine, in virtual time (docs/explanation/simulator.md).
native/simulation.hpp lists what it models.
"""
