"""Operators on typed streams, compiled: windows, aggregates, joins, sketches, and their building
blocks (`native/`).
"""
