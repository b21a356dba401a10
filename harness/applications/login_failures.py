"""LoginFailures (P17 Figure 1): users and hosts of failed logins, from the lines of a system log;
the larger form finds break-ins, too.

The larger form follows the figure's public parent, streamsx.demo.logwatch: the same operators by
their tasks, 27 in all, and 9 threaded ports at the same places. native/login_failures.hpp describes
each operator.
"""

from __future__ import annotations

import random
from functools import partial

from harness.applications import login
from harness.applications.given_input import (
    StreamedInput,
    checked_stream,
    read_or_generate,
    source_of,
    truncated_inputs,
)
from harness.errors import UserError
from harness.graph import Graph, Operator
from harness.graph.schema import Schema
from harness.operators.compiled import Compiled, kept

SECOND = 10**9  # ns

RHOST, USER, NAME = "bytes[64]", "bytes[32]", "string[256]"
LINE = Schema("line", {"number": "uint64", "shift": "int64", "at": "uint64", "text": "bytes[128]"})
LOG = Schema(
    "log",
    {
        "time": "time",
        "number": "uint64",
        "host": "bytes[32]",
        "service": "bytes[32]",
        "message": "bytes[128]",
    },
)
FAILURE = Schema(
    "failure",
    {
        "time": "time",
        "number": "uint64",
        "uid": "string[12]",
        "euid": "string[12]",
        "tty": "string[20]",
        "rhost": RHOST,
        "user": USER,
    },
)
ATTEMPTS = Schema(
    "attempts",
    {
        "time": "time",
        "span": "int64",
        "count": "uint32",
        "window": "uint32",
        "rhost": RHOST,
        "user": USER,
    },
)
SUCCESS = Schema("success", {"time": "time", "user": USER})
BREAK_IN = Schema(
    "break_in",
    {"suspected": "time", "opened": "time", "window": "uint32", "rhost": RHOST, "user": USER},
)
"""Texts that are bytes in these are LongText (native/operator.hpp): what is too long for a tuple
lies elsewhere. Results have whole names:"""


def _found(name: str, schema: Schema) -> Schema:
    """Return the schema of results of a kind of tuple."""
    return Schema(name, dict(schema.types) | {"rhost": NAME, "user": NAME})


FOUND_FAILURE = _found("found_failure", FAILURE)
FOUND_SUSPECT = _found("found_suspect", ATTEMPTS)
FOUND_BREAK_IN = _found("found_break_in", BREAK_IN)
SCHEMAS = (
    *(LINE, LOG, FAILURE, ATTEMPTS, SUCCESS, BREAK_IN),
    *(FOUND_FAILURE, FOUND_SUSPECT, FOUND_BREAK_IN),
)

PARSERS, FAILURE_PARSERS = 7, 4  # P17 Figure 1
LARGE_PARSERS = 4
WINDOWS = ((5, 60), (50, 600), (300, 3600))
"""Suspects: so many failures of one remote host within so many seconds."""

RULE = (3600 * SECOND, 3600 * SECOND)
"""Lateness of lines, and the jump that a line may make ahead [ns], for break-ins; guesses. Where
clocks are set back in autumn, lines are an hour late."""

COSTS = {"lines": 150, "parse": 400, "filter": 100, "failure": 300, "other": 100}
"""Approximate cost of a tuple [FLOP], for the size of batches."""


# -- input -----------------------------------------------------------------------------------------


def input_of(records: int, seed: int, path: str) -> tuple[bytes, bool]:
    """Return the text of a log: generated, or of the file `path`; and True if that is truncated.

    Raises UserError, in one line, for a file without any line of a log.
    """
    return read_or_generate(path, lambda: generate(records, seed), _check)


def stream_of(path: str) -> StreamedInput:
    """Return a log that is read once, as a stream. Raises UserError for a file without any line of
    a log.
    """
    return checked_stream(path, _check)


def _check(path: str, head: bytes) -> None:
    if login.lines(head, 1, 1).counted(3) == 0:
        raise UserError(
            f"{path}: must be lines of a system log (time, host, service, message); none of its "
            "first MiB is one"
        )


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
USERS = ("root", "guest", "test", "admin", *(f"user{number}" for number in range(15)))
HOSTS = ("203.0.113.7", *(f"host{number}.example.net" for number in range(12)))
MAIN_HOST = 0.87  # share of failures that are of the first host
FAILED, OPENED = 0.57, 0.0012  # shares of lines
SAME_SECOND = 0.43


