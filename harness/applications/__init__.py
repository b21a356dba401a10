"""The papers' applications: their compiled operators (`native/`), and the graphs that topologies
build of them.
"""
