"""Five ways to write one operator. docs/how-to/operators.md says how to choose. Run one of them:
`python -m examples.numba_function`.

The operator is a gate. It passes on the tuples whose value reaches a threshold, doubled; counts
them in its state; takes a new threshold from its control port; and ends the run at a negative
value.
"""
