"""Arms compared on one graph: which is the fastest, by how much, and how surely.

standing  the sequential test: which arms may be the fastest, and each arm's distance from the best
entrants  arms that can run a graph, with their runs
contest   runs in random order, each in a process of its own, until the best is known or time is up
would_help a longer budget, or fewer arms, where nothing could be decided
report    the table while it goes on, and the sentence at the end
export    CSV, JSON, Markdown and LaTeX
picture   a bar for each arm with its interval, as PNG and as a page
"""
