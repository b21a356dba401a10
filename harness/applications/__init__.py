"""The papers' applications: their operators, compiled (`native/`), and the graphs that topologies build of them."""
