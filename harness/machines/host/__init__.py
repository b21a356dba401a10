"""This host: its CPUs, who uses them, and the processes on it.

cpu          whose work the CPUs did
cgroup       the limits of a container, and what was used of its quota
memory_room  how much memory a run may take
descendants  all processes that a process has started
parent       a process that ends with the one that started it
"""
