"""The bench of control laws: which is best (M19 §1: stability, accuracy, settling time, overshoot).

  scenario     what a scenario is, whatever its laws decide about: a configuration goes in, a reading comes out
  threads      scenarios of laws that choose threads: curves of throughput over levels
  queues       of laws that also place queues: surfaces of graphs in worlds; and the same on the simulator
  replicas     of laws that also choose replicas: graphs of co-routines
  closed_loop  drives a law through a scenario
  score        what the law made of it
  ablation     what the rules of our laws are worth
  bench        all laws on all scenarios; `side_by_side`: the processes that they run in
  report       the tables that decide; `goals`: how far our law that places queues meets its own
  replay       a recorded trace, open loop
  documents    what users' scenarios share on all benches; `expression` and `checks`: what may stand in them

Nothing here runs a graph: throughputs are computed, so that every law meets the same ones and the best configuration is known.
"""
