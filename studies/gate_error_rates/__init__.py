"""The gate's own error rates: how often it calls base slower than itself, and how often it finds a slowdown that is there.

| word | what it is here |
|---|---|
| kind | of work that is injected: flop, copy, atomic, sleep (`injected.hpp`) |
| arm | what a block's head is: nothing injected, or a kind in an amount that makes about a wanted effect |
| round | a block of each program with nothing injected, one more of the control, a block of each arm; in random order |
| recording | rounds, as they were measured: `samples.jsonl` of a directory |
| call | what one call of `millrace gate` would have said of a stretch of rounds |
| condition | what calls are of: base against itself (A/A), or an arm in one cell and base in all others |

`inject` makes the binary, `calibrate` finds amounts, `record` measures rounds into a `recording`, `simulate` makes some up,
`replay` turns rounds into calls by the statistics of real calls, `rates` counts what they said, `report` tells it.
"""
