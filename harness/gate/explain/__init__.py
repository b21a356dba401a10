"""Explanation of a verdict: where each side spends its time, and which functions grew.

profile.py      a profile: stacks and their cost; functions that grew
profilers.py    tools that make one of a process
explain.py      both sides of a program, profiled in turns
flame_graph.py  two profiles as an SVG
words.py        an explanation as text
"""
