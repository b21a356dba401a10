"""Watching a run: live in a terminal, and afterwards as a page that plays it again.

  story     what is known of a run, period by period: grows live, or is read from a record
  regions   which operators are executed together while some ports have queues
  lines     a period as a line of text
  terminal  the live view
  stage     where it is shown: a terminal, or lines for whoever reads standard output
  drawing   where operators stand in the replay's picture
  picture   the graph as SVG, recoloured as time goes on
  curves    throughput, threads and queues over time, as SVG
  page      the replay: one HTML file that needs nothing from elsewhere; replay.css and replay.js are its parts

Nothing here measures. What is watched comes from `measurement.live`, a line of JSON a sample, or from a record.
"""
