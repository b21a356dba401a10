"""The bench that compares control laws (M19 §1: stability, accuracy, settling time, overshoot).

  scenario     the interface of a scenario: it takes a configuration and returns a reading
  threads      scenarios of laws that choose threads: curves of throughput over levels
  queues       of laws that also place queues: surfaces of graphs in worlds; and the same on the
               simulator
  replicas     of laws that also choose replicas: graphs of co-routines
  closed_loop  drives a law through a scenario
  score        scores a run of a law
  bench        runs all laws on all scenarios; `side_by_side`: the processes that they run in
  report       the tables by which laws are compared; `goals`: the goals of our law that places
               queues
  replay       feeds a recorded trace to a law, open loop
  expression   formulas of throughput in users' curves; `checks`: their other values

The bench runs no graph (`queues.simulated` does). It computes throughputs, so that all laws get the
same ones and the best configuration is known.
"""
