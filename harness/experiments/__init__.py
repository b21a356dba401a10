"""Experiments and their results.

freshness  the files that each result depends on
"""
