"""The one interface to both engines: real threads (`harness.runtime`) and virtual ones
(`harness.simulator`).

engine        what an engine can do: Engine, over a small core
core          what an engine needs of the compiled code that runs its graph: Core
simulated     what the engine of a simulated run can do besides
sample        what it reports: Sample, Totals with their verdict, Balance
open          the engine for a graph, a model and a machine
counters      the counts that it reads
account       where tuples are at the end of a run, and the totals that follow
conservation  whether every operator got what was sent to it
thread_room   how many threads a run may make on this host
profiled      costs of typed operators, from a run that was profiled
"""

from harness.engine.engine import Engine
from harness.engine.open import open_engine
from harness.engine.sample import PROFILE_WINDOW_S, Balance, Sample, Totals
from harness.machines.machine import LOCAL, machines
from harness.machines.software import DEFAULT_SOFTWARE

__all__ = [
    "DEFAULT_SOFTWARE",
    "LOCAL",
    "PROFILE_WINDOW_S",
    "Balance",
    "Engine",
    "Sample",
    "Totals",
    "machines",
    "open_engine",
]
