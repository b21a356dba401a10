# users.pyx - functions of users in Python: callables of operators, and of typed operators. The path
# of a tuple calls them by a pointer that an operator's state has (native/users.hpp,
# native/typed_path.hpp); python_loops.pyx has those of operators with a loop of their own.
#
# Where the interpreter has no lock, several threads are here at the same time. They call different
# objects, or, of an operator with replicas or with `reentrant`, one; all that they change in it is
# its error.

cimport cython
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memcpy
from libcpp cimport bool
from libcpp.atomic cimport memory_order_relaxed, memory_order_release

from harness.runtime.native cimport (
    MILLRACE_IDLE,
    MILLRACE_MORE,
    Operator,
    PythonState,
    Run,
    TypedState,
    Worker,
    millrace_context,
)
from harness.runtime.path cimport control_value, end_run, on_own_stack

from harness.errors import RunFailed, show_traceback


# -- errors ----------------------------------------------------------------------------------------


cdef str text_of(error):
    """Return an exception's text in one line. The text comes from users' code, too."""
    try:
        return " ".join(str(error).split())
    except BaseException:
        return "an exception that cannot be shown"


cdef str failure_of(error, str when):
    """Return the end of an error about an exception in a user's function: the exception, when it
    was, and in which line of the user's. Show its traceback if that is asked for.
    """
    show_traceback(error)
    return f"raised {type(error).__name__}: {text_of(error)} ({when}{place_of(error)})"


cdef str place_of(error):
    """Return the line of a user's function that has raised an exception, or called the function
    that did; empty: it is not in Python.
    """
    file, line, trace = None, 0, error.__traceback__
    while trace is not None:
        frame, code = trace.tb_frame, trace.tb_frame.f_code
        if file is None and not str(frame.f_globals.get("__name__", "")).startswith("harness."):
            file = code.co_filename
        if code.co_filename == file:
            line = trace.tb_lineno
        trace = trace.tb_next
    return "" if file is None else f", {file}:{line}"


cdef class UsersCode:
    """Functions of a user that threads of a run call. `error`: the first error of one, or None.

    Each access to the error is a critical section of the object. The lock of the object, or that of
    the interpreter if it has one, keeps threads apart and is the edge between them.
    """

    cdef void describe(self, str kind, str name):
        self.what = f"{kind} {name!r}"
        self.unspoken = f"{self.what} raised an exception, and there was no memory to tell which"

    cdef bint fails(self) noexcept:
        """Return True to the first caller, which then has to say the error."""
        cdef bint is_first
        with cython.critical_section(self):
            is_first = self.first is None
            if is_first:
                self.first = self.unspoken
        return is_first

    cdef bint has_failed(self) noexcept:
        cdef bint failed
        with cython.critical_section(self):
            failed = self.first is not None
        return failed

    cdef void say(self, str error) noexcept:
        with cython.critical_section(self):
            self.first = error

    @property
    def error(self):
        with cython.critical_section(self):
            error = self.first
        return error


# -- callables of operators ------------------------------------------------------------------------


cdef class PythonCall(UsersCode):
    """A user's callable as an operator. The first exception ends the run and is kept here."""

    def __cinit__(self, str name, object function, bint controlled):
        self.describe("operator", name)
        self.function = function
        self.controlled = controlled


cdef bool call(
    Operator* op, Worker* worker, uint64_t sequence, double value, double* result
) noexcept nogil:
    """Call an operator's function. Returns True if there is a result to pass on."""
    with gil:
        return call_owner(op, worker, sequence, value, result)


cdef bint call_owner(
    Operator* op, Worker* worker, uint64_t sequence, double value, double* result
) noexcept:
    cdef PythonCall owner
    # while this thread waited for the interpreter's lock
    if worker.run.failed.load(memory_order_relaxed):
        return False
    owner = <PythonCall> (<PythonState*> op.own).owner
    try:
        if owner.controlled:
            returned = owner.function(sequence, value, control_value(op))
        else:
            returned = owner.function(sequence, value)
        if returned is None:
            return False
        result[0] = returned
        return True
    # whatever a user's function throws must not unwind through the runtime's frames
    except BaseException as error:
        worker.run.failed.store(True, memory_order_release)
        end_run(worker.run)
        if owner.fails():
            owner.say(f"{owner.what} {failure_of(error, f'tuple {sequence}')}")
        return False


cdef void connect_python(PythonState* state, PythonCall owner) noexcept:
    """Let an operator call the function of `owner`, which must live as long as it."""
    state.owner = <void*> owner
    state.call = call


# -- callables of typed operators ------------------------------------------------------------------


