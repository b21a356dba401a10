"""The SASO bench: which control law is best (M19 §1: stability, accuracy, settling time, overshoot).

  curves       throughput over thread level: the library, and a user's own expressions
  scenario     a curve with noise, events and bounds; the library of scenarios
  closed_loop  drives a law through a scenario
  score        what the law made of it
  bench        all laws on all scenarios
  report       the table that decides
  replay       a recorded trace, open-loop
  user_curves  a user's own scenarios; `expression` and `checks`: what may stand in them
  placement    the same for laws that place queues: another kind of scenario

Nothing here runs a graph: throughputs come from curves, so that every law meets the same ones and the best level is known.
"""
