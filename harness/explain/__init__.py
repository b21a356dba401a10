"""Explanation of a run by its record: its threads' time, and bounds of its throughput."""

from harness.explain.explanation import RunExplanation, explain

__all__ = ["RunExplanation", "explain"]