cdef class TypedCall(UsersCode):
    """The callables of a typed operator. The first exception ends the run and is kept here."""

    def __cinit__(self, operator):
        self.describe("operator", operator.name)
        self.function = operator.typed.function
        self.end = operator.typed.finish
        self.takes = operator.typed.takes
        self.gives = operator.typed.gives
        self.items = None  # what it still has to send


cdef struct PythonPart:
    # What of an operator is executed in one go with the interpreter's lock held.
    TypedState* state
    # the tuple: by which input port it came; its content, null: none came, the last stream has
    # ended
    uint32_t port
    const char* content
    int32_t output  # of a tuple that is in its room now and to be sent; or one of the codes below


cdef enum:
    NOTHING_MORE = -1
    NOTHING_AT_HAND = -2


cdef void begin_call(void* argument) noexcept nogil:
    """Call the function with a tuple, or with nothing at the end. `pull` then takes the tuples from
    its result.
    """
    with gil:
        ask(<PythonPart*> argument)


cdef void ask(PythonPart* part) noexcept:
    cdef TypedState* state = part.state
    cdef TypedCall owner
    # while this thread waited for the interpreter's lock
    if state.worker.run.failed.load(memory_order_relaxed):
        return
    owner = <TypedCall> state.python
    try:
        owner.items = None
        if part.content != NULL:
            schema = owner.takes[part.port]
            items = owner.function(part.port, schema.unpack(part.content[:<size_t> schema.size]))
        else:
            items = (
                owner.function()
                if state.source != NULL
                else owner.end() if owner.end is not None else None
            )
        owner.items = None if items is None else iter(items)
    except BaseException as error:
        raised(part, owner, error)


cdef void pull(void* argument) noexcept nogil:
    """Write the next tuple to send into its room."""
    with gil:
        write_next(<PythonPart*> argument)


cdef void write_next(PythonPart* part) noexcept:
    cdef TypedState* state = part.state
    cdef TypedCall owner
    cdef bytes content
    part.output = NOTHING_MORE
    if state.worker.run.failed.load(memory_order_relaxed):
        return
    owner = <TypedCall> state.python
    try:
        if owner.items is None:
            return
        try:
            item = next(owner.items)
        except StopIteration:
            owner.items = None
            return
        if item is None and state.source != NULL:
            part.output = NOTHING_AT_HAND
            return
        port, values = item
        if not isinstance(port, int) or not 0 <= port < len(owner.gives):
            raise ValueError(f"output port must be from 0 to {len(owner.gives) - 1}, not {port!r}")
        content = owner.gives[port].pack(values)
        memcpy(state.context.room[<uint32_t> port], <const char*> content, len(content))
        part.output = port
    except BaseException as error:
        raised(part, owner, error)


cdef int32_t process(
    millrace_context* context, uint32_t port, const void* content, void* _
) noexcept nogil:
    """Call the function with a tuple, or with nothing at the end, and send its tuples, never
    waiting with the interpreter's lock.
    """
    cdef TypedState* state = <TypedState*> context
    cdef PythonPart part
    part.state = state
    part.port = port
    part.content = <const char*> content
    on_own_stack(state.worker, begin_call, &part)
    while True:
        on_own_stack(state.worker, pull, &part)
        if part.output < 0:
            return 0
        context.send(context, <uint32_t> part.output)


cdef int32_t finish(millrace_context* context, void* _) noexcept nogil:
    """Call the function for the end of the last stream."""
    return process(context, 0, NULL, NULL)


cdef int32_t step(millrace_context* context, void* _) noexcept nogil:
    """Send the next tuple of a source."""
    cdef TypedState* state = <TypedState*> context
    cdef PythonPart part
    part.state = state
    part.content = NULL
    if not state.begun:
        state.begun = True
        on_own_stack(state.worker, begin_call, &part)
    on_own_stack(state.worker, pull, &part)
    if part.output >= 0:
        context.send(context, <uint32_t> part.output)
        return MILLRACE_MORE
    return MILLRACE_IDLE if part.output == NOTHING_AT_HAND else 0


cdef void raised(PythonPart* part, TypedCall owner, error) noexcept:
    cdef Run* run = part.state.worker.run
    run.failed.store(True, memory_order_release)
    end_run(run)
    if owner.fails():
        if isinstance(error, RunFailed):
            owner.say(f"{owner.what}: {text_of(error)}")
        else:
            when = (
                f"tuple {part.state.failed_at}"
                if part.content != NULL
                else f"after {part.state.op.processed.read()} tuples"
            )
            owner.say(f"{owner.what} {failure_of(error, when)}")


cdef void connect_typed_python(TypedState* state, TypedCall owner) noexcept:
    """Let a typed operator call the functions of `owner`, which must live as long as it."""
    state.python = <void*> owner
    state.process, state.finish, state.step = process, finish, step
