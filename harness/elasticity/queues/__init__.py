"""Laws that decide where queues stand and how many threads run, while tuples flow (M19): one law a file.

  groups        operators by what they cost
  middleware19  M19 §3; its rules R1 to R5 are middleware19_search
  streams       what IBM Streams really does; how it looks for operators is streams_ports
  millrace      our own, the default

A law of this kind begins without any queue at the ports that it may switch (its places), and with the lowest level.
"""
