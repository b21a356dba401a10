"""The engine on a described machine, in virtual time (docs/simulator.md). What is modelled stands in native/simulation.hpp and system.hpp."""
