"""One archive with which another machine measures, without a network; and the records from it.

contents   the experiments and the files that they need
wheels     Millrace as a wheel, those that it depends on, and what they need of a machine
archive    the archive itself
measure    the script in it, which the other machine runs
brought    records that were brought from there
"""
