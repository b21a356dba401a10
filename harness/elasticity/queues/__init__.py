"""Laws that decide which ports have queues and how many threads run, while tuples flow (M19): one
law a file.

  groups        operators grouped by cost
  middleware19  M19 §3; middleware19_search has its rules R1 to R5
  streams       the law that IBM Streams really has; streams_ports is its search for operators
  millrace      our own, the default

A law of this kind begins at the lowest level and without a queue at the ports that it may switch
(its places).
"""