def generate(records: int, seed: int) -> bytes:
    """Return lines like those of a real log of three days of 2005, whose shares are above: most are
    failures of one remote host.
    """
    draw = random.Random(seed)
    chance, pick = draw.random, draw.choice
    seconds, day, month = 4 * 3600, 14, 5
    pid = 19000
    lines = []
    for _ in range(records):
        if chance() >= SAME_SECOND:
            seconds += 4 + (chance() < 0.5) if chance() < 0.98 else draw.randrange(60, 600)
            while seconds >= 86400:
                seconds -= 86400
                day += 1
                if day > 28:
                    day, month = 1, (month + 1) % 12
        when = (
            f"{MONTHS[month]} {day:2d} "
            f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d} combo "
        )
        pid += 1
        what = chance()
        if what < FAILED:
            host = HOSTS[0] if chance() < MAIN_HOST else pick(HOSTS)
            user = f"  user={pick(USERS)}" if chance() < 0.7 else " "
            lines.append(
                f"{when}sshd(pam_unix)[{pid}]: authentication failure; "
                f"logname= uid=0 euid=0 tty=NODEVssh ruser= rhost={host}{user}"
            )
        elif what < FAILED + OPENED:
            lines.append(
                f"{when}sshd(pam_unix)[{pid}]: session opened for user {pick(USERS)} by (uid=0)"
            )
        elif what < 0.75:
            lines.append(f"{when}sshd(pam_unix)[{pid}]: check pass; user unknown")
        elif what < 0.93:
            lines.append(f"{when}ftpd[{pid}]: connection from {pick(HOSTS)} () at {when[:15]} 2005")
        else:
            lines.append(f"{when}kernel: Out of Memory: Killed process {pid} (httpd).")
    return "\n".join([*lines, ""]).encode()


# -- graphs ----------------------------------------------------------------------------------------


class Built:
    """A graph, and its operators' counters, which `graph.counts` returns when a run is over."""

    def __init__(
        self,
        name: str,
        text: bytes | StreamedInput,
        truncated: bool,
        cycles: int,
        ports: int,
        keep: int,
    ) -> None:
        self.graph = Graph(name, payload=0)
        self.graph.counts = self.counts
        self.keep = keep
        self.lines, self.step = source_of(
            text,
            truncated,
            partial(login.lines, text, ports, cycles),
            partial(login.lines_in_pieces, ports),
        )
        self.broken: list[Compiled] = []
        self.parsed: list[Compiled] = []
        self.late: list[Compiled] = []
        self.ahead: Compiled | None = None
        self.sinks: dict[str, tuple[Compiled, Schema]] = {}
        self.join: Compiled | None = None  # in the larger form
        self.source = self.graph.typed_source(
            "lines", self.step, [LINE] * ports, cost=COSTS["lines"]
        )

    def add(
        self, name: str, compiled: Compiled, takes: object, gives: object, cost: str = "other"
    ) -> Operator:
        """Add an operator."""
        return self.graph.typed(name, compiled.process, takes, gives, cost=COSTS[cost])

    def parsers(
        self, name: str, made: object, width: int, takes: Schema, gives: Schema, cost: str
    ) -> list[Operator]:
        """Add `width` operators that count the lines that they cannot read."""
        added = []
        for number in range(width):
            compiled = made()
            self.broken.append(compiled)
            if takes is LINE:
                self.parsed.append(compiled)
            added.append(
                self.add(f"{name}{number + 1}" if width > 1 else name, compiled, takes, gives, cost)
            )
        return added

    def sink(self, name: str, schema: Schema, feeds: object) -> Operator:
        """Add a sink that keeps arriving tuples."""
        made, found = {
            FAILURE: (login.collect_failures, FOUND_FAILURE),
            ATTEMPTS: (login.collect_suspects, FOUND_SUSPECT),
            BREAK_IN: (login.collect_break_ins, FOUND_BREAK_IN),
        }[schema]
        compiled = made(self.keep)
        compiled.results = found
        self.sinks[name] = (compiled, found)
        sink = self.graph.typed_sink(name, compiled.process, schema)
        for port in feeds:
            self.graph.connect(port, sink)
        return sink

    def counts(self) -> dict[str, int]:
        """Return the number of records read, broken, and of another kind; in the larger form of
        those that are late for its join, or ahead of time; and of results by sink.
        """
        found = {"records": self.lines.counted(0) + self.lines.counted(1)}
        found["broken"] = self.lines.counted(1) + sum(
            compiled.counted(0) for compiled in self.broken
        )
        found["others"] = sum(compiled.counted(1) for compiled in self.parsed)
        found["truncated"] = truncated_inputs(self.step)
        if self.ahead is not None:
            found["late"] = sum(compiled.counted(0) for compiled in self.late)
            found["ahead of time"] = self.ahead.counted(0)
        return found | {name: compiled.counted(0) for name, (compiled, _) in self.sinks.items()}

    def results(self) -> dict[str, list[dict[str, object]]]:
        """Return the tuples that the sinks have kept, by sink, in the order of arrival."""
        return {name: kept(compiled, schema) for name, (compiled, schema) in self.sinks.items()}

    def digests(self) -> dict[str, int]:
        """Return a digest of all that arrived, by sink: it does not depend on the order."""
        return {name: compiled.counted(1) for name, (compiled, _) in self.sinks.items()}


