"""Share of held-out graphs for which `millrace advise` finds nearly the best arm, of all arms of a
set that does not depend on the advice.

graphs      graphs drawn at random
exhaustive  all arms, by the structure of a graph alone
judge       advice and exhaustive comparison of one graph
report      the table and the share of graphs with good advice
"""
