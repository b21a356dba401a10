"""Validation of the simulator: what it predicts of this machine, beside what the runtime measures on it.

`cases` says what is compared, `session` measures and predicts, `comparison`, `order` and
`verdict` judge, `report` and `table` tell.

A *case* is a cell (topology, cost, payload) under one arm. No constant of a profile may be fitted to a throughput of these
cases: they are what the simulator has not seen.
"""
