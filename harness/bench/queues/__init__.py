"""Scenarios of laws that place queues and choose threads (M19 §1).

graphs         the shapes, the costs and the random graphs of the library
world          what a machine and a runtime cost, from their profiles
regions        what each thread has to do, given where queues stand
surface        throughput over placement and threads
oracle         the best placement and level of a surface
known          its answers, kept from run to run
scenario       surfaces with noise, phases and bounds; the library of them
own            a user's truths; user_surfaces reads them
contestants    the laws, and what they must beat
simulated      the same on the simulator
"""
