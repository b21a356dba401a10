# policy.pyx - the scheduling policy of a run's co-routines, in the form of native/coroutines.hpp: a
# built-in one, or a user's.
#
# A user's policy is called for all ready operators at once, by the thread that picks one, on its
# own stack and without the scheduler's lock: it may never return, and one in Python needs the
# interpreter's lock, which others may hold while they wait. Threads that pick at the same time call
# it at the same time.

from libc.math cimport NAN
from libc.stdint cimport int32_t, uint32_t

from harness.runtime.protocol cimport (
    ALL_LOOKS,
    POLICY_TABLE,
    Preempts,
    Score,
    Seen,
    SeenPort,
    judge_each,
)
from harness.runtime.users cimport UsersCode, failure_of

from typing import NamedTuple

from harness.runtime.protocol import POLICIES


cdef class PolicyOf(UsersCode):
    """The policy of a run, which must live as long."""

    def __cinit__(self, policy, operators):
        self.name = policy.name
        self.describe("policy", policy.name)
        self.operators = [operator.name for operator in operators]
        self.function, self.preempts = policy.function, policy.preempts
        if policy.function is None:
            self.policy = POLICY_TABLE[<size_t> list(POLICIES).index(policy.name)]
            return
        self.policy.looks = ALL_LOOKS
        if hasattr(policy.function, "address"):
            self.users.score = <Score> <size_t> policy.function.address
            self.users.state = <void*> <size_t> policy.function.state
            self.policy.judge = judge_each
            self.policy.state = &self.users
        else:
            self.policy.judge = judge
            self.policy.state = <void*> self
        if policy.preempts is None:
            return
        if hasattr(policy.preempts, "address"):
            self.policy.preempts = <Preempts> <size_t> policy.preempts.address
            self.policy.preempts_state = <void*> <size_t> policy.preempts.state
        else:
            self.policy.preempts = preempts
            self.policy.preempts_state = <void*> self

    cdef object problem(self, int refused):
        """Return the error, or None. `refused`: the operator whose score was not a number; -1:
        there was none.
        """
        if refused < 0 or self.has_failed():
            return self.error
        if self.policy.preempts != NULL:
            return (
                f"{self.what} returned no score, or an error, for operator "
                f"{self.operators[refused]!r}"
            )
        return (
            f"{self.what} returned nan for operator {self.operators[refused]!r}, "
            "which is not a number"
        )


cdef void judge(const Seen* seen, size_t count, double* scores, void* state) noexcept nogil:
    with gil:
        _judge(<PolicyOf> state, seen, count, scores)


cdef void _judge(PolicyOf owner, const Seen* seen, size_t count, double* scores) noexcept:
    cdef size_t i
    cdef Ready ready
    for i in range(count):
        scores[i] = NAN
    if owner.has_failed():
        return
    try:
        for i in range(count):
            ready = Ready.__new__(Ready)
            ready.seen, ready.name = seen[i], owner.operators[seen[i].index]
            try:
                score = owner.function(ready)
            finally:
                ready.forget_ports()
            try:
                scores[i] = score
            except TypeError:
                if owner.fails():
                    owner.say(
                        f"{owner.what} returned {score!r:.40} for operator {ready.name!r}, "
                        "which is not a number"
                    )
                return
    # whatever a user's function throws must not unwind through the runtime's frames
    except BaseException as error:
        if owner.fails():
            owner.say(f"{owner.what} {failure_of(error, f'of operator {ready.name!r}')}")


cdef int32_t preempts(const Seen* running, void* state) noexcept nogil:
    with gil:
        return _preempts(<PolicyOf> state, running)


cdef int32_t _preempts(PolicyOf owner, const Seen* running) noexcept:
    cdef Ready seen
    if owner.has_failed():
        return 0
    try:
        seen = Ready.__new__(Ready)
        seen.seen, seen.name = running[0], owner.operators[running.index]
        try:
            return 1 if owner.preempts(seen) else 0
        finally:
            seen.forget_ports()
    # whatever a user's function throws must not unwind through the runtime's frames
    except BaseException as error:
        if owner.fails():
            owner.say(f"{owner.what} {failure_of(error, f'of operator {seen.name!r}')}")
        return -1


class PortOf(NamedTuple):
    """A port as a policy sees it: tuples that wait there, free places, and tuples a second that the
    operator took from it or sent there.
    """

    queued: int
    room: int
    per_s: float


cdef tuple ports_of(const SeenPort* first, uint32_t count):
    return tuple([PortOf(first[i].queued, first[i].room, first[i].per_s) for i in range(count)])


cdef class Ready:
    """An operator as a policy sees it, ready or running: `name`, and the fields of
    `millrace_ready` in native/millrace.h, by the same names.
    """

    cdef Seen seen
    cdef readonly str name

    def __repr__(self):
        return f"<operator {self.name!r}>"

    @property
    def index(self):
        return self.seen.index

    @property
    def source(self):
        return self.seen.source != 0

    @property
    def batch(self):
        return self.seen.batch

    @property
    def scheduled_ns(self):
        return self.seen.scheduled_ns

    @property
    def queued(self):
        return self.seen.queued

    @property
    def enqueued_ns(self):
        return self.seen.enqueued_ns

    @property
    def born_ns(self):
        return self.seen.born_ns

    @property
    def reads_per_s(self):
        return self.seen.reads_per_s

    @property
    def writes_per_s(self):
        return self.seen.writes_per_s

    @property
    def room(self):
        return self.seen.room

    @property
    def queued_behind(self):
        return self.seen.queued_behind

    @property
    def gain_per_s(self):
        return self.seen.gain_per_s

    @property
    def ran_ns(self):
        return self.seen.ran_ns

    @property
    def quantum_ns(self):
        return self.seen.quantum_ns

    @property
    def waits_for_all(self):
        return self.seen.waits_for_all

    @property
    def inputs(self):
        return ports_of(self.seen.input_ends, self.seen.inputs)

    @property
    def outputs(self):
        return ports_of(self.seen.output_ends, self.seen.outputs)

    cdef void forget_ports(self) noexcept:
        """The ports are there for a call of the policy alone."""
        self.seen.inputs = self.seen.outputs = 0
