"""Operators on typed streams, compiled: windows, aggregates, joins, sketches, and what others are made of (`native/`)."""
