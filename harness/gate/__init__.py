"""The regression gate: base against head, and a verdict for each cell: regressed, ok, improved, or cannot tell.

A cell is one number that a program gives in a fresh process: a model of `suite`. `tree` makes the two sides that are compared,
`loaded` sees that each loads code of its own, `sample` runs processes, which end with all that they have started (`session`),
`compare` measures them in blocks of pairs (`order`), `sequential` and `decide` say what the pairs prove, `report` tells it.
"""
