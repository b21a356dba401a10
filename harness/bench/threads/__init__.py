"""Scenarios of laws that choose threads alone.

curves       throughput over thread level: the library's shapes
scenario     a curve with noise, events and bounds; the library of scenarios
paced        a curve beside a paced source, with a bound on latency; the library of scenarios
user_curves  a user's own scenarios, of both
"""
