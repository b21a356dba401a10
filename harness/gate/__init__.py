"""The regression gate: compares base with head and gives each cell a verdict: regressed, ok,
improved, or cannot tell.

A cell is one number that a program gives in a fresh process (`suite`). `tree` prepares the two
sides, `loaded` checks that each side loads its own code, `sample` runs processes, `session` ends
each of them with all that it has started, `compare` measures them in blocks of pairs (`order`),
`sequential` and `decide` find what the pairs prove, and `report` prints it.
"""
