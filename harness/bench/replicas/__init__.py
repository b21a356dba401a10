"""Scenarios of laws that choose threads and replicas.

world     throughput of each configuration, by operators' costs
graphs    chains, trees and so on, as laws see them
scenario  graph, costs, load, bounds and noise; the library of them
oracle    the best configurations, and the smallest ones that are as good
"""
