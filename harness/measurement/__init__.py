"""Measuring: warm-up, steady state, interleaved repeats, host fitness, records.

  spec      what one run is asked to do
  laws      the laws of a run, and what they need of its engine
  prepare   what a run is made of: layout, law, record and engine
  observe   start, warm up or adapt until the run is stationary, measure and stop one engine
  time_use  what threads spent their time on in the window
  latency   percentiles of a histogram
  control   samples to laws, decisions to the engine
  period_text a period of a run as text
  run       one run and its record; the room's front door
  process   the same in a fresh process (`child` is its other end)
  block     all arms of a cell, interleaved
  lock      one measuring process at a time
  assemble  spec + observation + host -> record
  records   records in files, checked against their declaration
  record/   the declaration of a record, and what follows from it
  host      fitness of the machine (`cpu_use`)
  interval  mean and 95 % interval
  source    the commit that was measured

A measuring process must start in under 0.2 s: nothing here imports a heavy module at its top.
"""
