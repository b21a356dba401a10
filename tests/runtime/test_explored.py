"""Protocols of the runtime's headers in many interleavings (tests/native/explore.hpp), as they are
shipped; and faults that are planted in copies of them are found.

Each program, tests/native/explore_*.cpp, says which invariants it checks. `make explore` goes
further.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.runtime.planted import Edit, Fault, compile_program, explore

pytestmark = [pytest.mark.heavy, pytest.mark.plain_build]


def fault(
    scenario: str, failure: str, *edits: Edit, surprises: int = 2, by_chance: bool = False
) -> Fault:
    return Fault(scenario, failure, edits, surprises, by_chance)


CO = "coroutines.hpp"
LOOKS_AGAIN = """platform_.fence();
      if (!may_go_on(co, blocked)) return;
      if (!claim(co, blocked)) return;"""
STOPS = "suspended-and-stopped"

COROUTINES = {
    "no fence before a co-routine that blocks looks": fault(
        "two-threads", "deadlock", Edit(CO, LOOKS_AGAIN, LOOKS_AGAIN.split("\n", 1)[1])
    ),
    "no fence before a thread that has written looks": fault(
        "two-threads",
        "deadlock",
        Edit(
            CO,
            "platform_.fence(); any_of(first, [&](Coroutine& co) { return wake_reader(co); });",
            "any_of(first, [&](Coroutine& co) { return wake_reader(co); });",
        ),
    ),
    "no fence before a thread that has read looks": fault(
        "two-threads",
        "deadlock",
        Edit(CO, "if (writers.empty()) return; platform_.fence();", "if (writers.empty()) return;"),
    ),
    "a co-routine that blocks does not look": fault(
        "two-threads", "deadlock", Edit(CO, LOOKS_AGAIN, "platform_.fence(); return;")
    ),
    "a co-routine is blocked while it is on its stack": fault(
        "two-threads",
        "a race",
        Edit(
            CO,
            "graph_.leaves(self.index);\n"
            "self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(request));",
            "graph_.leaves(self.index); if (request == READ) settle(self, CoState::READ_BLOCKED);\n"
            "self.fibre.switch_to(self.thread->own, reinterpret_cast<void*>(request));",
        ),
        Edit(CO, "settle(*co, CoState::READ_BLOCKED); break;", "break;"),
    ),
    "a blocked co-routine is made ready without a claim": fault(
        "two-threads",
        "a fibre is resumed while it is on its stack|expected",
        Edit(
            CO,
            "if (!may_go_on(co, blocked) || !claim(co, blocked)) return false;",
            "if (!may_go_on(co, blocked)) return false; claim(co, blocked);",
        ),
    ),
    "the blocked state is stored without an order": fault(
        "two-threads",
        "a race",
        Edit(
            CO,
            "co.state.store(blocked, std::memory_order_release);",
            "co.state.store(blocked, std::memory_order_relaxed);",
        ),
    ),
    "the end of a stream wakes nobody": fault(
        "two-threads",
        "deadlock",
        Edit(
            "explore_coroutines.cpp",
            "of.graph.open.fetch_sub(1, std::memory_order_release); of.all.written(0);",
            "of.graph.open.fetch_sub(1, std::memory_order_release);",
        ),
    ),
    "a reader that has completed wakes no sender": fault(
        "reader-leaves",
        "deadlock",
        Edit(CO, "for (const uint32_t writer : graph_.writers(port)) given_back(writer);", ";"),
    ),
    "a reader ends when the stream is closed, whatever is queued": fault(
        "two-threads",
        "expected",
        Edit(
            CO,
            "graph_.closed(co.inputs[i]) && graph_.size(co.inputs[i]) < need",
            "graph_.closed(co.inputs[i])",
        ),
    ),
    "a suspended thread sleeps on when the run is over, with the last co-routine": fault(
        STOPS,
        "deadlock",
        Edit(
            CO,
            "thread.suspended.load(std::memory_order_relaxed) && !over()",
            "thread.suspended.load(std::memory_order_relaxed)",
        ),
        surprises=1,
    ),
    "a thread leaves when none is ready, though one is blocked and about to be woken": fault(
        STOPS,
        "expected",
        Edit(
            CO,
            "over() && ready_.empty() && asleep_.empty() && open_ <= running_",
            "over() && ready_.empty() && asleep_.empty()",
        ),
        surprises=1,
    ),
}

RE = "replicas.hpp"
WAKES_ITS_OWNER = "all_.wake_this(*replicas_[next.owner.load(std::memory_order_seq_cst)].co);"
REPLICAS = {
    "a run seems deadlocked while another thread changes the number of replicas": fault(
        "short-queue",
        "deadlock",
        Edit(CO, "outside_.load(std::memory_order_acquire) == 0 && open_ > 0", "open_ > 0"),
    ),
    "the first replica ends alone though others have begun": fault(
        "one-then-any", "deadlock", Edit(RE, "width_.load(std::memory_order_relaxed) == 1", "true")
    ),
    "the one whose turn it is now is not woken": fault(
        "one-ticket-at-a-time", "deadlock", Edit(RE, WAKES_ITS_OWNER, ";")
    ),
    "another one is woken than the one whose turn it is now": fault(
        "one-ticket-at-a-time",
        "deadlock",
        Edit(RE, WAKES_ITS_OWNER, WAKES_ITS_OWNER.replace("seq_cst", "relaxed")),
    ),
    "the one who leaves at the end wakes nobody": fault(
        "two", "deadlock", Edit(RE, "all_.wake_one_of(first_); return nullptr;", "return nullptr;")
    ),
    "the one that finds that it is its turn leaves what is in its slot": fault(
        "two", "expected", Edit(RE, "if (!send_slot(self, slot)) return done;", ";")
    ),
    "it looks for its turn before it closes its ticket": fault(
        "two",
        "deadlock",
        Edit(
            RE,
            "if (slot.word.fetch_or(CLOSED, std::memory_order_acq_rel) & FIRST) "
            "send_on(self, ticket);",
            "const bool turn = slot.word.load(std::memory_order_acquire) & FIRST; "
            "slot.word.fetch_or(CLOSED, std::memory_order_acq_rel); "
            "if (turn) send_on(self, ticket);",
        ),
    ),
    "the window is not heeded": fault(
        "one-ticket-at-a-time",
        "a race|expected",
        Edit(
            RE,
            "ticket - passed_.load(std::memory_order_acquire) >= sizes_.window",
            "ticket - passed_.load(std::memory_order_acquire) > sizes_.window",
        ),
    ),
    "the first one ends while tickets are open": fault(
        "two", "expected|deadlock", Edit(RE, "(self.number != 0 || open_tickets() == 0)", "true")
    ),
    "the first one is alone while tickets are open": fault(
        "by-key-then-any",
        "expected|a race|deadlock",
        Edit(RE, "living_ == 1 && open_tickets() == 0", "living_ == 1"),
    ),
    "one that is too many stays where the first one is alone": fault(
        "two-then-any",
        "deadlock|livelock",
        Edit(
            RE,
            "self.number >= width && may_leave()",
            "!alone_.load(std::memory_order_acquire) && self.number >= width && may_leave()",
        ),
    ),
    "two work on one bin": fault(
        "by-key", "a race|expected", Edit(RE, "free = bin.last == NONE;", "free = true;")
    ),
    "one leaves with whom all others wait for": fault(
        "by-key-then-any",
        "deadlock",
        Edit(RE, "if (takeable_.empty() || working_ < living_ - 1) return true;", "return true;"),
        by_chance=True,
    ),
}

FLAG = "ready_flag.hpp"
RING = "spsc_ring.hpp"
MOVES_ON = "head_.store(head_.load(std::memory_order_relaxed) + count, std::memory_order_release);"
PORTS = "ready_ports.hpp"
PARKING = "parking.hpp"
ME = "explore_ready.cpp"
LETS_GO = "return word_.fetch_add(0, std::memory_order_acq_rel) == 0 && look(ring, consuming);"
READY = {
    "a holder reads the flag without a read-modify-write": fault(
        "port",
        "deadlock",
        Edit(
            FLAG,
            LETS_GO,
            "return word_.load(std::memory_order_acquire) == 0 && look(ring, consuming);",
        ),
        surprises=3,
    ),
    "a holder lets go by a store alone, and looks": fault(
        "port", "deadlock", Edit(FLAG, LETS_GO, "return look(ring, consuming);"), surprises=3
    ),
    "a holder does not look": fault("port", "deadlock", Edit(FLAG, LETS_GO, "return false;")),
    "a scheduler thread looks before it writes": fault(
        "port",
        "deadlock",
        Edit(
            FLAG,
            "word_.exchange(0, std::memory_order_acq_rel); return look(ring, consuming);",
            "const bool back = look(ring, consuming);"
            "word_.exchange(0, std::memory_order_acq_rel); return back;",
        ),
    ),
    "a scheduler thread does not look": fault(
        "port",
        "deadlock",
        Edit(
            FLAG,
            "word_.exchange(0, std::memory_order_acq_rel); return look(ring, consuming);",
            "word_.exchange(0, std::memory_order_acq_rel); return false;",
        ),
    ),
    "a port is put on the list whatever its flag was": fault(
        "port",
        r"expected \!listed",
        Edit(
            FLAG,
            "return word_.exchange(1, std::memory_order_acq_rel) == 0;",
            "word_.exchange(1, std::memory_order_acq_rel); return true;",
        ),
    ),
    "the flag is set before the tuple is published": fault(
        "port",
        "deadlock",
        Edit(
            ME,
            "if (port.push()) { unannounced = true; "
            "if (!port.ready.seems_set()) announce(); continue; }",
            "if (port.ring.room(1) > 0) { unannounced = true; announce(); port.push(); continue; }",
        ),
    ),
    "what was put off is forgotten": fault(
        "port",
        "deadlock",
        Edit(
            ME,
            "unannounced && port.ready.set()",
            "unannounced && port.pushed < sizes.tuples && port.ready.set()",
        ),
    ),
    "a port is drained without its consumer flag": fault(
        "port",
        "a race|expected",
        Edit(
            ME,
            "port.ring.size_guess() == 0 || !port.consuming.try_lock()",
            "port.ring.size_guess() == 0",
        ),
    ),
    "a tuple is published without an order": fault(
        "ring-of-one",
        "a race",
        Edit(
            RING,
            "tail_.store(tail + fitting, std::memory_order_release);",
            "tail_.store(tail + fitting, std::memory_order_relaxed);",
        ),
    ),
    "a slot is used again without an order": fault(
        "ring-of-one", "a race", Edit(RING, MOVES_ON, MOVES_ON.replace("release", "relaxed"))
    ),
    "the consumer flag is handed over without an order": fault(
        "port",
        "a race",
        Edit(
            "try_flag.hpp",
            "held_.store(false, std::memory_order_release);",
            "held_.store(false, std::memory_order_relaxed);",
        ),
    ),
    "a port is taken from the list without an order": fault(
        "free-list-of-one",
        "a race|expected",
        Edit(
            "free_list.hpp",
            "nodes_[index(head)].next.load(std::memory_order_acquire)",
            "nodes_[index(head)].next.load(std::memory_order_relaxed)",
        ),
        surprises=3,
    ),
    "a sleeper does not look for ports before it sleeps": fault(
        "sleepers",
        "deadlock",
        Edit(
            PORTS,
            "list_.empty() && !stop.load(std::memory_order_seq_cst)",
            "!stop.load(std::memory_order_seq_cst)",
        ),
    ),
    "a sleeper announces itself without an order": fault(
        "sleepers",
        "deadlock",
        Edit(
            PORTS,
            "sleepers_.load(std::memory_order_seq_cst) == 0",
            "sleepers_.load(std::memory_order_relaxed) == 0",
        ),
    ),
    "a thread that was woken leaves its mark": fault(
        "sleepers", "deadlock", Edit(PORTS, "waking_.store(false, std::memory_order_seq_cst);", ";")
    ),
    "who changes a word reads the number of waiters without a read-modify-write": fault(
        "handed-over",
        "deadlock",
        Edit(
            PARKING,
            "return waiters_.fetch_add(0, std::memory_order_seq_cst) != 0;",
            "return waiters_.load(std::memory_order_acquire) != 0;",
        ),
    ),
    "a waiter does not look at the word before it sleeps": fault(
        "handed-over", "deadlock", Edit(PARKING, "if (!waits()) return withdraw(self);", ";")
    ),
    "a stop wakes nobody": fault(
        "stop-wakes-all",
        "deadlock|expected",
        Edit(PARKING, "while (Called* called = call_first()) Platform::wake_one_on(*called);", ";"),
    ),
}

SWITCHED = "switching.hpp"
SUBMIT = "submit.hpp"
PORT = "switched_port.hpp"
EMPTIES = "drain(worker, port, std::numeric_limits<uint64_t>::max(), false);"
IS_EMPTY = "port->ring.size_guess() == 0"
WAITS = """while (!alone && !worker->stop.load(std::memory_order_acquire)) {
    wait_a_little(worker, &round, port);
    Platform::pass(worker);
    alone = port->consuming.try_lock();
  }"""
CALL_LOCK = "if (lock != nullptr) acquire(worker, lock, port->op);"
MODE = "port->mode.load(std::memory_order_acquire)"
SHORTENS = (
    "set_shortcut(target); if ((port->mode.load(std::memory_order_seq_cst) & WANTED_CALLED) == 0) "
    "remove_shortcut(target);"
)
LENGTHENS = (
    "port->mode.fetch_and(~uint32_t{WANTED_CALLED}, std::memory_order_seq_cst); lengthen(port);"
)
SWITCHING = {
    "suspension is heeded while the queue is emptied, which then counts as empty": fault(
        "suspended",
        "expected tuple",
        Edit(SWITCHED, EMPTIES, EMPTIES.replace("false", "true")),
        Edit(SWITCHED, IS_EMPTY, "true"),
    ),
    "suspension is heeded while the queue is emptied": fault(
        "suspended", "expected called_", Edit(SWITCHED, EMPTIES, EMPTIES.replace("false", "true"))
    ),
    "a queue is closed without being emptied": fault(
        "one-producer", "expected", Edit(SWITCHED, EMPTIES, ";"), Edit(SWITCHED, IS_EMPTY, "true")
    ),
    "a queue is emptied without the consumer flag": fault(
        "cut-short", "a race|expected", Edit(SWITCHED, WAITS, "alone = true;")
    ),
    "the shortcut is removed before the wish is written": fault(
        "shortcut-of-the-sender",
        "expected called_",
        Edit(SWITCHED, LENGTHENS, "lengthen(port);" + LENGTHENS.split(" lengthen")[0]),
    ),
    "the wish is looked at before the shortcut is set": fault(
        "shortcut-of-the-sender",
        "expected called_",
        Edit(
            SWITCHED,
            SHORTENS,
            "if ((port->mode.load(std::memory_order_seq_cst) & WANTED_CALLED) != 0) "
            "set_shortcut(target);",
        ),
    ),
    "the wish is looked at in an order of its own": fault(
        "shortcut-of-the-sender",
        "expected called_",
        Edit(SWITCHED, SHORTENS, SHORTENS.replace("seq_cst", "acquire")),
    ),
    "the wish is written in an order of its own": fault(
        "shortcut-of-the-sender",
        "expected called_",
        Edit(SWITCHED, LENGTHENS, LENGTHENS.replace("seq_cst", "release")),
    ),
    "the shortcut stays while the queue comes back": fault(
        "with-punctuation",
        "expected|a race",
        Edit(
            SWITCHED,
            "lengthen(port); if (run->contexts != nullptr) { run->contexts->changing.lock(); "
            "change_contexts(run, port->index, true); }",
            ";",
        ),
    ),
    "a producer that waited for its flag does not look at the mode again": fault(
        "two-producers",
        "expected|a race",
        Edit(
            SUBMIT,
            "if (port->mode.load(std::memory_order_acquire) & NOW_CALLED) "
            "{ port->producing.unlock(); return 0; }",
            ";",
        ),
    ),
    "producers call without the lock": fault(
        "two-begin-called",
        "expected|a race",
        Edit(SWITCHED, CALL_LOCK, ";"),
        Edit(SWITCHED, "if (lock != nullptr) { Platform::pass(worker); lock->unlock(); }", ";"),
    ),
    "the queue is emptied without the producer flag": fault(
        "two-producers",
        "expected|a race",
        Edit(
            SWITCHED,
            "while (!port->producing.try_lock()) wait_a_little(worker, &round, port);",
            ";",
        ),
        Edit(SWITCHED, "if (flagged) port->producing.unlock();", ";"),
    ),
    "the mode is read before the call lock is held": fault(
        "two-begin-called",
        "expected|a race",
        Edit(SWITCHED, CALL_LOCK, f"worker->born_ns = {MODE}; {CALL_LOCK}"),
        Edit(SWITCHED, MODE, "static_cast<uint32_t>(worker->born_ns)"),
    ),
    "a cycle comes back to the port itself": fault(
        "two-begin-called",
        "deadlock",
        Edit(
            PORT,
            "self->executed_ += count;",
            "self->executed_ += count;"
            "Path::send(worker, self->port_.feeders[0], first, STRIDE, 1, nullptr);",
        ),
    ),
    "the producer writes over a wish that has changed meanwhile": fault(
        "one-producer",
        "expected",
        Edit(
            SWITCHED,
            "mode = port->mode.fetch_or(NOW_CALLED, std::memory_order_acq_rel) | NOW_CALLED;",
            "port->mode.store(mode = CALLED, std::memory_order_release);",
        ),
    ),
    "a blocked producer takes the consumer flag of an empty queue": fault(
        "two-change-their-mind",
        "livelock",
        Edit(
            "dynamic.hpp", "queued > 0 && port->consuming.try_lock()", "port->consuming.try_lock()"
        ),
    ),
}

PROGRAMS = {
    "explore_coroutines": COROUTINES,
    "explore_replicas": REPLICAS,
    "explore_ready": READY,
    "explore_switching": SWITCHING,
}

SOUND = [
    "store-buffers-with-fences", "store-buffers-of-seq-cst", "message", "release-sequence",
    "coherence", "independent-reads-of-seq-cst", "peterson", "counted-under-a-lock",
    "locks-in-order", "signalled", "spinning", "timed",
]  # fmt: skip
BROKEN = {
    "broken-store-buffers": "expected",
    "broken-store-buffers-half-seq-cst": "expected",
    "broken-message-store": "a race",
    "broken-message-load": "a race",
    "broken-independent-reads": "expected",
    "broken-peterson": "a race|expected",
    "broken-count": "expected",
    "broken-locks": "deadlock: first waits .*; second waits",
    "broken-signal": "deadlock: waiter sleeps",
    "broken-spin": "livelock",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compile a program, once: with its faults, none of which shows unless it is asked for."""
    folder = tmp_path_factory.mktemp("explored")

    @cache
    def made(program: str) -> Path:
        return compile_program(program, folder, planted=PROGRAMS.get(program))

    return made


