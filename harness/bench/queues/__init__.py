"""Scenarios of laws that place queues and choose threads (M19 §1).

graphs         the shapes, the costs and the random graphs of the library
world          the costs of a machine and a runtime, from their profiles
regions        the work of each thread under a placement of queues
surface        throughput over placement and threads
oracle         the best placement and level of a surface
known          the oracle's answers, kept from run to run
scenario       surfaces with noise, phases and bounds; the library of them
contestants    the laws and the baselines
simulated      scenarios on the simulator
"""
