"""Machines that a run can be simulated on, and what a runtime costs on them: profiles of constants, each with its source.

machine    cores, clocks, caches, locks
software   what a push, a switch or a wake-up costs
constants  profiles: files of constants with a tag, a range and a source
"""
