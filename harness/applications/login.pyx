"""Operators of LoginFailures, for Python; native/login_failures.hpp describes each."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool

from harness.operators.compiled cimport Compiled, Operator  # no-cython-lint: a base of those below


cdef extern from "event_time.hpp" namespace "millrace::operators" nogil:
    cdef struct Rule "millrace::operators::EventTime::Rule":
        int64_t lateness, jump

cdef extern from "login_failures.hpp" namespace "millrace::applications" nogil:
    cdef cppclass Line:
        pass
    cdef cppclass Log:
        pass
    cdef cppclass Failure:
        pass
    cdef cppclass Attempts:
        pass
    cdef cppclass Success:
        pass
    cdef cppclass BreakIn:
        pass
    cdef cppclass Lines(Operator):
        Lines(const char* text, size_t size, uint32_t outputs, uint64_t cycles) except +
        Lines(uint32_t outputs) except +
    cdef cppclass InTurn[T](Operator):
        InTurn(uint32_t outputs) except +
    cdef cppclass Parse(Operator):
        Parse(bool keep) except +
    cdef cppclass LogSequencer(Operator):
        LogSequencer() except +
    cdef cppclass FailureSequencer(Operator):
        FailureSequencer() except +
    cdef cppclass FailuresOnly(Operator):
        FailuresOnly(uint32_t outputs, bool marks, const Rule& rule) except +
    cdef cppclass Mark(Operator):
        Mark(uint32_t outputs) except +
    cdef cppclass ParseFailure(Operator):
        ParseFailure(bool keep) except +
    cdef cppclass CountAttempts(Operator):
        CountAttempts(uint32_t count, uint32_t window) except +
    cdef cppclass CutOff(Operator):
        CutOff(int64_t span) except +
    cdef cppclass Suspects(Operator):
        Suspects() except +
    cdef cppclass SuccessesOnly(Operator):
        SuccessesOnly(const Rule& rule) except +
    cdef cppclass ParseSuccess(Operator):
        ParseSuccess() except +
    cdef cppclass BreakIns(Operator):
        BreakIns() except +
    cdef cppclass FoundFailure:
        pass
    cdef cppclass FoundSuspect:
        pass
    cdef cppclass FoundBreakIn:
        pass
    cdef cppclass CollectNames[T, Found](Operator):
        CollectNames(uint64_t most) except +


def lines(bytes text, uint32_t outputs, uint64_t cycles):
    """Return a source of the lines of `text`, to its output ports in turn, `cycles` times (0: for
    ever).
    """
    return Compiled().own(new Lines(text, len(text), outputs, cycles), text)


def lines_in_pieces(uint32_t outputs):
    """Return a source of the lines of an input that comes in pieces, to its output ports in turn.
    """
    return Compiled().own(new Lines(outputs), None)


def lines_in_turn(uint32_t outputs):
    return Compiled().own(new InTurn[Line](outputs), None)


def parse(bint keep):
    return Compiled().own(new Parse(keep), None)


def log_sequencer():
    return Compiled().own(new LogSequencer(), None)


def failure_sequencer():
    return Compiled().own(new FailureSequencer(), None)


def failures_only(uint32_t outputs, bool marks, rule):
    """Return the filter of failures. `rule`: lateness and jump of time [ns], for its marks."""
    cdef Rule time
    time.lateness, time.jump = rule
    return Compiled().own(new FailuresOnly(outputs, marks, time), None)


def mark(uint32_t outputs):
    return Compiled().own(new Mark(outputs), None)


def parse_failure(bint keep):
    return Compiled().own(new ParseFailure(keep), None)


def count_attempts(uint32_t count, uint32_t window):
    return Compiled().own(new CountAttempts(count, window), None)


def cut_off(int64_t span_ns):
    return Compiled().own(new CutOff(span_ns), None)


def suspects():
    return Compiled().own(new Suspects(), None)


def successes_only(rule):
    """Return the filter of sessions. `rule`: lateness and jump of time [ns]."""
    cdef Rule time
    time.lateness, time.jump = rule
    return Compiled().own(new SuccessesOnly(time), None)


def parse_success():
    return Compiled().own(new ParseSuccess(), None)


def break_ins():
    return Compiled().own(new BreakIns(), None)


def collect_failures(uint64_t most):
    """Return a sink of failures that keeps the first `most` of them, with whole names."""
    return Compiled().own(new CollectNames[Failure, FoundFailure](most), None)


def collect_suspects(uint64_t most):
    return Compiled().own(new CollectNames[Attempts, FoundSuspect](most), None)


def collect_break_ins(uint64_t most):
    return Compiled().own(new CollectNames[BreakIn, FoundBreakIn](most), None)


def sizes():
    """Return the bytes of each kind of tuple, by the name of its schema."""
    return {
        "line": sizeof(Line),
        "log": sizeof(Log),
        "failure": sizeof(Failure),
        "attempts": sizeof(Attempts),
        "success": sizeof(Success),
        "break_in": sizeof(BreakIn),
        "found_failure": sizeof(FoundFailure),
        "found_suspect": sizeof(FoundSuspect),
        "found_break_in": sizeof(FoundBreakIn),
    }
