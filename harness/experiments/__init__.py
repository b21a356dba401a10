"""Experiments: what a configuration asks to be measured, as blocks of cells.

config      a configuration: which experiments, with how many repeats, and where results go
experiment  an experiment: its blocks and arms
file        an experiment's file
load_changes  when the load of a run changed
up_to_date  whether a block's records answer what it asks
"""
