"""Claims of the papers as data, and the check of them against the tables.

  pldi17.yaml, middleware19.yaml, elb.yaml, cstream.yaml
                          the claims of a paper: place, statement in our words, cells, predicate; or
                          why it cannot be tested
  claim.py                reads and checks them
  tables.py               the tables of experiments, and which machines they hold (`Venue`)
  evidence.py             one cell on one machine: the arm that a claim's word means, and what was
                          read (`RangedNumber`)
  quantities.py           numbers of an arm's row; timeline.py, bursts.py, adaptation.py: of a run
                          over time
  reading.py              numbers with a range, and three-valued comparisons of them
  predicates.py           all statements that a claim can make about readings; curves.py: of
                          throughput over levels
  levels.py               the levels that a claim about the best one needs
  evaluate.py             claims x machines -> verdicts
  report.py, page.py      verdicts as Markdown and JSON; as one HTML page

Nothing is fitted to a claim: a claim that fails stays in the report as failed.
"""
