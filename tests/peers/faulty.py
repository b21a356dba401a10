"""A peer with a planted fault: the asyncio program, and what the first argument says goes wrong."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

WHERE = Path(__file__).resolve().parents[2] / "harness" / "peers" / "asyncio" / "program.py"
spec = importlib.util.spec_from_file_location("program", WHERE)
program = importlib.util.module_from_spec(spec)
sys.modules["program"] = program
spec.loader.exec_module(program)

told = program.answer
SLEEPER = [sys.executable, "-c", "import time; time.sleep(100)"]


def last_work(op, run):
    return op.kind == "work" and op.ports[0][0][0].kind == "sink"


class Queue(program.asyncio.Queue):
    """The queue of the sink, which harms what passes through it."""

    def __init__(self, fault, capacity):
        super().__init__(capacity)
        self.fault, self.held, self.count = fault, None, 0

    async def put(self, item):
        if item is program.FINAL:
            return await super().put(item)
        self.count += 1
        if self.fault == "harm the end":  # of payloads, of which every 32nd is checked
            item = (*item[:4], item[4][:-1] + b"?")
        if self.count % 100 != 50 and self.held is None:
            return await super().put(item)
        if self.fault == "lose":
            return None
        if self.fault == "double":
            await super().put(item)
        elif self.fault == "harm":
            item = (*item[:3], item[3] + 1e-9, item[4])
        elif self.fault == "replace":
            item = (item[0] - 1, item[1], item[2], program.value_of(item[0] - 1), item[4])
        elif self.fault == "swap":
            if self.held is None:
                self.held = item
                return None
            await super().put(item)
            item, self.held = self.held, None
        return await super().put(item)


def plant(fault):
    read = program.read_plan
    counts, totals = program.counts, program.totals

    def read_and_harm(path):
        run = read(path)
        run.operators[-1].queue = Queue(fault, run.operators[-1].queue.maxsize)
        return run

    def answer(word, what):
        asked = word == "sample"
        if fault == "hang when asked" and asked:
            time.sleep(100)
        if fault == "crash" and asked:
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(7)
        if fault == "die by a signal" and asked:
            os.kill(os.getpid(), 11)
        if fault == "garbage" and asked:
            return print("WARN something unexpected", flush=True)
        if fault == "no counts" and asked:
            what = {}
        if fault == "too few counts" and asked:
            what = what | {"executed": what["executed"][1:]}
        if fault == "negative counts" and asked:
            what = what | {"executed": [-1] * len(what["executed"])}
        if fault == "counts that go back" and word == "totals":
            what = what | {"executed": [0] * len(what["executed"]), "ns": 0}
        if fault == "a bucket too high" and asked:
            what = what | {"latency": [592, 1]}
        if fault == "hang at the start" and word == "ready":
            time.sleep(100)
        if fault == "hang when told to stop" and word == "totals":
            time.sleep(100)
        if fault == "leave a process behind" and word == "started":
            Path(os.environ["PID_FILE"]).write_text(
                str(subprocess.Popen(SLEEPER, start_new_session=True).pid)
            )
        told(word, what)
        if fault == "speak unasked" and word == "started":
            print("by the way", flush=True)
        if fault == "hang at the end" and word == "totals":
            time.sleep(100)
        if fault == "fail at the end" and word == "totals":
            os._exit(3)
        return None

    program.read_plan = read_and_harm
    program.answer = answer
    program.counts = counts
    program.totals = totals


fault = sys.argv.pop(1)
plant(fault)
program.main()
