"""Validation of the simulator: its predictions for this machine, beside the measurements of the
runtime on it.

`cases` lists the comparisons, `session` measures and predicts, `comparison`, `order` and `verdict`
judge, `baselines` has naive predictions beside the simulator's, `report` and `table` write.

A *case* is a cell (topology, cost, payload) under one arm. No constant of a profile may be fitted
to a throughput of these cases: the simulator must not have seen them.
"""
