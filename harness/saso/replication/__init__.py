"""The bench of laws that choose threads and replicas: a world of operators in which they are driven, closed loop.

world        what each configuration brings, by operators' costs
graphs       chains, trees and so on, as laws see them
scenario     graph, costs, load, bounds and noise; the library of them
oracle       the configurations that are best, and the least that are as good
closed_loop  drives a law through a scenario
score        what came of it
bench        all laws on all scenarios
report       the tables
"""
