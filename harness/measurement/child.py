"""The measuring process: `python -m harness.measurement.child < spec.json > record.json`. Its other
end is `process`.

It ends by `os._exit`, so that nothing that happens while the engine is torn down can cost a record
that is written already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from harness.errors import UserError
from harness.machines.host.parent import end_with


def main(words: Sequence[str]) -> int:
    """Do the run that stdin asks for; returns the exit code. With the words `--parent PID FD INPUT`
    it ends with process PID, tells its phases on FD, and has INPUT as its standard input during the
    run.
    """
    phases = given = -1
    if words[:1] == ["--parent"]:
        end_with(int(words[1]))
        phases, given = int(words[2]), int(words[3])
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an operator prints must not mix with the record
    # A law's matrices are small, and a numerical library's threads spin on the CPUs of those that
    # are measured. Snakemake exports as many as the job has CPUs; the library reads it when it is
    # loaded, later than here.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    from harness.measurement.spec import PeerModel, Run

    def announce(phase: str) -> None:
        if phases >= 0:
            os.write(phases, f"{phase}\n".encode())

    spec = sys.stdin.read()
    if given >= 0:
        os.dup2(given, 0)
    try:
        run = Run.from_json(spec)
        if isinstance(run.model, PeerModel):
            from harness.peers.measure import measure_peer

            record = measure_peer(run, announce)
        else:
            from harness.measurement.prepare import prepare
            from harness.measurement.run import measure

            record = measure(prepare(run), announce)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    import json

    with answer:
        answer.write(json.dumps(record, allow_nan=False) + "\n")
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
