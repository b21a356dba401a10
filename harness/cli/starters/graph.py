"""A graph of operators. Try:

millrace run graph.py --model dynamic
millrace compare graph.py --set cost=100,10000
"""

from harness.graph import Graph


def graph(cost: int = 1000, width: int = 2) -> Graph:
    """Return the graph. `--set cost=100` sets a parameter."""
    made = Graph("my graph", payload=64)  # bytes that a tuple carries
    source = made.source("source")  # rate=50_000: tuples/s; without it, as fast as it can
    parse = made.work("parse", cost=cost // 10)  # cost: floating-point operations for each tuple
    split = made.split("split", outputs=width)  # a tuple goes to one output, in turn
    sink = made.sink("sink", inputs=width)
    made.chain(source, parse, split)
    for number in range(width):
        crunch = made.work(f"crunch{number}", cost=cost)
        made.connect(split.output(number), crunch)
        made.connect(crunch, sink.input(number))
    return made