def build_figure(
    text: bytes | StreamedInput,
    truncated: bool,
    cycles: int,
    by_hand: bool,
    keep: int = 0,
    rule: tuple[int, int] = RULE,
) -> Built:
    """Build P17 Figure 1: 14 operators, 13 threaded ports if they are placed by hand; the sink
    keeps the first `keep` tuples. It needs no `rule`.
    """
    made = Built("login-failures", text, truncated, cycles, PARSERS, keep)
    parsers = made.parsers("parse", partial(login.parse, False), PARSERS, LINE, LOG, "parse")
    only = made.add(
        "failures only",
        login.failures_only(FAILURE_PARSERS, False, rule),
        LOG,
        [LOG] * FAILURE_PARSERS,
        "filter",
    )
    readers = made.parsers(
        "failure", partial(login.parse_failure, False), FAILURE_PARSERS, LOG, FAILURE, "failure"
    )
    for port, parser in enumerate(parsers):
        made.graph.connect(made.source.output(port), parser)
        made.graph.connect(parser, only)
    for port, reader in enumerate(readers):
        made.graph.connect(only.output(port), reader)
    sink = made.sink("failures", FAILURE, readers)
    if by_hand:
        for operator in (*parsers, only, *readers, sink):
            made.graph.threaded_port(operator)
    return made


def build_large(
    text: bytes | StreamedInput,
    truncated: bool,
    cycles: int,
    by_hand: bool,
    keep: int = 0,
    rule: tuple[int, int] = RULE,
) -> Built:
    """Build the larger form: 27 operators, and 9 threaded ports if they are placed by hand. `rule`:
    lateness and jump of the time of lines [ns].
    """
    made = Built("login-failures", text, truncated, cycles, 1, keep)
    graph, add = made.graph, made.add
    divide = add("divide", login.lines_in_turn(LARGE_PARSERS), LINE, [LINE] * LARGE_PARSERS)
    graph.connect(made.source, divide)
    sequencer = add("sequencer", login.log_sequencer(), LOG, LOG)
    for port, parser in enumerate(
        made.parsers("parse", partial(login.parse, True), LARGE_PARSERS, LINE, LOG, "parse")
    ):
        graph.connect(divide.output(port), parser)
        graph.connect(parser, sequencer)
    made.ahead = login.failures_only(1, True, rule)
    only = add("failures only", made.ahead, LOG, LOG, "filter")
    mark = add("mark", login.mark(FAILURE_PARSERS), LOG, [LOG] * FAILURE_PARSERS)
    gather = add("gather", login.failure_sequencer(), FAILURE, [FAILURE, FAILURE])
    graph.connect(sequencer, only)
    graph.connect(only, mark)
    readers = made.parsers(
        "failure", partial(login.parse_failure, True), FAILURE_PARSERS, LOG, FAILURE, "failure"
    )
    for port, reader in enumerate(readers):
        graph.connect(mark.output(port), reader)
        graph.connect(reader, gather)
    made.sink("failures", FAILURE, [gather.output(0)])
    made.late = [login.suspects(), login.successes_only(rule)]
    suspects = add("suspects", made.late[0], [ATTEMPTS] * len(WINDOWS), [ATTEMPTS, ATTEMPTS])
    counters, cuts = [], []
    for port, (count, seconds) in enumerate(WINDOWS):
        counters.append(
            add(f"attempts{seconds}", login.count_attempts(count, seconds), FAILURE, ATTEMPTS)
        )
        cuts.append(add(f"cut off{seconds}", login.cut_off(seconds * SECOND), ATTEMPTS, ATTEMPTS))
        graph.connect(gather.output(1), counters[-1])
        graph.connect(counters[-1], cuts[-1])
        graph.connect(cuts[-1], suspects.input(port))
    successes = add("successes only", made.late[1], LOG, LOG, "filter")
    graph.connect(sequencer, successes)
    opened = made.parsers("success", login.parse_success, 1, LOG, SUCCESS, "other")[0]
    graph.connect(successes, opened)
    made.join = login.break_ins()
    break_ins = add("break-ins", made.join, [ATTEMPTS, SUCCESS], BREAK_IN)
    graph.connect(suspects.output(1), break_ins.input(0))
    graph.connect(opened, break_ins.input(1))
    writers = [
        made.sink("suspects writer", ATTEMPTS, [suspects.output(0)]),
        made.sink("break-ins writer", BREAK_IN, [break_ins]),
    ]
    if by_hand:
        for operator in (
            divide,
            sequencer,
            mark,
            counters[0],
            cuts[0],
            successes,
            break_ins,
            *writers,
        ):
            graph.threaded_port(operator)
    return made


FORMS = {"figure": build_figure, "large": build_large}
