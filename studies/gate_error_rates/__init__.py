"""The gate's own error rates: how often it calls base slower than itself, and how often it finds a
real slowdown.

| word | meaning here |
|---|---|
| kind | kind of injected work: flop, copy, atomic, sleep (`injected.hpp`) |
| arm | the head of a block: nothing injected, or a kind in an amount for a wanted effect |
| round | an uninjected block of each program, one of the control and one of each arm, shuffled |
| recording | rounds, as they were measured: `samples.jsonl` of a directory |
| call | the verdict that one call of `millrace gate` would have given on a stretch of rounds |
| condition | base against itself (A/A), or an arm in one cell and base in all others |

`inject` makes the binary, `calibrate` finds amounts, `record` measures rounds into a `recording`,
`simulate` invents rounds, `replay` turns rounds into calls by the statistics of real calls, `rates`
counts their verdicts, `report` prints them.
"""
