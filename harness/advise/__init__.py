"""Advice on the threads of a graph: which model, threads, queues, replicas and batch.

costs       what each operator and each queue costs, from explained runs
placements  where queues divide a graph into regions of about equal work
candidates  arms that may be the best, with the throughput that the bounds allow
halving     successive halving by the paired test of `compare`
advice      what was found
reason      why, in two sentences
words       the same for the reader's own runtime
adviser     the steps, within a budget
report      for people, and as JSON
"""
