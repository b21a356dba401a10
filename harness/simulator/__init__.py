"""The engine on a described machine, in virtual time (docs/simulator.md). What is modelled: native/simulation.hpp."""
