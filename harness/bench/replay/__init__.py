"""Replay of a recorded trace, open loop: the decisions that a law would have made.

decisions  feeds a trace to a law, and returns its decisions
trace      a trace in a file of its own
record     the record of a run as a trace
values     values of both, checked
"""

from __future__ import annotations

from harness.bench.replay.decisions import answer, replay, told
from harness.bench.replay.trace import INPUTS, parse_trace

__all__ = ["INPUTS", "answer", "parse_trace", "replay", "told"]
