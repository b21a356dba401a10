"""Parts that tests of applications share: models, a run to its end, and a run while threads and
queues change at random.
"""

from harness.runtime.protocol import POLICIES

from harness.engine import open_engine
from harness.models import Coroutine, Dedicated, Dynamic, Manual, Multilevel

MODELS = {
    "manual": lambda: Manual(),
    "dedicated": lambda: Dedicated(),
    "dynamic": lambda: Dynamic(threads=3),
    "dynamic, short queues": lambda: Dynamic(threads=2, queue_capacity=2),
    "multilevel": lambda: Multilevel(),
    "coroutine": lambda: Coroutine(threads=2),
    "coroutine, short queues": lambda: Coroutine(threads=2, queue_capacity=3),
}


def run(built, model, during=lambda engine: None):
    """Run a graph to its end; `during` is called with the engine from time to time."""
    engine = open_engine(built.graph, model)
    engine.start()
    while not engine.finished():
        during(engine)
        engine.sample(0.005)
    return engine.stop(drain=True, timeout_s=20)


def in_any_order(tuples):
    return sorted(tuple(sorted(each.items())) for each in tuples)


def run_shaken(built, model, draw):
    """Run a graph under the model of this name while all that may change there changes as `draw`
    says.
    """
    capacity = draw.choice([1, 7, 100, None])
    ports = [port for port in built.graph.input_ports() if port not in built.graph.threaded]

    def shake(engine):
        engine.set_threads(draw.randint(1, 5))
        engine.set_queued(draw.sample(ports, draw.randint(0, len(ports))), draw.random() < 0.5)

    match model:
        case "manual":
            return run(built, Manual())
        case "dedicated":
            return run(built, Dedicated(queue_capacity=capacity))
        case "coroutine":
            policy, quantum = draw.choice(sorted(POLICIES)), draw.choice([0.1, 1.0, 50.0])
            threads = draw.randint(1, 4)
            return run(
                built,
                Coroutine(
                    threads=threads, queue_capacity=capacity, policy=policy, quantum_ms=quantum
                ),
            )
        case "dynamic":
            chosen = Dynamic(threads=2, queue_capacity=capacity)
        case "multilevel":
            chosen = Multilevel(queue_capacity=capacity)
    return run(built, chosen, shake if ports else lambda engine: None)
