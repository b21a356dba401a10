"""Views of a run: live in a terminal, and afterwards as a page that plays it again.

  story     the known facts of a run, period by period: grows live, or is read from a record
  regions   operators that are executed together while some ports have queues
  lines     a period as a line of text
  terminal  the live view
  stage     the output of the live view: a terminal, or lines on standard output
  drawing   positions of operators in the replay's picture
  picture   the graph as SVG, recoloured as time goes on
  curves    throughput, threads and queues over time, as SVG
  page      the replay: one HTML file that loads no other one; replay.css and replay.js are its
            parts

Nothing here measures. Samples come from `measurement.live`, a line of JSON each, or from a record.
"""
