"""Machines: those that a run can be simulated on, and this host.

machine    cores, clocks, caches, locks
software   what a push, a switch or a wake-up costs
constants  profiles: files of constants with a tag, a range and a source
place      where a run is made: real threads, or a described machine
host       this host: its CPUs, their use, its processes
"""
