"""Scenarios of laws that choose threads and replicas.

world        what each configuration brings, by operators' costs
graphs       chains, trees and so on, as laws see them
scenario     graph, costs, load, bounds and noise; the library of them
user_graphs  a user's own scenarios
oracle       the configurations that are best, and the least that are as good
"""
