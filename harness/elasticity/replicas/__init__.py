"""Laws that decide how many threads run and how many replicas operators have, while tuples flow
(C-Stream §4): one law a file.

  rates      true rates: tuples over useful time, the inverse of an operator's cost
  cstream    C-Stream §4
  millrace   our own, the default

A law of this kind begins with one replica of each operator, and with the lowest level.
"""
