"""Limits by which the tables and figures of the bench count scenarios."""

ACCURATE_SHARE = 0.97  # share of the best throughput from which a law has found the best level
MAX_QUIET_NOISE = 0.05  # highest noise in the first tables
