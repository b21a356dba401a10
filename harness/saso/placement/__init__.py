"""The SASO bench in two dimensions: where queues stand and how many threads run (M19 §1).

  graphs       the shapes, the costs and the random graphs of the library
  world        what a machine and a runtime cost, from their profiles
  regions      what each thread has to do, given where queues stand
  surface      throughput over placement and threads
  oracle       the best placement and level of a surface
  known        its answers, kept from run to run
  scenario     surfaces with noise, phases and bounds; the library of them
  own          a user's truths; user_surfaces reads them
  closed_loop  drives a law through a scenario
  score        what the law made of it
  contestants  the laws, and what they must beat
  bench        all contestants on all scenarios
  simulated    the same on the simulator
  report       the tables that decide

Nothing here runs a graph. As in `harness.saso`, the bench knows the truth and the laws do not.
"""
