"""The engine on a described machine, in virtual time (docs/simulator.md). native/simulation.hpp and system.hpp say what is modelled."""
