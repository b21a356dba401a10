"""Replay of the record of a run, open loop: the decisions that a law would have made.

decisions  feeds a trace to a law, and returns its decisions
record     the record of a run as a trace
values     its values, checked
"""

from __future__ import annotations

from harness.bench.replay.decisions import answer, place_names, replay
from harness.bench.replay.record import parse_record

__all__ = ["answer", "parse_record", "place_names", "replay"]
