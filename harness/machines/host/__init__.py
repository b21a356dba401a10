"""This host: its CPUs, their use, and the processes on it.

cpu          the CPU time used by this process, by others and by the hypervisor
cgroup       the limits of a container, and what was used of its quota
memory_room  how much memory a run may take
descendants  all processes that a process has started
parent       a process that ends with the one that started it
"""
