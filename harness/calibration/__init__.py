"""Measurements of the machine at hand and of the runtime's own steps, for simulated runs on `local`
(`millrace calibrate`).

  topology.py       CPUs and caches, as the system reports them
  machine_costs.pyx cores, cache lines, copies; sleeping, waking, switching
  steps.pyx         the runtime's functions, one by one, without running a graph; and lists, flags,
                    locks, multiplies           graphs.py   whose steps they are
  probes.py         groups of probes of the machine: constants by dotted path, from one round
  software.py       the same of the runtime's steps: what is left when what they call is taken away
  rounds.py         groups in turn, several times; medians and quartiles
  profile.py        the profiles that are written: measured constants in place of those of a base

No constant is fitted to the throughput of a graph. What cannot be measured here keeps the value,
tag and source of the base.
"""
