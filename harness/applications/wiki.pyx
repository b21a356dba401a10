"""Operators of WikiWordCount, for Python; native/wiki_word_count.hpp describes each."""

from libc.stdint cimport int64_t, uint32_t, uint64_t

from harness.operators.compiled cimport Compiled, Operator  # no-cython-lint: a base of those below


cdef extern from "event_time.hpp" namespace "millrace::operators" nogil:
    cdef struct Rule "millrace::operators::EventTime::Rule":
        int64_t lateness, jump

cdef extern from "wiki_word_count.hpp" namespace "millrace::applications" nogil:
    cdef cppclass Change:
        pass
    cdef cppclass Word:
        pass
    cdef cppclass WordCount:
        pass
    cdef cppclass Changes(Operator):
        Changes(const char* text, size_t size, uint32_t outputs, uint64_t cycles) except +
        Changes(uint32_t outputs) except +
    cdef cppclass Tokenise(Operator):
        Tokenise(uint32_t number, uint32_t outputs, const Rule& rule) except +
    cdef cppclass CountWords(Operator):
        CountWords(uint32_t tokenisers) except +


def changes(bytes text, uint32_t outputs, uint64_t cycles):
    """Return a source of the lines of `text`, to its output ports in turn, `cycles` times (0: for
    ever).
    """
    return Compiled().own(new Changes(text, len(text), outputs, cycles), text)


def changes_in_pieces(uint32_t outputs):
    """Return a source of the lines of an input that comes in pieces, to its output ports in turn.
    """
    return Compiled().own(new Changes(outputs), None)


def tokenise(uint32_t number, uint32_t outputs, rule):
    """Return a tokeniser. `rule`: lateness and jump of time [ns]."""
    cdef Rule time
    time.lateness, time.jump = rule
    return Compiled().own(new Tokenise(number, outputs, time), None)


def count_words(uint32_t tokenisers):
    return Compiled().own(new CountWords(tokenisers), None)


def sizes():
    """Return the bytes of each kind of tuple, by the name of its schema."""
    return {"change": sizeof(Change), "word": sizeof(Word), "word_count": sizeof(WordCount)}