def test_what_memory_may_do_and_what_not_is_told_apart(made: Callable[..., Path]) -> None:
    litmus = made("explore_litmus")
    for scenario in SOUND:
        code, said = explore(litmus, scenario)
        assert code == 0 and "no failure in all" in said, said
    for scenario, failure in BROKEN.items():
        code, said = explore(litmus, scenario)
        assert code == 1 and re.search(f"failure: ({failure})", said), said


def test_a_failure_is_replayed(made: Callable[..., Path]) -> None:
    litmus = made("explore_litmus")
    _, said = explore(litmus, "broken-store-buffers")
    *events, choices = said.split("\n")[1:-1]
    code, again = explore(litmus, "broken-store-buffers", "--replay", *choices.split()[1:])
    assert code == 1 and again.split("\n")[1:-2] == events
    assert explore(litmus, "broken-store-buffers", "--replay") == (
        0,
        "broken-store-buffers: no failure in this run\n",
    )


@pytest.mark.parametrize("program", PROGRAMS)
def test_without_a_fault_the_headers_keep_their_invariants(
    program: str, made: Callable[..., Path]
) -> None:
    code, said = explore(made(program))
    assert code == 0, said
    assert said.count("no failure in all") == said.count("\n") > 5
    code, said = explore(made(program), "--random", 1, 200)
    assert code == 0, said


@pytest.mark.parametrize(
    ("program", "name"), [(program, name) for program in PROGRAMS for name in PROGRAMS[program]]
)
def test_a_planted_fault_is_found(program: str, name: str, made: Callable[..., Path]) -> None:
    planted = PROGRAMS[program][name]
    number = list(PROGRAMS[program]).index(name)
    words = [planted.scenario, "--surprises", planted.surprises]
    if planted.by_chance:
        words += ["--random", 1, 20_000]
    code, said = explore(made(program), *words, fault=number)
    assert code == 1 and re.search(f"failure: ({planted.failure})", said), said[:200]
